"""Networks of K labels whose neighbours should agree, by expanding one label after the other.

layout = (K, then the layout of the network as in `_numba.graph_cut.maximize`). Parts: node j has
label k at j K + k, then the ends of edge e differ at V K + e, with scores that are not positive.

Boykov, Veksler, Zabih, Fast approximate energy minimization via graph cuts, PAMI 2001.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.arrays import copy_values
from maxmargin._numba.compile import FLOATS, INTS, compile_ability, compile_internal, types
from maxmargin._numba.graph_cut.maximize import LARGEST, has_positive_edge, maximize as cut

#: of the largest score, what an expansion must gain
GAIN = 1e-13


@compile_internal(types.float64(FLOATS, INTS, INTS, types.int64))
def score_of(theta, ends, labels, K):
    """The score of labels, summed in one order always."""
    n = len(labels)
    value = 0.0
    for j in range(n):
        value += theta[j * K + labels[j]]
    for e in range(len(ends) // 2):
        if labels[ends[2 * e]] != labels[ends[2 * e + 1]]:
            value += theta[n * K + e]
    return value


@compile_internal(types.float64(FLOATS, INTS, types.int64, types.int64))
def start_labels(theta, labels, K, n):
    """The best label of each node, the first of equals; for K = 2 the first that is allowed.

    From a start at one label for all, a single expansion of the other one tries all labelings.
    Returns the largest finite score of a part, or -inf if a node may have no label.
    """
    largest = 0.0
    for j in range(n):
        best = -1
        for k in range(K):
            score = theta[j * K + k]
            if score == -np.inf:
                continue
            largest = max(largest, abs(score))
            if best < 0 or (K > 2 and score > theta[j * K + best]):
                best = k
        if best < 0:
            return -np.inf
        labels[j] = best
    return largest


@compile_internal(types.void(FLOATS, INTS, INTS, types.int64, types.int64, FLOATS))
def pose_expansion(theta, ends, labels, K, label, binary):
    """Scores of the cut that says which nodes should take the label.

    Let x be 1 where a node takes it, and an edge cost A, B, C, 0 for x = 00, 01, 10, 11. That is
    A + (C - A) x_j - C x_k + u (1 - x_j) x_k with u = B + C - A >= 0, and the last term is
    u / 2 (|x_j - x_k| + x_k - x_j).
    """
    n, m = len(labels), len(ends) // 2
    for j in range(n):
        binary[j] = theta[j * K + label] - theta[j * K + labels[j]]
    for e in range(m):
        j, k = ends[2 * e], ends[2 * e + 1]
        cost = max(-theta[n * K + e], 0.0)
        none = cost if labels[j] != labels[k] else 0.0
        second = cost if labels[j] != label else 0.0
        first = cost if labels[k] != label else 0.0
        half = 0.5 * (second + first - none)
        binary[j] -= first - none - half
        binary[k] += first - half
        binary[n + e] = -half


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """Labels that no expansion improves. work: 3 V + 5 E, iwork: 8 V + 4.

    Labels are expanded in turn, from the first one on, until none of K in a row gains anything.
    Returns the score; NaN if an edge rewards a cut or forbids it, -inf if a node has no label.
    """
    K, n, m = layout[0], layout[1], layout[2]
    network = layout[1:]
    ends = network[3 + n + 6 * m : 3 + n + 8 * m]
    labels, tried, rest = iwork[:n], iwork[n : 2 * n], iwork[2 * n :]
    binary, taken, room = work[: n + m], work[n + m : 2 * (n + m)], work[2 * (n + m) :]
    out[:] = 0.0
    for e in range(m):
        if not theta[n * K + e] >= -LARGEST:
            return np.nan
    if has_positive_edge(theta, n * K, m):
        return np.nan
    largest = start_labels(theta, labels, K, n)
    if not largest <= LARGEST or largest == -np.inf:
        return largest if largest == -np.inf else np.nan
    value = score_of(theta, ends, labels, K)
    idle, label = 0, 0
    while idle < K:
        pose_expansion(theta, ends, labels, K, label, binary)
        room[:m] = 0.0
        if np.isnan(cut(binary, network, taken, room, rest)):
            return np.nan
        for j in range(n):
            tried[j] = label if taken[j] > 0.0 else labels[j]
        found = score_of(theta, ends, tried, K)
        idle += 1
        if found > value + GAIN * largest:
            copy_values(tried, labels)
            value, idle = found, 1
        label = (label + 1) % K
    for j in range(n):
        out[j * K + labels[j]] = 1.0
    for e in range(m):
        if labels[ends[2 * e]] != labels[ends[2 * e + 1]]:
            out[n * K + e] = 1.0
    return value
