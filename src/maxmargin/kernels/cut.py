"""Minimum cuts of graphs with real capacities, by two search trees that are kept between paths.

shape = (V, E, then V + 1 starts, 2 E heads, 2 E sisters, 2 E edges, 2 E ends). The arcs that leave
node j are starts[j] <= a < starts[j + 1]; heads[a] is where an arc goes, sisters[a] the arc back,
edges[a] the edge of both; ends[2 e] and ends[2 e + 1] are what edge e joins. Parts are the V nodes,
then the E edges: part j is "node j has label 1", part V + e is "the ends of edge e differ". Scores
of edges must not be positive.

Boykov and Kolmogorov, An experimental comparison of min-cut/max-flow algorithms, PAMI 2004.
"""

from __future__ import annotations

import numpy as np
from numba import types

from maxmargin.kernels.compile import FLOATS, INTS, ability, inlined, piece

# where a node's parent is no arc
ROOT, ORPHAN, NONE = -1, -2, -3
SOURCE, SINK, FREE = 1, 2, 0


@inlined
def activate(queue, ends, node):
    """Put a node at the end of the queue, unless it is there. The last one points to itself."""
    if queue[node] < 0:
        if ends[1] >= 0:
            queue[ends[1]] = node
        else:
            ends[0] = node
        ends[1] = node
        queue[node] = node


@inlined
def abandon(parent, later, ends, node):
    """Cut a node off its tree, and put it at the end of the list of orphans."""
    parent[node] = ORPHAN
    later[node] = -1
    if ends[1] >= 0:
        later[ends[1]] = node
    else:
        ends[0] = node
    ends[1] = node


@inlined
def augment(heads, sisters, residual, excess, parent, later, ends, middle):
    """Push what fits along the path over the arc `middle`; nodes cut off become orphans."""
    flow = residual[middle]
    node = heads[sisters[middle]]
    while parent[node] >= 0:
        flow = min(flow, residual[sisters[parent[node]]])
        node = heads[parent[node]]
    flow = min(flow, excess[node])
    node = heads[middle]
    while parent[node] >= 0:
        flow = min(flow, residual[parent[node]])
        node = heads[parent[node]]
    flow = min(flow, -excess[node])

    residual[middle] -= flow
    residual[sisters[middle]] += flow
    for side in range(2):
        node = heads[sisters[middle]] if side == 0 else heads[middle]
        while parent[node] >= 0:
            toward = parent[node]
            away = sisters[toward]
            above = heads[toward]
            if side == 0:
                toward, away = away, toward  # flow comes down the tree of the source
            residual[toward] -= flow
            residual[away] += flow
            if residual[toward] == 0.0:
                abandon(parent, later, ends, node)
            node = above
        excess[node] += -flow if side == 0 else flow
        if excess[node] == 0.0:
            abandon(parent, later, ends, node)


@inlined
def rooted(heads, parent, stamp, depth, node, time):
    """How far a node is from its root; -1 if it hangs on an orphan. Remembers what it found."""
    steps, at = 0, node
    while stamp[at] != time:
        steps += 1
        arc = parent[at]
        if arc == ROOT:
            stamp[at] = time
            depth[at] = 1
            break
        if arc == ORPHAN:
            return -1
        at = heads[arc]
    else:
        steps += depth[at]
    found, at = steps, node
    while stamp[at] != time:
        stamp[at] = time
        depth[at] = steps
        steps -= 1
        at = heads[parent[at]]
    return found


@inlined
def adopt(starts, heads, sisters, residual, tree, parent, stamp, depth, queue, later, ends, time):
    """Find each orphan a new parent in its tree; one without becomes free, its children orphans."""
    while ends[2] >= 0:
        node = ends[2]
        ends[2] = later[node]
        if ends[2] < 0:
            ends[3] = -1
        own = tree[node]
        best, least = NONE, np.iinfo(np.int64).max
        for arc in range(starts[node], starts[node + 1]):
            other = heads[arc]
            if tree[other] != own or parent[other] == NONE:
                continue
            open_arc = sisters[arc] if own == SOURCE else arc
            if residual[open_arc] > 0.0:
                far = rooted(heads, parent, stamp, depth, other, time)
                if 0 <= far < least:
                    best, least = arc, far
        if best >= 0:
            parent[node] = best
            stamp[node] = time
            depth[node] = least + 1
            continue
        for arc in range(starts[node], starts[node + 1]):
            other = heads[arc]
            if tree[other] != own or parent[other] == NONE:
                continue
            open_arc = sisters[arc] if own == SOURCE else arc
            if residual[open_arc] > 0.0:
                activate(queue, ends, other)
            above = parent[other]
            if above >= 0 and heads[above] == node:
                abandon(parent, later, ends[2:], other)
        tree[node] = FREE
        parent[node] = NONE


