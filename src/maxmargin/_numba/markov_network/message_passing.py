"""Networks with cycles: good labels and a bound, by sequential reweighted message passing.

layout as in `_numba.markov_network.junction_tree` with way = 1, and after the ends of the edges:
V + 1 starts; V counts
of the neighbours before each node; and, of 2 E arcs in the order of the nodes that they enter,
where they come from, whether the node is their edge's first end, their edge, and the arc back. The
arcs into node v are starts[v] <= a < starts[v + 1], by rising number of the other node.

Every arc has a message: K numbers, what the labels of its node may count on from beyond the edge.
Messages are added to the scores of nodes and taken from those of edges, so that no labelling's
score changes; whatever they are, a sum of maxima over nodes and edges is above all scores. A round
goes through the nodes up and down, and makes that sum smaller, or keeps it.

Kolmogorov, Convergent tree-reweighted message passing for energy minimization, PAMI 2006.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.arrays import copy_values
from maxmargin._numba.chain.maximize import max_ahead
from maxmargin._numba.compile import (
    FLOATS,
    INTS,
    compile_ability,
    compile_inlined,
    compile_internal,
    types,
)
from maxmargin._numba.exponential import largest_entry
from maxmargin._numba.markov_network.junction_tree import write_labels
from maxmargin._numba.tree.maximize import transpose

LARGEST = 1e150  # of messages that are believed
SWEEPS = 30  # of changes of single labels
PATIENCE = 5  # rounds between looks at the progress
WORTH = 0.02  # of the gap, what such rounds must close


@compile_inlined
def arcs_of(layout):
    """starts, other, first, edge: which arcs enter the nodes, and along which edges they come."""
    n, m = layout[0], layout[3]
    tail = layout[7 + 2 * m :]
    lists = tail[2 * n + 1 :]
    return tail[: n + 1], lists[: 2 * m], lists[2 * m : 4 * m], lists[4 * m : 6 * m]


@compile_inlined
def order_of(layout):
    """before, back: how many neighbours come earlier than each node, and the arcs back."""
    n, m = layout[0], layout[3]
    tail = layout[7 + 2 * m :]
    return tail[n + 1 : 2 * n + 1], tail[2 * n + 1 + 6 * m : 2 * n + 1 + 8 * m]


@compile_inlined
def table_of(theta, turned, layout, edge, upright):
    """The scores of an edge, rows by its first end if upright, else by its second."""
    K = layout[1]
    start = edge * layout[2]
    if upright:
        start += layout[0] * K
        return theta[start : start + K * K]
    return turned[start : start + K * K]


@compile_internal(types.float64(FLOATS, INTS, FLOATS, FLOATS, types.boolean, FLOATS))
def pass_messages(theta, layout, turned, messages, down, room):
    """New messages along all edges, up or down; returns the bound. room: 2 K.

    What a node adds up to is shared among the chains through it, and goes on with each.
    """
    n, K = layout[0], layout[1]
    starts, _, first, edge = arcs_of(layout)
    before, back = order_of(layout)
    total, own = room[:K], room[K : 2 * K]
    bound = 0.0
    for i in range(n):
        v = n - 1 - i if down else i
        a, b = starts[v], starts[v + 1]
        middle = a + before[v]
        copy_values(theta[v * K : (v + 1) * K], total)
        for k in range(a * K, b * K, K):
            for j in range(K):
                total[j] += messages[k + j]
        high = largest_entry(total)
        bound += high
        if high == -np.inf:
            return high
        share = 1.0 / max(max(middle - a, b - middle), 1)
        low, top = (a, middle) if down else (middle, b)
        for arc in range(low, top):
            old = messages[arc * K : (arc + 1) * K]
            for j in range(K):
                own[j] = share * (total[j] - high) - old[j] if total[j] > -np.inf else -np.inf
            new = messages[back[arc] * K : (back[arc] + 1) * K]
            max_ahead(table_of(theta, turned, layout, edge[arc], first[arc]), own, new)
            high_new = largest_entry(new)
            bound += high_new
            if high_new == -np.inf:
                return high_new
            for j in range(K):
                new[j] -= high_new
    return bound


@compile_internal(
    types.void(FLOATS, INTS, FLOATS, FLOATS, types.boolean, types.float64, INTS, FLOATS)
)
def pick_labels(theta, layout, turned, messages, down, big, labels, room):
    """A label for each node in turn, the best by those picked and by messages of the others.

    What is forbidden costs `big`. room: K.
    """
    n, K = layout[0], layout[1]
    starts, other, first, edge = arcs_of(layout)
    total = room[:K]
    for i in range(n):
        v = n - 1 - i if down else i
        for j in range(K):
            total[j] = max(theta[v * K + j], -big)
        for arc in range(starts[v], starts[v + 1]):
            u = other[arc]
            if (u > v) == down:
                table = table_of(theta, turned, layout, edge[arc], not first[arc])
                row = table[labels[u] * K : (labels[u] + 1) * K]
            else:
                row = messages[arc * K : (arc + 1) * K]
            for j in range(K):
                total[j] += max(row[j], -big)
        best = 0
        for j in range(1, K):
            if total[j] > total[best]:
                best = j
        labels[v] = best


@compile_internal(types.void(FLOATS, INTS, FLOATS, types.float64, INTS, FLOATS))
def improve_labels(theta, layout, turned, big, labels, room):
    """Change single labels as long as that gains something. room: K."""
    n, K = layout[0], layout[1]
    starts, other, first, edge = arcs_of(layout)
    total = room[:K]
    for _ in range(SWEEPS):
        changed = False
        for v in range(n):
            for j in range(K):
                total[j] = max(theta[v * K + j], -big)
            for arc in range(starts[v], starts[v + 1]):
                table = table_of(theta, turned, layout, edge[arc], not first[arc])
                row = table[labels[other[arc]] * K : (labels[other[arc]] + 1) * K]
                for j in range(K):
                    total[j] += max(row[j], -big)
            best = labels[v]
            for j in range(K):
                if total[j] > total[best]:
                    best = j
            changed = changed or best != labels[v]
            labels[v] = best
        if not changed:
            break


@compile_internal(types.float64(FLOATS, INTS, INTS))
def score_of(theta, layout, labels):
    """The score of labels, -inf if they are forbidden."""
    n, K = layout[0], layout[1]
    value = 0.0
    for v in range(n):
        value += theta[v * K + labels[v]]
    for e in range(layout[3]):
        a, b = labels[layout[7 + 2 * e]], labels[layout[7 + 2 * e + 1]]
        value += theta[n * K + e * layout[2] + a * K + b]
    return value


@compile_internal(types.float64(FLOATS, INTS, FLOATS, FLOATS))
def prepare_tables(theta, layout, turned, messages):
    """Tables turned, messages made numbers; returns the largest finite score, NaN if one is NaN."""
    n, K = layout[0], layout[1]
    largest = 0.0
    for p in range(len(theta)):
        if theta[p] > -np.inf:
            if not abs(theta[p]) <= LARGEST:
                return np.nan
            largest = max(largest, abs(theta[p]))
    for start in range(0, len(theta) - n * K, K * K):
        table = theta[n * K + start : n * K + start + K * K]
        transpose(table, K, turned[start : start + K * K])
    # larger ones are of no use, and their rounding would spoil the bound
    most = min(16.0 * largest * (n + layout[3]), LARGEST)
    for p in range(len(messages)):
        if not abs(messages[p]) <= most:
            messages[p] = 0.0
    return largest


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """Good labels; returns an upper bound on all scores, NaN if no allowed labels are found.

    work: 2 E K messages, which are kept; the pair tables; 2 K. iwork: 2 V. Stops when bound and
    score are within tol of the largest numbers, or when rounds no longer help.
    """
    n, K, m = layout[0], layout[1], layout[3]
    messages, rest = work[: 2 * m * K], work[2 * m * K :]
    turned, room = rest[: len(theta) - n * K], rest[len(theta) - n * K :]
    labels, tried = iwork[:n], iwork[n : 2 * n]
    out[:] = 0.0
    largest = prepare_tables(theta, layout, turned, messages)
    if np.isnan(largest):
        return np.nan
    big = 4.0 * largest * (n + m) + 1.0
    tol = layout[6] * 1e-18
    bound, value, seen = np.inf, -np.inf, np.inf
    labels[:] = 0
    for r in range(layout[5]):
        for down in (False, True):
            pick_labels(theta, layout, turned, messages, down, big, tried, room)
            improve_labels(theta, layout, turned, big, tried, room)
            found = score_of(theta, layout, tried)
            if found > value:
                value = found
                copy_values(tried, labels)
            high = pass_messages(theta, layout, turned, messages, down, room)
            if high == -np.inf:
                return high
            bound = min(bound, high)
        if bound - value <= tol * max(abs(value), largest):
            break
        if (r + 1) % PATIENCE == 0:
            if seen - bound <= WORTH * (bound - value):
                break
            seen = bound
    if value == -np.inf:
        return np.nan
    write_labels(layout, labels, out)
    return max(bound, value)
