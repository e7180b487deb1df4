"""Segments with labels: semi-Markov chains. layout = (n, K, M, has_positions).

Segments have at most M positions. Parts: with has_positions, for each position a score of each
label whose segment begins there, then of each whose segment goes on there, (n, 2, K); for each
first position and each length 1, ..., M a score of each label; then one table (K, K) of
neighbouring labels, row = left label, whose parts are counts. -inf marks what is forbidden.

Sums are made of exponentials that are taken once of each score. That is exact as long as nothing
comes near the smallest float, which is watched; where something does, logarithms serve instead.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.chain.log_marginals import pass_on
from maxmargin._numba.chain.marginals import add_products, pass_back
from maxmargin._numba.chain.maximize import max_ahead
from maxmargin._numba.compile import (
    FLOATS,
    INTS,
    compile_ability,
    compile_inlined,
    compile_internal,
    types,
)
from maxmargin._numba.exponential import count_between, exp_low, exp_within, largest_entry

# Finite scores are from LEAST to MOST, what a position's sum is divided by is >= LEAST_MESSAGE, as
# are messages where positive, and the product of such divisors along a segment is within FAR of 1
# either way: else logarithms it is. Then no product of a message, a table's entry, a segment's and
# that ratio is below 1e-260: so what is 0 is forbidden, and the first message too small shows.
LEAST, MOST, LEAST_MESSAGE, FAR = -115.0, 100.0, 1e-100, 1e60


@compile_internal(types.void(FLOATS, FLOATS, FLOATS, FLOATS))
def add_exponentials(values, shift, scale, out):
    """out[k] += scale[k] exp(values[k] - shift[k])."""
    for k in range(len(out)):
        out[k] += scale[k] * exp_low(values[k] - shift[k])


@compile_inlined
def divide_parts(values, layout):
    """Views of the parts of positions, of segments and of neighbouring labels."""
    n, labels, most = layout[0], layout[1], layout[2]
    first = 2 * n * labels * layout[3]
    last = first + n * most * labels
    return values[:first], values[first:last], values[last : last + labels * labels]


@compile_internal(types.void(FLOATS, INTS, FLOATS))
def add_positions(theta, layout, scores):
    """Let scores be those of segments, with what their positions score."""
    n, labels, most = layout[0], layout[1], layout[2]
    positions, segments, _ = divide_parts(theta, layout)
    for s in range(n):
        for length in range(1, min(most, n - s) + 1):
            first = (s * most + length - 1) * labels
            at = 2 * (s + length - 1) * labels + (labels if length > 1 else 0)
            for k in range(labels):
                # the score of the positions alone is kept where the next length finds it
                before = scores[first - labels + k] if length > 1 else 0.0
                scores[first + k] = before + positions[at + k]
        for k in range(s * most * labels, (s * most + min(most, n - s)) * labels):
            scores[k] += segments[k]


@compile_internal(types.void(INTS, FLOATS))
def count_positions(layout, out):
    """Write the parts of positions from those of segments."""
    n, labels, most = layout[0], layout[1], layout[2]
    positions, segments, _ = divide_parts(out, layout)
    positions[:] = 0.0
    for s in range(n):
        for k in range(labels):
            longer = 0.0  # of segments that begin at s and are at least this long
            for length in range(min(most, n - s), 0, -1):
                longer += segments[(s * most + length - 1) * labels + k]
                at = 2 * (s + length - 1) * labels + (labels if length > 1 else 0)
                positions[at + k] += longer


@compile_internal(types.void(FLOATS, FLOATS, INTS, FLOATS, INTS))
def push_best(before, scores, lengths, best, back):
    """Let segments of all lengths from one position on be the last ones, where they are better.

    Ties go to the later call: to the shorter segment. There are no branches, for vectors.
    """
    for q in range(len(best)):
        v = before[q] + scores[q]
        better = v >= best[q]
        best[q] = v if better else best[q]
        back[q] = lengths[q] if better else back[q]


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """The best segments. Returns their score.

    work: (n + 1) K + min(M, n) K + n M K, the last of these for positions; iwork: the first two.
    best[t, k]: of the first t positions, the last segment having label k; before[length, k]: of the
    positions before the present one, if a segment with label k follows, for each length again.
    """
    n, labels, most = layout[0], layout[1], layout[2]
    size, width = (n + 1) * labels, min(most, n) * labels
    best, before = work[:size], work[size : size + width]
    back, lengths = iwork[:size], iwork[size : size + width]
    _, scores, table = divide_parts(theta, layout)
    if layout[3] != 0:
        scores = work[size + width : size + width + n * most * labels]
        add_positions(theta, layout, scores)
    for q in range(width):
        lengths[q] = q // labels + 1
    before[:] = 0.0
    best[:] = -np.inf
    for s in range(n):
        if s > 0:
            max_ahead(table, best[s * labels : (s + 1) * labels], before[:labels])
            for q in range(labels, width):
                before[q] = before[q - labels]
        own, first = min(most, n - s) * labels, s * most * labels
        to = slice((s + 1) * labels, (s + 1) * labels + own)
        push_best(before[:own], scores[first : first + own], lengths[:own], best[to], back[to])
    out[:] = 0.0
    positions, segments, pairs = divide_parts(out, layout)
    k = 0
    for j in range(labels):
        if best[n * labels + j] > best[n * labels + k]:
            k = j
    value = best[n * labels + k]
    t = n
    while t > 0 and value > -np.inf:
        length = back[t * labels + k]
        t -= length
        segments[(t * most + length - 1) * labels + k] = 1.0
        for u in range(t, t + length if layout[3] != 0 else t):
            positions[2 * u * labels + (labels if u > t else 0) + k] = 1.0
        if t > 0:
            left = 0
            for j in range(1, labels):
                here = best[t * labels + j] + table[j * labels + k]
                if here > best[t * labels + left] + table[left * labels + k]:
                    left = j
            pairs[left * labels + k] += 1.0
            k = left
    return value


@compile_internal(types.void(FLOATS))
def make_finite(shift):
    """Replace -inf, below which nothing is, by a number from which all differences are -inf."""
    for k in range(len(shift)):
        shift[k] = shift[k] if shift[k] > -np.inf else 1e300


@compile_internal(types.void(FLOATS, FLOATS))
def take_logs(shift, values):
    """Turn sums of exp(. - shift) into logs of sums of exp(.)."""
    for k in range(len(values)):
        values[k] = shift[k] + np.log(values[k]) if values[k] > 0.0 else -np.inf


@compile_internal(types.void(FLOATS, FLOATS))
def divide_masses(masses, sums):
    """Divide masses by sums, which are 1 but for the rounding of large scores, or 0."""
    for k in range(len(masses)):
        masses[k] = masses[k] / sums[k] if sums[k] > 0.0 else 0.0


@compile_ability
def marginals(theta, layout, out, work, iwork):
    """The expectation of each part. work: (4 n + 8 + K) K + n + 1 + n M K. Returns log Z."""
    n, labels, most = layout[0], layout[1], layout[2]
    size, square = (n + 1) * labels, labels * labels
    _, scores, pairs = divide_parts(theta, layout)
    _, parts, counts = divide_parts(out, layout)
    rest = work
    if layout[3] != 0:
        scores, rest = work[: n * most * labels], work[n * most * labels :]
        scores[:] = -np.inf
        add_positions(theta, layout, scores)
    ended, begun = rest[:size], rest[size : 2 * size]
    after, ahead = rest[2 * size : 3 * size], rest[3 * size : 4 * size]
    table = rest[4 * size : 4 * size + square]
    scale = rest[4 * size + square : 4 * size + square + n + 1]
    value = np.nan
    good = exp_within(scores, 0.0, LEAST, MOST, parts)
    if good and exp_within(pairs, 0.0, LEAST, MOST, table):
        value = sums_ahead(layout, parts, table, ended, begun, scale)
    if np.isfinite(value):
        sums_behind(layout, parts, table, ended, begun, after, ahead, scale)
        counts[:] = 0.0
        if n > 1:
            add_products(ended[labels : n * labels], ahead[labels : n * labels], counts, n - 1)
        for p in range(square):
            counts[p] *= table[p]
    else:
        value = marginals_by_logs(scores, pairs, layout, parts, counts, rest)
    if layout[3] != 0:
        count_positions(layout, out)
    return value


@compile_internal(types.float64(INTS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS))
def sums_ahead(layout, parts, table, ended, begun, scale):
    """ended[t, k]: shares of the labels of segments that end at t; begun[t, k]: sums before others.

    Both are divided by what makes shares sum to 1, the product of scale[1], ..., scale[t]; scale is
    1 where no segment ends. Returns log Z, -inf if it is 0, NaN if numbers are too far apart.
    """
    n, labels, most = layout[0], layout[1], layout[2]
    begun[:labels] = 1.0
    ended[:labels] = 0.0
    value, scale[0] = 0.0, 1.0
    for t in range(1, n + 1):
        own, ratio = ended[t * labels : (t + 1) * labels], 1.0
        own[:] = 0.0
        for length in range(1, min(most, t) + 1):
            s = t - length
            first = (s * most + length - 1) * labels
            add_scaled(
                begun[s * labels : (s + 1) * labels], parts[first : first + labels], ratio, own
            )
            ratio /= scale[s]
            if ratio > FAR or ratio < 1.0 / FAR:
                return np.nan
        total = 0.0
        for k in range(labels):
            total += own[k]
        if 0.0 < total < LEAST_MESSAGE or count_between(own, LEAST_MESSAGE * total) > 0:
            return np.nan
        scale[t] = total if total > 0.0 else 1.0
        for k in range(labels):
            own[k] /= scale[t]
        value += np.log(scale[t])
        pass_on(table, own, begun[t * labels : (t + 1) * labels])
        if t == n and total == 0.0:
            return -np.inf
    return value


@compile_internal(types.void(FLOATS, FLOATS, types.float64, FLOATS))
def add_scaled(x, y, ratio, out):
    """out[k] += x[k] y[k] ratio."""
    for k in range(len(out)):
        out[k] += x[k] * y[k] * ratio


@compile_internal(types.void(INTS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS))
def sums_behind(layout, parts, table, ended, begun, after, ahead, scale):
    """Probabilities of segments replace `parts`; ahead[t, k]: sums of segments that begin at t.

    after[t, k]: what comes after a segment that ends at t. Both are times the product of scale[1],
    ..., scale[t], divided by Z, and 0 where nothing comes before: they might else grow without
    bound.
    """
    n, labels, most = layout[0], layout[1], layout[2]
    after[n * labels : (n + 1) * labels] = 1.0
    for s in range(n - 1, -1, -1):
        own, before = ahead[s * labels : (s + 1) * labels], begun[s * labels : (s + 1) * labels]
        own[:] = 0.0
        ratio = 1.0
        for length in range(1, most + 1):
            first, t = (s * most + length - 1) * labels, s + length
            part = parts[first : first + labels]
            if t > n:
                part[:] = 0.0
            else:
                ratio /= scale[t]
                take_share(before, after[t * labels : (t + 1) * labels], ratio, part, own)
        if s > 0:
            left, new = ended[s * labels : (s + 1) * labels], after[s * labels : (s + 1) * labels]
            pass_back(table, own, new)
            for j in range(labels):
                new[j] = new[j] if left[j] > 0.0 else 0.0


@compile_internal(types.void(FLOATS, FLOATS, types.float64, FLOATS, FLOATS))
def take_share(before, after, ratio, part, total):
    """part[k] *= after[k] ratio is added to total[k], then multiplied by before[k]."""
    for k in range(len(part)):
        v = part[k] * (after[k] * ratio) if before[k] > 0.0 else 0.0
        total[k] += v
        part[k] = v * before[k]


@compile_internal(types.float64(FLOATS, FLOATS, INTS, FLOATS, FLOATS, FLOATS))
def marginals_by_logs(scores, table, layout, out, counts, work):
    """The expectations of segments, and of pairs of labels, for scores of any size.

    From the end back, each position divides the probability of what begins there among the labels
    before it, and that of what ends there among lengths, so that the sums are right whatever the
    size of the scores.
    """
    n, labels, most = layout[0], layout[1], layout[2]
    size = (n + 1) * labels
    total, before, begun = work[:size], work[size : 2 * size], work[2 * size : 3 * size]
    ended, rows = work[3 * size : 4 * size], work[4 * size : 4 * size + 4 * labels]
    shift, sums, ones = rows[:labels], rows[labels : 2 * labels], rows[2 * labels : 3 * labels]
    wholes, shares = rows[3 * labels :], work[4 * size + 4 * labels :][: labels * labels]
    ones[:] = 1.0
    before[:labels] = 0.0
    for t in range(1, n + 1):
        own, after = total[t * labels : (t + 1) * labels], before[t * labels : (t + 1) * labels]
        shift[:] = -np.inf
        for length in range(1, min(most, t) + 1):
            s = t - length
            first = (s * most + length - 1) * labels
            for k in range(labels):
                shift[k] = max(shift[k], before[s * labels + k] + scores[first + k])
        make_finite(shift)
        own[:] = 0.0
        for length in range(1, min(most, t) + 1):
            s = t - length
            first = (s * most + length - 1) * labels
            for k in range(labels):
                sums[k] = before[s * labels + k] + scores[first + k]
            add_exponentials(sums, shift, ones, own)
        take_logs(shift, own)
        max_ahead(table, own, shift)
        make_finite(shift)
        after[:] = 0.0
        for j in range(labels):
            for k in range(labels):
                sums[k] = own[j] + table[j * labels + k]
            add_exponentials(sums, shift, ones, after)
        take_logs(shift, after)
    out[:] = 0.0
    counts[:] = 0.0
    high = largest_entry(total[n * labels : size])
    if high == -np.inf:
        return high
    begun[:] = 0.0
    whole = 0.0
    for k in range(labels):
        ended[n * labels + k] = exp_low(total[n * labels + k] - high)
        whole += ended[n * labels + k]
    for k in range(labels):
        ended[n * labels + k] /= whole
    for t in range(n, 0, -1):
        last = ended[t * labels : (t + 1) * labels]
        if t < n:
            for k in range(labels):
                shift[k] = before[t * labels + k]
            make_finite(shift)
            wholes[:] = 0.0
            shares[:] = 0.0
            for j in range(labels):
                row = shares[j * labels : (j + 1) * labels]
                for k in range(labels):
                    sums[k] = total[t * labels + j] + table[j * labels + k]
                add_exponentials(sums, shift, ones, row)
                for k in range(labels):
                    wholes[k] += row[k]
            first = begun[t * labels : (t + 1) * labels]
            divide_masses(first, wholes)
            for j in range(labels):
                last[j] = 0.0
                for k in range(labels):
                    p = j * labels + k
                    counts[p] += shares[p] * first[k]
                    last[j] += shares[p] * first[k]
        for k in range(labels):
            shift[k] = total[t * labels + k]
        make_finite(shift)
        wholes[:] = 0.0
        for length in range(1, min(most, t) + 1):
            s = t - length
            at = (s * most + length - 1) * labels
            part = out[at : at + labels]
            for k in range(labels):
                sums[k] = before[s * labels + k] + scores[at + k]
            add_exponentials(sums, shift, ones, part)
            for k in range(labels):
                wholes[k] += part[k]
        divide_masses(last, wholes)
        for length in range(1, min(most, t) + 1):
            s = t - length
            at = (s * most + length - 1) * labels
            for k in range(labels):
                out[at + k] *= last[k]
                begun[s * labels + k] += out[at + k]
    return high + np.log(whole)
