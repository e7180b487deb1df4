"""Structures of decisions, with all of their outputs listed by brute force."""

from itertools import product

import numpy as np

from contract.cases import Case, Kind
from maxmargin import DecisionSVM, StructuredSVM
from maxmargin.structures import (
    Constraints,
    DecisionLayout,
    Knapsack,
    PerInstance,
    ShortestPath,
    SpanningTree,
    TopK,
)

#: a grid of 2 x 3 nodes, right and down, with one edge twice
GRID = [(0, 1), (1, 2), (0, 3), (1, 4), (2, 5), (3, 4), (4, 5), (4, 5)]
#: two triangles, so that cycles exist
CYCLES = [(0, 1), (1, 2), (2, 0), (1, 3), (2, 3), (0, 2), (2, 1)]
SQUARE = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 0)]


def complete(n):
    return [(a, b) for a in range(n) for b in range(a + 1, n)]


def zeros_and_ones(layout):
    return (np.array(bits) for bits in product((0.0, 1.0), repeat=layout[0]))


def flows(edges, source, target):
    """Vectors by which as much leaves a node as enters it, and one more the source."""

    def listed(layout):
        balance = np.zeros((max(map(max, edges)) + 1, len(edges)))
        for e, (a, b) in enumerate(edges):
            balance[a, e], balance[b, e] = 1.0, -1.0
        supply = np.zeros(len(balance))
        supply[[source, target]] = 1.0, -1.0
        return [z for z in zeros_and_ones(layout) if np.array_equal(balance @ z, supply)]

    return listed


def within(weights, capacity):
    return lambda layout: [
        z for z in zeros_and_ones(layout) if (np.atleast_2d(weights) @ z <= capacity).all()
    ]


def trees(edges):
    """As many edges as it takes to reach all nodes from the first one."""
    nodes = max(map(max, edges)) + 1

    def listed(layout):
        for z in zeros_and_ones(layout):
            reached = {0}
            for _ in range(nodes):
                on = [edge for edge, value in zip(edges, z, strict=True) if value]
                reached |= {v for edge in on if reached & {*edge} for v in edge}
            if len(reached) == nodes == z.sum() + 1:
                yield z

    return listed


def path_case(name, edges, source, target):
    structure = ShortestPath(edges, source, target)
    return Case(name, structure, flows(edges, source, target), [(len(edges),)], [(len(edges),)])


def knapsack_case(name, weights, capacity):
    count = np.shape(weights)[-1]

    def rows(layout):
        matrix = np.vstack([np.atleast_2d(weights), np.eye(count)])
        upper = np.append(np.broadcast_to(capacity, len(matrix) - count), np.ones(count))
        return Constraints(matrix, np.full(len(upper), -np.inf), upper)

    structure = Knapsack(weights, capacity)
    return Case(name, structure, within(weights, capacity), [(count,)], [], rows)


def zero_or_one(layout):
    own = layout.structure
    if not isinstance(own, Knapsack):
        return own.constraints((layout.n_parts,))
    return knapsack_case("", own.weights, own.capacity).stated((layout.n_parts,))


def own_outputs(layout):
    """All vectors that the structure of an instance takes for outputs."""
    own = (layout.n_parts,)
    return [z for z in zeros_and_ones(own) if not layout.structure.why_infeasible(z, own)]


#: one of each kind of compiled code, but for flows, which are not listed
OWN = [
    DecisionLayout(ShortestPath(GRID, 0, 5)), DecisionLayout(SpanningTree(SQUARE)),
    DecisionLayout(Knapsack([3, 4, 2, 5, 0], 7)),
    DecisionLayout(Knapsack([[3.5, 4.25, 2.0], [1.0, 2.0, 3.0]], [8.0, 4.5])),
    DecisionLayout(TopK(2), 4),
]  # fmt: skip


STRUCTURES = [
    path_case("path", GRID, 0, 5),
    path_case("path-cycles", CYCLES, 0, 3),
    Case(
        "spanning-tree", SpanningTree(SQUARE), trees(SQUARE), [(6,)], [(6,)],
    ),
    Case("spanning-tree-of-4", SpanningTree(complete(4)), trees(complete(4)), [(6,)], [(6,)]),
    Case(
        "top-2", TopK(2), lambda layout: [z for z in zeros_and_ones(layout) if z.sum() == 2],
        [(2,), (3,), (5,)], [(12,)],
    ),
    knapsack_case("knapsack", [3, 4, 2, 5, 0], 7),
    knapsack_case("knapsack-2", [[3.5, 4.25, 2.0, 5.0], [1.0, 2.0, 3.0, 1.5]], [8.0, 4.5]),
    knapsack_case("knapsack-real", np.sqrt([3.0, 4.5, 2.0, 5.0]), 4.0),
    Case("per-instance", PerInstance(), own_outputs, OWN, [], zero_or_one),
]  # fmt: skip


def decisions():
    """Costs of edges that are not linear in the features of the instances."""
    rng = np.random.default_rng(10)
    X = rng.normal(size=(60, 2))
    costs = (X @ rng.uniform(size=(2, len(GRID))) + 4.0) ** 2
    costs *= rng.uniform(0.65, 1.35, size=costs.shape)
    return Kind(DecisionSVM(ShortestPath(GRID, 0, 5), alpha=0.05), X, costs)


def part_costs():
    """Values of items by their features, chosen within a capacity."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(20, 5, 2))
    values = np.exp(X @ [1.0, -0.5]) + 0.2 * rng.uniform(size=(20, 5))
    structure = Knapsack([3, 4, 2, 5, 1], 7)
    return Kind(DecisionSVM(structure, "max", alpha=0.05), X, values)


def best_of(structure, count, seed):
    """Decisions by scores that are linear in the features of parts."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(16, count, 2))
    scores = X @ [1.0, -0.5] + 0.2 * rng.normal(size=(16, count))
    y = np.array([structure.maximize(own, (count,)) for own in scores])
    return Kind(StructuredSVM(structure, alpha=0.05), X, y)


def spanning_trees():
    return best_of(SpanningTree(SQUARE), len(SQUARE), 12)


def two_items():
    return best_of(TopK(2), 5, 13)


def capacities():
    """Values of items within capacities that differ, and so do the numbers of items."""
    rng = np.random.default_rng(14)
    X = []
    for count in rng.integers(3, 6, size=20).tolist():
        own = Knapsack(rng.integers(1, 6, size=count), int(rng.integers(4, 9)))
        X.append((rng.normal(size=(count, 2)), own))
    values = [3.0 + x @ [1.0, -0.5] + rng.normal(size=len(x)) for x, _ in X]
    return Kind(DecisionSVM(PerInstance(), "max", alpha=0.05), X, values)


ESTIMATORS = [decisions, part_costs, spanning_trees, two_items, capacities]
