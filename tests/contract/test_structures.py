"""What every structure must do. A structure joins by a file in contract/cases.

A case lists its vertices by code of its own, so that the battery trusts nothing of the package.
Scores are multiples of 1/8 times a power of two: their sums are exact, so that ties are ties.
"""

import pickle
from functools import lru_cache
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import sparse
from sklearn.base import clone

from contract.cases import Case, check_cases, exported, found_list
from maxmargin import structures
from maxmargin.exceptions import InfeasibleError, MissingAbilityError
from maxmargin.structures import (
    Candidates,
    Chain,
    Finite,
    GraphCut,
    LinearProgram,
    MarkovNetwork,
    Matching,
    Multiclass,
    MultiLabel,
    Network,
    NetworkLayout,
    Potts,
    Program,
    Restricted,
    Structure,
    Tree,
    TreeLayout,
)
from reference import chains, cuts, enumeration, linear, matchings, trees
from reference.abilities import ability_of
from reference.user_structures import (
    Assignment,
    AtMostTwo,
    assignment_vertices,
    at_most_two_constraints,
    at_most_two_vertices,
    best_two,
)

TINY, HUGE = 2.0**-30, 2.0**30
#: projections take longer than the best output
fewer = settings(max_examples=settings().max_examples // 2)


def sequences(tied=True, **masks):
    return lambda layout: [
        chains.vertex(y, layout, tied) for y in chains.sequences(layout, **masks)
    ]


def chain_case(name, layouts, medium, tied=True, **masks):
    forbidden = {f"forbidden_{key}": np.array(mask) for key, mask in masks.items()}
    return Case(name, Chain(tied=tied, **forbidden), sequences(tied, **masks), layouts, medium)


def matching_case(name, layouts, medium, row_cap=1, column_cap=1, complete=False):
    def vertices(layout):
        plain = isinstance(layout, tuple)
        sides = layout if plain else layout.shape
        edges = matchings.pairs(sides) if plain or layout.edges is None else layout.edges
        rows, columns = [row_cap] * sides[0], [column_cap] * sides[1]
        if not plain:
            rows = rows if layout.row_caps is None else layout.row_caps
            columns = columns if layout.column_caps is None else layout.column_caps
        found = matchings.vertices(edges, rows, columns)
        return [z for z in found if not complete or sum(z) == min(sides)]

    return Case(name, Matching(row_cap, column_cap, complete), vertices, layouts, medium)


def tree_case(name, layouts, medium, tied=True, pairs=None):
    """Of `Tree`, or of a `MarkovNetwork` whose maxima are exact, as the shapes are."""

    def vertices(layout):
        edges, labels = layout.network.edges.tolist(), layout.n_labels
        found = trees.labelings(layout.n_nodes, edges, labels, layout.allowed, pairs)
        return [trees.vertex(y, edges, labels, tied) for y in found]

    mask = None if pairs is None else np.array(pairs, dtype=bool)
    structure = Tree(tied, mask)
    if not isinstance(layouts[0], TreeLayout):
        structure = MarkovNetwork(tied, mask, method="exact")
    return Case(name, structure, vertices, layouts, medium)


def drawn_tree(n_nodes, n_labels, seed=0, joined=1.0):
    edges = trees.random_edges(n_nodes, np.random.default_rng(seed), joined)
    return TreeLayout(Network(n_nodes, edges), n_labels)


def graph_cut_case(name, layouts, medium):
    """Scores of edges must not be positive; in their direction Z is larger than the hull."""

    def allowed(theta, network):
        return np.append(theta[: network.n_nodes], -np.abs(theta[network.n_nodes :]))

    def vertices(network):
        return cuts.binary_vertices(network.n_nodes, network.edges.tolist())

    return Case(name, GraphCut(), vertices, layouts, medium, allowed=allowed)


def multi_label_case(name, layouts, medium, method):
    def vertices(layout):
        labels = layout[0] if isinstance(layout, tuple) else layout.n_nodes
        pairs = (
            combinations(range(labels), 2) if isinstance(layout, tuple) else layout.edges.tolist()
        )
        pairs = list(pairs)
        for y in product([0.0, 1.0], repeat=labels):
            yield [*y, *(y[k] * y[m] for k, m in pairs)]

    return Case(name, MultiLabel(method), vertices, layouts, medium)


def some_edges(layout, step, seed=0):
    """Every step-th pair, in a random order."""
    edges = np.array(matchings.pairs(layout))[::step]
    return edges[np.random.default_rng(seed).permutation(len(edges))]


PAIRS = [(1, 1), (1, 3), (3, 1), (2, 2), (2, 3), (3, 3)]
SPARSE = [
    Candidates((1, 1), [(0, 0)]),
    Candidates((3, 2), [(2, 1), (0, 0), (2, 0), (0, 1)]),
    Candidates((4, 4), [(3, 0), (0, 3), (1, 1), (0, 0), (3, 3), (1, 0), (2, 1)]),
]
OWN_CAPS = [
    Candidates((2, 3), None, [2, 1], [1, 2, 0]),
    Candidates((3, 2), None, None, [2, 2]),
    Candidates(
        (3, 3), [(2, 2), (0, 0), (1, 0), (2, 0), (0, 1), (2, 1), (0, 2)], [2, 1, 3], [1, 2, 2]
    ),
]
CHAINS = [(1, 1), (1, 3), (2, 1), (2, 2), (3, 3), (4, 2), (2, 5)]
BANNED = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
NETWORKS = [
    Network(1, []),
    Network(3, []),
    Network(2, [(1, 0)]),
    Network(4, [(0, 1), (3, 2), (2, 0), (1, 2)]),
    Network(5, [(4, 0), (0, 2), (1, 3)]),
]
STAR = [(0, v) for v in range(1, 9)]
TREES = [
    TreeLayout(Network(1, []), 1),
    TreeLayout(Network(1, []), 3),
    TreeLayout(Network(2, [(1, 0)]), 3),
    TreeLayout(Network(3, [(1, 0), (1, 2)]), 2),
    TreeLayout(Network(4, [(3, 0), (1, 3), (3, 2)]), 2),
    TreeLayout(Network(3, [(0, 1), (1, 2)]), 3),
    TreeLayout(Network(4, [(2, 0), (1, 3)]), 2),  # a forest
    TreeLayout(Network(3, []), 2),
]
THREE = [drawn_tree(n, 3, n, joined=0.8) for n in (2, 3, 4)]
ALLOWED = [
    TreeLayout(Network(2, [(1, 0)]), 3, [[True, False, True], [False, True, False]]),
    TreeLayout(
        Network(4, [(0, 2), (1, 2), (3, 0)]),
        2,
        [[True, True], [True, False], [True, True], [False, True]],
    ),
]


def program_vertices(program):
    """All 0/1 vectors that satisfy the rows."""
    for bits in product((0.0, 1.0), repeat=program.n_parts):
        z = np.array(bits)
        sums = program.matrix @ z
        if (sums <= program.upper).all() and (sums >= program.lower).all():
            yield z


#: rows of intervals, so that all corners are of zeros and ones
PROGRAMS = [
    Program([[1.0]], 1.0),
    Program([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]], 1.0, part_upper=1.0),
    Program(np.ones((1, 4)), 3.0, 1.0, part_upper=1.0),
    Program([[1, 1, 1, 1], [1, 1, 0, 0]], [2, 1], equal=[0], part_upper=1),
]
#: the middle of the sides of a triangle is a corner of these rows, which is not an integer
TRIANGLE = Program([[1, 1, 0], [0, 1, 1], [1, 0, 1]], 1.0)
KNAPSACK = Program([[2.0, 3.0, 4.0, 5.0]], 7.5, part_upper=1.0)
LOOPS = [
    NetworkLayout(Network(1, []), 2),
    NetworkLayout(Network(3, [(0, 1), (2, 1), (2, 0)]), 2),
    NetworkLayout(Network(3, [(0, 1), (2, 1), (0, 2)]), 3),
    NetworkLayout(Network(4, [(0, 1), (1, 2), (3, 2), (0, 3)]), 2),
    NetworkLayout(Network(4, [(3, 1), (0, 1), (3, 0)]), 2, [[True, False]] + 3 * [[True, True]]),
]
GRID = NetworkLayout(Network(9, cuts.grid_edges(3, 3)), 3)
CASES = [
    tree_case("network", LOOPS[:4], [GRID]),
    tree_case("network-untied", LOOPS[2:], [GRID], tied=False),
    Case(
        "linear-program", LinearProgram(), program_vertices, PROGRAMS,
        [Program(sparse.diags_array([np.ones(12)] * 3, offsets=[0, 1, 2], shape=(10, 12)), 2.0,
                 part_upper=1.0)],
    ),
    Case(
        "integer-program", LinearProgram(integral=True), program_vertices, [TRIANGLE, KNAPSACK],
        [], lambda layout: layout.constraints,
    ),
    Case(
        "from-oracle", Structure.from_oracle(best_two), at_most_two_vertices, [(1,), (2,), (5,)],
        [(30,)], at_most_two_constraints,
    ),
    tree_case("tree", TREES, [drawn_tree(9, 4), drawn_tree(12, 3, 1, joined=0.7)]),
    tree_case("tree-untied", TREES, [drawn_tree(8, 4, 2)], tied=False),
    tree_case("tree-pairs", THREE, [drawn_tree(9, 3, 3)], pairs=BANNED),
    tree_case("tree-labels", ALLOWED, [drawn_tree(7, 3, 4)], tied=False),
    graph_cut_case("graph-cut", NETWORKS, [Network(30, cuts.grid_edges(5, 6))]),
    multi_label_case("multi-label", [(1,), (4,), *NETWORKS], [(7,), Network(9, STAR)], "exact"),
    multi_label_case("multi-label-bounded", [(4,), NETWORKS[-1]], [(6,)], "bounded"),
    chain_case("chain", CHAINS, [(8, 5), (5, 9)]),
    chain_case("chain-untied", CHAINS, [(8, 5)], tied=False),
    chain_case("chain-pairs", [(1, 3), (2, 3), (4, 3)], [(9, 3)], transitions=BANNED),
    chain_case("chain-ends", [(1, 3), (3, 3)], [(9, 3)], first=[1, 0, 0], last=[0, 1, 0]),
    chain_case(
        "chain-masks", [(2, 3), (3, 3)], [(7, 3)], tied=False, transitions=BANNED, last=[1, 0, 1]
    ),
    matching_case("matching", PAIRS, [(8, 5), (6, 7)]),
    matching_case("matching-sparse", SPARSE, [Candidates((9, 8), some_edges((9, 8), 3))]),
    matching_case("matching-complete", PAIRS, [(8, 5), (6, 7)], complete=True),
    matching_case("matching-caps-2-1", PAIRS, [(8, 5)], 2, 1),
    matching_case("matching-caps-2-2", PAIRS, [(7, 6)], 2, 2),
    matching_case(
        "matching-own-caps", OWN_CAPS,
        [Candidates((8, 7), some_edges((8, 7), 2), np.arange(8) % 4, 1 + np.arange(7) % 3)],
        2, 2,
    ),
    Case("finite", Finite(), lambda layout: np.eye(*layout), [(1,), (2,), (5,)], [(60,)]),
    Case("multiclass", Multiclass(), lambda layout: np.eye(*layout), [(1,), (3,)], [(40,)]),
    Case(
        "only-maximize", AtMostTwo(), at_most_two_vertices, [(1,), (2,), (5,)], [(30,)],
        at_most_two_constraints,
    ),
    Case("only-constraints", Assignment(), assignment_vertices, [(1,), (2,), (3,)], [(6,)]),
    *found_list("STRUCTURES"),
]  # fmt: skip
#: what the battery asks does not hold for them; they have tests of their own
ELSEWHERE = [Potts, Restricted]


