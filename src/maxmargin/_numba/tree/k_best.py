"""Trees and forests: the k best labels. Layouts and parts as in `_numba.tree.maximize`."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.arrays import copy_values
from maxmargin._numba.chain.k_best import merge_lists, sift_down
from maxmargin._numba.compile import FLOATS, INTS, compile_internal, compiled_function, types


@compile_internal(
    types.int64(
        FLOATS, types.int64, FLOATS, types.int64, types.int64, FLOATS, INTS, FLOATS, INTS
    )
)  # fmt: skip
def join_lists(left, n_left, right, n_right, k, out, origin, value, heap):
    """The k largest sums of a number of each of two falling lists, by a heap of the left one.

    Writes them to out, and place in left * k + place in right to origin, which among equal sums
    rises; returns how many there are. Scratch: value, one float, heap, two integers for each number
    of left.
    """
    if n_right == 0:
        return 0
    place = heap[n_left : 2 * n_left]
    for a in range(n_left):  # a falling list is a heap
        value[a] = left[a] + right[0]
        heap[a] = a
        place[a] = 0
    found, size = 0, n_left
    while found < k and size > 0:
        a = heap[0]
        out[found] = value[a]
        origin[found] = a * k + place[a]
        found += 1
        place[a] += 1
        if place[a] < n_right:
            value[a] = left[a] + right[place[a]]
        else:
            size -= 1
            heap[0] = heap[size]
        sift_down(heap, value, 0, size)
    return found


@compile_internal(types.void(FLOATS, INTS, types.int64, types.int64, FLOATS))
def pair_scores(theta, layout, i, label, out):
    """The scores of all labels of the node at place i, beside a label of the node above it."""
    count, labels = layout[0], layout[1]
    if layout[4 + count + i] < 0:
        out[:] = 0.0
        return
    first = count * labels + layout[4 + 2 * count + i] * layout[2]
    for own in range(labels):
        if layout[4 + 3 * count + i]:
            out[own] = theta[first + label * labels + own]
        else:
            out[own] = theta[first + own * labels + label]


@compiled_function(types.int64(FLOATS, INTS, types.int64, FLOATS, INTS, INTS, FLOATS, INTS))
def k_best(theta, layout, k, scores, labels_out, origin, work, iwork):
    """Max-product with lists of the k best in place of numbers; O(V K (K + k log K k)).

    Each label of a node has a list of the best of all that hangs below it; what hangs below one
    child after the other is joined to it. All roots are joined to the one list of a node V.

    scores (k,) and labels_out (k, V) are written, best first, among equals the one that `maximize`
    would take first; returns how many there are. origin: 2 V K k, for each node and each label of
    the one above it, from where its message's numbers come, and those of the list above after it.
    work: (V K + 1) k + 2 k + K + max(k, K); iwork: V K + 1 + 2 max(k, K) + 2 (V + 1).
    """
    count, labels = layout[0], layout[1]
    rows = count * labels
    lists, rest = work[: (rows + 1) * k], work[(rows + 1) * k :]
    message, joined, extra = rest[:k], rest[k : 2 * k], rest[2 * k : 2 * k + labels]
    value = rest[2 * k + labels :]
    sizes, wide = iwork[: rows + 1], 2 * max(k, labels)
    heap = iwork[rows + 1 : rows + 1 + wide]
    label = iwork[rows + 1 + wide : rows + 2 + wide + count]
    place = iwork[rows + 2 + wide + count :]
    picked, pairs = origin[: rows * k], origin[rows * k :]
    for p in range(rows):
        lists[p * k] = theta[p]
        sizes[p] = 1 if theta[p] > -np.inf else 0
    lists[rows * k] = 0.0
    sizes[rows] = 1
    for i in range(count - 1, -1, -1):
        v, above = layout[4 + i], layout[4 + count + i]
        own, own_sizes = lists[v * labels * k :], sizes[v * labels :]
        for above_label in range(1 if above < 0 else labels):
            target = rows if above < 0 else above * labels + above_label
            at = (v * labels + above_label) * k
            pair_scores(theta, layout, i, above_label, extra)
            n = merge_lists(own, own_sizes, extra, k, message, picked[at : at + k], value, heap)
            old = lists[target * k : (target + 1) * k]
            sizes[target] = join_lists(
                old, sizes[target], message, n, k, joined, pairs[at : at + k], value, heap
            )
            copy_values(joined[: sizes[target]], old[: sizes[target]])
    found = sizes[rows]
    copy_values(lists[rows * k : rows * k + found], scores[:found])
    for r in range(found):
        label[count], place[count] = 0, r
        for i in range(count):  # what was joined last is taken apart first
            v, above = layout[4 + i], layout[4 + count + i]
            above = count if above < 0 else above
            at = (v * labels + label[above]) * k
            pair = pairs[at + place[above]]
            place[above] = pair // k
            source = picked[at + pair % k]
            label[v], place[v] = source // k, source % k
            labels_out[r * count + v] = label[v]
    return found
