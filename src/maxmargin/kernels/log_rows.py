"""Rows of scores as logarithms: their sum, their largest, their shares."""

from __future__ import annotations

import numpy as np
from numba import types

from maxmargin.kernels.compile import FLOATS, piece


@piece(types.float64(FLOATS))
def normalise(x):
    """Subtract max(x) in place; returns the maximum (0 where all are -inf)."""
    high = -np.inf
    for k in range(len(x)):
        if x[k] > high:
            high = x[k]
    if high == -np.inf:
        return 0.0
    for k in range(len(x)):
        x[k] -= high
    return high


@piece(types.float64(FLOATS))
def log_sum(x):
    """Log sum exp of x; -inf where all are -inf."""
    high = -np.inf
    for k in range(len(x)):
        if x[k] > high:
            high = x[k]
    if high == -np.inf:
        return high
    total = 0.0
    for k in range(len(x)):
        total += np.exp(x[k] - high)
    return high + np.log(total)


@piece(types.void(FLOATS))
def softmax(x):
    """exp(x) / sum exp(x), in place."""
    normalise(x)
    total = 0.0
    for k in range(len(x)):
        x[k] = np.exp(x[k])
        total += x[k]
    for k in range(len(x)):
        x[k] /= total
