"""Rows of scores as logarithms: their sum and their shares."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import FLOATS, piece, types
from maxmargin._numba.exponential import highest


@piece(types.float64(FLOATS))
def lower(x):
    """Subtract the largest in place; returns it, -inf if there is nothing to subtract."""
    high = highest(x)
    if high > -np.inf:
        for k in range(len(x)):
            x[k] -= high
    return high


@piece(types.float64(FLOATS))
def log_sum(x):
    """Log sum exp of x; -inf where all are -inf."""
    high = highest(x)
    if high == -np.inf:
        return high
    total = 0.0
    for k in range(len(x)):
        total += np.exp(x[k] - high)
    return high + np.log(total)


@piece(types.void(FLOATS))
def softmax(x):
    """exp(x) / sum exp(x), in place."""
    lower(x)
    total = 0.0
    for k in range(len(x)):
        x[k] = np.exp(x[k])
        total += x[k]
    for k in range(len(x)):
        x[k] /= total
