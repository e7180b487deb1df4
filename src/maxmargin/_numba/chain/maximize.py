"""Chains: max-product. layout = (T, K, stride), stride 0 if the pair table is tied.

Parts: T * K node scores, then pair tables (K, K), row = left label: one if tied (its parts are the
counts of each transition), else T - 1 of them. -inf marks what is forbidden.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import FLOATS, INTS, compile_ability, compile_internal, types


@compile_internal(types.void(FLOATS, FLOATS, FLOATS))
def max_ahead(table, old, new):
    """new[k] = max_j old[j] + table[j, k].

    Four rows of the table at a time: twice as fast as one, because each new maximum is then
    loaded and stored a quarter as often.
    """
    labels = len(new)
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


@compile_internal(types.void(FLOATS, FLOATS, FLOATS), no_nan=True)
def max_behind(table, old, new):
    """new[j] = max_k table[j, k] + old[k]; four rows at a time, as above."""
    labels = len(new)
    j = 0
    while j + 3 < labels:
        a, b, c, d = -np.inf, -np.inf, -np.inf, -np.inf
        row_a = table[j * labels : (j + 1) * labels]
        row_b = table[(j + 1) * labels : (j + 2) * labels]
        row_c = table[(j + 2) * labels : (j + 3) * labels]
        row_d = table[(j + 3) * labels : (j + 4) * labels]
        for k in range(labels):
            v = old[k]
            va, vb, vc, vd = row_a[k] + v, row_b[k] + v, row_c[k] + v, row_d[k] + v
            a = va if va > a else a
            b = vb if vb > b else b
            c = vc if vc > c else c
            d = vd if vd > d else d
        new[j], new[j + 1], new[j + 2], new[j + 3] = a, b, c, d
        j += 4
    while j < labels:
        a = -np.inf
        row_a = table[j * labels : (j + 1) * labels]
        for k in range(labels):
            va = row_a[k] + old[k]
            a = va if va > a else a
        new[j] = a
        j += 1


@compile_internal(types.void(FLOATS, INTS, FLOATS))
def forward_max(theta, layout, best):
    """best[t, k] = score of the best beginning that ends in label k at t. best: T K."""
    length, labels, stride = layout[0], layout[1], layout[2]
    for k in range(labels):
        best[k] = theta[k]
    for t in range(1, length):
        start = length * labels + (t - 1) * stride
        new = best[t * labels : (t + 1) * labels]
        old = best[(t - 1) * labels : t * labels]
        max_ahead(theta[start : start + labels * labels], old, new)
        for k in range(labels):
            new[k] += theta[t * labels + k]


@compile_internal(types.void(FLOATS, INTS, FLOATS, FLOATS))
def backward_max(theta, layout, best, line):
    """best[t, k] = score of the best ending that follows label k at t (its own not counted).

    line: K of scratch.
    """
    length, labels, stride = layout[0], layout[1], layout[2]
    best[(length - 1) * labels : length * labels] = 0.0
    for t in range(length - 2, -1, -1):
        start = length * labels + t * stride
        for k in range(labels):
            line[k] = theta[(t + 1) * labels + k] + best[(t + 1) * labels + k]
        new = best[t * labels : (t + 1) * labels]
        max_behind(theta[start : start + labels * labels], line[:labels], new)


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """Viterbi. work: T K. Returns the best score, -inf if everything is forbidden.

    Only the best scores are kept on the way forward; the way back looks for the predecessor of
    one label per step, which is cheaper than keeping K predecessors per step.
    """
    length, labels, stride = layout[0], layout[1], layout[2]
    nodes = length * labels
    best = work[:nodes]
    forward_max(theta, layout, best)
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


@compile_ability
def max_marginals(theta, layout, out, work, iwork):
    """out[t, k] = score of the best sequence with label k at t; pair parts are left at zero."""
    nodes = layout[0] * layout[1]
    forward_max(theta, layout, work[:nodes])
    line = work[2 * nodes : 2 * nodes + layout[1]]
    backward_max(theta, layout, work[nodes : 2 * nodes], line)
    out[:] = 0.0
    value = -np.inf
    for p in range(nodes):
        out[p] = work[p] + work[nodes + p]
        if out[p] > value:
            value = out[p]
    return value
