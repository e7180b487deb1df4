"""Structures of decisions, with all of their outputs listed by brute force."""

from itertools import product

import numpy as np

from contract.cases import Case
from maxmargin.structures import Constraints, Knapsack, ShortestPath, SpanningTree, TopK

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
]  # fmt: skip
