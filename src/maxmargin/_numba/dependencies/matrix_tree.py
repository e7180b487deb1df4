"""Dependency trees whose arcs may cross: sums over all of them, by the matrix-tree theorem.

Layouts and parts as in `_numba.dependencies.projective`.

Let a walk go from a word d to a head h with rates exp(theta[d, h]), until it ends in the root. Then
Z, the sum over all trees, is the product of the rates at which words leave when one after the other
is eliminated, its rates passed on to the words that lead to it. And the probability of an arc h ->
d is proportional to its rate times the probability that a walk from h ends in the root before it
meets d. Eliminations add, multiply and divide positive numbers (Grassmann, Taksar and Heyman 1985),
so that nothing cancels, however large the scores are; determinants and inverse matrices do cancel.

With a single root, Z is the term of first order in a common factor of the root's rates: those are
passed on, but do not count among the rates at which words leave, but for the last one.

Rates are plain numbers, where these suffice, else logarithms of twice the digits.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import FLOATS, compile_ability, compile_internal, types
from maxmargin._numba.exponential import exp_low, largest_entry

INT, FLOAT = types.int64, types.float64
PAIR = types.UniTuple(FLOAT, 2)
LEAST = 1e-250  # a rate out of a word, below which what has vanished may matter


@compile_internal(FLOAT(FLOATS, FLOATS, INT, types.boolean, INT))
def eliminate(rate, leave, n, single_root, kept):
    """Eliminate all words but `kept` (0: none), from the last to the first.

    rate (N, N): row d, column h; written: the rates of each word when it was eliminated, to those
    before it, the root and `kept`. leave (N,): at which it left. Returns the log of their product,
    NaN if one of them vanishes.
    """
    size = n + 1
    value = 0.0
    for k in range(n, 0, -1):
        if k == kept:
            continue
        own = rate[k * size : (k + 1) * size]
        total = own[kept] if kept > k else 0.0
        for h in range(1, k):
            total += own[h]
        if not single_root or (k == 1 and kept == 0):
            total += own[0]
        leave[k] = total
        if not total > LEAST:
            return np.nan
        value += np.log(total)
        for d in range(1, size):
            if d >= k and d != kept:
                continue
            row = rate[d * size : (d + 1) * size]
            passed = row[k] / total
            if passed > 0.0 and d != k:
                for h in range(k):
                    row[h] += passed * own[h]
                if kept > k:
                    row[kept] += passed * own[kept]
    return value


@compile_internal(types.void(FLOATS, FLOATS, INT, types.boolean, INT, FLOATS))
def absorb(rate, leave, n, single_root, kept, reached):
    """reached[h] = the probability that a walk from h ends in the root before it meets `kept`.

    After `eliminate`. With a single root, divided by the common factor of the root's rates.
    """
    size = n + 1
    reached[0], reached[kept] = 1.0, 0.0
    for k in range(1, size):
        if k == kept:
            continue
        total = rate[k * size]
        for h in range(1, k):
            total += rate[k * size + h] * reached[h]
        reached[k] = total / leave[k]


@compile_internal(FLOAT(FLOATS, INT, types.boolean, FLOATS, FLOATS))
def marginals_by_rates(theta, n, single_root, out, work):
    """Writes probabilities, returns log Z; NaN if it must be done on logarithms."""
    size = n + 1
    square = size * size
    start, rate = work[:square], work[square : 2 * square]
    leave, reached = work[2 * square :][:size], work[2 * square + size :][:size]
    value = 0.0
    for d in range(1, size):
        high = largest_entry(theta[(d - 1) * size : d * size])
        value += high
        for h in range(size):
            at = d * size + h
            start[at] = exp_low(theta[at - size] - high) if h != d else 0.0
    for at in range(size, square):
        rate[at] = start[at]
    value += eliminate(rate, leave, n, single_root, 0)
    for d in range(1, size):
        for at in range(size, square):
            rate[at] = start[at]
        # what is passed on to the root may also be too large
        if not np.isfinite(value) or np.isnan(eliminate(rate, leave, n, single_root, d)):
            return np.nan
        absorb(rate, leave, n, single_root, d, reached)
        row, total = out[(d - 1) * size : d * size], 0.0
        for h in range(size):
            row[h] = start[d * size + h] * reached[h]
            total += row[h]
        if not LEAST < total < np.inf:
            return np.nan
        for h in range(size):
            row[h] /= total
    return value


@compile_internal(PAIR(FLOAT, FLOAT, FLOAT, FLOAT))
def add_pairs(a, a_low, b, b_low):
    """The sum of two numbers, each the unrounded sum of a pair, as such a pair (Knuth 1969)."""
    total = a + b
    if not np.isfinite(total):
        return total, 0.0
    part = total - a
    low = (a - (total - part)) + (b - part) + (a_low + b_low)
    high = total + low
    return high, low - (high - total)


@compile_internal(PAIR(FLOAT, FLOAT, FLOAT, FLOAT))
def add_logs(a, a_low, b, b_low):
    """log(exp(a) + exp(b)), of pairs."""
    if b > a:
        a, a_low, b, b_low = b, b_low, a, a_low
    if b == -np.inf:
        return a, a_low
    return add_pairs(a, a_low, np.log1p(np.exp((b - a) + (b_low - a_low))), 0.0)


@compile_internal(PAIR(FLOATS, FLOATS, FLOATS, FLOATS, INT, INT))
def eliminate_by_logs(rate, rate_low, leave, leave_low, n, kept):
    """As `eliminate`, on logarithms, the root's rates among those at which words leave."""
    size = n + 1
    value, value_low = 0.0, 0.0
    for k in range(n, 0, -1):
        if k == kept:
            continue
        own, own_low = rate[k * size : (k + 1) * size], rate_low[k * size : (k + 1) * size]
        total, rest = -np.inf, 0.0
        if kept > k:
            total, rest = own[kept], own_low[kept]
        for h in range(k):
            total, rest = add_logs(total, rest, own[h], own_low[h])
        leave[k], leave_low[k] = total, rest
        value, value_low = add_pairs(value, value_low, total, rest)
        for d in range(1, size):
            if (d >= k and d != kept) or rate[d * size + k] == -np.inf or total == -np.inf:
                continue
            at = d * size
            passed, passed_low = add_pairs(rate[at + k], rate_low[at + k], -total, -rest)
            for j in range(k + 1 if kept > k else k):
                h = j if j < k else kept
                if h == d:
                    continue
                more, more_low = add_pairs(passed, passed_low, own[h], own_low[h])
                rate[at + h], rate_low[at + h] = add_logs(
                    rate[at + h], rate_low[at + h], more, more_low
                )
    return value, value_low


