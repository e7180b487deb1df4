"""Cases of `Constituents` for the batteries: trees are listed by code of their own."""

from itertools import product

import numpy as np

from contract.cases import Case, Kind
from maxmargin import StructuredSVM
from maxmargin.structures import Constituents


def trees(i, j):
    """Spans of all binary trees over i, ..., j - 1."""
    if j == i + 1:
        yield [(i, j)]
        return
    for k in range(i + 1, j):
        for left, right in product(list(trees(i, k)), list(trees(k, j))):
            yield [(i, j), *left, *right]


def vertices(layout):
    n, labels = layout
    spans = [(i, j) for i in range(n) for j in range(i + 1, n + 1)]
    for tree in trees(0, n):
        for chosen in product(range(labels), repeat=len(tree)):
            z = np.zeros((len(spans), labels))
            for span, label in zip(tree, chosen, strict=True):
                z[spans.index(span), label] = 1.0
            yield z.ravel()


def constituents():
    """Trees of two to four words with two labels, from three features of each part."""
    rng, structure = np.random.default_rng(0), Constituents()
    X, y = [], []
    for layout in [(2, 2), (3, 2), (4, 2)] * 8:
        x = 0.3 * rng.normal(size=(structure.n_parts(layout), 3))
        X.append((x, layout))
        y.append(structure.decode(structure.maximize(x @ [1.0, -2.0, 0.5], layout), layout))
    return Kind(StructuredSVM(structure, alpha=0.05), X, y)


STRUCTURES = [
    Case(
        "constituents", Constituents(), vertices, [(1, 1), (1, 3), (2, 2), (3, 2), (4, 1)], [(6, 2)]
    )
]
ESTIMATORS = [constituents]
