"""Components of equal x and the flow inside them. See `_numba.graph_cut.project`."""

from __future__ import annotations

from maxmargin._numba.compile import FLOATS, INTS, compile_internal, types
from maxmargin._numba.graph_cut.maximize import FIELDS, SINK, SOURCE, TREE, max_flow


@compile_internal(types.int64(INTS, INTS, INTS, FLOATS, FLOATS, INTS, INTS, INTS))
def by_flow(starts, heads, edges, b, y, component, order, via):
    """Components joined by edges with a kink whose flow is below the kink's; see `by_side`."""
    component[:] = -1
    count, last = 0, 0
    for first in range(len(component)):
        if component[first] >= 0:
            continue
        component[first], order[last], via[first] = count, first, -1
        at = last
        last += 1
        while at < last:
            j = order[at]
            at += 1
            for arc in range(starts[j], starts[j + 1]):
                k, e = heads[arc], edges[arc]
                if component[k] < 0 and abs(y[e]) < -b[e]:
                    component[k], order[last], via[k] = count, k, e
                    last += 1
        count += 1
    return count


@compile_internal(
    types.int64(INTS, INTS, INTS, FLOATS, FLOATS, INTS, INTS, INTS, INTS, types.boolean)
)
def by_side(starts, heads, edges, b, y, side, component, order, via, fine):
    """Part components whose nodes are on different sides (0, 1, 2). Returns how many there are.

    order: the nodes, those of a component together, each after the one that led to it over the
    edge via[node], -1 for the first of a component. side: overwritten. fine: part them wherever the
    flow is as large as it can be, too.
    """
    n = len(component)
    for j in range(n):
        side[j] += 3 * component[j]  # from here on all that is asked about a node
    count, last = 0, 0
    for first in range(n):
        own = side[first]
        if own < 0:
            continue
        component[first], order[last], via[first], side[first] = count, first, -1, -1
        at = last
        last += 1
        while at < last:
            j = order[at]
            at += 1
            for arc in range(starts[j], starts[j + 1]):
                k = heads[arc]
                if side[k] == own:
                    e = edges[arc]
                    if b[e] < 0.0 and not (fine and abs(y[e]) >= -b[e]):
                        component[k], order[last], via[k], side[k] = count, k, e, -1
                        last += 1
        count += 1
    return count


@compile_internal(types.void(types.int64, INTS, INTS, FLOATS, FLOATS, FLOATS))
def to_neighbours(inner, inside, ends, b, y, excess):
    """Send excess over one edge, to where it lacks."""
    for at in range(inner):
        e = inside[at]
        i, k = ends[2 * e], ends[2 * e + 1]
        more, less = excess[i], excess[k]
        if more * less < 0.0:
            if more > 0.0:
                flow = min(min(more, -less), -b[e] - y[e])
            else:
                flow = -min(min(-more, less), -b[e] + y[e])
            y[e] += flow
            excess[i] = more - flow
            excess[k] = less + flow


@compile_internal(types.void(INTS, FLOATS, FLOATS, FLOATS, INTS, INTS, FLOATS))
def along_trees(ends, b, y, x, order, via, excess):
    """Send excess, or what lacks, towards the first node of each component, as far as it fits."""
    for at in range(len(x) - 1, -1, -1):
        j = order[at]
        e, flow = via[j], excess[j]
        if e < 0 or flow == 0.0:
            continue
        down = ends[2 * e] == j
        above = ends[2 * e + 1] if down else ends[2 * e]
        # at a bound, only one of both must go
        if x[j] >= 1.0 and flow > 0.0:
            flow = min(flow, max(-excess[above], 0.0))
        elif x[j] <= 0.0 and flow < 0.0:
            flow = max(flow, min(-excess[above], 0.0))
        now = y[e] if down else -y[e]
        flow = min(max(flow, b[e] - now), -b[e] - now)
        y[e] += flow if down else -flow
        excess[j] -= flow
        excess[above] += flow


@compile_internal(
    types.void(types.int64, INTS, INTS, INTS, INTS, INTS, FLOATS, FLOATS, FLOATS, FLOATS, INTS)
)
def by_cuts(inner, inside, starts, heads, sisters, arcs, b, y, excess, residual, ints):
    """Send all excess that fits, within components. The first of ints: the sides of the cut."""
    residual[:] = 0.0
    for at in range(inner):
        e = inside[at]
        arc = arcs[e]
        residual[arc], residual[sisters[arc]] = max(-b[e] - y[e], 0.0), max(-b[e] + y[e], 0.0)
    max_flow(starts, heads, sisters, residual, excess, ints, -1)
    for j in range(len(excess)):
        ints[j] = ints[FIELDS * j + TREE]
    for at in range(inner):
        e = inside[at]
        there, back = residual[arcs[e]], residual[sisters[arcs[e]]]
        # exactly at the bound where an arc is full
        y[e] = -b[e] if there <= 0.0 else b[e] if back <= 0.0 else 0.5 * (back - there)


@compile_internal(types.float64(FLOATS, FLOATS, INTS, INTS))
def find_sides(x, excess, tree, side):
    """Which nodes should go up or down; returns the square of what could not be sent."""
    left = 0.0
    for j in range(len(x)):
        more, half = excess[j], tree[j]
        if x[j] >= 1.0:
            more = min(more, 0.0)
            half = 0 if half == SOURCE else half
        elif x[j] <= 0.0:
            more = max(more, 0.0)
            half = 0 if half == SINK else half
        side[j] = half
        left += more * more
    return left
