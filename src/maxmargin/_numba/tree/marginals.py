"""Trees and forests: sum-product, compiled on demand. Layouts as in `_numba.tree.maximize`."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.arrays import copy_values
from maxmargin._numba.compile import FLOATS, INTS, compile_ability, compile_internal, types
from maxmargin._numba.log_sum_exp import log_sum, softmax, subtract_largest
from maxmargin._numba.tree.maximize import transpose
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

    Messages are kept relative to their maximum. From the roots on, each label of a node divides its
    probability among the labels of each child, so that pairs agree with nodes whatever the size of
    the scores.
    """
    count, labels, stride = layout[0], layout[1], layout[2]
    nodes, square = count * labels, labels * labels
    inside, message = work[:nodes], work[nodes : 2 * nodes]
    turned_table = work[2 * nodes : 2 * nodes + square]
    line = work[2 * nodes + square : 2 * nodes + square + labels]
    value = upward_sum(theta, layout, inside, message, turned_table, line)
    out[:] = 0.0
    if value == -np.inf:
        return value
    for i in range(count):
        v, above = layout[4 + i] * labels, layout[4 + count + i] * labels
        own = out[v : v + labels]
        if above < 0:
            copy_values(inside[v : v + labels], own)
            softmax(own)
            continue
        first = nodes + layout[4 + 2 * count + i] * stride
        turned = layout[4 + 3 * count + i] == 0
        for a in range(labels):
            mass = out[above + a]
            if mass > 0.0:
                for b in range(labels):
                    p = b * labels + a if turned else a * labels + b
                    line[b] = theta[first + p] + inside[v + b]
                softmax(line)
                for b in range(labels):
                    p = b * labels + a if turned else a * labels + b
                    out[first + p] += mass * line[b]
                    own[b] += mass * line[b]
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
