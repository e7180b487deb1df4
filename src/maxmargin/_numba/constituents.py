"""Labelled binary trees over words: the best label of each span, then the best split.

layout = (n, L). Parts: L scores for each span of words i, ..., j - 1, sorted by i, then by j.
Values of spans are stored by begin and by end, so that splits are read in order.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import compile_ability, compile_inlined
from maxmargin._numba.dependencies.projective import (
    divide,
    find_largest_sum,
    largest_sum,
    log_sum_of_sums,
)
from maxmargin._numba.exponential import exp_low, largest_entry


@compile_inlined
def span_number(i, j, n):
    """The number of the span from i to j."""
    return i * n - i * (i - 1) // 2 + j - i - 1


@compile_inlined
def fill_chart(labels, n, by_begin, by_end, combine):
    """Values of all spans; labels: of the labels of each. Returns that of the whole."""
    size = n + 1
    for j in range(1, size):
        for i in range(j - 1, -1, -1):
            value = labels[span_number(i, j, n)]
            if j > i + 1:
                value += combine(
                    by_begin[i * size + i + 1 : i * size + j],
                    by_end[j * size + i + 1 : j * size + j],
                )
            by_begin[i * size + j] = value
            by_end[j * size + i] = value
    return by_begin[n]


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """The best tree. work: 2 (n + 1)^2 + spans, iwork: 2 n + 2. Returns its score."""
    n, count = layout[0], layout[1]
    size = n + 1
    by_begin, by_end = work[: size * size], work[size * size : 2 * size * size]
    labels = work[2 * size * size :]
    for s in range(n * size // 2):
        labels[s] = largest_entry(theta[s * count : (s + 1) * count])
    value = fill_chart(labels, n, by_begin, by_end, largest_sum)
    out[:] = 0.0
    if value == -np.inf:
        return value
    iwork[0], iwork[1] = 0, n
    waiting = 1
    while waiting > 0:
        waiting -= 1
        i, j = iwork[2 * waiting], iwork[2 * waiting + 1]
        first = span_number(i, j, n) * count
        best = 0
        for k in range(count):
            if theta[first + k] > theta[first + best]:
                best = k
        out[first + best] = 1.0
        if j > i + 1:
            a, b = by_begin[i * size + i + 1 :], by_end[j * size + i + 1 :]
            k = i + 1 + find_largest_sum(a, b, j - i - 1)
            iwork[2 * waiting], iwork[2 * waiting + 1] = i, k
            iwork[2 * waiting + 2], iwork[2 * waiting + 3] = k, j
            waiting += 2
    return value


@compile_ability
def marginals(theta, layout, out, work, iwork):
    """The probability of each label of each span. work: 3 (n + 1)^2 + spans + n. Returns log Z.

    From the whole down, each span divides its probability among its splits, so that the sums are
    right whatever the size of the scores.
    """
    n, count = layout[0], layout[1]
    size, spans = n + 1, n * (n + 1) // 2
    square = size * size
    by_begin, by_end, mass = work[:square], work[square : 2 * square], work[2 * square : 3 * square]
    labels, shares = work[3 * square : 3 * square + spans], work[3 * square + spans :]
    for s in range(spans):
        high = largest_entry(theta[s * count : (s + 1) * count])
        total = 0.0
        for k in range(s * count, (s + 1) * count):
            out[k] = exp_low(theta[k] - high) if high > -np.inf else 0.0
            total += out[k]
        labels[s] = high + np.log(total) if high > -np.inf else -np.inf
        for k in range(s * count, (s + 1) * count):
            out[k] /= total if total > 0.0 else 1.0
    value = fill_chart(labels, n, by_begin, by_end, log_sum_of_sums)
    if value == -np.inf:
        out[:] = 0.0
        return value
    mass[:] = 0.0
    mass[n] = 1.0
    for width in range(n, 0, -1):
        for i in range(n - width + 1):
            j = i + width
            p, s = mass[i * size + j], span_number(i, j, n)
            for k in range(s * count, (s + 1) * count):
                out[k] *= p
            if width > 1 and p > 0.0:
                own = shares[: width - 1]
                a = by_begin[i * size + i + 1 : i * size + j]
                divide(a, by_end[j * size + i + 1 : j * size + j], p, own)
                for k in range(width - 1):
                    mass[i * size + i + 1 + k] += own[k]
                    mass[(i + 1 + k) * size + j] += own[k]
    return value
