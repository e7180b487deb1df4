"""Spanning trees by Kruskal's algorithm. layout = (n_nodes, n_edges, first ends, second ends)."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import FLOATS, INTS, compile_ability, compile_internal, types


@compile_internal(types.boolean(FLOATS, types.int64, types.int64))
def comes_before(values, j, k):
    """Whether value j comes before value k in rising order."""
    return values[j] < values[k] or (values[j] == values[k] and j < k)


@compile_internal(types.void(FLOATS, INTS))
def order_by_value(values, order):
    """Write the numbers of the values to `order`, from the least value to the largest.

    Equal ones in their order. By a heap with the last one on top: numba's sorts take seconds to
    compile.
    """
    count = len(order)
    for k in range(count):
        order[k] = k
    for turn in range(count // 2 + count - 1):
        if turn < count // 2:
            at, end = count // 2 - 1 - turn, count
            moved = order[at]
        else:
            at, end = 0, count - 1 - (turn - count // 2)
            moved, order[end] = order[end], order[0]
        while 2 * at + 1 < end:
            below = 2 * at + 1
            if below + 1 < end and comes_before(values, order[below], order[below + 1]):
                below += 1
            if comes_before(values, order[below], moved):
                break
            order[at] = order[below]
            at = below
        order[at] = moved


@compile_internal(types.int64(INTS, types.int64))
def root_of(above, v):
    """The node that stands for v's tree; ways to it become shorter."""
    while above[v] != v:
        above[v] = above[above[v]]
        v = above[v]
    return v


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """Edges from the best on, unless they close a cycle; returns the sum of their scores.

    -inf if those that are allowed do not join all nodes. iwork: n_nodes + n_edges.
    """
    count, edges = layout[0], layout[1]
    above, order = iwork[:count], iwork[count : count + edges]
    for v in range(count):
        above[v] = v
    order_by_value(theta, order)
    out[:] = 0.0
    left, total = count - 1, 0.0
    for k in range(edges - 1, -1, -1):
        e = order[k]
        if left == 0 or theta[e] == -np.inf:
            break
        a, b = root_of(above, layout[2 + e]), root_of(above, layout[2 + edges + e])
        if a != b:
            above[a] = b
            out[e] = 1.0
            left -= 1
            total += theta[e]
    return total if left == 0 else -np.inf
