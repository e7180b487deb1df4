"""Matchings of any graph: as good as those of networkx, at any size and scale."""

from itertools import product
from math import fsum

import networkx
import numpy as np
import pytest
from scipy.optimize import linprog

from maxmargin import GeneralMatchingSVM, Graph, Restriction, StructuredSVM
from maxmargin.exceptions import InfeasibleError, MissingAbilityError, SampleError
from maxmargin.result import Status
from maxmargin.structures import (
    Constraints,
    GeneralMatching,
    NestedPairs,
    Network,
    Restricted,
    RestrictedLayout,
)


def draw(rng, most):
    """A graph and scores of one of five kinds: integers, ties and signs among them."""
    n = int(rng.integers(2, most + 1))
    pairs = np.transpose(np.triu_indices(n, 1))
    edges = pairs[rng.random(len(pairs)) < rng.choice([0.2, 0.5, 1.0])]
    theta = [
        rng.integers(1, 10, len(edges)).astype(float),
        rng.integers(-3, 4, len(edges)).astype(float),
        rng.normal(size=len(edges)),
        rng.random(len(edges)),
        rng.normal(size=len(edges)) * 10.0 ** rng.integers(-3, 3, len(edges)),
    ][rng.integers(5)]
    return n, edges, theta


def check_drawn(rng, most, perfect):
    n, edges, theta = draw(rng, most)
    graph = networkx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_weighted_edges_from(
        (int(a), int(b), float(t)) for (a, b), t in zip(edges, theta, strict=True)
    )
    known = networkx.max_weight_matching(graph, maxcardinality=perfect)
    structure = GeneralMatching(perfect)
    if perfect and 2 * len(known) < n:
        with pytest.raises(InfeasibleError):
            structure.maximize(theta, (n, edges))
        return
    z = structure.maximize(theta, (n, edges))
    best = sum(graph[a][b]["weight"] for a, b in known)
    assert theta @ z == pytest.approx(best, rel=1e-12, abs=1e-12)
    used = np.bincount(edges[z > 0].ravel(), minlength=n)
    assert used.max(initial=0) <= 1
    assert not perfect or used.min() == 1


@pytest.mark.parametrize("perfect", [False, True])
def test_matchings_are_as_good_as_those_of_networkx(perfect):
    rng = np.random.default_rng(7)
    for most, count in ((8, 150), (20, 60), (40, 15)):
        for _ in range(count):
            check_drawn(rng, most, perfect)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
def test_twenty_thousand_matchings_are_as_good(seed):
    rng = np.random.default_rng(seed)
    for k in range(1000):
        check_drawn(rng, 40, k % 2 == 0)


def find_odd_set(n, edges, z):
    """The odd set of nodes whose constraint is violated most, or None (Padberg and Rao 1982).

    Its edges and those to a further node, which take what is left of each node, are a cut below 1.
    """
    graph = networkx.Graph()
    graph.add_weighted_edges_from(zip(*edges.T.tolist(), z.tolist(), strict=True), "capacity")
    left = 1.0 - np.bincount(edges.ravel(), np.repeat(z, 2), n)
    graph.add_weighted_edges_from(((v, n, max(left[v], 0.0)) for v in range(n)), "capacity")
    tree = networkx.gomory_hu_tree(graph)
    found = None, 1.0 - 1e-7
    for a, b, cut in list(tree.edges(data="weight")):
        tree.remove_edge(a, b)
        side = networkx.node_connected_component(tree, a)
        side = set(range(n + 1)) - side if n in side else side
        if len(side) % 2 == 1 and cut < found[1]:
            found = sorted(side), cut
        tree.add_edge(a, b, weight=cut)
    return found[0]


def solve_with_cuts(n, edges, theta):
    """The largest score over degrees and odd sets, which are added as they are violated."""
    rows = [(edges == v).any(axis=1).astype(float) for v in range(n)]
    upper = [1.0] * n
    while True:
        found = linprog(-theta, A_ub=np.array(rows), b_ub=upper, bounds=(0, None))
        odd = find_odd_set(n, edges, found.x)
        more = GeneralMatching().oracle().separate((n, edges), found.x)
        assert (more.matrix @ found.x > more.upper).all()
        assert (odd is None) == (len(more.upper) == 0)
        if odd is None:
            return -found.fun, len(rows) - n
        rows.append(np.isin(edges, odd).all(axis=1).astype(float))
        upper.append((len(odd) - 1) / 2)


