"""Which pairs of labels have weights."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from maxmargin.structures import Network
from maxmargin.validation.samples import is_list


def pairs_of(
    pairs: Any, matrix: np.ndarray, classes: np.ndarray, weight: np.ndarray, lenient: bool
) -> Network:
    """The labels as nodes, their pairs as edges.

    pairs : "all", "tree", None, or a list of pairs of labels; matrix, weight : zeros and ones of
    the samples, and how much these count; lenient : leave pairs of unknown labels aside.
    """
    n = len(classes)
    if pairs is None:
        return Network(n, [])
    if isinstance(pairs, str):
        if pairs == "all":
            return Network(n, np.array(list(combinations(range(n), 2))).reshape(-1, 2))
        if pairs == "tree":
            return Network(n, likeliest_tree(matrix, weight))
        raise ValueError(f'pairs={pairs!r} must be "all", "tree", None or a list of pairs.')
    number = {label: k for k, label in enumerate(classes.tolist())}
    found = []
    for pair in pairs:
        if not is_list(pair) or len(pair) != 2:
            raise ValueError(f"pairs has {pair!r}, expected pairs of two labels.")
        unknown = [label for label in pair if label not in number]
        if unknown and not lenient:
            some = ", ".join(map(repr, classes.tolist()[:10])) + (", ..." if n > 10 else "")
            raise ValueError(f"pairs names {unknown[0]!r}, but the labels are {some}.")
        if not unknown:
            found.append([number[label] for label in pair])
    try:
        return Network(n, found)
    except ValueError as error:
        raise ValueError(f"pairs: {error}") from error


def likeliest_tree(matrix: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """(L - 1, 2), the tree of labels of the highest mutual information (Chow and Liu 1968)."""
    worth = mutual_information(matrix, weight)
    n = len(worth)
    best, near = worth[0].copy(), np.zeros(n, dtype=np.int64)
    best[0] = -np.inf
    edges = []
    for _ in range(n - 1):
        k = int(np.argmax(best))
        edges.append(sorted((int(near[k]), k)))
        nearer = (worth[k] > best) & (best > -np.inf)
        best[nearer], near[nearer] = worth[k][nearer], k
        best[k] = -np.inf
    return np.array(edges, dtype=np.int64).reshape(-1, 2)


def mutual_information(matrix: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """(L, L), of each two labels over the samples."""
    on = matrix.astype(np.float64)
    both = on.T @ (weight[:, None] * on) / weight.sum()
    own = np.diag(both)
    row, column = own[:, None], own[None, :]
    total = np.zeros_like(both)
    cells = (
        (both, row * column),
        (row - both, row * (1 - column)),
        (column - both, (1 - row) * column),
        (1 - row - column + both, (1 - row) * (1 - column)),
    )
    for p, q in cells:
        there = (p > 1e-15) & (q > 0)
        total[there] += p[there] * np.log(p[there] / q[there])
    return np.maximum(total, 0.0)
