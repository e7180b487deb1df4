"""Chains: sum-product. Shapes and parts as in `kernels.chain`; compiled on demand."""

from __future__ import annotations

import numpy as np
from numba import types

from maxmargin.kernels.compile import ABILITY, FLOATS, kernel


@kernel(types.float64(FLOATS))
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


@kernel(types.float64(FLOATS))
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


@kernel(types.void(FLOATS))
def softmax(x):
    """exp(x) / sum exp(x), in place."""
    normalise(x)
    total = 0.0
    for k in range(len(x)):
        x[k] = np.exp(x[k])
        total += x[k]
    for k in range(len(x)):
        x[k] /= total


@kernel(ABILITY)
def tilt(theta, shape, out, work, iwork):
    """Sum-product in the log domain. work: 2 T K + K K. Writes expectations, returns log Z.

    Messages are kept relative to their maximum and every table of marginals is normalised by
    itself, so that scores of 1e9 lose no more digits than scores of 1.
    """
    length, labels, stride = shape[0], shape[1], shape[2]
    nodes = length * labels
    ahead = work[:nodes]
    behind = work[nodes : 2 * nodes]
    pair = work[2 * nodes : 2 * nodes + labels * labels]
    line = pair[:labels]
    total = 0.0
    for t in range(length):
        for k in range(labels):
            ahead[t * labels + k] = theta[t * labels + k]
        if t > 0:
            table = nodes + (t - 1) * stride
            for k in range(labels):
                for j in range(labels):
                    line[j] = ahead[(t - 1) * labels + j] + theta[table + j * labels + k]
                ahead[t * labels + k] += log_sum(line)
        total += normalise(ahead[t * labels : (t + 1) * labels])
    value = total + log_sum(ahead[nodes - labels : nodes])
    out[:] = 0.0
    if value == -np.inf:
        return value
    behind[nodes - labels :] = 0.0
    for t in range(length - 1, -1, -1):
        if t < length - 1:
            table = nodes + t * stride
            after = (t + 1) * labels
            for j in range(labels):
                for k in range(labels):
                    line[k] = theta[table + j * labels + k] + theta[after + k] + behind[after + k]
                behind[t * labels + j] = log_sum(line)
            normalise(behind[t * labels : after])
            for j in range(labels):
                for k in range(labels):
                    pair[j * labels + k] = (
                        ahead[t * labels + j]
                        + theta[table + j * labels + k]
                        + theta[after + k]
                        + behind[after + k]
                    )
            softmax(pair)
            for p in range(labels * labels):
                out[table + p] += pair[p]
        node = out[t * labels : (t + 1) * labels]
        for k in range(labels):
            node[k] = ahead[t * labels + k] + behind[t * labels + k]
        softmax(node)
    return value
