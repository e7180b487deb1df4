"""Cases of `NestedPairs` for the batteries: loops are listed and named by code of their own."""

from itertools import combinations

import numpy as np

from contract.cases import Case, Kind
from maxmargin import StructuredSVM
from maxmargin.structures import NestedLayout, NestedPairs
from reference import folds


def layout(n, pairs, symbols=None):
    return NestedLayout(n, pairs, symbols, None if symbols is None else 2)


def vertices(layout):
    pairs = [tuple(pair) for pair in layout.pairs.tolist()]
    for count in range(len(pairs) + 1):
        for chosen in combinations(pairs, count):
            if folds.are_nested(chosen):
                yield folds.vertex(chosen, layout)


def nested_pairs():
    """Pairs of seven positions, from features of pairs and of some loops."""
    rng, structure = np.random.default_rng(0), NestedPairs(1)
    X, y = [], []
    w = rng.normal(size=4)
    for _ in range(16):
        own = NestedLayout(7, structure.layout((7,)).pairs, rng.integers(0, 2, 7), 2)
        rows = rng.normal(size=(structure.n_parts(own), 4))
        rows[len(own.pairs) :] *= 0.1  # z counts these
        X.append((rows, own))
        y.append(structure.decode(structure.maximize(rows @ w, own), own))
    return Kind(StructuredSVM(structure, alpha=0.3, loss="hamming-sum"), X, y)


ALL = [(i, j) for i in range(6) for j in range(i + 2, 6)]
SOME = [(2, 5), (0, 9), (1, 8), (2, 7), (3, 7), (1, 4), (5, 8)]
MANY = [(i, j) for i in range(12) for j in range(i + 3, 12) if (i * j) % 3]
STRUCTURES = [
    Case(
        "nested-pairs",
        NestedPairs(1),
        vertices,
        [layout(3, [(0, 2)]), layout(6, ALL), layout(10, SOME)],
        [layout(12, MANY)],
    ),
    Case(
        "nested-pairs-loops",
        NestedPairs(1),
        vertices,
        [layout(3, [(0, 2)], [0, 0, 1]), layout(10, SOME, [0, 1, 1, 0, 1, 0, 0, 1, 0, 1])],
        [layout(12, MANY, [0, 1] * 6)],
    ),
]
ESTIMATORS = [nested_pairs]
