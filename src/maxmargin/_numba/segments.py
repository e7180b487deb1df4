"""Segments with labels: semi-Markov chains. layout = (n, K, M), segments of at most M positions.

Parts: for each first position and each length 1, ..., M a score of each label; then one table
(K, K) of neighbouring labels, row = left label, whose parts are counts. -inf marks what is
forbidden.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.chain.maximize import max_ahead
from maxmargin._numba.compile import FLOATS, compile_ability, compile_internal, types
from maxmargin._numba.exponential import exp_low, largest_entry


@compile_internal(types.void(FLOATS, FLOATS, FLOATS, FLOATS))
def add_exponentials(values, shift, scale, out):
    """out[k] += scale[k] exp(values[k] - shift[k])."""
    for k in range(len(out)):
        out[k] += scale[k] * exp_low(values[k] - shift[k])


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """The best segments. work: 2 (n + 1) K, iwork: (n + 1) K. Returns their score.

    best[t, k]: of the first t positions, the last segment having label k; before[t, k]: of them, if
    a segment with label k follows.
    """
    n, labels, most = layout[0], layout[1], layout[2]
    best, before = work[: (n + 1) * labels], work[(n + 1) * labels :]
    table = theta[n * most * labels : (n * most + labels) * labels]
    before[:labels] = 0.0
    for t in range(1, n + 1):
        own = best[t * labels : (t + 1) * labels]
        own[:] = -np.inf
        for length in range(1, min(most, t) + 1):
            s = t - length
            first = (s * most + length - 1) * labels
            for k in range(labels):
                v = before[s * labels + k] + theta[first + k]
                if v > own[k]:
                    own[k] = v
                    iwork[t * labels + k] = length
        max_ahead(table, own, before[t * labels : (t + 1) * labels])
    out[:] = 0.0
    k = 0
    for j in range(labels):
        if best[n * labels + j] > best[n * labels + k]:
            k = j
    value = best[n * labels + k]
    t = n
    while t > 0 and value > -np.inf:
        length = iwork[t * labels + k]
        t -= length
        out[(t * most + length - 1) * labels + k] = 1.0
        if t > 0:
            left = 0
            for j in range(1, labels):
                here = best[t * labels + j] + table[j * labels + k]
                if here > best[t * labels + left] + table[left * labels + k]:
                    left = j
            out[(n * most + left) * labels + k] += 1.0
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


@compile_ability
def marginals(theta, layout, out, work, iwork):
    """The expectation of each part. work: (4 n + 8) K. Returns log Z.

    From the end back, each position divides the probability of what begins there among the labels
    before it, and that of what ends there among lengths, so that the sums are right whatever the
    size of the scores.
    """
    n, labels, most = layout[0], layout[1], layout[2]
    size = (n + 1) * labels
    total, before, begun = work[:size], work[size : 2 * size], work[2 * size : 3 * size]
    ended, shift = work[3 * size : 4 * size], work[4 * size : 4 * size + labels]
    sums, ones = work[4 * size + labels : 4 * size + 2 * labels], work[4 * size + 2 * labels :]
    ones = ones[:labels]
    ones[:] = 1.0
    table = theta[n * most * labels : (n * most + labels) * labels]
    before[:labels] = 0.0
    for t in range(1, n + 1):
        own, after = total[t * labels : (t + 1) * labels], before[t * labels : (t + 1) * labels]
        shift[:] = -np.inf
        for length in range(1, min(most, t) + 1):
            s = t - length
            first = (s * most + length - 1) * labels
            for k in range(labels):
                shift[k] = max(shift[k], before[s * labels + k] + theta[first + k])
        make_finite(shift)
        own[:] = 0.0
        for length in range(1, min(most, t) + 1):
            s = t - length
            first = (s * most + length - 1) * labels
            for k in range(labels):
                sums[k] = before[s * labels + k] + theta[first + k]
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
    counts = out[n * most * labels : (n * most + labels) * labels]
    flow = ones  # not needed as such any more
    for t in range(n, 0, -1):
        if t < n:
            for k in range(labels):
                shift[k] = before[t * labels + k]
            make_finite(shift)
            for j in range(labels):
                for k in range(labels):
                    sums[k] = total[t * labels + j] + table[j * labels + k]
                flow[:] = 0.0
                add_exponentials(sums, shift, begun[t * labels : (t + 1) * labels], flow)
                ended[t * labels + j] = 0.0
                for k in range(labels):
                    counts[j * labels + k] += flow[k]
                    ended[t * labels + j] += flow[k]
        for k in range(labels):
            shift[k] = total[t * labels + k]
        make_finite(shift)
        for length in range(1, min(most, t) + 1):
            s = t - length
            first = (s * most + length - 1) * labels
            part = out[first : first + labels]
            for k in range(labels):
                sums[k] = before[s * labels + k] + theta[first + k]
            add_exponentials(sums, shift, ended[t * labels : (t + 1) * labels], part)
            for k in range(labels):
                begun[s * labels + k] += part[k]
    return high + np.log(whole)
