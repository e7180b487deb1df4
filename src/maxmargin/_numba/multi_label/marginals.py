"""Expectations over all subsets of labels. Layouts as in `_numba.multi_label.maximize`."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.arrays import copy_values
from maxmargin._numba.compile import FLOATS, INTS, compile_ability, compile_internal, types
from maxmargin._numba.multi_label.maximize import TREE_KIND, as_tree, has_non_finite
from maxmargin._numba.multi_label.qpbo import dense_pairs
from maxmargin._numba.multi_label.subsets import (
    LOW,
    SETS,
    best_set,
    fill_low,
    float_size,
    make_sets,
    row_max,
    set_high,
)
from maxmargin._numba.tree.marginals import marginals as tree_marginals

INT, FLOAT = types.int64, types.float64
NOTHING = -745.0  # its exponential is 0
float_size_of = compile_internal(INT(INT))(float_size)


@compile_internal(FLOAT(FLOATS, INT, INT), reorder=True)
def range_sum(values, first, last):
    total = 0.0
    for s in range(first, last):
        total += values[s]
    return total


@compile_internal(FLOAT(SETS, FLOAT, FLOAT, FLOATS))
def weigh_subsets(sets, more, high, shares):
    """shares[s] = exp(score - high) of the low subsets beside the high one set; their sum."""
    columns, total = len(sets.along), 0.0
    for r in range(len(sets.down)):
        start, extra = r * columns, more + sets.down[r] - high
        own = shares[start : start + columns]
        if not row_max(sets.low, start, sets.along) + extra > NOTHING:
            own[:] = 0.0
            continue
        for s in range(columns):
            own[s] = np.exp(sets.low[start + s] + sets.along[s] + extra)
        total += range_sum(shares, start, start + columns)
    return total


@compile_internal(types.void(FLOATS, INT, FLOATS))
def sum_over_subsets(shares, count, single):
    """single[k] = the sum of the shares of subsets of `count` labels with k; spoils the shares."""
    half = (1 << count) >> 1
    for k in range(count - 1, -1, -1):
        single[k] = range_sum(shares, half, 2 * half)
        for s in range(half):
            shares[s] += shares[half + s]
        half //= 2


@compile_internal(types.void(FLOATS, FLOATS, INT, INT, INTS, FLOATS, FLOATS))
def add_low(shares, scratch, few, labels, place, single, out):
    """Add what subsets of the low labels share to these and their pairs; spoils the shares."""
    half = (1 << few) >> 1
    for k in range(few - 1, -1, -1):
        copy_values(shares[half : 2 * half], scratch[:half])
        for s in range(half):
            shares[s] += shares[half + s]
        out[k] += range_sum(scratch, 0, half)
        sum_over_subsets(scratch, k, single)
        for m in range(k):
            if place[k * labels + m] >= 0:
                out[place[k * labels + m]] += single[m]
        half //= 2


@compile_internal(types.void(INT, INT, INT, INTS, FLOATS, FLOAT, FLOATS))
def add_high(high, few, labels, place, single, total, out):
    """Add to the high labels that are on, to their pairs, and to their pairs with low labels."""
    for m in range(few, labels):
        if not (high >> (m - few)) & 1:
            continue
        out[m] += total
        for k in range(m):
            p = place[m * labels + k]
            if p < 0:
                continue
            if k < few:
                out[p] += single[k]
            elif (high >> (k - few)) & 1:
                out[p] += total


@compile_internal(FLOAT(FLOATS, INTS, FLOATS, FLOATS, INTS))
def marginals_of_sets(theta, layout, out, work, iwork):
    """By trying all subsets. work: `subsets.float_size`, 2 ** LOW and 2 L more; iwork: L L."""
    labels, pairs = layout[1], layout[2]
    sets = make_sets(labels, work)
    few, size = min(labels, LOW), len(sets.low)
    rest = work[float_size_of(labels) :]
    sums, single, found = rest[:size], rest[size : size + labels], rest[size + labels :]
    place = iwork[: labels * labels]
    place[:] = -1
    for e in range(pairs):
        k, m = layout[3 + 2 * e], layout[4 + 2 * e]
        place[k * labels + m] = place[m * labels + k] = labels + e
    copy_values(theta[:labels], sets.own)
    dense_pairs(theta, layout, sets.pair)
    fill_low(sets)
    best = best_set(sets, found[:labels])
    out[:] = 0.0
    sums[:] = 0.0
    whole = 0.0
    for high in range(1 << (labels - few)):
        more = set_high(sets, high)
        if more == -np.inf:
            continue
        total = weigh_subsets(sets, more, best, sets.room)
        if total == 0.0:
            continue
        whole += total
        for s in range(size):
            sums[s] += sets.room[s]
        if high > 0:
            sum_over_subsets(sets.room, few, single)
            add_high(high, few, labels, place, single, total, out)
    add_low(sums, sets.room, few, labels, place, single, out)
    for p in range(len(out)):
        out[p] /= whole
    return best + np.log(whole)


@compile_ability
def marginals(theta, layout, out, work, iwork):
    """Writes expectations, returns the log of the sum of all subsets' exponentials."""
    labels, pairs = layout[1], layout[2]
    if has_non_finite(theta) or layout[0] == 2:
        out[:] = 0.0
        return np.nan
    if layout[0] != TREE_KIND:
        return marginals_of_sets(theta, layout, out, work, iwork)
    size = 2 * labels + 4 * pairs
    scores, found = work[:size], work[size : 2 * size]
    as_tree(theta, layout, scores)
    value = tree_marginals(scores, layout[3 + 2 * pairs :], found, work[2 * size :], iwork)
    for k in range(labels):
        out[k] = found[2 * k + 1]
    for e in range(pairs):
        out[labels + e] = found[2 * labels + 4 * e + 3]
    return value
