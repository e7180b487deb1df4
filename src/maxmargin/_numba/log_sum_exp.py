"""Rows of scores as logarithms: their sum and their shares."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import FLOATS, compile_internal, types
from maxmargin._numba.exponential import largest_entry


@compile_internal(types.float64(FLOATS))
def subtract_largest(x):
    """Subtract the largest in place; returns it, -inf if there is nothing to subtract."""
    high = largest_entry(x)
    if high > -np.inf:
        for k in range(len(x)):
            x[k] -= high
    return high


@compile_internal(types.float64(FLOATS))
def log_sum(x):
    """Log sum exp of x; -inf where all are -inf."""
    high = largest_entry(x)
    if high == -np.inf:
        return high
    total = 0.0
    for k in range(len(x)):
        total += np.exp(x[k] - high)
    return high + np.log(total)


@compile_internal(types.void(FLOATS))
def softmax(x):
    """exp(x) / sum exp(x), in place."""
    subtract_largest(x)
    total = 0.0
    for k in range(len(x)):
        x[k] = np.exp(x[k])
        total += x[k]
    for k in range(len(x)):
        x[k] /= total
