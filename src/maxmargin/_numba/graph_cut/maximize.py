"""Minimum cuts of graphs with real capacities, by two search trees that are kept between paths.

layout = (V, E, then V + 1 starts, 2 E heads, 2 E sisters, 2 E edges, 2 E ends, 2 E arcs). The arcs
that leave node j are starts[j] <= a < starts[j + 1]; heads[a] is where an arc goes, sisters[a] the
arc back, edges[a] the edge of both; ends[2 e] and ends[2 e + 1] are what edge e joins, arcs[2 e]
and arcs[2 e + 1] its arcs there and back. Parts are the V nodes, then the E edges: part j is "node
j has label 1", part V + e is "the ends of edge e differ". Scores of edges must not be positive.

Boykov and Kolmogorov, An experimental comparison of min-cut/max-flow algorithms, PAMI 2004.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.arrays import copy_values
from maxmargin._numba.compile import (
    FLOATS,
    INTS,
    compile_ability,
    compile_inlined,
    compile_internal,
    compiled_function,
    types,
)

# what is known of a node, side by side in memory: its tree; the arc to its parent; when and how far
# from its root it was last seen; the next active node, -1 if it is none; the next orphan
TREE, PARENT, STAMP, DEPTH, NEXT, LATER = range(6)
FIELDS = 6
# where a node's parent is not an arc
ROOT, ORPHAN, NONE = -1, -2, -3
SOURCE, SINK, FREE = 1, 2, 0
LARGEST = np.finfo(np.float64).max
#: of the largest score, what a positive score of an edge may be
ROUNDING = 1e-9
NODES = types.Array(types.int64, 2, "C")


@compile_inlined
def activate_node(nodes, queue, j):
    """Put a node at the end of the queue, unless it is there. The last one points to itself."""
    if nodes[j, NEXT] < 0:
        if queue[1] >= 0:
            nodes[queue[1], NEXT] = j
        else:
            queue[0] = j
        queue[1] = j
        nodes[j, NEXT] = j


@compile_inlined
def next_active(nodes, queue):
    """Take the first node off the queue that is in a tree; -1 if there is none."""
    found = -1
    while queue[0] >= 0 and found < 0:
        j = queue[0]
        queue[0] = -1 if nodes[j, NEXT] == j else nodes[j, NEXT]
        if queue[0] < 0:
            queue[1] = -1
        nodes[j, NEXT] = -1
        if nodes[j, PARENT] != NONE:
            found = j
    return found


@compile_inlined
def make_orphan(nodes, lost, j):
    """Cut a node off its tree, and put it at the end of the list of orphans."""
    nodes[j, PARENT] = ORPHAN
    nodes[j, LATER] = -1
    if lost[1] >= 0:
        nodes[lost[1], LATER] = j
    else:
        lost[0] = j
    lost[1] = j


@compile_inlined
def augment_path(heads, sisters, residual, excess, nodes, lost, middle):
    """Push what fits along the path over the arc `middle`; nodes cut off become orphans."""
    flow = residual[middle]
    j = heads[sisters[middle]]
    while nodes[j, PARENT] >= 0:
        flow = min(flow, residual[sisters[nodes[j, PARENT]]])
        j = heads[nodes[j, PARENT]]
    flow = min(flow, excess[j])
    j = heads[middle]
    while nodes[j, PARENT] >= 0:
        flow = min(flow, residual[nodes[j, PARENT]])
        j = heads[nodes[j, PARENT]]
    flow = min(flow, -excess[j])

    residual[middle] -= flow
    residual[sisters[middle]] += flow
    for side in range(2):
        j = heads[sisters[middle]] if side == 0 else heads[middle]
        while nodes[j, PARENT] >= 0:
            toward = nodes[j, PARENT]
            away = sisters[toward]
            above = heads[toward]
            if side == 0:
                toward, away = away, toward  # flow comes down the tree of the source
            residual[toward] -= flow
            residual[away] += flow
            if residual[toward] == 0.0:
                make_orphan(nodes, lost, j)
            j = above
        excess[j] += -flow if side == 0 else flow
        if excess[j] == 0.0:
            make_orphan(nodes, lost, j)


@compile_inlined
def root_distance(heads, nodes, first, time):
    """How far a node is from its root; -1 if it hangs on an orphan. Remembers what it found."""
    steps, j = 0, first
    while nodes[j, STAMP] != time:
        steps += 1
        arc = nodes[j, PARENT]
        if arc == ROOT:
            nodes[j, STAMP] = time
            nodes[j, DEPTH] = 1
            break
        if arc == ORPHAN:
            return -1
        j = heads[arc]
    else:
        steps += nodes[j, DEPTH]
    found, j = steps, first
    while nodes[j, STAMP] != time:
        nodes[j, STAMP] = time
        nodes[j, DEPTH] = steps
        steps -= 1
        j = heads[nodes[j, PARENT]]
    return found


@compile_inlined
def adopt_orphans(starts, heads, sisters, residual, nodes, queue, lost, time):
    """Find each orphan a new parent in its tree; one without becomes free, its children orphans."""
    while lost[0] >= 0:
        j = lost[0]
        lost[0] = nodes[j, LATER]
        if lost[0] < 0:
            lost[1] = -1
        own = nodes[j, TREE]
        best, least = NONE, np.iinfo(np.int64).max
        for arc in range(starts[j], starts[j + 1]):
            other = heads[arc]
            if nodes[other, TREE] != own:
                continue
            if residual[sisters[arc] if own == SOURCE else arc] > 0.0:
                far = root_distance(heads, nodes, other, time)
                if 0 <= far < least:
                    best, least = arc, far
        if best >= 0:
            nodes[j, PARENT] = best
            nodes[j, STAMP] = time
            nodes[j, DEPTH] = least + 1
            continue
        for arc in range(starts[j], starts[j + 1]):
            other = heads[arc]
            if nodes[other, TREE] != own:
                continue
            if residual[sisters[arc] if own == SOURCE else arc] > 0.0:
                activate_node(nodes, queue, other)
            above = nodes[other, PARENT]
            if above >= 0 and heads[above] == j:
                make_orphan(nodes, lost, other)
        nodes[j, TREE], nodes[j, PARENT] = FREE, NONE


@compile_inlined
def grow_tree(starts, heads, sisters, residual, nodes, queue, j):
    """Let a tree grow from an active node; the arc over which the trees meet, or -1."""
    own, stamp, depth = nodes[j, TREE], nodes[j, STAMP], nodes[j, DEPTH]
    for arc in range(starts[j], starts[j + 1]):
        back = sisters[arc]
        if residual[arc if own == SOURCE else back] <= 0.0:
            continue
        other = heads[arc]
        if nodes[other, TREE] == FREE:
            nodes[other, TREE], nodes[other, PARENT] = own, back
            nodes[other, STAMP], nodes[other, DEPTH] = stamp, depth + 1
            activate_node(nodes, queue, other)
        elif nodes[other, TREE] != own:
            return arc if own == SOURCE else back
        elif nodes[other, STAMP] <= stamp and nodes[other, DEPTH] > depth:
            # a shorter way to the root keeps paths short
            nodes[other, PARENT] = back
            nodes[other, STAMP], nodes[other, DEPTH] = stamp, depth + 1
    return -1


@compile_internal(types.void(FLOATS, NODES, INTS, INTS, types.boolean))
def plant_trees(excess, nodes, queue, lost, both):
    """All nodes with something to give or to take become roots, all others free.

    both : let the trees of the sink grow as well.
    """
    queue[:] = -1
    lost[:] = -1
    for j in range(len(excess)):
        nodes[j, NEXT] = -1
        nodes[j, STAMP], nodes[j, DEPTH] = 0, 1
        nodes[j, TREE], nodes[j, PARENT] = FREE, NONE
        if excess[j] != 0.0:
            nodes[j, TREE] = SOURCE if excess[j] > 0.0 else SINK
            nodes[j, PARENT] = ROOT
            if both or excess[j] > 0.0:
                activate_node(nodes, queue, j)


@compiled_function(types.int64(INTS, INTS, INTS, FLOATS, FLOATS, INTS, types.int64))
def max_flow(starts, heads, sisters, residual, excess, ints, patience):
    """Send all the flow that fits; ints: 6 V + 4, entry 6 j becomes 1 if j is on the source's side.

    excess : what the source can still give a node, or, negative, what it can still give the sink.
    patience : after this many paths, each further one is a shortest one, found anew from the
    source; negative for a number that few graphs need, if any. Shortest paths are of the order of
    V E at most, whatever the capacities and their rounding, since each fills an arc to the last
    bit; two kept trees are faster, but nothing bounds the number of their paths. Returns that
    number.
    """
    n = len(starts) - 1
    nodes = ints[: FIELDS * n].reshape(n, FIELDS)
    queue = ints[FIELDS * n : FIELDS * n + 2]  # first and last of the active nodes
    lost = ints[FIELDS * n + 2 : FIELDS * n + 4]  # and of the orphans
    if patience < 0:
        patience = 1000 + 100 * (n + len(heads))
    plant_trees(excess, nodes, queue, lost, patience > 0)
    paths, time, j = 0, 0, -1
    while True:
        if j < 0 or nodes[j, PARENT] == NONE:
            j = next_active(nodes, queue)
            if j < 0:
                return paths
        middle = grow_tree(starts, heads, sisters, residual, nodes, queue, j)
        time += 1
        if middle < 0:
            j = -1
            continue
        augment_path(heads, sisters, residual, excess, nodes, lost, middle)
        paths += 1
        if paths < patience:
            adopt_orphans(starts, heads, sisters, residual, nodes, queue, lost, time)
        else:
            plant_trees(excess, nodes, queue, lost, False)
            j = -1


@compile_inlined
def largest_flow(theta, n):
    """A bound on the flow: all that can be given, or all that can be taken; NaN if that is not
    finite.

    Node scores of -inf take all.
    """
    given, taken, forbidden = 0.0, 0.0, False
    for j in range(n):
        if theta[j] == -np.inf:
            forbidden = True
        elif theta[j] < 0.0:
            taken -= theta[j]
        else:
            given += theta[j]
    if not max(given, taken) <= LARGEST:
        return np.nan
    return given if forbidden else min(given, taken)


@compile_inlined
def reuse_flow(theta, n, m, ends, flow, excess, limit):
    """Make what is left of an old flow fit new scores: flow[e] from ends[2 e] to ends[2 e + 1].

    limit : more is not a flow that was sent for these scores or for similar ones, and would only
    cost digits.
    """
    copy_values(theta[:n], excess)
    if limit * (m + 1) > LARGEST:
        limit = 0.0  # what flows into a node must not add up to infinity
    for e in range(m):
        sent = flow[e]
        if sent == 0.0:
            continue
        most = min(max(-theta[n + e], 0.0), limit)
        if not -most <= sent <= most:
            sent = most if sent > most else -most if sent < -most else 0.0
            flow[e] = sent
        excess[ends[2 * e]] -= sent
        excess[ends[2 * e + 1]] += sent


@compile_inlined
def has_positive_edge(theta, n, m):
    """Whether an edge has a positive score, or one that is not a number; a little is rounding."""
    worst = 0.0
    for e in range(m):
        if not theta[n + e] <= 0.0:
            worst = theta[n + e]
            break
    if worst == 0.0:
        return False
    largest = 0.0
    for p in range(n + m):
        if abs(theta[p]) <= LARGEST:
            largest = max(largest, abs(theta[p]))
    for e in range(m):
        if not theta[n + e] <= ROUNDING * largest:
            return True
    return False


@compile_inlined
def open_arcs(theta, n, m, ends, arcs, flow, excess, residual):
    """What is left of the capacities, after neighbours have sent each other what they can."""
    for e in range(m):
        j, k = ends[2 * e], ends[2 * e + 1]
        most, sent = max(-theta[n + e], 0.0), flow[e]
        there, back = most - sent, most + sent
        # without a branch, which no processor could foresee
        own, other = excess[j], excess[k]
        more = min(min(max(own, 0.0), max(-other, 0.0)), there)
        more -= min(min(max(-own, 0.0), max(other, 0.0)), back)
        excess[j] = own - more
        excess[k] = other + more
        there -= more
        back += more
        residual[arcs[2 * e]] = there
        residual[arcs[2 * e + 1]] = back


@compile_inlined
def read_off(theta, n, m, ends, arcs, residual, nodes, flow, out):
    """Write the labels, and the flow for the next call; returns the score."""
    value = 0.0
    for j in range(n):
        out[j] = 1.0 if nodes[FIELDS * j + TREE] == SOURCE else 0.0
        value += out[j] * max(theta[j], -LARGEST)  # 0 * -inf is not a number
    for e in range(m):
        flow[e] = 0.5 * (residual[arcs[2 * e + 1]] - residual[arcs[2 * e]])
        out[n + e] = abs(out[ends[2 * e]] - out[ends[2 * e + 1]])
        value += out[n + e] * max(theta[n + e], -LARGEST)
    return value


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """The labels of the minimum cut: source side 1. work: V + 3 E, iwork: 6 V + 4.

    work[:E] remembers the flow over each edge. Returns the score; NaN if an edge rewards labels
    that differ, which no cut can find, or if scores add up to more than a number can hold.
    """
    n, m = layout[0], layout[1]
    starts = layout[2 : 3 + n]
    heads = layout[3 + n : 3 + n + 2 * m]
    sisters = layout[3 + n + 2 * m : 3 + n + 4 * m]
    ends = layout[3 + n + 6 * m : 3 + n + 8 * m]
    arcs = layout[3 + n + 8 * m : 3 + n + 10 * m]
    flow, excess, residual = work[:m], work[m : m + n], work[m + n : n + 3 * m]
    limit = largest_flow(theta, n)
    if np.isnan(limit) or has_positive_edge(theta, n, m):
        out[:] = 0.0
        return np.nan
    reuse_flow(theta, n, m, ends, flow, excess, limit)
    open_arcs(theta, n, m, ends, arcs, flow, excess, residual)
    max_flow(starts, heads, sisters, residual, excess, iwork, -1)
    return read_off(theta, n, m, ends, arcs, residual, iwork, flow, out)