@inlined
def grow(starts, heads, sisters, residual, tree, parent, stamp, depth, queue, ends, node):
    """Let a tree grow from an active node; the arc over which the trees meet, or -1."""
    own = tree[node]
    for arc in range(starts[node], starts[node + 1]):
        back = sisters[arc]
        if residual[arc if own == SOURCE else back] <= 0.0:
            continue
        other = heads[arc]
        if tree[other] == FREE:
            tree[other] = own
            parent[other] = back
            stamp[other] = stamp[node]
            depth[other] = depth[node] + 1
            activate(queue, ends, other)
        elif tree[other] != own:
            return arc if own == SOURCE else back
        elif stamp[other] <= stamp[node] and depth[other] > depth[node]:
            # a shorter way to the root keeps paths short
            parent[other] = back
            stamp[other] = stamp[node]
            depth[other] = depth[node] + 1
    return -1


@piece(types.void(INTS, INTS, INTS, FLOATS, FLOATS, INTS))
def max_flow(starts, heads, sisters, residual, excess, ints):
    """Send all the flow that fits; ints: 6 V + 4, of which the first V are 1 on the source's side.

    excess : what the source can still give a node, or, negative, what it can still give the sink.
    """
    n = len(starts) - 1
    tree, parent, stamp = ints[:n], ints[n : 2 * n], ints[2 * n : 3 * n]
    depth, queue, later = ints[3 * n : 4 * n], ints[4 * n : 5 * n], ints[5 * n : 6 * n]
    ends = ints[6 * n : 6 * n + 4]  # first and last of the active nodes, then of the orphans
    ends[:] = -1
    for j in range(n):
        queue[j] = -1
        stamp[j] = 0
        depth[j] = 1
        tree[j], parent[j] = FREE, NONE
        if excess[j] != 0.0:
            tree[j], parent[j] = SOURCE if excess[j] > 0.0 else SINK, ROOT
            activate(queue, ends, j)
    time, node = 0, -1
    while True:
        if node < 0 or parent[node] == NONE:
            node = -1
            while ends[0] >= 0 and node < 0:
                node = ends[0]
                ends[0] = -1 if queue[node] == node else queue[node]
                if ends[0] < 0:
                    ends[1] = -1
                queue[node] = -1
                if parent[node] == NONE:
                    node = -1
            if node < 0:
                return
        middle = grow(
            starts, heads, sisters, residual, tree, parent, stamp, depth, queue, ends, node
        )
        time += 1
        if middle < 0:
            node = -1
            continue
        augment(heads, sisters, residual, excess, parent, later, ends[2:], middle)
        adopt(
            starts, heads, sisters, residual, tree, parent, stamp, depth, queue, later, ends, time
        )


@inlined
def recall(theta, n, m, ends, flow, excess):
    """Make what is left of an old flow fit new scores: flow[e] from ends[2 e] to ends[2 e + 1].

    More than all that can be given or taken is no flow that was sent for these scores or for
    similar ones, and would only cost digits.
    """
    given, taken = 0.0, 0.0
    for j in range(n):
        excess[j] = theta[j]
        if theta[j] > 0.0:
            given += theta[j]
        else:
            taken -= theta[j]
    limit = min(given, taken)
    for e in range(m):
        most = min(max(-theta[n + e], 0.0), limit)
        sent = flow[e]
        if not -most <= sent <= most:
            sent = most if sent > most else -most if sent < -most else 0.0
        flow[e] = sent
        if sent != 0.0:
            excess[ends[2 * e]] -= sent
            excess[ends[2 * e + 1]] += sent


@ability
def maximize(theta, shape, out, work, iwork):
    """The labels of the minimum cut: source side 1. work: V + 3 E, iwork: 6 V + 4.

    work[:E] remembers the flow over each edge. Returns the score; NaN if an edge rewards labels
    that differ, which no cut can find.
    """
    n, m = shape[0], shape[1]
    starts = shape[2 : 3 + n]
    heads = shape[3 + n : 3 + n + 2 * m]
    sisters = shape[3 + n + 2 * m : 3 + n + 4 * m]
    edges = shape[3 + n + 4 * m : 3 + n + 6 * m]
    ends = shape[3 + n + 6 * m : 3 + n + 8 * m]
    flow, excess, residual = work[:m], work[m : m + n], work[m + n : n + 3 * m]
    largest = 0.0
    for p in range(n + m):
        largest = max(largest, abs(theta[p]))
    for e in range(m):
        if theta[n + e] > 1e-9 * largest:  # less is rounding
            return np.nan
    recall(theta, n, m, ends, flow, excess)
    for j in range(n):
        for a in range(starts[j], starts[j + 1]):
            e = edges[a]
            most = max(-theta[n + e], 0.0)
            residual[a] = most - flow[e] if ends[2 * e] == j else most + flow[e]
    max_flow(starts, heads, sisters, residual, excess, iwork)
    out[:] = 0.0
    value = 0.0
    for j in range(n):
        if iwork[j] == SOURCE:
            out[j] = 1.0
            value += theta[j]
        for a in range(starts[j], starts[j + 1]):
            e = edges[a]
            if ends[2 * e] == j:
                flow[e] = 0.5 * (residual[sisters[a]] - residual[a])
                if (iwork[j] == SOURCE) != (iwork[heads[a]] == SOURCE):
                    out[n + e] = 1.0
                    value += theta[n + e]
    return value
