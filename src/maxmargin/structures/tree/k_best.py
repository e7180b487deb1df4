"""The k best labelings of a tree."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.tree.k_best import k_best


def best_labels(theta: np.ndarray, layout: np.ndarray, k: int) -> list[tuple[np.ndarray, float]]:
    """(labels, score) of the k best outputs, best first; fewer if there are fewer.

    theta : -inf on what is forbidden. layout : integers, see `_numba.tree.maximize`.
    """
    count, labels = int(layout[0]), int(layout[1])
    k = min(k, labels**count)
    rows, wide = count * labels, max(k, labels)
    scores, found = np.empty(k), np.empty((k, count), np.int64)
    origin, work = np.empty(2 * rows * k, np.int64), np.empty((rows + 3) * k + labels + wide)
    iwork = np.empty(rows + 1 + 2 * wide + 2 * (count + 1), np.int64)
    n = k_best(theta, layout, k, scores, found.ravel(), origin, work, iwork)
    return list(zip(found[:n], scores[:n].tolist(), strict=True))
