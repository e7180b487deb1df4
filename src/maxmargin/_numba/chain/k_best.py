"""Chains: the k best sequences. Layouts and parts as in `_numba.chain.maximize`."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import FLOATS, INTS, compile_internal, compiled_function, types


@compile_internal(types.boolean(FLOATS, types.int64, types.int64))
def comes_before(value, a, b):
    """Whether list a comes before list b: by the value of its head, then by number."""
    return value[a] > value[b] or (value[a] == value[b] and a < b)


@compile_internal(types.void(INTS, FLOATS, types.int64, types.int64))
def sift_down(heap, value, place, size):
    """Move the list at a place of the heap down to where it belongs."""
    moved = heap[place]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and comes_before(value, heap[child + 1], heap[child]):
            child += 1
        if not comes_before(value, heap[child], moved):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = moved


@compile_internal(types.int64(FLOATS, INTS, FLOATS, types.int64, FLOATS, INTS, FLOATS, INTS))
def merge_lists(lists, sizes, extra, k, out, origin, value, heap):
    """The k largest of lists[j, :sizes[j]] + extra[j], of falling lists, by a heap of their heads.

    Writes them to out, and j * k + rank to origin; returns how many there are, without -inf.
    Scratch: value, one float a list; heap, two integers a list.
    """
    count = len(extra)
    size = 0
    rank = heap[count : 2 * count]
    for j in range(count):
        rank[j] = 0
        if sizes[j] > 0 and lists[j * k] + extra[j] > -np.inf:
            value[j] = lists[j * k] + extra[j]
            heap[size] = j
            size += 1
    for place in range(size // 2 - 1, -1, -1):
        sift_down(heap, value, place, size)
    found = 0
    while found < k and size > 0:
        j = heap[0]
        out[found] = value[j]
        origin[found] = j * k + rank[j]
        found += 1
        rank[j] += 1
        if rank[j] < sizes[j]:
            value[j] = lists[j * k + rank[j]] + extra[j]
        else:
            size -= 1
            heap[0] = heap[size]
        sift_down(heap, value, 0, size)
    return found


@compiled_function(types.int64(FLOATS, INTS, types.int64, FLOATS, INTS, INTS, FLOATS, INTS))
def k_best(theta, layout, k, scores, labels_out, origin, work, iwork):
    """Viterbi with the k best beginnings of each label; O(T K (K + k log K)).

    scores (k,) and labels_out (k, T) are written, best first, among equals the one that `maximize`
    would take first; returns how many there are. origin: T K k; work: 2 K k + 2 K; iwork: 4 K.
    """
    length, labels, stride = layout[0], layout[1], layout[2]
    old, new = work[: labels * k], work[labels * k : 2 * labels * k]
    extra = work[2 * labels * k : 2 * labels * k + labels]
    value = work[2 * labels * k + labels : 2 * labels * k + 2 * labels]
    sizes, grown, heap = iwork[:labels], iwork[labels : 2 * labels], iwork[2 * labels : 4 * labels]
    for j in range(labels):
        old[j * k] = theta[j]
        sizes[j] = 1 if theta[j] > -np.inf else 0
    for t in range(1, length):
        table = length * labels + (t - 1) * stride
        for i in range(labels):
            for j in range(labels):
                extra[j] = theta[table + j * labels + i]
            row = new[i * k : (i + 1) * k]
            where = (t * labels + i) * k
            score = theta[t * labels + i]
            grown[i] = 0
            if score > -np.inf:
                source = origin[where : where + k]
                grown[i] = merge_lists(old, sizes, extra, k, row, source, value, heap)
            for r in range(grown[i]):
                row[r] += score
        old, new = new, old
        sizes, grown = grown, sizes
    extra[:] = 0.0
    found = merge_lists(old, sizes, extra, k, scores, origin[:k], value, heap)
    for r in range(found):
        at = origin[r]
        for t in range(length - 1, -1, -1):
            labels_out[r * length + t] = at // k
            if t > 0:
                at = origin[(t * labels + at // k) * k + at % k]
    return found