@compile_internal(types.void(FLOATS, INT, FLOAT, FLOATS, FLOATS))
def copy_scores(theta, n, penalty, rate, rate_low):
    """Scores of arcs as logarithms of rates, those of the root less a penalty."""
    size = n + 1
    for d in range(1, size):
        for h in range(size):
            at = d * size + h
            own = theta[at - size] if h != d else -np.inf
            rate[at], rate_low[at] = add_pairs(own, 0.0, 0.0 if h else -penalty, 0.0)


@compile_internal(FLOAT(FLOATS, INT, types.boolean, FLOATS, FLOATS))
def marginals_by_logs(theta, n, single_root, out, work):
    """The same on logarithms; a single root by a penalty on the root's arcs.

    Each word's probabilities are computed alone. That they agree however large the scores are,
    logarithms are kept to twice the digits, as pairs of numbers.
    """
    size = n + 1
    square = size * size
    rate_low, rate = work[:square], work[square : 2 * square]
    leave, reached = work[2 * square :][:size], work[2 * square + size :][:size]
    leave_low = work[2 * square + 2 * size :][:size]
    reached_low = work[2 * square + 3 * size :][:size]
    low, high = np.inf, -np.inf
    for d in range(1, size):
        for h in range(size):
            v = theta[(d - 1) * size + h]
            if h != d and v > -np.inf:
                low, high = min(low, v), max(high, v)
    # trees with k roots then count less than exp(-60) as much as those with one
    penalty = 60.0 + (n + 1) * (np.log(size) + high - low) if single_root else 0.0
    copy_scores(theta, n, penalty, rate, rate_low)
    value, rest = eliminate_by_logs(rate, rate_low, leave, leave_low, n, 0)
    value, rest = add_pairs(value, rest, penalty, 0.0)
    # n * low or more if there is a tree with one root, and this gap below it or more if not
    gap = 60.0 + np.log(size) + high - low
    if not value > -np.inf or (single_root and value < n * low - 0.5 * gap):
        return -np.inf
    for d in range(1, size):
        copy_scores(theta, n, penalty, rate, rate_low)
        eliminate_by_logs(rate, rate_low, leave, leave_low, n, d)
        reached[0], reached_low[0], reached[d], reached_low[d] = 0.0, 0.0, -np.inf, 0.0
        for k in range(1, size):
            if k != d:
                total, rest = rate[k * size], rate_low[k * size]
                for h in range(1, k):
                    at = k * size + h
                    more, more_low = add_pairs(rate[at], rate_low[at], reached[h], reached_low[h])
                    total, rest = add_logs(total, rest, more, more_low)
                if total > -np.inf:
                    total, rest = add_pairs(total, rest, -leave[k], -leave_low[k])
                reached[k], reached_low[k] = total, rest
        row, best = out[(d - 1) * size : d * size], 0
        for h in range(size):
            root = penalty if h == 0 else 0.0
            v, rest = add_pairs(theta[(d - 1) * size + h] if h != d else -np.inf, 0.0, -root, 0.0)
            row[h], leave_low[h] = add_pairs(v, rest, reached[h], reached_low[h])
            if row[h] > row[best]:
                best = h
        most, rest, total = row[best], leave_low[best], 0.0
        for h in range(size):
            row[h] = exp_low((row[h] - most) + (leave_low[h] - rest))
            total += row[h]
        for h in range(size):
            row[h] /= total
    return value


@compile_ability
def marginals(theta, layout, out, work, iwork):
    """The probability of each arc. work: 2 N N + 4 N. Returns log Z, -inf if there is no tree."""
    n, single_root = layout[0], layout[1] != 0
    value = marginals_by_rates(theta, n, single_root, out, work)
    if np.isnan(value):
        value = marginals_by_logs(theta, n, single_root, out, work)
    return value
