"""Blossoms and alternating trees of a graph, and how matchings grow along them (Edmonds 1965).

Nodes 0 to n - 1 are the graph's, those after them *blossoms*: odd cycles of nodes, shrunk to one.
An *arc* is an edge with a direction, numbered as in `structures.Network.as_ints`. Outer nodes have
an even distance from the root of their tree, inner ones an odd one. All numbers are integers, so
that what is tight is exactly so.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin._numba.compile import INTS, compile_inlined, compile_internal, tuple_type, types

INT, VOID = types.int64, types.void
NONE = -1
UNREACHED, OUTER, INNER = 0, 1, 2
ABSENT = -(2**62)  # the weight of an edge that is not there
N_COUNTS = 4
FIRST, LAST, STAMP, UNUSED = 0, 1, 2, 3  # of `counts`: ends of the queue, marks, unused blossoms


class Forest(NamedTuple):
    """Of n nodes, up to n // 2 blossoms and their edges."""

    start: np.ndarray  # (n,) where the arcs of a node end
    head: np.ndarray  # (2 m,)
    sister: np.ndarray  # (2 m,) the same edge, the other way
    edge: np.ndarray  # (2 m,)
    weight: np.ndarray  # (m,) or ABSENT
    price: np.ndarray  # of a node u, of a blossom its y
    mate: np.ndarray  # (n,) the arc to the partner, or NONE
    best: np.ndarray  # (n,) arc of least slack to an outer node, or NONE
    top: np.ndarray  # (n,) the outermost blossom of a node, or itself
    queue: np.ndarray  # (n,) outer nodes whose arcs are to be looked at
    base: np.ndarray  # the node of a blossom that is not matched inside it
    parent: np.ndarray  # the blossom around, or NONE
    first: np.ndarray  # of a blossom's cycle: the child with the base
    after: np.ndarray  # the next child of the cycle
    before: np.ndarray
    link: np.ndarray  # arc from a child to the one after it
    label: np.ndarray
    entry: np.ndarray  # arc from a node to its parent in the tree, NONE at roots
    mark: np.ndarray
    stack: np.ndarray  # twice as long
    unused: np.ndarray  # (n // 2 + 1,) blossoms
    counts: np.ndarray


FOREST = tuple_type(Forest, dict.fromkeys(Forest._fields, INTS))


@compile_inlined
def tail_of(forest, arc):
    """The node at which an arc begins."""
    return forest.head[forest.sister[arc]]


@compile_inlined
def slack_of(forest, arc):
    """Slack of an edge whose ends share no blossom; it may be in the matching if that is 0."""
    u = forest.price[forest.head[arc]] + forest.price[tail_of(forest, arc)]
    return u - 2 * forest.weight[forest.edge[arc]]


@compile_internal(VOID(FOREST, INT, INT, INT))
def label_node(forest, top, label, entry):
    """Give an outermost node its place in a tree; nodes of outer ones are to be looked at."""
    forest.label[top], forest.entry[top] = label, entry
    if label != OUTER:
        return
    n = len(forest.top)
    for v in range(top if top < n else 0, min(top + 1, n)):  # one node, or all of a blossom
        if forest.top[v] == top:
            forest.best[v] = NONE
            forest.queue[forest.counts[LAST]] = v
            forest.counts[LAST] += 1


@compile_internal(INT(FOREST, INT))
def common_ancestor(forest, arc):
    """The outer node at which the trees' paths from both ends of an arc meet, or NONE."""
    forest.counts[STAMP] += 1
    stamp = forest.counts[STAMP]
    x, y = forest.top[tail_of(forest, arc)], forest.top[forest.head[arc]]
    while x != NONE:
        if forest.mark[x] == stamp:
            return x
        forest.mark[x] = stamp
        if forest.entry[x] == NONE:
            x = NONE
        else:
            inner = forest.top[forest.head[forest.entry[x]]]
            x = forest.top[forest.head[forest.entry[inner]]]
        if y != NONE:
            x, y = y, x
    return NONE


@compile_inlined
def join_children(forest, one, other, arc):
    """Let `other` come after `one` in the cycle of a blossom."""
    forest.after[one], forest.before[other], forest.link[one] = other, one, arc


@compile_internal(VOID(FOREST, INT, INT))
def shrink_cycle(forest, arc, ancestor):
    """Make a blossom of the cycle that an arc between two outer nodes of one tree closes."""
    n, arc_back = len(forest.top), forest.sister[arc]
    forest.counts[UNUSED] -= 1
    blossom = forest.unused[forest.counts[UNUSED]]
    x, y = forest.top[forest.head[arc_back]], forest.top[forest.head[arc]]
    join_children(forest, x, y, arc)
    while x != ancestor:
        up = forest.top[forest.head[forest.entry[x]]]
        join_children(forest, up, x, forest.sister[forest.entry[x]])
        forest.parent[x] = blossom
        x = up
    while y != ancestor:
        up = forest.top[forest.head[forest.entry[y]]]
        join_children(forest, y, up, forest.entry[y])
        forest.parent[y] = blossom
        y = up
    forest.parent[ancestor] = blossom
    forest.parent[blossom], forest.price[blossom] = NONE, 0
    forest.first[blossom], forest.base[blossom] = ancestor, forest.base[ancestor]
    forest.label[blossom], forest.entry[blossom] = OUTER, forest.entry[ancestor]
    for v in range(n):
        if forest.parent[forest.top[v]] == blossom:
            if forest.label[forest.top[v]] == INNER:
                forest.best[v] = NONE
                forest.queue[forest.counts[LAST]] = v
                forest.counts[LAST] += 1
            forest.top[v] = blossom


