"""The simplex: one output out of K. layout = (K,)."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.arrays import copy_values, largest_value
from maxmargin._numba.compile import FLOATS, compile_ability, compile_internal, types


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """The best single output; returns its score."""
    best = 0
    for k in range(1, layout[0]):
        if theta[k] > theta[best]:
            best = k
    out[:] = 0.0
    out[best] = 1.0
    return theta[best]


@compile_ability
def max_marginals(theta, layout, out, work, iwork):
    """The scores themselves."""
    copy_values(theta, out)
    return largest_value(theta)


@compile_ability
def marginals(theta, layout, out, work, iwork):
    """Softmax; returns log sum exp."""
    high = largest_value(theta)
    if high == -np.inf:
        return high
    total = 0.0
    for k in range(layout[0]):
        out[k] = np.exp(theta[k] - high)
        total += out[k]
    for k in range(layout[0]):
        out[k] /= total
    return high + np.log(total)


@compile_internal(types.void(FLOATS), allocates=True)
def sort_values(values):
    """In rising order."""
    values.sort()


@compile_ability
def project(theta, layout, out, work, iwork):
    """Euclidean projection on the simplex by sorting. work: K.

    Returns |sum - 1|, or -inf if everything is forbidden.
    """
    n = layout[0]
    ordered = work[:n]
    high = largest_value(theta)
    if high == -np.inf:
        return high
    for k in range(n):
        ordered[k] = theta[k] - high  # the projection does not change; no digits are lost
    sort_values(ordered)
    total, shift = 0.0, 0.0
    for k in range(n):
        v = ordered[n - 1 - k]
        if v == -np.inf:
            break
        total += v
        candidate = (total - 1.0) / (k + 1)
        if v <= candidate:
            break
        shift = candidate
    total = 0.0
    for k in range(n):
        out[k] = max(0.0, theta[k] - high - shift)
        total += out[k]
    return abs(total - 1.0)
