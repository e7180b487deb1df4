"""Paths in graphs without cycles: dynamic programs over their edges.

layout = (n_nodes, source, target, n_edges, then three lists: number, tail and head of each edge, in
an order in which the edges into a node come before those out of it).
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import compile_ability, compile_inlined


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """The best path; returns its score, -inf if there is none. work, iwork: n_nodes."""
    count, source, target, edges = layout[0], layout[1], layout[2], layout[3]
    parts, tails, heads = layout[4 : 4 + edges], layout[4 + edges : 4 + 2 * edges], 4 + 2 * edges
    best, last = work[:count], iwork[:count]
    best[:] = -np.inf
    best[source] = 0.0
    for e in range(edges):
        score = best[tails[e]] + theta[parts[e]]
        if score > best[layout[heads + e]]:
            best[layout[heads + e]], last[layout[heads + e]] = score, e
    out[:] = 0.0
    if best[target] > -np.inf:
        node = target
        while node != source:
            out[parts[last[node]]] = 1.0
            node = tails[last[node]]
    return best[target]


@compile_inlined
def add_logs(a, b):
    """log(exp(a) + exp(b)); b > -inf."""
    high, low = max(a, b), min(a, b)
    return high + np.log1p(np.exp(low - high))


@compile_ability
def marginals(theta, layout, out, work, iwork):
    """Probabilities of edges by sums over all paths; returns log Z. work: 3 n_nodes.

    From the target back, each node divides its probability among the edges into it, so that the
    sums are right whatever the size of the scores.
    """
    count, source, target, edges = layout[0], layout[1], layout[2], layout[3]
    parts, tails = layout[4 : 4 + edges], layout[4 + edges : 4 + 2 * edges]
    heads = layout[4 + 2 * edges : 4 + 3 * edges]
    before, whole, mass = work[:count], work[count : 2 * count], work[2 * count : 3 * count]
    before[:] = -np.inf
    whole[:] = 0.0
    mass[:] = 0.0
    before[source], mass[target] = 0.0, 1.0
    out[:] = 0.0
    for e in range(edges):
        score = before[tails[e]] + theta[parts[e]]
        if score > -np.inf:
            before[heads[e]] = add_logs(before[heads[e]], score)
    if before[target] == -np.inf:
        return before[target]
    for e in range(edges):
        score = before[tails[e]] + theta[parts[e]]
        if score > -np.inf:
            whole[heads[e]] += np.exp(score - before[heads[e]])
    for e in range(edges - 1, -1, -1):
        score = before[tails[e]] + theta[parts[e]]
        if score > -np.inf:
            share = mass[heads[e]] * np.exp(score - before[heads[e]]) / whole[heads[e]]
            out[parts[e]] = share
            mass[tails[e]] += share
    return before[target]
