"""One unit of flow through any directed graph, no edge used twice: a path, and cycles that pay.

layout = (n_nodes, source, target, n_edges, tails, heads, then n_nodes + 1 pointers and a list of
2 n_edges: for each node 2 e for the edges out of it, 2 e + 1 for those into it).
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import FLOATS, INTS, compile_ability, compile_internal, types


@compile_internal(types.int64(FLOATS, INTS, FLOATS, FLOATS, FLOATS, INTS, INTS, types.int64))
def find_path(theta, layout, flow, price, distance, excess, way, start):
    """The shortest way from a node to one that lacks flow, by Dijkstra; -1 if there is none.

    Costs -theta + price of the tail - price of the head are not negative on edges that may be
    changed. way: the edge by which each node was reached. Prices are raised to keep that true.
    """
    count, edges = layout[0], layout[3]
    links = 4 + 2 * edges
    done = excess[count : 2 * count]
    distance[:] = np.inf
    distance[start] = 0.0
    done[:] = 0
    found = -1
    while True:
        node = -1
        for v in range(count):
            if done[v] == 0 and distance[v] < np.inf:
                if node < 0 or distance[v] < distance[node]:
                    node = v
        if node < 0:
            break
        if excess[node] < 0:
            found = node
            break
        done[node] = 1
        for k in range(layout[links + node], layout[links + node + 1]):
            arc = layout[links + count + 1 + k]
            e, forward = arc // 2, arc % 2 == 0
            if theta[e] == -np.inf or (flow[e] > 0.0) == forward:
                continue
            other = layout[4 + edges + e] if forward else layout[4 + e]
            cost = -theta[e] if forward else theta[e]
            length = distance[node] + max(0.0, cost + price[node] - price[other])
            if length < distance[other]:
                distance[other], way[other] = length, arc
    if found >= 0:
        for v in range(count):
            price[v] += min(distance[v], distance[found])
    return found


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """The flow of highest score; returns its score, -inf if no path is left.

    All edges of positive scores are used first, and what is then too much at nodes is sent to where
    it lacks, by shortest ways. Without positive scores that is one search. work: 2 n_nodes; iwork:
    3 n_nodes.
    """
    count, source, target, edges = layout[0], layout[1], layout[2], layout[3]
    price, distance = work[:count], work[count : 2 * count]
    excess, way = iwork[: 2 * count], iwork[2 * count : 3 * count]
    price[:] = 0.0
    excess[:] = 0
    excess[source], excess[target] = 1, -1
    for e in range(edges):
        out[e] = 0.0
        if theta[e] > 0.0:
            out[e] = 1.0
            excess[layout[4 + e]] -= 1
            excess[layout[4 + edges + e]] += 1
    for start in range(count):
        while excess[start] > 0:
            node = find_path(theta, layout, out, price, distance, excess, way, start)
            if node < 0:
                return -np.inf
            excess[start] -= 1
            excess[node] += 1
            while node != start:
                e, forward = way[node] // 2, way[node] % 2 == 0
                out[e] = 1.0 if forward else 0.0
                node = layout[4 + e] if forward else layout[4 + edges + e]
    total = 0.0
    for e in range(edges):
        if out[e] > 0.0:
            total += theta[e]
    return total