def test_matchings_are_as_good_as_linear_programs_with_odd_sets():
    rng, cuts = np.random.default_rng(2), 0
    for _ in range(12):
        n = int(rng.integers(6, 20))
        edges = np.transpose(np.triu_indices(n, 1))
        edges = edges[rng.random(len(edges)) < 0.5]
        theta = rng.integers(1, 6, len(edges)).astype(float)
        value, own = solve_with_cuts(n, edges, theta)
        cuts += own
        assert GeneralMatching().oracle().maximize(theta, (n, edges))[1] == pytest.approx(value)
    assert cuts > 0


@pytest.mark.parametrize("perfect", [False, True])
@pytest.mark.parametrize("n", [10, 14, 20])
def test_the_optimum_of_the_reference_is_that_of_bcfw(n, perfect):
    """Odd sets are added as they are violated, also where they are too many to list."""
    rng, structure = np.random.default_rng(n), GeneralMatching(perfect)
    X, y, edges = [], [], np.transpose(np.triu_indices(n, 1))
    for _ in range(6):
        own = edges[rng.random(len(edges)) < 0.6]
        x = rng.normal(size=(len(own), 3))
        z = structure.maximize(x @ [2, -1, 1] + 2 * rng.normal(size=len(own)), (n, own))
        X.append(Graph(np.zeros((n, 1)), own, x))
        y.append(own[z > 0])
    best, proven = (
        GeneralMatchingSVM(perfect=perfect, solver=solver, tol=1e-5, max_epochs=2000).fit(X, y)
        for solver in ("qp", "bcfw")
    )
    assert best.result_.relative_gap < 1e-8
    assert proven.result_.status is Status.CONVERGED
    assert proven.result_.dual - 1e-9 <= best.result_.primal <= proven.result_.primal + 1e-9


def restricted_samples(n, layout, count=4):
    rng, structure, truths = np.random.default_rng(n), Restricted(GeneralMatching()), []
    X = [(x, layout) for x in rng.normal(size=(count, structure.n_parts(layout), 2))]
    for x, _ in X:
        z = structure.maximize(x @ [1.0, -1.0] + rng.normal(size=len(x)), layout)
        truths.append(structure.decode(z, layout))
    return X, truths


@pytest.mark.parametrize("n", [6, 18])  # more nodes than constraints are listed for
def test_the_reference_of_restricted_matchings_separates_odd_sets(n, monkeypatch):
    monkeypatch.setattr("maxmargin.structures.general_matching.MOST_NODES", 5)
    edges = np.transpose(np.triu_indices(n, 1))
    layout = RestrictedLayout(Network(n, edges), on=[n], off=[0, 3])
    X, y = restricted_samples(n, layout)
    best, proven = (
        StructuredSVM(Restricted(GeneralMatching()), alpha=1.0, solver=solver, tol=1e-4).fit(X, y)
        for solver in ("qp", "bcfw")
    )
    assert best.result_.status is Status.CONVERGED
    assert best.result_.relative_gap < 1e-8
    assert best.result_.primal == pytest.approx(proven.result_.primal, rel=1e-4)


def test_the_reference_of_matchings_with_rules_says_that_it_is_a_relaxation(monkeypatch):
    edges = np.transpose(np.triu_indices(6, 1))
    layout = RestrictedLayout(Network(6, edges), matrix=(edges == 0).any(axis=1) * 2 + 1, upper=4)
    X, y = restricted_samples(6, layout)
    model = StructuredSVM(Restricted(GeneralMatching()), alpha=0.1, solver="qp")
    exact = model.fit(X, y).result_
    assert exact.status is Status.CONVERGED
    monkeypatch.setattr("maxmargin.solvers.qp.polytopes.MOST_VERTICES", 3)
    result = model.fit(X, y).result_
    assert result.status is Status.STOPPED
    assert "the optimum of a relaxation" in result.message
    assert result.dual <= exact.primal + 1e-9