def test_no_structure_is_missing():
    known = [*(type(case.structure) for case in CASES), *ELSEWHERE]
    check_cases(exported(structures, Structure), known, "STRUCTURES")


def having(*abilities):
    """Every case that has the abilities; those that have none are not tested."""
    found = [case for case in CASES if all(case.structure.oracle().has(a) for a in abilities)]
    return pytest.mark.parametrize("case", found, ids=lambda case: case.name)


@lru_cache  # hypothesis looks at each new strategy again
def vectors(n, forbid=True, scales=(TINY, 1.0, HUGE)):
    """n scores with a common scale, many of them equal, a few perhaps forbidden."""
    one = st.integers(-64, 64) | st.sampled_from([0, 0, 8, -8])
    plain = st.builds(
        lambda values, scale: np.array(values, dtype=float) / 8 * scale,
        st.lists(one, min_size=n, max_size=n),
        st.sampled_from(scales),
    )
    banned = st.sets(st.integers(0, n - 1), max_size=max(1, n // 4)) if forbid else st.just(set())
    return st.builds(without, plain, banned)


def without(theta, banned):
    theta = theta.copy()
    theta[list(banned)] = -np.inf
    return theta


def draw(data, case, forbid=True, **options):
    """A tiny shape, its vertices, and scores by which at least one of them is allowed."""
    layout = data.draw(st.sampled_from(case.layouts), label="layout")
    theta = data.draw(vectors(case.structure.n_parts(layout), forbid, **options), label="theta")
    theta = case.allowed(theta, layout)
    vertices = case.listed(layout)
    if enumeration.best(theta, vertices) == -np.inf:
        theta = np.where(np.isneginf(theta), 0.0, theta)
    return layout, theta, vertices


def size_of(theta):
    finite = theta[np.isfinite(theta)]
    return np.abs(finite).max(initial=0.0)


def normal(case, layout, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    return case.allowed(scale * rng.standard_normal(case.structure.n_parts(layout)), layout)


def is_among(z, vertices):
    return (np.abs(vertices - z).max(axis=1) == 0).any()


# -- vertices, constraints, labels -----------------------------------------------------------------


@having("vertices")
def test_vertices_are_all_outputs_once(case):
    for layout in case.layouts:
        found = sorted(map(tuple, case.structure.vertices(layout)))
        assert found == sorted(map(tuple, case.listed(layout)))


@having("constraints")
def test_vertices_satisfy_constraints(case):
    for layout in case.layouts:
        assert linear.violations(case.stated(layout), case.listed(layout)).max() <= 1e-9


@having("constraints")
def test_constraints_allow_no_more_than_the_hull(case):
    for layout in case.layouts:
        vertices = case.listed(layout)
        for seed in range(5):
            theta = normal(case, layout, seed)
            value = linear.best_value(case.stated(layout), theta)
            assert value == pytest.approx(enumeration.best(theta, vertices), abs=1e-9)


@having("constraints")
def test_constraints_refuse_points_outside(case):
    for layout in case.layouts:
        vertices = case.listed(layout)
        centre = vertices.mean(axis=0)
        for vertex in vertices[:5]:
            beyond = vertex + 0.1 * (vertex - centre)
            outside = linear.violation(case.stated(layout), beyond)
            assert outside > 1e-3 or len(vertices) == 1


@having("maximize")
def test_sizes_are_bounds(case):
    for layout in case.layouts:
        vertices = case.listed(layout)
        assert vertices.shape[1] == case.structure.n_parts(layout)
        assert (vertices != 0).sum(axis=1).max() <= case.structure.vertex_size(layout)
        apart = [np.linalg.norm(a - b) for a, b in combinations(vertices, 2)]
        assert max(apart, default=0.0) <= case.structure.radius(layout) + 1e-12
        count, labels = case.structure.variables(layout)
        assert count * labels <= case.structure.n_parts(layout)
        if labels > 1:
            ones = vertices[:, : count * labels].reshape(len(vertices), count, labels)
            assert (ones.sum(axis=2) == 1).all()


@having("maximize")
def test_forbidden_parts_are_in_no_vertex(case):
    for layout in case.layouts:
        assert not case.listed(layout)[:, case.structure.forbidden(layout)].any()


@having("maximize")
def test_decode_undoes_encode(case):
    for layout in case.layouts:
        for vertex in case.listed(layout):
            y = case.structure.decode(vertex, layout)
            again = case.structure.encode(y, layout)
            assert np.array_equal(again, vertex)
            assert np.array_equal(case.structure.decode(again, layout), y)


@having("maximize")
def test_clones_and_pickles_work_alike(case):
    layout = case.layouts[-1]
    theta = normal(case, layout)
    expected = case.structure.maximize(theta, layout)
    for copy in (clone(case.structure), pickle.loads(pickle.dumps(case.structure))):
        assert np.array_equal(copy.maximize(theta, layout), expected)


# -- maximize --------------------------------------------------------------------------------------


@having("maximize")
@given(data=st.data())
def test_maximize_is_the_best_vertex(case, data):
    layout, theta, vertices = draw(data, case)
    given_theta = theta.copy()
    z = case.structure.maximize(theta, layout)
    assert np.array_equal(theta, given_theta)
    assert z.dtype == np.float64
    assert is_among(z, vertices)
    # The linear program's own tolerance is 1e-7 of the largest score.
    compiled = case.structure.oracle().compiled_function("maximize") is not None
    slack = 0.0 if compiled else 1e-7 * size_of(theta)
    assert enumeration.score(theta, z) >= enumeration.best(theta, vertices) - slack


@having("maximize")
def test_maximize_reaches_the_linear_program_on_medium_layouts(case):
    for layout in case.medium:
        for seed in range(3):
            for scale in (1e-9, 1.0, 1e9):
                theta = normal(case, layout, seed, scale)
                z = case.structure.maximize(theta, layout)
                value = linear.best_value(case.stated(layout), theta)
                assert theta @ z == pytest.approx(value, rel=1e-8)
                assert linear.violation(case.stated(layout), z) <= 1e-9
                assert np.array_equal(z, np.rint(z))


@having("maximize")
def test_maximize_avoids_forbidden_parts_on_medium_layouts(case):
    for layout in case.medium:
        theta = normal(case, layout)
        for step in range(12):
            z = case.structure.maximize(theta, layout)
            on = np.flatnonzero(z)
            if len(on) == 0:  # the output without parts is the best that is left
                break
            theta[on[7 * step % len(on)]] = -np.inf
            value = linear.best_value(case.stated(layout), theta)
            if value == -np.inf:
                with pytest.raises(InfeasibleError):
                    case.structure.maximize(theta, layout)
                break
            again = case.structure.maximize(theta, layout)
            assert enumeration.score(theta, again) == pytest.approx(value, rel=1e-8)


@having("maximize")
@pytest.mark.parametrize("value", [0.0, 1.0, -1.0, 1e-9, 1e9])
def test_equal_scores_give_a_vertex(case, value):
    for layout in case.layouts:
        theta = case.allowed(np.full(case.structure.n_parts(layout), value), layout)
        vertices = case.listed(layout)
        z = case.structure.maximize(theta, layout)
        assert is_among(z, vertices)
        assert theta @ z == pytest.approx(enumeration.best(theta, vertices), rel=1e-14)


@having("maximize")
@pytest.mark.parametrize("size", [2.0**14, 2.0**27])
def test_a_large_score_hides_no_small_ones(case, size):
    rng = np.random.default_rng(0)
    for layout in case.layouts:
        vertices, n = case.listed(layout), case.structure.n_parts(layout)
        for sign in (-1.0, 1.0):
            theta = rng.integers(-64, 65, size=n) / 8.0
            theta[rng.integers(n)] = sign * size
            theta = case.allowed(theta, layout)
            z, bound = case.structure.oracle().maximize(theta, layout)
            best = enumeration.best(theta, vertices)
            assert theta @ z == pytest.approx(best, rel=0, abs=1e-6)
            assert bound == pytest.approx(best, rel=0, abs=1e-6)


@having("maximize")
def test_scores_of_any_layout_are_taken(case):
    layout = case.layouts[-1]
    theta = np.round(4 * normal(case, layout))
    expected = case.structure.maximize(theta, layout)
    wide = np.repeat(theta, 2)[::2]
    assert not wide.flags.c_contiguous or len(wide) == 1
    assert np.array_equal(case.structure.maximize(wide, layout), expected)
    assert np.array_equal(case.structure.maximize(theta.astype(np.int64), layout), expected)


# -- refusals --------------------------------------------------------------------------------------


def impossible(case, layout):
    """Scores by which every output is forbidden, if an output always has a part."""
    return np.full(case.structure.n_parts(layout), -np.inf)


@pytest.mark.parametrize(
    "ability", ["maximize", "project", "marginals", "log_partition", "max_marginals"]
)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_everything_forbidden_is_infeasible(case, ability):
    needed = "marginals" if ability == "log_partition" else ability
    for layout in case.layouts:
        theta = impossible(case, layout)
        call = ability_of(case.structure, ability)
        if not case.structure.oracle().has(needed):
            with pytest.raises(MissingAbilityError, match=f"has no `({ability}|{needed})`"):
                call(theta, layout)
        elif enumeration.best(theta, case.listed(layout)) == -np.inf:
            with pytest.raises(InfeasibleError):
                call(theta, layout)
        elif ability == "max_marginals":  # none of the labels can be on
            count = case.structure.variables(layout)[0]
            assert np.array_equal(call(theta, layout)[:count], np.full(count, -np.inf))
        else:  # the output without parts remains
            assert not np.any(call(theta, layout))


@having("project")
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_scores_that_are_no_scores_are_refused(case, value):
    layout = case.layouts[-1]
    theta = normal(case, layout)
    theta[0] = value
    for ability in ("maximize", "project", "marginals", "log_partition", "max_marginals"):
        own = type(case.structure).__module__.startswith("reference") and ability == "maximize"
        if case.structure.oracle().has(ability) and not own:
            with pytest.raises(ValueError, match="finite or -inf"):
                ability_of(case.structure, ability)(theta, layout)


@having("project")
def test_wrong_number_of_scores_is_refused(case):
    layout = case.layouts[-1]
    n = case.structure.n_parts(layout)
    with pytest.raises(ValueError, match=f"{n + 1} scores given, but layout .* has {n} parts"):
        case.structure.project(np.zeros(n + 1), layout)


# -- project ---------------------------------------------------------------------------------------


def ahead(case, layout, point, z):
    """max_s (point - z) . (s - z): how much a step to a vertex would still gain."""
    residual = np.where(np.isneginf(point), -np.inf, point - z)
    s = case.structure.maximize(residual, layout)
    finite = np.isfinite(residual)
    return float(residual[finite] @ (s - z)[finite])


@having("project")
@given(data=st.data())
@fewer
def test_project_is_the_nearest_point(case, data):
    layout, point, vertices = draw(data, case, scales=(TINY, 1.0))
    z = case.structure.project(point, layout)
    assert np.abs(z - enumeration.nearest_in_hull(point, vertices)).max() <= 1e-8
    assert not z[np.isneginf(point)].any()


@having("project")
def test_project_takes_huge_points_to_their_vertex(case):
    for layout in case.layouts:
        for vertex in case.listed(layout)[:5]:
            point = 1e9 * (2 * vertex - vertex.max()) + normal(case, layout)
            point = case.allowed(point, layout)
            z = case.structure.project(point, layout)
            values = enumeration.scores(point, case.listed(layout))
            if len(values) == 1 or np.diff(np.sort(values))[-1] > 1e3:
                assert np.abs(z - case.listed(layout)[values.argmax()]).max() <= 1e-6
            assert ahead(case, layout, point, z) <= 1e-5


COMPILED = [case for case in CASES if "maximize" in case.structure.oracle().compiled]


# Not by linear programs: a difference of 1 between scores of 1e9 is below their tolerance.
@pytest.mark.parametrize("case", COMPILED, ids=lambda case: case.name)
@given(data=st.data())
@fewer
def test_project_does_not_mind_a_huge_shift_of_all_labels_of_a_variable(case, data):
    layout, point, vertices = draw(data, case, forbid=False, scales=(1.0,))
    count, labels = case.structure.variables(layout)
    if labels > 1:
        shifted = point.copy()
        shifted[: count * labels] += HUGE  # exact, and orthogonal to the polytope
        z = case.structure.project(shifted, layout)
        assert np.abs(z - enumeration.nearest_in_hull(point, vertices)).max() <= 1e-5


@having("project")
@given(data=st.data())
@fewer
def test_projection_of_a_projection_is_itself(case, data):
    layout, point, _ = draw(data, case, forbid=False, scales=(1.0,))
    z = case.structure.project(point, layout)
    assert np.abs(case.structure.project(z, layout) - z).max() <= 1e-7


@having("project")
def test_project_keeps_vertices(case):
    for layout in case.layouts:
        for vertex in case.listed(layout)[:10]:
            assert np.abs(case.structure.project(vertex, layout) - vertex).max() <= 1e-12


@having("project")
@pytest.mark.parametrize("scale", [1e-9, 0.3, 3.0])
def test_project_satisfies_the_variational_inequality_on_medium_layouts(case, scale):
    for layout in case.medium:
        point = normal(case, layout, scale=scale)
        z = case.structure.project(point, layout)
        assert linear.violation(case.stated(layout), z) <= 1e-9
        assert ahead(case, layout, point, z) <= 1e-9
        assert np.abs(case.structure.project(z, layout) - z).max() <= 1e-6


# -- marginals
# ------------------------------------------------------------------------------------------


def tolerance(theta):
    """Rounding of scores that large, a few times over."""
    return 1e-13 + 100 * np.finfo(float).eps * size_of(theta)


EXPECTING = [c for c in CASES if c.structure.oracle().has_expectations]


@pytest.mark.parametrize("case", EXPECTING, ids=lambda case: case.name)
@given(data=st.data())
def test_marginals_is_the_expectation(case, data):
    layout, theta, vertices = draw(data, case)
    z = case.structure.marginals(theta, layout)
    assert np.abs(z - enumeration.expectation(theta, vertices)).max() <= tolerance(theta)
    expected = enumeration.log_partition(theta, vertices)
    assert abs(case.structure.log_partition(theta, layout) - expected) <= tolerance(theta)


@having("marginals")
def test_marginals_is_the_gradient_of_the_log_partition(case):
    step = 1e-5
    for layout in [*case.layouts, *case.medium]:
        theta = normal(case, layout)
        z = case.structure.marginals(theta, layout)
        for seed in range(3):
            way = normal(case, layout, 10 + seed)
            up = case.structure.log_partition(theta + step * way, layout)
            down = case.structure.log_partition(theta - step * way, layout)
            assert (up - down) / (2 * step) == pytest.approx(z @ way, rel=1e-6, abs=1e-7)


@having("marginals", "constraints")
def test_marginals_stays_in_the_polytope_on_medium_layouts(case):
    for layout in case.medium:
        for scale in (1e-9, 1.0, 30.0, 1e9):
            z = case.structure.marginals(normal(case, layout, scale=scale), layout)
            assert linear.violation(case.stated(layout), z) <= 1e-9
        theta = normal(case, layout)
        whole = np.random.default_rng(0).integers(-1, 2, size=len(theta))
        for much in (1e9 / 3, 1e9 / 3 * whole):  # many outputs that nearly tie, by rounded scores
            z = case.structure.marginals(theta + much, layout)
            assert linear.violation(case.stated(layout), z) <= 1e-9


@having("marginals")
def test_marginals_of_sharp_scores_is_the_best_vertex(case):
    for layout in [*case.layouts, *case.medium]:
        theta = normal(case, layout, scale=1e9)
        best = case.structure.maximize(theta, layout)
        assert np.abs(case.structure.marginals(theta, layout) - best).max() <= 1e-12
        value = case.structure.log_partition(theta, layout)
        assert value == pytest.approx(theta @ best, rel=1e-12)


# -- max-marginals ---------------------------------------------------------------------------------


@having("max_marginals")
@given(data=st.data())
def test_max_marginals_are_the_best_scores_with_each_part(case, data):
    layout, theta, vertices = draw(data, case)
    found = case.structure.oracle().max_marginals(theta, layout)
    count, labels = case.structure.variables(layout)
    n = count * labels
    assert np.array_equal(found[:n], enumeration.max_marginals(theta, vertices, n))
    assert not found[n:].any()


# -- the signature of compiled functions
# --------------------------------------------------------------------


@having("maximize")
def test_compiled_functions_need_no_more_room_than_they_ask_for(case):
    """Work space with a fence behind it, full of NaN: nothing is read before it is written."""
    for ability in filter(case.structure.oracle().has, case.structure.oracle().compiled):
        function = case.structure.oracle().compiled_function(ability)
        for layout in [*case.layouts, *case.medium]:
            floats, ints = case.structure.oracle().scratch(layout)
            n = case.structure.n_parts(layout)
            theta = normal(case, layout)
            theta[case.structure.forbidden(layout)] = -np.inf
            room, iroom = np.full(floats + 64, np.nan), np.full(ints + 64, -7)
            out = np.full(n, np.nan)
            layout_ints = np.array(case.structure.oracle().layout_as_ints(layout), dtype=np.int64)
            value = function(theta, layout_ints, out, room[:floats], iroom[:ints])
            assert np.isfinite(value)
            assert np.isnan(room[floats:]).all()
            assert (iroom[ints:] == -7).all()
            assert np.array_equal(out, ability_of(case.structure, ability)(theta, layout))
