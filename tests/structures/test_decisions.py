"""Structures of decisions: what they refuse, and what the battery does not ask."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from maxmargin.exceptions import InfeasibleError, MissingAbilityError
from maxmargin.structures import Knapsack, ShortestPath, SpanningTree, Structure, TopK
from maxmargin.structures.decisions.knapsack import BranchOracle, IntegerOracle, TableOracle

TRIANGLE = [(0, 1), (1, 2), (2, 0)]


@pytest.mark.parametrize(
    ("structure", "words"),
    [
        (ShortestPath([(0, 1, 2)], 0, 1), "expected .m, 2."),
        (ShortestPath([(0, 1), (1, 1)], 0, 1), "edge 1 joins node 1 with itself"),
        (ShortestPath([(-1, 1)], 0, 1), "node -1"),
        (ShortestPath([(0.5, 1)], 0, 1), "numbers of nodes"),
        (ShortestPath([(0, 10**9), (10**9, 1)], 0, 1), "without gaps"),
        (ShortestPath([(0, 1)], 1, 1), "both 1"),
        (ShortestPath([(0, 1)], 0, 2), "target=2: no edge leads into it"),
        (SpanningTree([(0, 2)]), "node 1 is in no edge"),
        (Knapsack([1, -1], 2), "not be negative"),
        (Knapsack([1, np.nan], 2), "finite"),
        (Knapsack([[1, 2], [1, 2]], [1, 2, 3]), "one for each dimension"),
        (Knapsack(["a", "b"], 2), "must be numbers"),
        (Knapsack([[1, 2], [1, 2]], [5]), r"capacity has shape \(1,\)"),
        (Knapsack([1, 2], "5"), "must be numbers"),
        (Knapsack(["1", "2"], 5), "must be numbers"),
    ],
)
def test_what_is_no_decision_problem_is_refused(structure, words):
    with pytest.raises(ValueError, match=words):
        structure.maximize(np.zeros(structure.size()), (structure.size(),))


@pytest.mark.parametrize(
    ("structure", "y", "words"),
    [
        (ShortestPath(TRIANGLE, 0, 2), {0}, "do not form a path from 0 to 2"),
        (SpanningTree(TRIANGLE), {0}, "2 pieces"),
        (SpanningTree(TRIANGLE), {0, 1, 2}, "cycle"),
        (TopK(2), [1.0, 1.0, 1.0], "3 items are chosen, not k=2"),
        (Knapsack([2, 2, 2], 3), {0, 1}, "items weigh 4, more than 3"),
        (Knapsack([[2, 2, 2], [1, 1, 1]], [9, 1]), {0, 1}, "in dimension 1"),
        (TopK(1), [0.5, 0.5, 0.0], "zeros and ones"),
        (TopK(1), [0, 1, 0, 0], "found 4 zeros and ones, expected 3"),
    ],
)
def test_decisions_that_are_not_outputs_are_refused(structure, y, words):
    with pytest.raises(ValueError, match=words):
        structure.encode(y, (3,))


def test_the_number_of_parts_is_checked():
    with pytest.raises(ValueError, match="has 3 parts, one for each of its edges, found 4"):
        SpanningTree(TRIANGLE).layout_of(4)
    with pytest.raises(ValueError, match="fewer than the k=5"):
        TopK(5).layout_of(4)
    for edges in ([(0, 1, 2)], None):  # the edges are at fault, not the number of costs
        with pytest.raises(ValueError, match="edges have shape"):
            ShortestPath(edges, 0, 2).maximize(np.zeros(4), (4,))


def test_graphs_that_are_cut_in_two_are_infeasible():
    apart = [(0, 1), (2, 3)]
    with pytest.raises(InfeasibleError, match="no path leads from node 0 to 3"):
        ShortestPath(apart, 0, 3).oracle().check_layout((2,))
    with pytest.raises(InfeasibleError, match="2 pieces"):
        SpanningTree(apart).oracle().check_layout((2,))


def test_constraints_of_large_spanning_trees_are_missing():
    edges = [(v, v + 1) for v in range(20)]
    with pytest.raises(MissingAbilityError, match="12 nodes"):
        SpanningTree(edges).constraints((20,))


def test_outputs_of_graphs_with_cycles_are_not_listed():
    with pytest.raises(MissingAbilityError, match="vertices"):
        list(ShortestPath(TRIANGLE, 0, 2).vertices((3,)))


@pytest.mark.parametrize("seed", range(5))
def test_flows_through_random_graphs_are_the_best(seed):
    rng = np.random.default_rng(seed)
    edges = [(a, b) for a in range(5) for b in range(5) if a != b]
    edges = [edges[k] for k in rng.choice(len(edges), size=11, replace=False)] + [(0, 4)]
    structure = ShortestPath(edges, 0, 4)
    outputs = [np.array(bits) for bits in product((0.0, 1.0), repeat=12)]
    outputs = np.array([z for z in outputs if not structure.why_infeasible(z, (12,))])
    for _ in range(20):
        theta = rng.normal(loc=rng.choice([-2, 0, 1]), size=12)
        z = structure.maximize(theta, (12,))
        assert theta @ z == pytest.approx((outputs @ theta).max(), abs=1e-12)


def test_each_kind_of_weights_has_its_oracle_and_all_agree():
    rng = np.random.default_rng(0)
    weights = np.round(rng.uniform(1, 9, size=10), 2)
    makers = [
        (Knapsack(weights, 20.5), TableOracle),
        (Knapsack([weights, weights], 20.5), BranchOracle),
        (Knapsack(weights + 1e-7 * rng.uniform(size=10), 20.5001), IntegerOracle),
    ]
    for _ in range(10):
        theta = rng.normal(1.0, size=10)
        found = []
        for structure, kind in makers:
            oracle = structure.oracle()
            assert type(oracle) is kind
            found.append(oracle.maximize(theta, (10,))[1])
        assert found[1:] == pytest.approx(found[:-1], abs=1e-9)


def test_many_items_are_left_to_highs():
    rng = np.random.default_rng(0)
    structure = Knapsack(rng.integers(1, 9, size=(2, 80)), 40)
    assert type(structure.oracle()) is IntegerOracle
    z, bound = structure.oracle().maximize(rng.uniform(size=80), (80,))
    assert not structure.why_infeasible(z, (80,))
    assert bound >= 0


@pytest.mark.parametrize("unit", [1e-12, 1e-9, 1.0, 1e9, 1e18])
def test_units_of_weights_do_not_matter(unit):
    rng = np.random.default_rng(0)
    weights, theta = rng.integers(1, 9, size=(2, 8)).astype(float), rng.normal(1.0, size=8)
    structure = Knapsack(unit * weights, 20.5 * unit)
    outputs = np.array(list(Knapsack(weights, 20.5).vertices((8,))))
    z = structure.maximize(theta, (8,))
    assert theta @ z == pytest.approx((outputs @ theta).max())
    assert not structure.why_infeasible(z, (8,))
    assert structure.why_infeasible(np.ones(8), (8,))


@pytest.mark.parametrize(
    "weights, capacity",
    [
        ([3.5e-15, 2.6e-5, 3.5e-9, 3.5e-10], 0.0),
        ([1.0, 2e-10, 0.3123456, 0.1], 0.0),
        ([0.1108442, 0.3612153616, 0.0358081163, 5.7368043], 0.035808116),
    ],
)
def test_items_of_hardly_any_weight_are_in_listed_outputs_and_best_ones_alike(weights, capacity):
    structure = Knapsack(weights, capacity)
    assert isinstance(structure.oracle(), IntegerOracle)
    outputs = np.array(list(structure.vertices((4,))))
    assert len(outputs) > 1
    for theta in np.random.default_rng(0).normal(size=(20, 4)):
        z, bound = structure.oracle().maximize(theta, (4,))
        assert theta @ z == pytest.approx((outputs @ theta).max(), abs=1e-9)
        assert bound == pytest.approx(theta @ z, abs=1e-9)


def test_capacities_are_not_exceeded_by_rounding():
    structure = Knapsack([0.1, 0.2, 0.3], 0.3)
    assert structure.maximize(np.array([1.0, 1.0, 1.5]), (3,)).tolist() == [1, 1, 0]
    assert structure.maximize(np.array([1.0, 1.0, 2.5]), (3,)).tolist() == [0, 0, 1]


@pytest.mark.parametrize("seed", range(5))
def test_greedy_bases_by_an_independence_test_are_spanning_trees(seed):
    rng = np.random.default_rng(seed)
    edges = np.array([(i, j) for i in range(6) for j in range(i)])

    def is_independent(chosen):  # a forest has as many pieces as nodes less edges
        ends = edges[chosen].T
        graph = sparse.coo_array((np.ones(len(chosen)), ends), shape=(6, 6))
        return connected_components(graph, directed=False)[0] == 6 - len(chosen)

    def best_basis(theta):
        chosen = []
        for item in np.argsort(-theta, kind="stable").tolist():
            if is_independent([*chosen, item]):
                chosen.append(item)
        return chosen

    greedy = Structure.from_oracle(best_basis, n_parts=len(edges))
    theta, layout = rng.normal(size=len(edges)), (len(edges),)
    found = greedy.maximize(theta, layout)
    np.testing.assert_array_equal(found, SpanningTree(edges).maximize(theta, layout))