def test_large_scores_of_no_use_cost_no_digits():
    rng, structure, of_no_use = np.random.default_rng(4), GeneralMatching(perfect=True), 0
    for k in range(600):
        n = int(rng.choice([4, 6, 8]))
        edges = np.transpose(np.triu_indices(n, 1))
        edges = edges[rng.random(len(edges)) < rng.choice([0.4, 0.6, 0.9])]
        theta, large = rng.normal(size=len(edges)), rng.random(len(edges)) < 0.2
        theta[large] *= rng.choice([1e12, 1e15], large.sum())
        theta[large] *= np.sign(theta[large]) if k % 2 else 1.0
        outputs = list(structure.vertices((n, edges)))
        if outputs:
            best = outputs[int(np.argmax([fsum(theta[z > 0]) for z in outputs]))] > 0
            found = structure.maximize(theta, (n, edges)) > 0
            used = max(np.abs(theta[best]).max(), np.abs(theta[found]).max())
            assert fsum(theta[best]) - fsum(theta[found]) <= 1e-11 * used
            of_no_use += bool(large.any()) and used < 100
    assert of_no_use > 30


def call_compiled(structure, layout, theta, memory):
    """The best matching and its score, from prices that are known."""
    oracle, out = structure.oracle(), np.zeros(len(theta))
    iwork = np.zeros(oracle.scratch(layout)[1], dtype=np.int64)
    code = oracle.layout_as_ints(layout)
    value = oracle.compiled_function("maximize")(theta, code, out, memory, iwork)
    return out, value


@pytest.mark.parametrize("perfect", [False, True])
def test_prices_of_another_call_change_no_score(perfect):
    rng, structure = np.random.default_rng(11), GeneralMatching(perfect)
    for k in range(120):
        n, edges, theta = draw(rng, 24)
        if not len(edges):
            continue
        layout, memory = Network(n, edges), np.zeros(n)
        assert structure.oracle().memory_size(layout) == n == structure.oracle().scratch(layout)[0]
        for step in range(4):
            if step == 3:  # what no call leaves
                kinds = [np.nan, np.inf, 1e300, -1e300, *rng.normal(size=9) * np.abs(theta).max()]
                memory[:] = rng.choice(kinds[k % 4 :], n)
            theta = theta + rng.choice([0.0, 0.01, 1.0]) * rng.integers(-2, 3, len(edges))
            known = call_compiled(structure, layout, theta, np.zeros(n))[1]
            z, value = call_compiled(structure, layout, theta, memory)
            assert value == pytest.approx(known, rel=1e-12, abs=1e-12)
            assert np.bincount(edges[z > 0].ravel(), minlength=n).max() <= 1
            assert np.isfinite(memory).all()


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e9, 1e300])
def test_scores_of_any_scale(scale):
    rng = np.random.default_rng(0)
    layout = Network(9, np.transpose(np.triu_indices(9, 1)))
    theta = rng.normal(size=36)
    structure = GeneralMatching()
    np.testing.assert_array_equal(
        structure.maximize(scale * theta, layout), structure.maximize(theta, layout)
    )


@pytest.mark.parametrize("perfect", [False, True])
@pytest.mark.parametrize("low", [-1e9, -1e20, -1e300])
def test_scores_far_below_zero_cost_no_digits(perfect, low):
    rng, layout = np.random.default_rng(1), (8, np.transpose(np.triu_indices(8, 1)))
    structure = GeneralMatching(perfect)
    for _ in range(20):
        theta = rng.normal(size=28)
        theta[rng.choice(28, 5, replace=False)] = low
        forbidden = np.where(theta == low, -np.inf, theta)
        np.testing.assert_array_equal(
            structure.maximize(theta, layout), structure.maximize(forbidden, layout)
        )


def test_perfect_matchings_that_need_low_scores_have_them():
    layout = (4, [(0, 1), (2, 3), (0, 2), (1, 3)])
    theta = np.array([1.0, -1e20, 1.0, -2e20])
    assert GeneralMatching(True).maximize(theta, layout).tolist() == [1, 1, 0, 0]
    assert GeneralMatching(True).maximize(np.array([0.0, 0, -2, -1]), layout).sum() == 2
    assert GeneralMatching(True).maximize(np.full(4, 1.7e308), layout).sum() == 2  # no float


def test_forbidden_pairs_are_left_out():
    layout = (4, [(0, 1), (2, 3), (0, 2), (1, 3)])
    theta = np.array([5.0, -np.inf, 1.0, 1.0])
    assert GeneralMatching().maximize(theta, layout).tolist() == [1, 0, 0, 0]
    assert GeneralMatching(perfect=True).maximize(theta, layout).tolist() == [0, 0, 1, 1]


