"""The best subset of many labels, or a bound on its score: quadratic pseudo-Boolean optimisation
(QPBO, roof duality).

Each label has two copies, x and y, of which y means that the label is off. With scores of labels
halved between x and 1 - y, pairs that attract between (x, x) and (1 - y, 1 - y), and pairs that
repel between (x, 1 - y) and (1 - y, x), no pair of copies rewards to differ, so that a minimum cut
finds the best copies. Their score is a bound, because y = 1 - x may be chosen: that of the linear
program with z_km <= z_k, z_km <= z_m and z_km >= z_k + z_m - 1. Labels whose copies agree are so in
some best subset (Hammer, Hansen and Simeone 1984). If few are left, all their subsets are tried,
and the answer is exact; else they are improved in blocks, all subsets of a block at a time.

layout = (2, L, E, 2 E ends of pairs). The cut has as nodes L copies x, then L copies y, and as
edges of pair (k, m) those of (x_k, x_m), (y_k, y_m), (x_k, y_m) and (x_m, y_k). Its own layout (see
`_numba.graph_cut.maximize`) is twenty times as long, and made anew at each call: samples need not
keep it.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import FLOATS, INTS, compile_internal, types
from maxmargin._numba.graph_cut.maximize import maximize as cut
from maxmargin._numba.multi_label.subsets import best_set, fill_low, float_size, make_sets

INT, FLOAT = types.int64, types.float64
MOST = 18  # labels left of which all subsets are tried
BLOCK = 12  # labels of a block, where more are left
SWEEPS, IDLE = 40, 4  # at most, and without a gain


def work_size(labels: int, pairs: int) -> tuple[int, int]:
    """Floats and integers of work space; plain Python."""
    floats = 2 * (2 * labels + 4 * pairs) + 2 * labels + 12 * pairs
    floats += labels * labels + MOST + float_size(min(labels, MOST))
    return floats, 17 * labels + 7 + 40 * pairs


@compile_internal(types.void(INTS, INTS, INTS))
def cut_layout(layout, found, free):
    """Write the layout of the cut. free: 2 L, scratch."""
    labels, pairs = layout[1], layout[2]
    n, m = 2 * labels, 4 * pairs
    found[0], found[1] = n, m
    starts = found[2 : 3 + n]
    lists = found[3 + n : 3 + n + 10 * m]
    heads, sisters, edges = lists[: 2 * m], lists[2 * m : 4 * m], lists[4 * m : 6 * m]
    ends, arcs = lists[6 * m : 8 * m], lists[8 * m :]
    for e in range(pairs):
        k, j = layout[3 + 2 * e], layout[4 + 2 * e]
        own = ends[8 * e : 8 * e + 8]
        own[0], own[1], own[2], own[3] = k, j, labels + k, labels + j
        own[4], own[5], own[6], own[7] = k, labels + j, j, labels + k
    starts[:] = 0
    for i in range(2 * m):
        starts[1 + ends[i]] += 1
    for j in range(n):
        starts[j + 1] += starts[j]
        free[j] = starts[j]
    for i in range(2 * m):
        arcs[i] = free[ends[i]]
        free[ends[i]] += 1
    for i in range(2 * m):
        other = i + 1 if i % 2 == 0 else i - 1
        heads[arcs[i]], sisters[arcs[i]], edges[arcs[i]] = ends[other], arcs[other], i // 2


@compile_internal(FLOAT(FLOATS, INTS, FLOATS, FLOAT))
def double_scores(theta, layout, copies, large):
    """Twice the scores of copies and of their pairs; returns twice what they all have in common."""
    labels, pairs = layout[1], layout[2]
    total = 0.0
    for k in range(labels):
        own = max(theta[k], -large)
        copies[k], copies[labels + k] = own, -own
        total += own
    for e in range(pairs):
        k, m = layout[3 + 2 * e], layout[4 + 2 * e]
        own = max(theta[labels + e], -large)
        start = 2 * labels + 4 * e
        copies[k] += own / 2
        copies[m] += own / 2
        copies[labels + k] -= own / 2
        copies[labels + m] -= own / 2
        attracts = own > 0.0
        copies[start] = copies[start + 1] = -own / 2 if attracts else 0.0
        copies[start + 2] = copies[start + 3] = 0.0 if attracts else own / 2
        total += own if attracts else 0.0
    return total


@compile_internal(types.void(FLOATS, INTS, FLOATS))
def dense_pairs(theta, layout, pair):
    """pair[k * L + m] = the score of labels k and m together, 0 if they are not a pair."""
    labels = layout[1]
    pair[: labels * labels] = 0.0
    for e in range(layout[2]):
        k, m = layout[3 + 2 * e], layout[4 + 2 * e]
        pair[k * labels + m] = pair[m * labels + k] = theta[labels + e]


@compile_internal(types.void(FLOATS, FLOATS, INT, INTS, INT, FLOATS, FLOATS, FLOATS))
def improve_block(theta, pair, labels, chosen, count, out, found, work):
    """Make out[k] best for the `count` chosen labels k, all others staying what they are."""
    sets = make_sets(count, work)
    for i in range(count):
        k = chosen[i]
        sets.own[i] = theta[k]
        for j in range(count):
            sets.pair[i * count + j] = pair[k * labels + chosen[j]]
    for i in range(count):
        out[chosen[i]] = 0.0
    for m in range(labels):
        if out[m] == 1.0:
            for i in range(count):
                sets.own[i] += pair[chosen[i] * labels + m]
    fill_low(sets)
    best_set(sets, found[:count])
    for i in range(count):
        out[chosen[i]] = found[i]


@compile_internal(FLOAT(FLOATS, INTS, FLOATS))
def switch_pairs_on(theta, layout, out):
    """Switch the pairs on whose labels are; returns the score."""
    labels, value = layout[1], 0.0
    for k in range(labels):
        if out[k] == 1.0:
            value += theta[k]
    for e in range(layout[2]):
        out[labels + e] = out[layout[3 + 2 * e]] * out[layout[4 + 2 * e]]
        if out[labels + e] == 1.0:
            value += theta[labels + e]
    return value


@compile_internal(types.void(INTS, INT, INT))
def shuffle_numbers(numbers, count, seed):
    """Put them in another order, the same for the same seed, so that blocks are others."""
    state = np.uint64(seed + 1)
    for i in range(count - 1, 0, -1):
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        j = np.int64((state >> np.uint64(33)) % np.uint64(i + 1))
        numbers[i], numbers[j] = numbers[j], numbers[i]


@compile_internal(FLOAT(FLOATS, INTS, FLOATS, FLOATS, INTS))
def maximize_qpbo(theta, layout, out, work, iwork):
    """Writes a subset, returns its score if it is the best, else a bound on that."""
    labels, pairs = layout[1], layout[2]
    size = 2 * labels + 4 * pairs
    copies, side = work[:size], work[size : 2 * size]
    end = 2 * size + 2 * labels + 12 * pairs
    flow = work[2 * size : end]
    pair = work[end : end + labels * labels]
    found = work[end + labels * labels : end + labels * labels + MOST]
    rest = work[end + labels * labels + MOST :]
    left, free, nodes = iwork[:labels], iwork[labels : 3 * labels], iwork[3 * labels :]
    inner = nodes[12 * labels + 4 :]
    cut_layout(layout, inner, free)
    large = 1.0
    for p in range(labels + pairs):
        if theta[p] > -np.inf:
            large += 2.0 * abs(theta[p])
    common = double_scores(theta, layout, copies, large)
    flow[: 4 * pairs] = 0.0
    bound = (cut(copies, inner, side, flow, nodes) + common) / 2
    dense_pairs(theta, layout, pair)
    count = 0
    for k in range(labels):
        out[k] = side[k] if side[k] != side[labels + k] else 0.0
        if side[k] == side[labels + k] and theta[k] > -np.inf:
            left[count] = k
            count += 1
    if count <= MOST:
        if count > 0:
            improve_block(theta, pair, labels, left, count, out, found, rest)
        return switch_pairs_on(theta, layout, out)
    value, idle = switch_pairs_on(theta, layout, out), 0
    for sweep in range(SWEEPS):
        for first in range(0, count, BLOCK // 2):
            last = min(first + BLOCK, count)
            improve_block(theta, pair, labels, left[first:last], last - first, out, found, rest)
        again = switch_pairs_on(theta, layout, out)
        idle = 0 if again > value else idle + 1
        value = max(value, again)
        if idle == IDLE:
            break
        shuffle_numbers(left, count, sweep)
    return max(bound, value)
