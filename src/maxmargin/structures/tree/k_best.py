"""The k best labelings of a tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.structures.tree.layout import TreeLayout

Best = tuple[np.ndarray, float]


def best_labels(theta: np.ndarray, layout: TreeLayout, stride: int, k: int) -> list[Best]:
    """(labels, score) of the k best outputs, best first; fewer if there are fewer.

    As max-product with lists in place of numbers: for each node and each of its labels, the k best
    scores of all that hangs below it, best first, and from which places of its children's lists
    they come. Lists of two children are joined at once: place r of a sum comes from places (a, b)
    with (a + 1) (b + 1) <= r + 1. theta : -inf on what is forbidden.
    """
    order, count, labels = layout.order.T.tolist(), layout.n_nodes, layout.n_labels
    # (K, up to k) of each node
    lists = [theta[v * labels : (v + 1) * labels, None] for v in range(count)]
    picked: list[Any] = [None] * count  # (label * width + place of v) by label above and rank
    joined: list[Any] = [None] * count  # (place above before v was joined, place of v's message)
    total = np.zeros((1, 1))
    for v, above, e, down in reversed(order):
        if above < 0:
            message, picked[v] = _top(lists[v].reshape(1, -1), k)
            total, joined[v] = _join(total, message, k)
            continue
        first = count * labels + e * stride
        table = theta[first : first + labels * labels].reshape(labels, labels)
        table = table if down else table.T
        message, picked[v] = _top((table[:, :, None] + lists[v]).reshape(labels, -1), k)
        lists[above], joined[v] = _join(lists[above], message, k)
    widths = [own.shape[1] for own in lists]
    scores = total[0]
    return [
        (_trace(rank, order, picked, joined, widths, labels), float(scores[rank]))
        for rank in range(len(scores))
        if scores[rank] > -np.inf
    ]


def _top(values: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k best of each row, best first, and where they stood."""
    if values.shape[1] > k:
        where = np.argpartition(-values, k - 1, axis=1)[:, :k]
        found = np.take_along_axis(values, where, axis=1)
    else:
        where, found = np.broadcast_to(np.arange(values.shape[1]), values.shape), values
    rank = np.argsort(-found, axis=1, kind="stable")
    return np.take_along_axis(found, rank, axis=1), np.take_along_axis(where, rank, axis=1)


def _join(a: np.ndarray, b: np.ndarray, k: int) -> tuple[np.ndarray, tuple[Any, Any]]:
    """The k best sums of a number of each list, row by row, and which two they are of."""
    left, right = _pairs(a.shape[1], b.shape[1], k)
    found, where = _top(a[:, left] + b[:, right], k)
    return found, (left[where], right[where])


def _pairs(m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Places (a, b) of two sorted lists whose sum can be among the k best."""
    counts = np.minimum(n, k // np.arange(1, min(m, k) + 1))
    left = np.repeat(np.arange(len(counts)), counts)
    return left, np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts)


def _trace(
    rank: int, order: list[list[int]], picked: Any, joined: Any, widths: list[int], labels: int
) -> np.ndarray:
    """The labels of the output of that rank, from the roots down.

    place[v] : where v's list stood, before the children that are still to come were joined to it.
    """
    label, place = [0] * len(order), [0] * len(order)
    last = rank
    for v, above, _, _ in order:
        row = 0 if above < 0 else label[above]
        now = last if above < 0 else place[above]
        before, own = (int(ways[row, now]) for ways in joined[v])
        if above < 0:
            last = before
        else:
            place[above] = before
        label[v], place[v] = divmod(int(picked[v][row, own]), widths[v])
    return np.array(label)
