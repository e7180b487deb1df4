"""Bipartite matching with caps above one: flows. Layouts as in `_numba.matching.maximize`."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import FLOATS, INTS, compile_internal, types
from maxmargin._numba.matching.edge_rows import cap_of_column, cap_of_row, read_edge


@compile_internal(types.void(FLOATS, INTS, FLOATS, FLOATS, FLOATS, INTS, INTS, INTS, types.int64))
def relax_node(theta, layout, flow, price, distance, before, part_before, done, node):
    """Follow the edges that are left of a node: unused ones of a row, used ones of a column."""
    rows, columns, edges, index_at = layout[0], layout[1], layout[2], layout[6]
    is_row = node < rows
    number = node if is_row else node - rows
    if index_at == 0:
        first, last = 0, columns if is_row else rows
    else:
        at = index_at if is_row else index_at + rows + 1 + 2 * edges
        first, last = layout[at + number], layout[at + number + 1]
        others = at + (rows if is_row else columns) + 1
    for e in range(first, last):
        if index_at == 0:
            other = e
            part = number * columns + e if is_row else e * columns + number
        else:
            other, part = layout[others + e], layout[others + edges + e]
        if is_row:
            other += rows
        if theta[part] <= 0.0 or done[other] == 1 or (flow[part] > 0.0) == is_row:
            continue
        cost = -theta[part] if is_row else theta[part]
        length = distance[node] + max(0.0, cost + price[node] - price[other])
        if length < distance[other]:
            distance[other], before[other], part_before[other] = length, node, part


@compile_internal(types.void(FLOATS, INTS, FLOATS))
def first_prices(theta, layout, price):
    """price[J + k] = the least cost, -theta, of the edges of column k; 0 if none gains anything."""
    for e in range(layout[2]):
        k, part = read_edge(layout, e)
        price[layout[0] + k] = min(price[layout[0] + k], -max(theta[part], 0.0))


@compile_internal(types.float64(FLOATS, INTS, FLOATS, FLOATS, INTS))
def best_flow(theta, layout, out, work, iwork):
    """The best links where nodes may have several: successive shortest paths (Dijkstra).

    Each path adds one link; the next is never worth more than the last, so all ends at the first
    that gains nothing. work: 2 (J + K), iwork: 4 (J + K). Returns the score; work[: J + K] is then
    prices that prove it best: theta <= u_j + v_k but on links, theta >= u_j + v_k on links, and
    prices above 0 only where a node is in as many links as it may be.
    """
    rows, columns = layout[0], layout[1]
    nodes = rows + columns
    price, distance = work[:nodes], work[nodes : 2 * nodes]
    before, part_before = iwork[:nodes], iwork[nodes : 2 * nodes]
    done, room = iwork[2 * nodes : 3 * nodes], iwork[3 * nodes : 4 * nodes]
    out[:] = 0.0
    for j in range(rows):
        room[j] = cap_of_row(layout, j)
    for k in range(columns):
        room[rows + k] = cap_of_column(layout, k)
    # prices are distances from a source before the rows; at first each column's best edge
    price[:] = 0.0
    first_prices(theta, layout, price)
    end = np.inf
    for k in range(columns):
        if room[rows + k] > 0 and price[rows + k] < end:
            end = price[rows + k]
    while True:
        for v in range(nodes):
            done[v] = 0
            # rows with room left are where paths begin
            distance[v] = 0.0 if v < rows and room[v] > 0 else np.inf
            before[v] = -1
        while True:
            near, node = np.inf, -1
            for v in range(nodes):
                if done[v] == 0 and distance[v] < near:
                    near, node = distance[v], v
            if node < 0:
                break
            done[node] = 1
            relax_node(theta, layout, out, price, distance, before, part_before, done, node)
        cost, target = np.inf, -1
        for v in range(rows, nodes):
            if room[v] > 0 and distance[v] + price[v] < cost:
                cost, target = distance[v] + price[v], v
        if target < 0 or cost >= 0.0:
            break
        away = max(0.0, cost - end)
        end = cost
        for v in range(nodes):
            price[v] += min(distance[v], away)
        room[target] -= 1
        while before[target] >= 0:
            part = part_before[target]
            out[part] = 1.0 - out[part]
            target = before[target]
        room[target] -= 1
    for v in range(nodes):  # as if the last path, which gains nothing, were taken as well
        price[v] += min(distance[v], max(0.0, -end))
    for k in range(columns):
        price[rows + k] = max(0.0, -price[rows + k])
    value = 0.0
    for p in range(layout[2]):
        if out[p] > 0.0:
            value += theta[p]
    return value
