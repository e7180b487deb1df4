"""Expansions against all labelings, single changes and the binary cut."""

import pickle

import numpy as np
import pytest

from maxmargin.exceptions import InfeasibleError, MissingAbilityError
from maxmargin.structures import GraphCut, Network, Potts
from reference import cuts, enumeration, linear

POTTS = Potts()


def drawn(seed, n_nodes, n_labels, share=0.7, strength=1.0):
    rng = np.random.default_rng(seed)
    network = Network(n_nodes, cuts.some_edges(rng, n_nodes, share))
    theta = rng.normal(size=POTTS.n_parts((network, n_labels)))
    theta[n_nodes * n_labels :] = -strength * np.abs(theta[n_nodes * n_labels :])
    return (network, n_labels), theta


def vertices(layout):
    return cuts.class_vertices(layout[0].n_nodes, layout[1], layout[0].edges.tolist())


def climbed(theta, layout):
    """The score after changing one node at a time, from the best label of each, while it helps."""
    network, K = layout
    n = network.n_nodes
    labels = theta[: n * K].reshape(n, K).argmax(axis=1)

    def value(own):
        return enumeration.score(theta, cuts.class_vertex(own, K, network.edges.tolist()))

    best, moved = value(labels), True
    while moved:
        moved = False
        for j in range(n):
            for k in range(K):
                other = labels.copy()
                other[j] = k
                if value(other) > best + 1e-12:
                    labels, best, moved = other, value(other), True
    return best


@pytest.mark.parametrize("n_labels", [3, 4])
@pytest.mark.parametrize("strength", [0.3, 1.0, 3.0])
def test_labels_are_good_ones(n_labels, strength):
    hits = 0
    for seed in range(25):
        layout, theta = drawn(seed, 1 + seed % 6 if n_labels == 3 else 1 + seed % 5, n_labels,
                             strength=strength)  # fmt: skip
        z = POTTS.maximize(theta, layout)
        labels = POTTS.decode(z, layout)
        assert np.array_equal(z, cuts.class_vertex(labels, n_labels, layout[0].edges.tolist()))
        value = enumeration.score(theta, z)
        best = enumeration.best(theta, vertices(layout))
        n = layout[0].n_nodes
        free = theta[: n * n_labels].reshape(n, n_labels).max(axis=1).sum()
        assert free - value <= 2 * (free - best) + 1e-12
        assert value >= climbed(theta, layout) - 1e-12
        hits += value >= best - 1e-12
    assert hits >= 24


@pytest.mark.parametrize("seed", range(6))
def test_no_expansion_helps(seed):
    """All of them tried, on a graph with too many labelings for that."""
    layout, theta = drawn(seed, 9, 4, 0.5)
    K = layout[1]
    labels = POTTS.decode(POTTS.maximize(theta, layout), layout)
    value = enumeration.score(theta, POTTS.encode(labels, layout))
    for label in range(K):
        for taken in cuts.binary_vertices(9, []):
            other = np.where(taken == 1, label, labels)
            assert enumeration.score(theta, POTTS.encode(other, layout)) <= value + 1e-12


@pytest.mark.parametrize("seed", range(15))
def test_two_labels_are_a_minimum_cut(seed):
    layout, theta = drawn(seed, 12, 2, 0.3)
    if seed % 3 == 0:
        theta[[0, 7]] = -np.inf  # node 0 must not be 0, node 3 must not be 1
    labels = POTTS.decode(POTTS.maximize(theta, layout), layout)
    first, second = theta[:24].reshape(12, 2).T
    must = np.where(np.isneginf(first), 1e6, second - np.where(np.isneginf(first), 0.0, first))
    cut = GraphCut().maximize(np.concatenate([must, theta[24:]]), layout[0])
    assert np.array_equal(labels, cut[:12])


@pytest.mark.parametrize("seed", range(6))
def test_the_relaxation_bounds_the_score(seed):
    layout, theta = drawn(seed, 5, 3)
    value = enumeration.score(theta, POTTS.maximize(theta, layout))
    bound = linear.best_value(POTTS.constraints(layout), theta)
    assert value <= bound + 1e-9
    assert enumeration.best(theta, vertices(layout)) <= bound + 1e-9


@pytest.mark.parametrize("layout", [(Network(3, [(0, 1), (2, 1)]), 3), (Network(2, []), 2)])
def test_vertices_and_constraints(layout):
    listed = vertices(layout)
    assert sorted(map(tuple, POTTS.vertices(layout))) == sorted(map(tuple, listed))
    for vertex in listed:
        assert linear.violation(POTTS.constraints(layout), vertex) <= 1e-9
        assert np.array_equal(POTTS.encode(POTTS.decode(vertex, layout), layout), vertex)
        assert np.count_nonzero(vertex) <= POTTS.vertex_size(layout)
    edge = 3 * 3
    if layout[0].n_edges:
        below = POTTS.encode([0, 1, 1], layout)
        below[edge] = 0.9
        assert linear.violation(POTTS.constraints(layout), below) > 0.01


def test_order_of_edges_does_not_matter():
    layout, theta = drawn(0, 9, 4, 0.5)
    network, K = layout
    order = np.random.default_rng(1).permutation(network.n_edges)
    turned = Network(9, network.edges[order][:, ::-1])
    z = POTTS.maximize(theta, layout)
    again = POTTS.maximize(np.append(theta[: 9 * K], theta[9 * K :][order]), (turned, K))
    assert np.array_equal(again[: 9 * K], z[: 9 * K])


def test_forbidden_labels():
    layout, theta = drawn(2, 4, 3)
    theta[0:2] = -np.inf
    z = POTTS.maximize(theta, layout)
    assert z[2] == 1
    theta[2] = -np.inf
    with pytest.raises(InfeasibleError):
        POTTS.maximize(theta, layout)


def test_what_it_cannot_do():
    assert not POTTS.oracle().is_exact
    assert not POTTS.oracle().has("project")
    assert POTTS.oracle().has("maximize")
    layout, theta = drawn(0, 3, 3, 1.0)
    with pytest.raises(MissingAbilityError, match="has no `project`"):
        POTTS.project(theta, layout)
    theta[-1] = 0.5
    with pytest.raises(ValueError, match="edge 2, .* must be 0 or less"):
        POTTS.maximize(theta, layout)
    theta[-1] = -np.inf
    with pytest.raises(ValueError, match="edge 2, .* scores -inf"):
        POTTS.maximize(theta, layout)


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        (Network(2, []), "pair"),
        ((Network(2, []), 0), "labels=0 must be an integer at least 1"),
        ((2, 3), "Network"),
    ],
)
def test_layouts_that_are_none(layout, words):
    with pytest.raises((TypeError, ValueError), match=words):
        POTTS.maximize(np.zeros(4), layout)


def test_labels_that_are_none():
    layout = (Network(2, []), 3)
    with pytest.raises(ValueError, match="0 to 2, found .*3"):
        POTTS.encode([0, 3], layout)
    with pytest.raises(ValueError, match=r"expected \(2,\)"):
        POTTS.encode([0], layout)


def test_pickled():
    layout, theta = drawn(0, 6, 3)
    again = pickle.loads(pickle.dumps(POTTS))
    assert np.array_equal(again.maximize(theta, layout), POTTS.maximize(theta, layout))
