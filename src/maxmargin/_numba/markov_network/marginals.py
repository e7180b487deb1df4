"""Networks with cycles: sum-product on a junction tree.

Layouts as in `_numba.markov_network.junction_tree`.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import FLOATS, INTS, compile_ability, compile_internal, types
from maxmargin._numba.exponential import exp_low
from maxmargin._numba.log_sum_exp import subtract_largest
from maxmargin._numba.markov_network.junction_tree import (
    fill_table,
    max_outer,
    read_bucket,
    step_on,
)


@compile_internal(types.void(FLOATS, FLOATS, INTS, INTS))
def sum_term(table, target, loops, digits):
    """Target += all that the loops of a term lead to it. digits: g."""
    g = loops[0]
    inner, step = loops[1], loops[1 + g]
    digits[:g] = 0
    at, base = 0, 0
    while base < len(table):
        row = table[base : base + inner]
        if step == 0:
            total = 0.0
            for k in range(inner):
                total += row[k]
            target[at] += total
        else:
            for k in range(inner):
                target[at + k * step] += row[k]
        base += inner
        at = step_on(loops, digits, 1, at)


@compile_internal(types.void(FLOATS, FLOATS, FLOATS))
def condition_table(table, message, total):
    """Table = p(label of the node | scope), message = log of what it is divided by.

    total: as long as the message.
    """
    size = len(message)
    max_outer(table, message)
    total[:] = 0.0
    for base in range(0, len(table), size):
        row = table[base : base + size]
        for s in range(size):
            high = message[s] if message[s] > -np.inf else 0.0
            row[s] = exp_low(row[s] - high)
            total[s] += row[s]
    for s in range(size):
        total[s] = total[s] if total[s] > 0.0 else 1.0
        message[s] += np.log(total[s])
    for base in range(0, len(table), size):
        row = table[base : base + size]
        for s in range(size):
            row[s] /= total[s]


@compile_ability
def marginals(theta, layout, out, work, iwork):
    """Expectations. work: T + 2 M, iwork: V + 1. Returns log Z, -inf if all is forbidden.

    Nodes are summed over one by one, which leaves what each is likely to be, given those that are
    summed over later; from the last node back, these turn into probabilities of whole buckets.
    Messages are kept relative to their maximum, so that scores of 1e9 lose no more digits than
    scores of 1.
    """
    n, K = layout[0], layout[1]
    tail = layout[7 + 2 * layout[3] :]
    tables, messages = work[: tail[0]], work[tail[0] : tail[0] + tail[1]]
    room = work[tail[0] + tail[1] : tail[0] + 2 * tail[1]]
    for p in range(len(theta)):
        if not theta[p] < np.inf:
            return np.nan
    value = 0.0
    for i in range(n):
        fill_table(theta, layout, i, tables, messages, iwork)
        record, _ = read_bucket(layout, i)
        table, size = tables[record[2] : record[2] + record[4] * K], record[4]
        message = messages[record[3] : record[3] + size]
        condition_table(table, message, room[:size])
        value += subtract_largest(message)
    out[:] = 0.0
    if value == -np.inf:
        return value
    messages[:] = 0.0
    for i in range(n - 1, -1, -1):
        record, p = read_bucket(layout, i)
        table, size = tables[record[2] : record[2] + record[4] * K], record[4]
        if record[1] > 0:
            own = messages[record[3] : record[3] + size]
            for base in range(0, len(table), size):
                for s in range(size):
                    table[base + s] *= own[s]
        for _ in range(record[5]):
            if record[p] == 0:
                sum_term(table, out[record[p + 1] :], record[p + 2 :], iwork)
            else:
                sum_term(table, messages[record[p + 1] :], record[p + 2 :], iwork)
            p += 3 + 2 * record[p + 2]
    return value
