"""Networks with cycles: max-product on a junction tree, see `structures.network.junction_tree`.

layout = (V, K, stride, E, way, rounds, tol), the 2 E ends of the edges, and then, if way is 0: T,
M, V starts, and at those starts, counted from T, a record of each bucket, in the order of
elimination.

A bucket is a node v and the scope of its message, m nodes that are eliminated later. Its table has
the labels of v outermost and those of the last of the scope innermost; its message has those of the
scope. record = (v, m, where its table starts, where its message starts, the message's length K^m,
the number of terms, the scope, the terms). T and M are the lengths of all tables and messages.

A table is a sum of terms: scores of v and of edges from v to the scope, and messages of earlier
buckets. term = (0 for scores or 1 for messages, where it starts, g, g lengths, g strides): g nested
loops, the innermost first, go through the table, with strides through what is added.

Parts as in `_numba.tree.maximize`. -inf marks what is forbidden.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.arrays import copy_values, largest_value
from maxmargin._numba.compile import (
    FLOATS,
    INTS,
    compile_ability,
    compile_inlined,
    compile_internal,
    types,
)


@compile_inlined
def step_on(loops, digits, p, at):
    """The place in the other table after a whole turn of the loops below p."""
    g = loops[0]
    while p < g:
        digits[p] += 1
        at += loops[1 + g + p]
        if digits[p] < loops[1 + p]:
            break
        at -= loops[1 + g + p] * loops[1 + p]
        digits[p] = 0
        p += 1
    return at


@compile_internal(types.void(FLOATS, FLOATS, INTS, INTS))
def add_term(table, source, loops, digits):
    """Table += source, spread by the loops of a term. digits: g."""
    g = loops[0]
    inner, step = loops[1], loops[1 + g]
    digits[:g] = 0
    at, base = 0, 0
    while base < len(table):
        row = table[base : base + inner]
        if step == 0:
            one = source[at]
            for k in range(inner):
                row[k] += one
        elif step == 1:
            other = source[at : at + inner]
            for k in range(inner):
                row[k] += other[k]
        else:
            for k in range(inner):
                row[k] += source[at + k * step]
        base += inner
        at = step_on(loops, digits, 1, at)


@compile_internal(types.void(FLOATS, FLOATS, INTS, INTS))
def max_term(table, target, loops, digits):
    """Target = the larger of itself and of all that the loops of a term lead to it. digits: g."""
    g = loops[0]
    inner, step = loops[1], loops[1 + g]
    digits[:g] = 0
    at, base = 0, 0
    while base < len(table):
        row = table[base : base + inner]
        for k in range(inner):
            if row[k] > target[at + k * step]:
                target[at + k * step] = row[k]
        base += inner
        at = step_on(loops, digits, 1, at)


@compile_inlined
def read_bucket(layout, i):
    """The record of the i-th bucket, and where its terms start in it."""
    tail = layout[7 + 2 * layout[3] :]
    record = tail[tail[2 + i] :]
    return record, 6 + record[1]


@compile_internal(types.void(FLOATS, INTS, types.int64, FLOATS, FLOATS, INTS))
def fill_table(theta, layout, i, tables, messages, digits):
    """The table of the i-th bucket: the sum of its terms."""
    record, p = read_bucket(layout, i)
    table = tables[record[2] : record[2] + record[4] * layout[1]]
    table[:] = 0.0
    for _ in range(record[5]):
        start, g = record[p + 1], record[p + 2]
        if record[p] == 0:
            add_term(table, theta[start:], record[p + 2 :], digits)
        else:
            add_term(table, messages[start:], record[p + 2 :], digits)
        p += 3 + 2 * g


@compile_internal(types.void(FLOATS, FLOATS), no_nan=True)
def max_outer(table, out):
    """The maximum over the outermost labels."""
    size = len(out)
    copy_values(table[:size], out)
    for base in range(size, len(table), size):
        row = table[base : base + size]
        for s in range(size):
            out[s] = row[s] if row[s] > out[s] else out[s]


@compile_internal(types.float64(FLOATS, INTS, FLOATS, FLOATS, INTS))
def collect_tables(theta, layout, tables, messages, digits):
    """All tables and messages, maxima over what is eliminated; returns the largest score."""
    value = 0.0
    for i in range(layout[0]):
        fill_table(theta, layout, i, tables, messages, digits)
        record, _ = read_bucket(layout, i)
        table, size = tables[record[2] : record[2] + record[4] * layout[1]], record[4]
        max_outer(table, messages[record[3] : record[3] + size])
        if record[1] == 0:
            value += messages[record[3]]
    return value


@compile_internal(types.void(INTS, INTS, FLOATS))
def write_labels(layout, labels, out):
    """The parts of labels."""
    n, K, stride, edges = layout[0], layout[1], layout[2], layout[3]
    out[:] = 0.0
    for v in range(n):
        out[v * K + labels[v]] = 1.0
    for e in range(edges):
        a, b = labels[layout[7 + 2 * e]], labels[layout[7 + 2 * e + 1]]
        out[n * K + e * stride + a * K + b] += 1.0


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """The best labels. work: T + M, iwork: 2 V + 1. Returns their score, -inf if there are none."""
    n, K = layout[0], layout[1]
    tail = layout[7 + 2 * layout[3] :]
    tables, messages = work[: tail[0]], work[tail[0] : tail[0] + tail[1]]
    labels, digits = iwork[:n], iwork[n:]
    value = collect_tables(theta, layout, tables, messages, digits)
    for i in range(n - 1, -1, -1):
        record, _ = read_bucket(layout, i)
        at, size = 0, record[4]
        for p in range(record[1]):
            at = at * K + labels[record[6 + p]]
        best, high = 0, -np.inf
        for k in range(K):
            score = tables[record[2] + k * size + at]
            if score > high:
                best, high = k, score
        labels[record[0]] = best
    write_labels(layout, labels, out)
    return value


@compile_ability
def max_marginals(theta, layout, out, work, iwork):
    """out[v, k] = score of the best labels with label k at v; pair parts are left at zero.

    From the last bucket to the first, tables become what labels lose against the best ones: what
    the node itself loses, given the scope, and what the scope loses. work: T + M, iwork: V + 1.
    """
    n, K = layout[0], layout[1]
    tail = layout[7 + 2 * layout[3] :]
    tables, messages = work[: tail[0]], work[tail[0] : tail[0] + tail[1]]
    value = collect_tables(theta, layout, tables, messages, iwork)
    out[:] = 0.0
    for i in range(n):
        record, _ = read_bucket(layout, i)
        for k in range(K):
            row = tables[record[2] + k * record[4] : record[2] + (k + 1) * record[4]]
            for s in range(record[4]):
                row[s] = row[s] - messages[record[3] + s] if row[s] > -np.inf else -np.inf
    messages[:] = -np.inf
    for i in range(n - 1, -1, -1):
        record, p = read_bucket(layout, i)
        table = tables[record[2] : record[2] + record[4] * K]
        if record[1] > 0:
            own = messages[record[3] : record[3] + record[4]]
            for base in range(0, len(table), record[4]):
                for s in range(record[4]):
                    table[base + s] += own[s]
        for _ in range(record[5]):
            if record[p] == 1:
                max_term(table, messages[record[p + 1] :], record[p + 2 :], iwork)
            p += 3 + 2 * record[p + 2]
        for k in range(K):
            high = largest_value(table[k * record[4] : (k + 1) * record[4]])
            out[record[0] * K + k] = value + high
    return value
