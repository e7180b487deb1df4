"""MarkovNetwork: every method against brute force, trees, chains and transfer matrices."""

import pickle
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from contract import problems
from maxmargin.exceptions import InfeasibleError, MissingAbilityError
from maxmargin.solvers import BCFW
from maxmargin.structures import Chain, MarkovNetwork, Network, NetworkLayout, Tree, TreeLayout
from maxmargin.structures.network.junction_tree import buckets_of
from reference import cuts, enumeration, linear, trees
from reference.abilities import ability_of

ABILITIES = ("maximize", "marginals", "log_partition", "max_marginals")


def grid(rows, columns, labels):
    return NetworkLayout(Network(rows * columns, cuts.grid_edges(rows, columns)), labels)


def ring(n, labels):
    return NetworkLayout(Network(n, [(v, (v + 1) % n) for v in range(n)]), labels)


def complete(n, labels):
    return NetworkLayout(Network(n, list(combinations(range(n), 2))), labels)


@st.composite
def layouts(draw):
    """Anything from no edges to all of them, in any direction and order."""
    n, labels = draw(st.sampled_from([(1, 3), (2, 3), (3, 3), (4, 2), (5, 2), (6, 2), (4, 3)]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    pairs = np.array(list(combinations(range(n), 2))).reshape(-1, 2)
    pairs = pairs[rng.random(len(pairs)) < draw(st.sampled_from([0.0, 0.5, 0.8, 1.0]))]
    pairs = np.where(rng.random((len(pairs), 1)) < 0.5, pairs, pairs[:, ::-1])
    allowed = None
    if draw(st.booleans()):
        allowed = rng.random((n, labels)) < 0.7
        allowed[np.arange(n), rng.integers(labels, size=n)] = True
    return NetworkLayout(Network(n, rng.permutation(pairs)), labels, allowed)


def listed(layout, tied, pairs=None):
    edges, labels = layout.network.edges.tolist(), layout.n_labels
    found = trees.labelings(layout.n_nodes, edges, labels, layout.allowed, pairs)
    return np.array([trees.vertex(y, edges, labels, tied) for y in found])


def scores(structure, layout, seed, scale=1.0):
    rng = np.random.default_rng(seed)
    theta = scale * rng.standard_normal(structure.n_parts(layout))
    theta[structure.forbidden(layout)] = -np.inf
    return theta


def banned_pairs(seed, labels, wanted):
    return np.random.default_rng(seed).random((labels, labels)) < 0.2 if wanted else None


# -- exact, against brute force --------------------------------------------------------------------
@given(layout=layouts(), tied=st.booleans(), seed=st.integers(0, 1000), some=st.booleans())
@settings(max_examples=40)
def test_everything_equals_enumeration(layout, tied, seed, some):
    pairs = banned_pairs(seed, layout.n_labels, some)
    structure = MarkovNetwork(tied, pairs, method="exact")
    vertices, theta = listed(layout, tied, pairs), scores(structure, layout, seed)
    if len(vertices) == 0:
        for ability in ABILITIES:
            with pytest.raises(InfeasibleError):
                ability_of(structure, ability)(theta, layout)
        return
    best = enumeration.best(theta, vertices)
    z, value = structure.oracle().maximize(theta, layout)
    assert enumeration.score(theta, z) == pytest.approx(best, abs=1e-12)
    assert value == pytest.approx(best, abs=1e-12)
    found = structure.marginals(theta, layout)
    assert np.abs(found - enumeration.expectation(theta, vertices)).max() <= 1e-12
    value = structure.log_partition(theta, layout)
    assert value == pytest.approx(enumeration.log_partition(theta, vertices), abs=1e-12)
    n = layout.n_nodes * layout.n_labels
    wanted = enumeration.max_marginals(theta, vertices, n)
    np.testing.assert_allclose(
        structure.oracle().max_marginals(theta, layout)[:n], wanted, atol=1e-12
    )


@given(layout=layouts(), tied=st.booleans(), seed=st.integers(0, 1000))
@settings(max_examples=15)
def test_projections_and_constraints_are_those_of_the_hull(layout, tied, seed):
    structure = MarkovNetwork(tied, method="exact")
    vertices = listed(layout, tied)
    point = scores(structure, layout, seed)
    nearest = enumeration.nearest_in_hull(point, vertices)
    assert np.abs(structure.project(point, layout) - nearest).max() <= 1e-8
    stated = structure.constraints(layout)
    assert linear.best_value(stated, point) == pytest.approx(enumeration.best(point, vertices))
    assert linear.violation(stated, vertices[0]) <= 1e-9


def test_expectations_are_the_gradient_of_the_log_partition():
    structure, layout = MarkovNetwork(tied=True, method="exact"), grid(2, 4, 3)
    theta, step = scores(structure, layout, 0), 1e-5
    slopes = np.empty(len(theta))
    for p in range(len(theta)):
        ahead, behind = theta.copy(), theta.copy()
        ahead[p] += step
        behind[p] -= step
        rise = structure.log_partition(ahead, layout) - structure.log_partition(behind, layout)
        slopes[p] = rise / (2 * step)
    assert np.abs(structure.marginals(theta, layout) - slopes).max() <= 1e-8


# -- exact, against other structures ---------------------------------------------------------------
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("joined", [1.0, 0.6])
def test_trees_are_the_same_as_tree(tied, joined):
    network = Network(12, trees.random_edges(12, np.random.default_rng(3), joined))
    layout = TreeLayout(network, 4)
    tree, structure = Tree(tied), MarkovNetwork(tied, method="exact")
    theta = scores(tree, layout, 5)
    assert np.array_equal(structure.maximize(theta, layout), tree.maximize(theta, layout))
    assert np.abs(structure.marginals(theta, layout) - tree.marginals(theta, layout)).max() <= 1e-13
    assert structure.log_partition(theta, layout) == pytest.approx(
        tree.log_partition(theta, layout)
    )
    found = structure.oracle().max_marginals(theta, layout) - tree.oracle().max_marginals(
        theta, layout
    )
    assert np.abs(found).max() <= 1e-12
    assert np.abs(structure.project(theta, layout) - tree.project(theta, layout)).max() <= 1e-9


@pytest.mark.parametrize("tied", [True, False])
def test_chains_are_the_same_as_chain(tied):
    layout = NetworkLayout(Network(9, [(t, t + 1) for t in range(8)]), 5)
    chain = Chain(tied=tied)
    theta = np.random.default_rng(1).standard_normal(chain.n_parts((9, 5)))
    for method in ("exact", "bounded", "auto"):
        z = MarkovNetwork(tied, method=method).maximize(theta, layout)
        assert np.array_equal(z, chain.maximize(theta, (9, 5)))
    found = MarkovNetwork(tied, method="exact").marginals(theta, layout)
    assert np.abs(found - chain.marginals(theta, (9, 5))).max() <= 1e-13


def by_columns(theta, rows, columns, labels):
    """Best score and log-partition of an untied grid, a column of labels at a time."""
    states = list(product(range(labels), repeat=rows))
    nodes = theta[: rows * columns * labels].reshape(rows, columns, labels)
    tables = theta[rows * columns * labels :].reshape(-1, labels, labels)
    edge = {tuple(ends): e for e, ends in enumerate(cuts.grid_edges(rows, columns).tolist())}
    own = np.zeros((columns, len(states)))
    for c in range(columns):
        for s, state in enumerate(states):
            own[c, s] = sum(nodes[r, c, k] for r, k in enumerate(state))
            for r in range(rows - 1):
                e = edge[r * columns + c, (r + 1) * columns + c]
                own[c, s] += tables[e][state[r], state[r + 1]]
    digits = np.array(states)
    best, total = own[0], own[0]
    for c in range(1, columns):
        move = np.zeros((len(states), len(states)))
        for r in range(rows):
            e = edge[r * columns + c - 1, r * columns + c]
            move += tables[e][np.ix_(digits[:, r], digits[:, r])]
        best = (best[:, None] + move).max(axis=0) + own[c]
        total = np.logaddexp.reduce(total[:, None] + move, axis=0) + own[c]
    return best.max(), np.logaddexp.reduce(total)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_grids_equal_transfer_matrices(scale):
    layout, structure = grid(3, 10, 4), MarkovNetwork(tied=False, method="exact")
    theta = scores(structure, layout, 2, scale)
    best, total = by_columns(theta, 3, 10, 4)
    z, value = structure.oracle().maximize(theta, layout)
    assert theta @ z == pytest.approx(best, rel=1e-12)
    assert value == pytest.approx(best, rel=1e-12)
    assert structure.log_partition(theta, layout) == pytest.approx(total, rel=1e-12)
    found = structure.oracle().max_marginals(theta, layout)[: 30 * 4].reshape(30, 4)
    assert found.max(axis=1) == pytest.approx(np.full(30, best), rel=1e-12)
    shares = structure.marginals(theta, layout)
    assert shares[: 30 * 4].reshape(30, 4).sum(axis=1) == pytest.approx(np.ones(30), abs=1e-12)
    if scale == 1e9:
        assert np.abs(shares - z).max() <= 1e-12


# -- junction trees --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "layout, width",
    [
        (NetworkLayout(Network(1, []), 2), 0),
        (NetworkLayout(Network(4, []), 2), 0),
        (NetworkLayout(Network(400, [(v, v + 1) for v in range(399)]), 2), 1),
        (ring(9, 2), 2),
        (ring(500, 2), 2),
        (grid(3, 8, 2), 3),
        (grid(4, 4, 2), 4),
        (grid(7, 9, 2), 7),
        (grid(9, 7, 2), 7),
        (complete(6, 2), 5),
    ],
)
def test_the_order_finds_the_treewidth(layout, width):
    found = buckets_of(layout.network, 9, 99)
    assert found.complete
    assert found.width == width
    assert sorted(found.order) == list(range(layout.n_nodes))
    place = np.argsort(found.order)
    for v, scope in zip(found.order, found.scopes, strict=True):
        assert all(place[u] > place[v] for u in scope)
    for a, b in layout.network.edges:
        v, u = (a, b) if place[a] < place[b] else (b, a)
        assert u in found.scopes[place[v]]


def test_tables_that_are_too_large_are_refused():
    layout = grid(10, 12, 11)
    structure = MarkovNetwork(method="exact")
    theta = np.zeros(structure.n_parts(layout))
    with pytest.raises(ValueError, match=r"treewidth of at least \d+ with 11 labels needs .*"
                       r"max_table=4,194,304; use method='bounded'"):  # fmt: skip
        structure.maximize(theta, layout)
    with pytest.raises(ValueError, match=r"treewidth of 3 with 4 labels needs 3,\d+ entries"):
        MarkovNetwork(method="exact", max_table=1000).oracle().layout_as_ints(grid(3, 6, 4))


def test_auto_goes_by_the_layout():
    small, large = grid(3, 4, 3), grid(9, 9, 6)
    auto = MarkovNetwork(tied=False, max_table=5000)
    assert not auto.oracle().is_exact
    assert auto.oracle().is_bounded
    assert auto.oracle().gap_is_proof
    assert auto.resolve([small, small]).method == "exact"
    assert auto.resolve([small, large]).method == "bounded"
    assert auto.resolve([small]).oracle().is_exact
    assert auto.oracle().memory_size(small) == 0
    assert auto.oracle().memory_size(large) > 0
    exact = MarkovNetwork(tied=False, method="exact")
    assert exact.resolve([small]) is exact
    for layout, method in ((small, "exact"), (large, "bounded")):
        theta = scores(auto, layout, 0)
        z, value = auto.oracle().maximize(theta, layout)
        expected = auto.resolve([layout]).oracle().maximize(theta, layout)
        assert auto.resolve([layout]).method == method
        assert np.array_equal(z, expected[0])
        assert value == expected[1]


@pytest.mark.parametrize("method", ["auto", "bounded"])
@pytest.mark.parametrize("ability", ["project", "marginals", "max_marginals", "log_partition"])
def test_what_needs_exact_maxima_is_refused_else(method, ability):
    structure, layout = MarkovNetwork(method=method), ring(3, 2)
    assert not structure.oracle().has(ability)
    with pytest.raises(MissingAbilityError, match=f"{ability}.* Use method='exact'"):
        ability_of(structure, ability)(np.zeros(structure.n_parts(layout)), layout)


# -- bounded ---------------------------------------------------------------------------------------
@given(
    layout=layouts(),
    tied=st.booleans(),
    seed=st.integers(0, 1000),
    some=st.booleans(),
    scale=st.sampled_from([1e-9, 1.0, 1e9]),
)
@settings(max_examples=60)
def test_the_optimum_is_between_value_and_bound(layout, tied, seed, some, scale):
    pairs = banned_pairs(seed, layout.n_labels, some)
    structure = MarkovNetwork(tied, pairs, method="bounded")
    vertices, theta = listed(layout, tied, pairs), scores(structure, layout, seed, scale)
    if len(vertices) == 0:
        with pytest.raises(InfeasibleError):
            structure.maximize(theta, layout)
        return
    best, failure = enumeration.best(theta, vertices), ""
    try:
        z, bound = structure.oracle().maximize(theta, layout)
    except InfeasibleError as error:
        failure = str(error)
    if failure:  # a heuristic: where pairs are forbidden it may find nothing, and says so
        assert some
        assert "no labels that are allowed, and no proof" in failure
        return
    assert (np.abs(vertices - z).max(axis=1) == 0).any()
    assert enumeration.score(theta, z) <= best + 1e-12 * scale
    assert best <= bound + 1e-12 * scale


def called(structure, theta, layout, memory):
    """The compiled function as passes call it: what it writes, its value and its memory."""
    floats, ints = structure.oracle().scratch(layout)
    layout_ints = np.asarray(structure.oracle().layout_as_ints(layout), dtype=np.int64)
    out, work = np.zeros(len(theta)), np.full(floats, np.nan)
    work[: len(memory)] = memory
    value = structure.oracle().compiled_function("maximize")(
        theta, layout_ints, out, work, np.zeros(ints, dtype=np.int64)
    )
    return out, value, work[: len(memory)].copy()


def test_bounds_meet_the_relaxation_and_values_the_optimum_on_grids():
    """Loose by 2 % of what labels can differ at most; most grids are solved."""
    layout, tied = grid(4, 5, 3), False
    exact, bounded = (MarkovNetwork(tied, method=m) for m in ("exact", "bounded"))
    solved = 0
    for seed in range(10):
        theta = scores(exact, layout, seed)
        _, best = exact.oracle().maximize(theta, layout)
        z, bound = bounded.oracle().maximize(theta, layout)
        relaxed = linear.best_value(
            MarkovNetwork(tied, method="relaxed").constraints(layout), theta
        )
        assert theta @ z <= best + 1e-10 <= relaxed + 1e-6
        assert bound >= relaxed - 1e-6
        solved += bound - theta @ z <= 1e-6
    assert solved >= 5


def test_memory_makes_no_difference_but_to_the_speed():
    layout, structure = grid(5, 6, 4), MarkovNetwork(tied=False, method="bounded")
    theta = scores(structure, layout, 4)
    size = structure.oracle().memory_size(layout)
    exact = MarkovNetwork(tied=False, method="exact")
    _, best = exact.oracle().maximize(theta, layout)
    rng = np.random.default_rng(0)
    memories = [np.zeros(size), rng.standard_normal(size), 1e6 * rng.standard_normal(size)]
    memories += [np.full(size, bad) for bad in (np.nan, np.inf, -np.inf, 1e300)]
    for memory in memories:
        z, bound, kept = called(structure, theta, layout, memory)
        assert theta @ z <= best + 1e-10
        assert best <= bound + 1e-8
        again, after, _ = called(structure, theta, layout, kept)
        assert after <= bound + 1e-8
        assert theta @ again <= best + 1e-10


def test_the_same_call_gives_the_same_bits():
    layout, structure = grid(6, 6, 5), MarkovNetwork(method="bounded")
    theta = scores(structure, layout, 1)
    z, bound = structure.oracle().maximize(theta, layout)
    copy = pickle.loads(pickle.dumps(structure))
    again, after = copy.oracle().maximize(theta, pickle.loads(pickle.dumps(layout)))
    assert np.array_equal(z, again)
    assert bound == after


def test_what_cannot_be_allowed_is_told():
    """An odd ring whose neighbours must differ, with two labels: only enumeration can know."""
    layout, mask = ring(5, 2), np.eye(2, dtype=bool)
    theta = np.zeros(MarkovNetwork().n_parts(layout))
    with pytest.raises(InfeasibleError, match="no labels that are allowed, and no proof"):
        MarkovNetwork(forbidden_pairs=mask, method="bounded").maximize(theta, layout)
    with pytest.raises(InfeasibleError, match="every output is forbidden"):
        MarkovNetwork(forbidden_pairs=mask, method="exact").maximize(theta, layout)


def test_training_with_bounds_is_certified():
    made = {m: problems.tree(sizes=(3, 4, 4, 3), seed=18, method=m) for m in ("bounded", "exact")}
    found = {m: BCFW(max_epochs=20, tol=0.0).run(made[m].problem) for m in made}
    assert found["bounded"].exact
    assert found["bounded"].dual <= found["exact"].primal
    assert found["exact"].dual <= found["bounded"].primal
    assert made["exact"].training.primal(found["bounded"].w) <= found["bounded"].primal + 1e-12


# -- relaxed ---------------------------------------------------------------------------------------
def test_the_relaxation_may_give_half_labels():
    """Neighbours on a triangle want to differ; there are two labels, so one pair cannot."""
    layout, structure = complete(3, 2), MarkovNetwork(method="relaxed")
    assert structure.oracle().is_exact
    assert not structure.oracle().is_bounded
    assert not structure.oracle().has("vertices")
    theta = np.append(np.zeros(6), [0.0, 1.0, 1.0, 0.0])
    z = structure.maximize(theta, layout)
    assert theta @ z == pytest.approx(3.0)
    assert z[:6] == pytest.approx(np.full(6, 0.5))
    assert structure.integrality(z, layout) == 0.0
    whole = MarkovNetwork(method="exact").maximize(theta, layout)
    assert theta @ whole == 2.0
    assert structure.integrality(whole, layout) == 1.0
    assert structure.decode(z, layout).shape == (3,)
    assert np.count_nonzero(z) <= structure.vertex_size(layout)


def test_the_relaxation_of_a_tree_is_exact():
    layout = TreeLayout(Network(6, trees.random_edges(6, np.random.default_rng(0))), 3)
    theta = scores(Tree(), layout, 0)
    z = MarkovNetwork(method="relaxed").maximize(theta, layout)
    assert np.abs(z - Tree().maximize(theta, layout)).max() <= 1e-9


def test_projections_on_the_relaxation_are_nearest():
    layout, structure = complete(3, 2), MarkovNetwork(tied=False, method="relaxed")
    point = scores(structure, layout, 0)
    z = structure.project(point, layout)
    stated = structure.constraints(layout)
    assert linear.violation(stated, z) <= 1e-8
    residual = point - z
    assert linear.best_value(stated, residual) <= residual @ z + 1e-8


# -- bad input -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "options, message",
    [
        ({"method": "fast"}, "method='fast' must be 'auto' or 'exact' or 'bounded' or 'relaxed'"),
        ({"max_table": 0}, "max_table=0 must be an integer at least 1"),
        ({"max_rounds": 0, "method": "bounded"}, "max_rounds=0 must be an integer at least 1"),
        (
            {"tol": -1.0, "method": "bounded"},
            "tol=-1.0 must be a finite number at least 0 and at most 1",
        ),
        ({"forbidden_pairs": np.zeros((3, 3), dtype=bool)}, r"shape \(3, 3\), expected \(2, 2\)"),
    ],
)
def test_options_are_checked(options, message):
    structure, layout = MarkovNetwork(**options), ring(3, 2)
    with pytest.raises(ValueError, match=message):
        structure.maximize(np.zeros(10), layout)


def test_wrong_layouts_are_named():
    with pytest.raises(TypeError, match=r"must be a NetworkLayout\(network, number of labels\)"):
        MarkovNetwork().n_parts((3, 2))
