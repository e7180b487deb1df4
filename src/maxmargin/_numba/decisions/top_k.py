"""The k best of m items. layout = (m, k)."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.arrays import copy_values
from maxmargin._numba.compile import compile_ability
from maxmargin._numba.simplex import sort_values


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """Items above the k-th score, then the first ones that have it; returns the sum. work: m."""
    count, k = layout[0], layout[1]
    out[:] = 0.0
    if k == 0:
        return 0.0
    ordered = work[:count]
    copy_values(theta, ordered)
    sort_values(ordered)
    least = ordered[count - k]
    if least == -np.inf:
        return least
    left, total = k, 0.0
    for p in range(count):
        if theta[p] > least:
            out[p] = 1.0
            left -= 1
            total += theta[p]
    for p in range(count):
        if left > 0 and theta[p] == least:
            out[p] = 1.0
            left -= 1
            total += theta[p]
    return total
