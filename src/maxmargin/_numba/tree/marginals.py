"""Trees and forests: sum-product, compiled on demand. Layouts as in `_numba.tree.maximize`."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.arrays import copy_values
from maxmargin._numba.compile import FLOATS, INTS, compile_ability, compile_internal, types
from maxmargin._numba.log_sum_exp import log_sum, softmax, subtract_largest
from maxmargin._numba.tree.maximize import siblings_end, sum_of_others, transpose
from maxmargin._numba.tree.scaled_marginals import marginals_by_products


@compile_internal(types.void(FLOATS, FLOATS, FLOATS, FLOATS))
def log_sums(old, table, line, new):
    """new[j] = log sum over k of exp(table[j, k] + old[k]). line: K."""
    labels = len(old)
    for j in range(labels):
        for k in range(labels):
            line[k] = table[j * labels + k] + old[k]
        new[j] = log_sum(line)


@compile_internal(types.float64(FLOATS, INTS, FLOATS, FLOATS, FLOATS, FLOATS))
def upward_sum(theta, layout, inside, message, turned, line):
    """As `upward_max`, with log-sums in place of maxima, messages relative to their maximum.

    Returns the log of the sum over all labels, -inf if all are forbidden.
    """
    count, labels, stride = layout[0], layout[1], layout[2]
    nodes, square = count * labels, labels * labels
    copy_values(theta[:nodes], inside[:nodes])
    total = 0.0
    known = False
    for i in range(count - 1, -1, -1):
        v, above = layout[4 + i], layout[4 + count + i]
        own = inside[v * labels : (v + 1) * labels]
        total += subtract_largest(own)
        if above < 0:
            total += log_sum(own)
            continue
        start = nodes + layout[4 + 2 * count + i] * stride
        table = theta[start : start + square]
        if not layout[4 + 3 * count + i]:
            if not known or stride > 0:
                transpose(table, labels, turned)
                known = True
            table = turned
        sent = message[v * labels : (v + 1) * labels]
        log_sums(own, table, line, sent)
        total += subtract_largest(sent)
        target = inside[above * labels : (above + 1) * labels]
        for k in range(labels):
            target[k] += sent[k]
    return total


@compile_internal(types.float64(FLOATS, INTS, FLOATS, FLOATS))
def marginals_by_logs(theta, layout, out, work):
    """Sum-product in the log domain. work: 3 V K + 2 K K. Writes expectations, returns log Z.

    Messages are kept relative to their maximum and every table of marginals is normalised by
    itself, so that scores of 1e9 lose no more digits than scores of 1.
    """
    count, labels, stride = layout[0], layout[1], layout[2]
    nodes, square = count * labels, labels * labels
    inside, message = work[:nodes], work[nodes : 2 * nodes]
    beyond = work[2 * nodes : 3 * nodes]
    pair = work[3 * nodes : 3 * nodes + square]
    line = work[3 * nodes + square : 3 * nodes + square + labels]
    value = upward_sum(theta, layout, inside, message, pair, line)
    out[:] = 0.0
    if value == -np.inf:
        return value
    roots = siblings_end(layout, 0)
    for i in range(roots):
        v = layout[4 + i] * labels
        beyond[v : v + labels] = 0.0
    i = roots
    while i < count:
        j = siblings_end(layout, i)
        above = layout[4 + count + i] * labels
        start = out[above : above + labels]  # its own numbers come last
        for k in range(labels):
            start[k] = theta[above + k] + beyond[above + k]
        sum_of_others(layout, i, j, start, message, line, beyond)
        for place in range(i, j):
            v = layout[4 + place] * labels
            first = nodes + layout[4 + 2 * count + place] * stride
            down = beyond[v : v + labels]
            subtract_largest(down)
            turned = layout[4 + 3 * count + place] == 0
            for a in range(labels):
                for b in range(labels):
                    p = b * labels + a if turned else a * labels + b
                    pair[p] = down[a] + theta[first + p] + inside[v + b]
            for b in range(labels):
                for a in range(labels):
                    p = b * labels + a if turned else a * labels + b
                    line[a] = down[a] + theta[first + p]
                out[v + b] = log_sum(line)
            for b in range(labels):
                down[b] = out[v + b]
            subtract_largest(down)
            softmax(pair)
            for p in range(square):
                out[first + p] += pair[p]
        i = j
    for v in range(count):
        node = out[v * labels : (v + 1) * labels]
        for k in range(labels):
            node[k] = inside[v * labels + k] + beyond[v * labels + k]
        softmax(node)
    return value


@compile_ability
def marginals(theta, layout, out, work, iwork):
    """Sum-product. work: 3 V K + 2 K K. Writes expectations, returns log Z."""
    value = marginals_by_products(theta, layout, out, work)
    if not np.isnan(value):
        return value
    for p in range(len(theta)):
        if not theta[p] < np.inf:
            return np.nan
    return marginals_by_logs(theta, layout, out, work)
