"""Trees and forests: max-product. layout = (V, K, stride, then four lists of V).

stride is 0 if the pair table is tied. The lists describe the nodes in an order in which each comes
after its neighbour on the way to the root of its tree, siblings side by side, roots first: the node
itself, that neighbour (-1 for a root), the edge between them, and 1 if the edge's first end is that
neighbour, else 0.

Parts: V * K node scores, then pair tables (K, K), row = label of the edge's first end: one if tied
(its parts are the counts of each pair), else one for each edge. -inf marks what is forbidden.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.arrays import copy_values, largest_value
from maxmargin._numba.chain.maximize import max_ahead
from maxmargin._numba.compile import FLOATS, INTS, compile_ability, compile_internal, types


@compile_internal(types.void(FLOATS, types.int64, FLOATS))
def transpose(table, labels, out):
    """out[k, j] = table[j, k]."""
    for j in range(labels):
        row = table[j * labels : (j + 1) * labels]
        for k in range(labels):
            out[k * labels + j] = row[k]


@compile_internal(types.void(FLOATS, INTS, FLOATS, FLOATS, FLOATS))
def upward_max(theta, layout, best, message, turned):
    """best[v, k] = score of the best labels of all that hangs below v, v's own label being k.

    message[v, k] = what v's tree adds to label k of the node above it. turned: K K, the tied table
    transposed, if some edge starts above; rooms for a table that is not tied.
    """
    count, labels, stride = layout[0], layout[1], layout[2]
    nodes, square = count * labels, labels * labels
    copy_values(theta[:nodes], best[:nodes])
    known = False
    for i in range(count - 1, -1, -1):
        v, above = layout[4 + i], layout[4 + count + i]
        if above < 0:
            break
        start = nodes + layout[4 + 2 * count + i] * stride
        table = theta[start : start + square]
        if layout[4 + 3 * count + i]:
            if not known or stride > 0:
                transpose(table, labels, turned)
                known = True
            table = turned
        own = message[v * labels : (v + 1) * labels]
        max_ahead(table, best[v * labels : (v + 1) * labels], own)
        target = best[above * labels : (above + 1) * labels]
        for k in range(labels):
            target[k] += own[k]


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """The best labels. work: 2 V K + K K, iwork: V. Returns their score, -inf if there are none.

    On the way down, the label of one node at a time is looked for, which is cheaper than to keep
    the best of K labels for each label of the node above.
    """
    count, labels, stride = layout[0], layout[1], layout[2]
    nodes = count * labels
    best = work[:nodes]
    upward_max(theta, layout, best, work[nodes : 2 * nodes], work[2 * nodes :])
    out[:] = 0.0
    value = 0.0
    for i in range(count):
        v, above = layout[4 + i], layout[4 + count + i]
        own = best[v * labels : (v + 1) * labels]
        label, high = 0, -np.inf
        if above < 0:
            for k in range(labels):
                if own[k] > high:
                    label, high = k, own[k]
            value += high
        else:
            start = nodes + layout[4 + 2 * count + i] * stride
            step, first = labels, start + iwork[above]
            if layout[4 + 3 * count + i]:
                step, first = 1, start + iwork[above] * labels
            for k in range(labels):
                score = own[k] + theta[first + k * step]
                if score > high:
                    label, high = k, score
            out[first + label * step] += 1.0
        iwork[v] = label
        out[v * labels + label] = 1.0
    return value


@compile_internal(types.int64(INTS, types.int64))
def siblings_end(layout, i):
    """The place after the last sibling of the node at place i."""
    count = layout[0]
    above = layout[4 + count + i]
    j = i + 1
    while j < count and layout[4 + count + j] == above:
        j += 1
    return j


@compile_internal(types.void(INTS, types.int64, types.int64, FLOATS, FLOATS, FLOATS, FLOATS))
def sum_of_others(layout, i, j, start, message, line, out):
    """out[v] = start + the messages of all siblings of v, for the siblings at places i to j - 1.

    By sums from both sides: what is -inf, or large, cannot be taken away again. line: K.
    """
    labels = layout[1]
    copy_values(start, line[:labels])
    for place in range(i, j):
        v = layout[4 + place] * labels
        for k in range(labels):
            out[v + k] = line[k]
            line[k] += message[v + k]
    line[:labels] = 0.0
    for place in range(j - 1, i - 1, -1):
        v = layout[4 + place] * labels
        for k in range(labels):
            out[v + k] += line[k]
            line[k] += message[v + k]


@compile_ability
def max_marginals(theta, layout, out, work, iwork):
    """out[v, k] = score of the best labels with label k at v; pair parts are left at zero.

    work: 3 V K + 2 K K.
    """
    count, labels, stride = layout[0], layout[1], layout[2]
    nodes, square = count * labels, labels * labels
    best, message = work[:nodes], work[nodes : 2 * nodes]
    beyond = work[2 * nodes : 3 * nodes]
    turned = work[3 * nodes : 3 * nodes + square]
    line = work[3 * nodes + square : 3 * nodes + square + labels]
    upward_max(theta, layout, best, message, turned)
    roots = siblings_end(layout, 0)
    for i in range(roots):
        v = layout[4 + i] * labels
        message[v : v + labels] = largest_value(best[v : v + labels])
    line[:] = 0.0
    out[:labels] = 0.0
    sum_of_others(layout, 0, roots, out[:labels], message, line, beyond)
    out[:] = 0.0
    known = False
    i = roots
    while i < count:
        j = siblings_end(layout, i)
        above = layout[4 + count + i] * labels
        start = out[:labels]
        for k in range(labels):
            start[k] = theta[above + k] + beyond[above + k]
        sum_of_others(layout, i, j, start, message, line, beyond)
        for place in range(i, j):
            v = layout[4 + place] * labels
            first = nodes + layout[4 + 2 * count + place] * stride
            table = theta[first : first + square]
            if not layout[4 + 3 * count + place]:
                if not known or stride > 0:
                    transpose(table, labels, turned)
                    known = True
                table = turned
            copy_values(beyond[v : v + labels], line)
            max_ahead(table, line, beyond[v : v + labels])
        i = j
    value = -np.inf
    for p in range(nodes):
        out[p] = best[p] + beyond[p]
        if out[p] > value:
            value = out[p]
    return value