def test_graphs_without_a_perfect_matching_are_refused():
    structure = GeneralMatching(perfect=True)
    with pytest.raises(InfeasibleError):
        structure.maximize(np.ones(3), (4, [(0, 1), (0, 2), (0, 3)]))
    model = GeneralMatchingSVM(perfect=True).fit([np.ones((2, 2, 1))], [[(0, 1)]])
    with pytest.raises(SampleError, match=r"sample 1: x has 3 nodes that need 3 partners, an odd"):
        model.predict([np.ones((4, 4, 1)), np.ones((3, 3, 1))])
    with pytest.raises(
        SampleError, match=r"sample 0: .*node 2 has 0 partners, and perfect=True asks for 1"
    ):
        model.fit([np.ones((4, 4, 1))], [[(0, 1)]])
    star = Graph(np.zeros((4, 1)), [(0, 1), (0, 2), (0, 3)], np.ones((3, 1)))
    with pytest.raises(
        InfeasibleError, match="sample 1: the graph has no perfect matching .* say perfect=False"
    ):
        model.predict([np.ones((4, 4, 1)), star])


def above(x):
    """Features of the pairs j < k, zeros for the others."""
    return x * np.triu(np.ones(x.shape[-3:-1]), 1)[..., None]


@pytest.mark.parametrize("wrong", [0.5, np.nan, 0.0])
def test_features_that_depend_on_the_order_of_a_pair_are_refused(wrong):
    x = np.random.default_rng(0).normal(size=(6, 4, 4, 2))
    x, y = x + x.transpose(0, 2, 1, 3), [[(0, 1), (2, 3)]] * 6
    rounded = 1e-12 * above(x).transpose(0, 2, 1, 3)
    both, one = (GeneralMatchingSVM().fit(own, y) for own in (x + rounded, above(x)))
    np.testing.assert_array_equal(both.coef_, one.coef_)
    x[2, 3, 1, 1] = wrong
    with pytest.raises(SampleError, match=r"sample 2: x\[1, 3, 1\] is .*, but x\[3, 1, 1\] is"):
        GeneralMatchingSVM().fit(x, y)
    below = above(x).transpose(0, 2, 1, 3)
    with pytest.raises(SampleError, match=r"sample 0: x\[0, 1, 0\] is 0, but x\[1, 0, 0\]"):
        GeneralMatchingSVM().fit(below, y)
    upper = above(np.nan_to_num(x))
    upper[4, 3, 1, 0] = 2.0
    with pytest.raises(SampleError, match=r"sample 4: x\[1, 3, 0\] is .*, but x\[3, 1, 0\] is 2"):
        GeneralMatchingSVM().fit(upper, y)


@pytest.mark.parametrize("perfect", [False, True])
def test_pairs_that_are_known_or_forbidden(perfect):
    rng = np.random.default_rng(6)
    X, y = list(above(rng.normal(size=(6, 6, 6, 2)))), [[(0, 1), (2, 3), (4, 5)]] * 6
    model, structure = GeneralMatchingSVM(perfect=perfect).fit(X, y), GeneralMatching(perfect)
    edges = np.transpose(np.triu_indices(6, 1))
    theta = np.column_stack([X[0][tuple(edges.T)], np.ones(15)]) @ model.coef_
    restriction = Restriction(known=[(3, 0)], forbidden=[(1, 2)])
    found = model.predict_restricted(X[:1], [restriction])[0]
    z = structure.encode(found, (6, edges))
    allowed = [v for v in structure.vertices((6, edges)) if v[2] == 1 and v[5] == 0]
    assert z[2] == 1
    assert z[5] == 0
    assert theta @ z == pytest.approx(max(theta @ v for v in allowed))
    with pytest.raises(
        InfeasibleError, match="sample 0: .*node 0 has 2 partners, at most cap=1 allowed"
    ):
        model.predict_restricted(X[:1], [Restriction(known=[(0, 1), (0, 2)])])
    with pytest.raises(InfeasibleError, match=r"sample 0: link \(0, 3\) is known, and forbidden"):
        model.predict_restricted(X[:1], [Restriction(known=[(0, 3)], forbidden=[(3, 0)])])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([(0, 1), (1, 2)], "node 1 has 2 partners, at most cap=1 allowed"),
        ([(0, 3)], r"\(0, 3\) is not an edge"),
        ([(0, 1), (1, 0)], r"\(1, 0\) is there twice"),
        ([0, 1], r"shape \(2,\), expected \(m, 2\)"),
        ([(0, 1)], "node 2 has 0 partners, and perfect=True asks for 1"),
    ],
)
def test_targets_that_are_no_matchings_are_refused(y, message):
    structure = GeneralMatching(perfect="perfect" in message)
    with pytest.raises(ValueError, match=message):
        structure.encode(y, (4, [(0, 1), (1, 2), (2, 3)]))


