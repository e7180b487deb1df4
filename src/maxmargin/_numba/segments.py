"""Segments with labels: semi-Markov chains. layout = (n, K, M), segments of at most M positions.

Parts: for each first position and each length 1, ..., M a score of each label; then one table
(K, K) of neighbouring labels, row = left label, whose parts are counts. -inf marks what is
forbidden.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.chain.maximize import max_ahead
from maxmargin._numba.compile import FLOATS, compile_ability, compile_internal, types
from maxmargin._numba.exponential import exp_low


@compile_internal(types.void(FLOATS, FLOATS, FLOATS))
def sum_ahead(table, old, new):
    """new[k] = log sum_j exp(old[j] + table[j, k])."""
    labels = len(new)
    for k in range(labels):
        high = -np.inf
        for j in range(labels):
            high = max(high, old[j] + table[j * labels + k])
        total = 0.0
        for j in range(labels):
            total += exp_low(old[j] + table[j * labels + k] - high) if high > -np.inf else 0.0
        new[k] = high + np.log(total) if high > -np.inf else high


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


@compile_ability
def marginals(theta, layout, out, work, iwork):
    """The expectation of each part. work: 3 (n + 1) K. Returns log Z.

    From the end back, each position divides its probability among the segments that end there, so
    that the sums are right whatever the size of the scores.
    """
    n, labels, most = layout[0], layout[1], layout[2]
    size = (n + 1) * labels
    total, before, mass = work[:size], work[size : 2 * size], work[2 * size : 3 * size]
    table = theta[n * most * labels : (n * most + labels) * labels]
    before[:labels] = 0.0
    for t in range(1, n + 1):
        for k in range(labels):
            high = -np.inf
            for length in range(1, min(most, t) + 1):
                s = t - length
                v = before[s * labels + k] + theta[(s * most + length - 1) * labels + k]
                high = max(high, v)
            sum_ = 0.0
            for length in range(1, min(most, t) + 1):
                s = t - length
                v = before[s * labels + k] + theta[(s * most + length - 1) * labels + k]
                sum_ += exp_low(v - high) if high > -np.inf else 0.0
            total[t * labels + k] = high + np.log(sum_) if high > -np.inf else high
        here, after = t * labels, (t + 1) * labels
        sum_ahead(table, total[here:after], before[here:after])
    out[:] = 0.0
    high = -np.inf
    for k in range(n * labels, size):
        high = max(high, total[k])
    if high == -np.inf:
        return high
    mass[:] = 0.0
    whole = 0.0
    for k in range(n * labels, size):
        mass[k] = exp_low(total[k] - high)
        whole += mass[k]
    for k in range(n * labels, size):
        mass[k] /= whole
    for t in range(n, 0, -1):
        for k in range(labels):
            p = mass[t * labels + k]
            if p == 0.0:
                continue
            for length in range(1, min(most, t) + 1):
                s = t - length
                part = (s * most + length - 1) * labels + k
                q = p * exp_low(before[s * labels + k] + theta[part] - total[t * labels + k])
                out[part] = q
                if s > 0 and q > 0.0:
                    for j in range(labels):
                        v = total[s * labels + j] + table[j * labels + k]
                        share = q * exp_low(v - before[s * labels + k])
                        out[(n * most + j) * labels + k] += share
                        mass[s * labels + j] += share
    return high + np.log(whole)
