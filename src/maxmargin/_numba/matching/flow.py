"""Bipartite matching with caps above one: flows. Layouts as in `_numba.matching.maximize`.

The links of column k are a list: last[k] is the part of the one added last or -1, and earlier[part]
that of the one added before it.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import FLOATS, INTS, compile_internal, types
from maxmargin._numba.matching.edge_rows import (
    cap_of_column,
    cap_of_row,
    edges_of_row,
    index_by_rows,
)


@compile_internal(types.void(INTS, INTS, types.int64, types.int64))
def remove_link(last, earlier, k, part):
    """Take a link out of the list of its column."""
    if last[k] == part:
        last[k] = earlier[part]
        return
    link = last[k]
    while earlier[link] != part:
        link = earlier[link]
    earlier[link] = earlier[part]


@compile_internal(types.void(FLOATS, INTS, FLOATS, FLOATS, INTS, INTS, INTS, INTS))
def take_best_links(theta, layout, flow, price, room, last, earlier, row_of):
    """Give each row its best links while their columns have room; prices of rows as they follow.

    A row that finds a column full has a price above 0 and room left, and is to go on from there.
    """
    rows, dense = layout[0], layout[6] == 0
    ends, parts = index_by_rows(layout, False)
    for j in range(rows):
        first, end = edges_of_row(layout, j)
        for e in range(first, end):
            row_of[e if dense else parts[e]] = j
        while room[j] > 0:
            high, best = 0.0, -1
            for e in range(first, end):
                part = e if dense else parts[e]
                if theta[part] > high and flow[part] == 0.0:
                    high, best = theta[part], e
            price[j] = high
            if best < 0:
                break
            k, part = best - first, best
            if not dense:
                k, part = ends[best], parts[best]
            if room[rows + k] == 0:
                break
            flow[part] = 1.0
            earlier[part], last[k] = last[k], part
            room[j] -= 1
            room[rows + k] -= 1


@compile_internal(types.void(FLOATS, INTS, FLOATS, FLOATS, FLOATS, INTS, INTS, types.int64))
def relax_row(theta, layout, flow, price, distance, before, part_before, j):
    """Follow the edges of a row that are not links. To columns that are done no way is shorter.

    Not by rounding either, or ways would lead in circles: hence the largest of both lengths.
    """
    rows, columns = layout[0], layout[1]
    base = distance[j] + price[j]
    if layout[6] == 0:
        line, used = theta[j * columns : (j + 1) * columns], flow[j * columns : (j + 1) * columns]
        for k in range(columns):
            length = max(base + price[rows + k] - line[k], distance[j])
            if length < distance[rows + k] and used[k] == 0.0:
                distance[rows + k], before[rows + k] = length, j
                part_before[rows + k] = j * columns + k
        return
    ends, parts = index_by_rows(layout, False)
    first, end = edges_of_row(layout, j)
    for e in range(first, end):
        v, part = rows + ends[e], parts[e]
        length = max(base + price[v] - theta[part], distance[j])
        if length < distance[v] and flow[part] == 0.0:
            distance[v], before[v], part_before[v] = length, j, part


@compile_internal(
    types.int64(
        FLOATS, INTS, FLOATS, FLOATS, FLOATS, INTS, INTS, INTS, INTS, INTS, INTS, INTS, types.int64
    )
)  # fmt: skip
def shortest_path(
    theta, layout, flow, price, distance, before, part_before, done, room, last, earlier, row_of,
    root,
):  # fmt: skip
    """The shortest way over slacks (Dijkstra) to one more link of a row, and prices after it.

    Returns where it ends: at a column with room, at another row that had better have one link less,
    or at the row itself if no link gains anything.
    """
    rows, nodes = layout[0], layout[0] + layout[1]
    for v in range(nodes):
        distance[v] = np.inf
        done[v] = 0
    distance[root] = 0.0
    stop, end = price[root], root
    while True:
        near, node = stop, -1
        for v in range(nodes):
            if distance[v] < near and done[v] == 0:
                near, node = distance[v], v
        if node < 0:
            break
        if node >= rows and room[node] > 0:
            stop, end = near, node
            break
        done[node] = 1
        if node < rows:
            if near + price[node] < stop:
                stop, end = near + price[node], node
            relax_row(theta, layout, flow, price, distance, before, part_before, node)
            continue
        part = last[node - rows]
        while part >= 0:
            j = row_of[part]
            length = near + max(0.0, theta[part] - price[j] - price[node])
            if length < distance[j]:
                distance[j], before[j], part_before[j] = length, node, part
            part = earlier[part]
    for v in range(nodes):
        if done[v] == 1 and distance[v] < stop:
            shift = stop - distance[v]
            price[v] = max(0.0, price[v] - shift) if v < rows else price[v] + shift
    if end < rows:
        price[end] = 0.0
    return end


@compile_internal(types.float64(FLOATS, INTS, FLOATS, FLOATS, INTS))
def best_flow(theta, layout, out, work, iwork):
    """The best links where nodes may have several: row after row enters, link after link.

    work: 2 (J + K), iwork: 4 J + 5 K + 2 E. Returns the score; work[: J + K] is then prices u, v
    >= 0 that prove it best: theta <= u_j + v_k but on links, theta >= u_j + v_k on links, and
    prices above 0 only where a node is in as many links as it may be. These hold all the time, but
    that rows still to enter have prices above 0 and room.
    """
    rows, columns, edges = layout[0], layout[1], layout[2]
    nodes = rows + columns
    price, distance = work[:nodes], work[nodes : 2 * nodes]
    before, part_before = iwork[:nodes], iwork[nodes : 2 * nodes]
    done, room = iwork[2 * nodes : 3 * nodes], iwork[3 * nodes : 4 * nodes]
    last, lists = iwork[4 * nodes : 4 * nodes + columns], iwork[4 * nodes + columns :]
    earlier, row_of = lists[:edges], lists[edges : 2 * edges]
    out[:] = 0.0
    price[:] = 0.0
    last[:] = -1
    for j in range(rows):
        room[j] = cap_of_row(layout, j)
    for k in range(columns):
        room[rows + k] = cap_of_column(layout, k)
    take_best_links(theta, layout, out, price, room, last, earlier, row_of)
    for root in range(rows):
        while room[root] > 0 and price[root] > 0.0:
            end = shortest_path(
                theta, layout, out, price, distance, before, part_before, done, room, last,
                earlier, row_of, root,
            )  # fmt: skip
            room[root] -= 1
            room[end] += 1 if end < rows else -1
            while end != root:
                part, k = part_before[end], end - rows
                if end >= rows:
                    earlier[part], last[k] = last[k], part
                else:
                    remove_link(last, earlier, before[end] - rows, part)
                out[part] = 1.0 - out[part]
                end = before[end]
    value = 0.0
    for p in range(edges):
        if out[p] > 0.0:
            value += theta[p]
    return value