@pytest.mark.parametrize("perfect", [False, True])
def test_matchings_with_caps_are_as_good_as_those_listed(perfect):
    rng, none = np.random.default_rng(8), 0
    for k in range(150):
        n = int(rng.integers(2, 7))
        edges = np.transpose(np.triu_indices(n, 1))
        edges = edges[rng.random(len(edges)) < 0.8][:11]
        cap = rng.integers(0, 4, n) if k % 2 else int(rng.integers(0, 4))
        theta = rng.normal(size=len(edges)) if k % 3 else rng.integers(-2, 3, len(edges)) + 0.0
        theta[rng.random(len(edges)) < 0.1] = -np.inf
        values = []
        for z in product((0, 1), repeat=len(edges)):
            on = np.array(z, dtype=bool)
            counts = np.bincount(edges[on].ravel(), minlength=n)
            if (counts <= cap).all() and (not perfect or (counts == cap).all()):
                values.append(theta[on].sum())
        structure = GeneralMatching(perfect, cap)
        if max(values, default=-np.inf) == -np.inf:
            none += 1
            with pytest.raises(InfeasibleError):
                structure.maximize(theta, (n, edges))
            continue
        z = structure.maximize(theta, (n, edges)) > 0
        assert theta[z].sum() == pytest.approx(max(values), abs=1e-12)
        structure.encode(structure.decode(z, (n, edges)), (n, edges))
    assert (none > 0) == perfect


def test_large_scores_at_nodes_of_cap_0_cost_no_digits():
    edges = [(0, 1), (0, 2), (2, 1)]
    z = GeneralMatching(cap=[2, 0, 2]).maximize([4e9, 4e-7, -2e10], (3, edges))
    np.testing.assert_array_equal(z, [0, 1, 0])
    for perfect in (False, True):
        assert not GeneralMatching(perfect, [0, 0]).maximize([1.0], (2, [(0, 1)])).any()
    z = GeneralMatching(perfect=True, cap=[0, 1, 1]).maximize([3.0, 1.0], (3, [(0, 1), (1, 2)]))
    np.testing.assert_array_equal(z, [0, 1])


def test_people_with_several_partners_are_learned():
    rng, edges = np.random.default_rng(0), np.transpose(np.triu_indices(6, 1))
    cap = [2, 2, 1, 3, 1, 2]
    structure, X, y = GeneralMatching(cap=cap), list(above(rng.normal(size=(30, 6, 6, 2)))), []
    for x in X:
        z = structure.maximize(x[tuple(edges.T)] @ [1.0, -1.0], (6, edges))
        y.append(structure.decode(z, (6, edges)))
    model = GeneralMatchingSVM(cap=cap, alpha=0.01).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.result_.status is Status.CONVERGED
    restriction = Restriction(known=[(0, 1), (0, 2)])
    found = model.predict_restricted(X[:1], [restriction])[0].tolist()
    assert [0, 1] in found
    assert [0, 2] in found
    reference = GeneralMatchingSVM(cap=cap, alpha=1.0, solver="qp").fit(X[:3], y[:3])
    other = GeneralMatchingSVM(cap=cap, alpha=1.0, tol=1e-6).fit(X[:3], y[:3])
    assert reference.result_.primal == pytest.approx(other.result_.primal, rel=1e-5)
    with pytest.raises(SampleError, match="sample 0: cap has 6 numbers, the graph 5 nodes"):
        model.predict([np.zeros((5, 5, 2))])
    with pytest.raises(ValueError, match="must be an integer, or one for each node, 0 or more"):
        GeneralMatchingSVM(cap=-1).fit(X, y)
    with pytest.raises(MissingAbilityError, match="no `constraints`.* Use caps of 1"):
        structure.constraints((6, edges))
    with pytest.raises(InfeasibleError, match="node 0 has 1 edges, fewer than its cap 2"):
        GeneralMatching(True, 2).maximize(np.ones(1), (2, [(0, 1)]))


def test_too_many_odd_sets_are_refused():
    with pytest.raises(ValueError, match="listed up to 15 nodes"):
        GeneralMatching().constraints((16, [(0, 1)]))


