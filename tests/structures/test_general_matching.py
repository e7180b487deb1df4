"""Matchings of any graph: as good as those of networkx, at any size and scale."""

import networkx
import numpy as np
import pytest

from maxmargin import GeneralMatchingSVM, Graph
from maxmargin.exceptions import InfeasibleError, SampleError
from maxmargin.structures import GeneralMatching, Network


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


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e9, 1e300])
def test_scores_of_any_scale(scale):
    rng = np.random.default_rng(0)
    layout = Network(9, np.transpose(np.triu_indices(9, 1)))
    theta = rng.normal(size=36)
    structure = GeneralMatching()
    np.testing.assert_array_equal(
        structure.maximize(scale * theta, layout), structure.maximize(theta, layout)
    )


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
    with pytest.raises(SampleError, match=r"sample 1: x has 3 nodes, an odd number"):
        model.predict([np.ones((4, 4, 1)), np.ones((3, 3, 1))])
    with pytest.raises(SampleError, match=r"sample 0: .*node 2 has no partner"):
        model.fit([np.ones((4, 4, 1))], [[(0, 1)]])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([(0, 1), (1, 2)], "node 1 has more than one partner"),
        ([(0, 3)], r"\(0, 3\) is not an edge"),
        ([0, 1], r"shape \(2,\), expected \(m, 2\)"),
        ([(0, 1)], "node 2 has no partner"),
    ],
)
def test_targets_that_are_no_matchings_are_refused(y, message):
    structure = GeneralMatching(perfect="no partner" in message)
    with pytest.raises(ValueError, match=message):
        structure.encode(y, (4, [(0, 1), (1, 2), (2, 3)]))


def test_too_many_odd_sets_are_refused():
    with pytest.raises(ValueError, match="listed up to 15 nodes"):
        GeneralMatching().constraints((16, [(0, 1)]))


def test_graphs_and_arrays_give_the_same_model():
    rng = np.random.default_rng(3)
    arrays = [rng.normal(size=(5, 5, 2)) for _ in range(8)]
    edges = np.transpose(np.triu_indices(5, 1))
    graphs = [Graph(np.zeros((5, 1)), edges, x[edges[:, 0], edges[:, 1]]) for x in arrays]
    y = [[(0, 1), (2, 3)]] * 8
    one, other = GeneralMatchingSVM().fit(arrays, y), GeneralMatchingSVM().fit(graphs, y)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    with pytest.raises(SampleError, match=r"sample 1: x has shape \(3, 4, 2\)"):
        one.predict([arrays[0], np.zeros((3, 4, 2))])


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