@compile_inlined
def child_with(forest, blossom, node):
    """The child of a blossom that holds a node."""
    while forest.parent[node] != blossom:
        node = forest.parent[node]
    return node


@compile_internal(INT(FOREST, INT, INT))
def place_in_cycle(forest, blossom, child):
    """How many children after the first one a child comes."""
    place, at = 0, forest.first[blossom]
    while at != child:
        at = forest.after[at]
        place += 1
    return place


@compile_internal(VOID(FOREST, INT))
def expand_blossom(forest, blossom):
    """Undo a blossom; the children of an inner one take its place in the tree."""
    n, label, entry = len(forest.top), forest.label[blossom], forest.entry[blossom]
    first = forest.first[blossom]
    for v in range(n):
        if forest.top[v] == blossom:
            forest.top[v] = child_with(forest, blossom, v)
    way_in, odd = NONE, False
    if label == INNER:
        way_in = child_with(forest, blossom, tail_of(forest, entry))
        odd = place_in_cycle(forest, blossom, way_in) % 2 == 1
    child = first
    while True:
        forest.label[child], forest.entry[child], forest.parent[child] = UNREACHED, NONE, NONE
        child = forest.after[child]
        if child == first:
            break
    forest.label[blossom] = UNREACHED
    forest.unused[forest.counts[UNUSED]] = blossom
    forest.counts[UNUSED] += 1
    if label != INNER:
        return
    child = way_in
    label_node(forest, child, INNER, entry)
    while child != first:  # along matched and other arcs in turn, to the base
        outer = forest.after[child] if odd else forest.before[child]
        label_node(forest, outer, OUTER, forest.mate[forest.base[outer]])
        child = forest.after[outer] if odd else forest.before[outer]
        arc = forest.sister[forest.link[outer]] if odd else forest.link[child]
        label_node(forest, child, INNER, arc)


@compile_internal(VOID(FOREST, INT, INT))
def move_base(forest, blossom, node):
    """Match the nodes of a blossom with each other, except one, which becomes its base."""
    n, stack, depth = len(forest.top), forest.stack, 0
    stack[0], stack[1], depth = blossom, node, 1
    while depth > 0:
        depth -= 1
        blossom, node = stack[2 * depth], stack[2 * depth + 1]
        child, first = child_with(forest, blossom, node), forest.first[blossom]
        odd = place_in_cycle(forest, blossom, child) % 2 == 1
        forest.first[blossom], forest.base[blossom] = child, node
        if child >= n:
            stack[2 * depth], stack[2 * depth + 1] = child, node
            depth += 1
        at = child
        while at != first:  # pairs between the child and the old base
            one = forest.after[at] if odd else forest.before[at]
            at = forest.after[one] if odd else forest.before[one]
            arc = forest.link[one] if odd else forest.sister[forest.link[at]]
            back = forest.sister[arc]
            here, there = forest.head[back], forest.head[arc]
            forest.mate[here], forest.mate[there] = arc, back
            if one >= n:
                stack[2 * depth], stack[2 * depth + 1] = one, here
                depth += 1
            if at >= n:
                stack[2 * depth], stack[2 * depth + 1] = at, there
                depth += 1


@compile_internal(VOID(FOREST, INT))
def match_to_root(forest, arc):
    """Match the tail of an arc by it, and change partners from there to the root of its tree."""
    n = len(forest.top)
    while True:
        node = tail_of(forest, arc)
        top = forest.top[node]
        if top >= n:
            move_base(forest, top, node)
        forest.mate[node] = arc
        if forest.entry[top] == NONE:
            return
        inner = forest.top[forest.head[forest.entry[top]]]
        arc = forest.entry[inner]
        node = tail_of(forest, arc)
        if inner >= n:
            move_base(forest, inner, node)
        forest.mate[node] = arc
        arc = forest.sister[arc]


@compile_internal(types.boolean(FOREST, INT))
def join_outer_nodes(forest, arc):
    """Use a tight arc between two outer nodes; True if that gave another matched edge."""
    ancestor = common_ancestor(forest, arc)
    if ancestor != NONE:
        shrink_cycle(forest, arc, ancestor)
        return False
    match_to_root(forest, arc)
    match_to_root(forest, forest.sister[arc])
    return True


@compile_internal(types.boolean(FOREST, INT))
def grow_tree(forest, arc):
    """Take an unreached node into a tree by a tight arc from it, and its partner after it.

    True if it has none: then the arc is matched.
    """
    node, n = tail_of(forest, arc), len(forest.top)
    top = forest.top[node]
    onward = forest.mate[forest.base[top]]
    if onward == NONE:
        if top >= n:
            move_base(forest, top, node)
        forest.mate[node] = arc
        match_to_root(forest, forest.sister[arc])
        return True
    label_node(forest, top, INNER, arc)
    label_node(forest, forest.top[forest.head[onward]], OUTER, forest.sister[onward])
    return False


@compile_internal(VOID(FOREST, INT))
def free_node(forest, node):
    """Take an outer node's partner away, so that the root of its tree gets one."""
    n, top = len(forest.top), forest.top[node]
    if top >= n:
        move_base(forest, top, node)
    forest.mate[node] = NONE
    if forest.entry[top] == NONE:
        return
    inner = forest.top[forest.head[forest.entry[top]]]
    arc = forest.entry[inner]
    if inner >= n:
        move_base(forest, inner, tail_of(forest, arc))
    forest.mate[tail_of(forest, arc)] = arc
    match_to_root(forest, forest.sister[arc])