def test_graphs_and_arrays_give_the_same_model():
    rng = np.random.default_rng(3)
    arrays = [above(rng.normal(size=(5, 5, 2))) for _ in range(8)]
    edges = np.transpose(np.triu_indices(5, 1))
    graphs = [Graph(np.zeros((5, 1)), edges, x[edges[:, 0], edges[:, 1]]) for x in arrays]
    y = [[(0, 1), (2, 3)]] * 8
    one, other = GeneralMatchingSVM().fit(arrays, y), GeneralMatchingSVM().fit(graphs, y)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    with pytest.raises(SampleError, match=r"sample 1: x has shape \(3, 4, 2\)"):
        one.predict([arrays[0], np.zeros((3, 4, 2))])


@pytest.mark.filterwarnings("ignore:the model was trained by margins")
def test_probabilities_are_a_matrix_of_pairs():
    x = np.zeros((4, 4, 1))
    x[1, 2] = 20.0
    model = GeneralMatchingSVM(bias=False).fit([x], [[(1, 2)]])
    edges = [(0, 1), (2, 1)]
    graph = Graph(np.zeros((3, 1)), edges, 1e4 * np.array([[-1.0], [1.0]]))
    full, sparse = (model.predict_marginals([own])[0].round(1) for own in (1e3 * x, graph))
    assert full[1, 2] == full[2, 1] == 1.0
    assert not full[[1, 2]][:, [0, 3]].any()
    assert sparse.tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize("perfect", [False, True])
def test_the_best_k_of_small_graphs(perfect):
    rng, structure = np.random.default_rng(5), GeneralMatching(perfect=perfect)
    for _ in range(6):
        edges = np.transpose(np.triu_indices(6, 1))[rng.permutation(15)[:13]]
        theta = rng.normal(size=13)
        theta[0] = -np.inf
        layout = Network(6, edges)
        allowed = [z for z in structure.vertices(layout) if z[0] == 0]
        if not allowed:
            continue
        scores = sorted((z[1:] @ theta[1:] for z in allowed), reverse=True)[:9]
        found = structure.k_best(theta, layout, 9)
        assert [score for _, score in found] == pytest.approx(scores)
        assert len({z.tobytes() for z, _ in found}) == len(found)
        for z, score in found:
            structure.encode(structure.decode(z, layout), layout)
            assert z[1:] @ theta[1:] == pytest.approx(score)


ALL_OF_FOUR = np.transpose(np.triu_indices(4, 1))


class AtMostOnePair(GeneralMatching):
    """Matchings of a single pair, by a method of the class."""

    def maximize(self, theta, layout):
        z = np.zeros(len(theta))
        z[np.argmax(theta)] = theta.max() > 0
        return z

    def constraints(self, layout):
        return Constraints(np.ones((1, self.n_parts(layout))), [-np.inf], [1.0])


def test_outputs_of_a_subclass_are_not_separated_by_odd_sets():
    assert not AtMostOnePair().oracle().has("separate")
    assert GeneralMatching().oracle().has("separate")
    rng = np.random.default_rng(3)
    layout = Network(4, ALL_OF_FOUR)
    X = [(rng.normal(size=(6, 2)), layout) for _ in range(6)]
    y = [np.array([ALL_OF_FOUR[int(np.argmax(x @ [1.0, -1.0]))]]) for x, _ in X]
    found = StructuredSVM(AtMostOnePair(), solver="qp", alpha=0.1).fit(X, y).result_
    other = StructuredSVM(AtMostOnePair(), alpha=0.1, tol=1e-6, max_epochs=500).fit(X, y).result_
    assert found.primal == pytest.approx(other.primal, rel=1e-5)


@pytest.mark.parametrize("structure", [GeneralMatching(), NestedPairs(min_loop=0)])
def test_estimators_take_layouts_of_arrays_and_lists(structure):
    x, edges = np.eye(3), [[0, 1], [1, 2], [0, 2]]
    fitted = [
        StructuredSVM(structure).fit([(x, (3, kind(edges)))], [[(0, 1)]])
        for kind in (np.array, list, lambda own: tuple(map(tuple, own)))
    ]
    assert len({model.coef_.tobytes() for model in fitted}) == 1
    assert fitted[0].predict([(x, (3, np.array(edges)))])[0].tolist() == [[0, 1]]
