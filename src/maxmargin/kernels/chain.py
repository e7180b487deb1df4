"""Chains: max-product and sum-product. shape = (T, K, stride), stride 0 if the pair table is tied.

Parts: T * K node scores, then pair tables (K, K), row = left label: one if tied (its parts are the
counts of each transition), else T - 1 of them. -inf marks what is forbidden.
"""

from __future__ import annotations

import numpy as np
from numba import types

from maxmargin.kernels.compile import ABILITY, FLOATS, INTS, kernel


@kernel(types.void(FLOATS, INTS, FLOATS))
def forward_max(theta, shape, best):
    """best[t, k] = score of the best beginning that ends in label k at t. best: T K.

    Four rows of the table at a time: twice as fast as one, because each new maximum is then
    loaded and stored a quarter as often.
    """
    length, labels, stride = shape[0], shape[1], shape[2]
    for k in range(labels):
        best[k] = theta[k]
    for t in range(1, length):
        old = best[(t - 1) * labels : t * labels]
        new = best[t * labels : (t + 1) * labels]
        start = length * labels + (t - 1) * stride
        table = theta[start : start + labels * labels]
        for k in range(labels):
            new[k] = -np.inf
        j = 0
        while j + 3 < labels:
            a, b, c, d = old[j], old[j + 1], old[j + 2], old[j + 3]
            row_a = table[j * labels : (j + 1) * labels]
            row_b = table[(j + 1) * labels : (j + 2) * labels]
            row_c = table[(j + 2) * labels : (j + 3) * labels]
            row_d = table[(j + 3) * labels : (j + 4) * labels]
            for k in range(labels):
                va, vb, vc, vd = a + row_a[k], b + row_b[k], c + row_c[k], d + row_d[k]
                vab = va if va > vb else vb
                vcd = vc if vc > vd else vd
                high = vab if vab > vcd else vcd
                new[k] = high if high > new[k] else new[k]
            j += 4
        while j < labels:
            a = old[j]
            row_a = table[j * labels : (j + 1) * labels]
            for k in range(labels):
                va = a + row_a[k]
                new[k] = va if va > new[k] else new[k]
            j += 1
        for k in range(labels):
            new[k] += theta[t * labels + k]


@kernel(types.void(FLOATS, INTS, FLOATS))
def backward_max(theta, shape, best):
    """best[t, k] = score of the best ending that follows label k at t (its own not counted)."""
    length, labels, stride = shape[0], shape[1], shape[2]
    best[(length - 1) * labels : length * labels] = 0.0
    for t in range(length - 2, -1, -1):
        start = length * labels + t * stride
        for j in range(labels):
            high = -np.inf
            for k in range(labels):
                v = theta[start + j * labels + k] + theta[(t + 1) * labels + k]
                v += best[(t + 1) * labels + k]
                if v > high:
                    high = v
            best[t * labels + j] = high


@kernel(ABILITY)
def maximize(theta, shape, out, work, iwork):
    """Viterbi. work: T K. Returns the best score, -inf if everything is forbidden.

    Only the best scores are kept on the way forward; the way back looks for the predecessor of
    one label a step, which is cheaper than keeping K predecessors a step.
    """
    length, labels, stride = shape[0], shape[1], shape[2]
    nodes = length * labels
    best = work[:nodes]
    forward_max(theta, shape, best)
    label = 0
    last = best[nodes - labels :]
    for k in range(1, labels):
        if last[k] > last[label]:
            label = k
    value = last[label]
    out[:] = 0.0
    out[nodes - labels + label] = 1.0
    for t in range(length - 2, -1, -1):
        left, high = 0, -np.inf
        table = nodes + t * stride
        for j in range(labels):
            v = best[t * labels + j] + theta[table + j * labels + label]
            if v > high:
                left, high = j, v
        out[table + left * labels + label] += 1.0
        out[t * labels + left] = 1.0
        label = left
    return value


@kernel(ABILITY)
def max_marginals(theta, shape, out, work, iwork):
    """out[t, k] = score of the best sequence with label k at t; pair parts are left at zero."""
    nodes = shape[0] * shape[1]
    forward_max(theta, shape, work[:nodes])
    backward_max(theta, shape, work[nodes : 2 * nodes])
    out[:] = 0.0
    value = -np.inf
    for p in range(nodes):
        out[p] = work[p] + work[nodes + p]
        if out[p] > value:
            value = out[p]
    return value


@kernel(types.float64(FLOATS))
def normalise(x):
    """X - max(x), in place; returns the maximum (0 where all are -inf)."""
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
