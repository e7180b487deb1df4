"""Binary Markov networks: the nearest point of the min-cut polytope.

Layouts as in `_numba.graph_cut.maximize`.

Minimise 1/2 sum_j (x_j - a_j)^2 + 1/2 sum_e max(0, |x_i - x_k| - b_e)^2 over x in [0, 1]; then
z_e = max(b_e, |x_i - x_k|). An edge with b < 0 has a kink where its ends are equal: x is constant
on components joined by such edges. In turn,

- the best x that is constant on the components is found (`component_steps`), and
- the flow y over each edge that proves it best: x_j = clip(a_j - flow out of j), where the flow is
  given by x between components, and any between b and -b inside of them. If there is none, the
  minimum cut inside a component tells which of its nodes should go up and which down: it is parted.

So the objective falls all the way, and the number of components is finite. What cannot be sent, r,
is a proof of accuracy: x is the exact answer for the point a + r, so its error is at most |r|.

Landrieu and Obozinski, Cut pursuit: fast algorithms to learn piecewise constant functions on
general weighted graphs, SIAM J. Imaging Sciences 2017.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.arrays import copy_values
from maxmargin._numba.compile import FLOATS, INTS, compile_ability, compile_internal, types
from maxmargin._numba.graph_cut.component_flow import (
    along_trees,
    by_cuts,
    by_flow,
    by_side,
    find_sides,
    to_neighbours,
)
from maxmargin._numba.graph_cut.component_steps import best_levels, component_objective, edge_flow

LIMIT = 300  # turns; some ten are usual
FINE = 3  # turns in which components are parted at every full edge
PASSES, NEAR, WIDE = 5, 0.2, 2.5  # of the first guess


@compile_internal(types.float64(FLOATS, INTS, FLOATS, FLOATS, FLOATS))
def load_point(theta, ends, a, b, pull):
    """Copy the point, with what is far or forbidden as near as makes no difference.

    Returns the largest number of it; NaN if something is not a number. pull: scratch, a node.
    """
    n, size, rises = len(a), 0.0, 0.0
    for p in range(len(theta)):
        if np.isnan(theta[p]) or theta[p] == np.inf:
            return np.nan
    pull[:n] = 0.0
    for e in range(len(b)):
        b[e] = theta[n + e]
        most = max(1.0 - b[e], 0.0)  # the largest flow
        pull[ends[2 * e]] += most
        pull[ends[2 * e + 1]] += most
    for j in range(n):
        a[j] = min(max(theta[j], -pull[j]), 1.0 + pull[j])
        if a[j] > -np.inf:
            size = max(size, abs(a[j]))
            rises += abs(a[j])
    every = 0.0
    for j in range(n):
        if a[j] == -np.inf:
            a[j] = -1.0 - rises  # no other nodes together can lift it
        every += 1.0 + abs(a[j])
    for e in range(len(b)):
        if b[e] == -np.inf:
            b[e] = -every  # more than ever flows
    return size


@compile_internal(
    types.UniTuple(types.int64, 2)(INTS, FLOATS, FLOATS, INTS, INTS, INTS, INTS, INTS)
)
def sort_edges(ends, b, y, component, listed, low, high, inside):
    """List the edges between components and those with a kink inside; returns how many."""
    crossing, inner = 0, 0
    for e in range(len(b)):
        u, v = component[ends[2 * e]], component[ends[2 * e + 1]]
        if u != v:
            listed[crossing], low[crossing], high[crossing] = e, u, v
            crossing += 1
        elif b[e] < 0.0:
            y[e] = min(max(y[e], b[e]), -b[e])
            inside[inner] = e
            inner += 1
        else:
            y[e] = 0.0
    return crossing, inner


@compile_internal(types.void(FLOATS, INTS, FLOATS, FLOATS))
def sum_components(values, component, size, total):
    """The size of each component, and the sum of the values of its nodes."""
    size[:], total[:] = 0.0, 0.0
    for j in range(len(component)):
        size[component[j]] += 1.0
        total[component[j]] += values[j]


@compile_internal(types.float64(FLOATS, FLOATS, FLOATS, INTS, FLOATS))
def reuse_flows(a, b, y, ends, value):
    """Flows of the last call made possible; value: a - flow out. Returns the largest of them."""
    copy_values(a, value)
    largest = 0.0
    for e in range(len(b)):
        most = max(1.0 - b[e], 0.0)
        y[e] = min(max(y[e], -most), most) if np.isfinite(y[e]) else 0.0
        largest = max(largest, abs(y[e]))
        value[ends[2 * e]] -= y[e]
        value[ends[2 * e + 1]] += y[e]
    return largest


@compile_internal(types.void(INTS, INTS, INTS, INTS, FLOATS, FLOATS, FLOATS, FLOATS, INTS))
def guess_point(starts, heads, edges, ends, a, b, y, value, level):
    """A rough x, by a few passes over the nodes with weights in place of kinks, and its levels."""
    spread = 0.0
    for e in range(len(b)):
        apart = min(max(a[ends[2 * e]], 0.0), 1.0) - min(max(a[ends[2 * e + 1]], 0.0), 1.0)
        spread += abs(apart)
    near = max(NEAR * spread / max(len(b), 1), 1e-12)
    copy_values(a, value)
    for _ in range(PASSES):
        for j in range(len(a)):
            above, below, own = a[j], 1.0, value[j]
            for arc in range(starts[j], starts[j + 1]):
                price = b[edges[arc]]
                if price < 0.0:
                    other = min(max(value[heads[arc]], 0.0), 1.0)
                    weight = 1.0 - price / max(near, abs(other - own))
                    above += weight * other
                    below += weight
            value[j] = above / below
    for j in range(len(a)):
        value[j] = min(max(value[j], 0.0), 1.0)
        level[j] = int(value[j] / (WIDE * near) + 0.5)
    for e in range(len(b)):
        if b[e] < 0.0:
            i, k = ends[2 * e], ends[2 * e + 1]
            if level[i] != level[k]:
                y[e] = -b[e] if level[i] > level[k] else b[e]


@compile_internal(
    types.float64(
        types.int64, types.int64, INTS, INTS, FLOATS, FLOATS, FLOATS, INTS, INTS, FLOATS, FLOATS,
        FLOATS, FLOATS, FLOATS,
    )
)  # fmt: skip
def write_imbalance(
    crossing, inner, listed, inside, a, b, y, ends, component, levels, found, size, x, excess
):  # fmt: skip
    """Levels of the nodes, the flow between components, and what inner flow has still to be sent.

    Returns the square of what no inner flow can change: the components' own gradients.
    """
    off = 0.0
    for j in range(len(a)):
        c = component[j]
        x[j] = levels[c]
        excess[j] = a[j] - x[j]
        if x[j] > 0.0 and x[j] < 1.0:
            own = found[c] / size[c]
            excess[j] += own
            off += own * own
    for at in range(crossing):
        e = listed[at]
        i, k = ends[2 * e], ends[2 * e + 1]
        y[e] = edge_flow(x[i] - x[k], b[e], y[e])
        excess[i] -= y[e]
        excess[k] += y[e]
    for at in range(inner):
        e = inside[at]
        excess[ends[2 * e]] -= y[e]
        excess[ends[2 * e + 1]] += y[e]
    return off


@compile_internal(types.float64(FLOATS, types.float64))
def drop_small(excess, least):
    """Set what is less to zero; returns the square of it."""
    off = 0.0
    for j in range(len(excess)):
        if abs(excess[j]) < least:
            off += excess[j] * excess[j]
            excess[j] = 0.0
    return off


@compile_internal(
    types.float64(INTS, INTS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, INTS, types.float64)
)
def solve_levels(layout, arcs, a, b, y, x, work, ints, tol):
    """Find x from the flows y, which are bettered; returns a bound on the error of x.

    work: 10 V + 2 E. ints: 9 V + 4 E + 4. tol: what may be left at a node.
    """
    n, m = len(a), len(b)
    starts, heads = layout[2 : 3 + n], layout[3 + n : 3 + n + 2 * m]
    sisters = layout[3 + n + 2 * m : 3 + n + 4 * m]
    edges, ends = layout[3 + n + 4 * m : 3 + n + 6 * m], layout[3 + n + 6 * m : 3 + n + 8 * m]
    component, free, up = ints[:n], ints[n : 2 * n], ints[2 * n : 3 * n]
    trees = ints[3 * n : 9 * n + 4]
    order, via = trees[4 * n : 5 * n], trees[5 * n : 6 * n]
    at = 9 * n + 4
    listed, low = ints[at : at + m], ints[at + m : at + 2 * m]
    high, inside = ints[at + 2 * m : at + 3 * m], ints[at + 3 * m : at + 4 * m]
    size, total, levels, found = work[:n], work[n : 2 * n], work[2 * n : 3 * n], work[3 * n : 4 * n]
    floats, residual = work[4 * n : 10 * n], work[10 * n : 10 * n + 2 * m]
    excess = floats[:n]  # the steps and the flows take turns
    warm = reuse_flows(a, b, y, ends, excess) > 0.0
    if warm:
        count = by_flow(starts, heads, edges, b, y, component, order, via)
    else:
        guess_point(starts, heads, edges, ends, a, b, y, excess, free)
        component[:] = 0
        for j in range(n):
            free[j] *= 3
        count = by_side(starts, heads, edges, b, y, free, component, order, via, False)
        for e in range(m):
            if component[ends[2 * e]] == component[ends[2 * e + 1]]:
                y[e] = 0.0
    sum_components(excess, component, size, levels)
    for c in range(count):
        levels[c] = min(max(levels[c] / size[c], 0.0), 1.0)
    sum_components(a, component, size, total)
    rough = 0.0 if warm else 1e9 * tol
    error, lowest, careful = np.inf, np.inf, False
    for turn in range(LIMIT):
        crossing, inner = sort_edges(ends, b, y, component, listed, low, high, inside)
        count, crossing, inner = best_levels(
            count, crossing, inner, listed, low, high, inside, component, free, up, b, y, size,
            total, levels, found, floats, max(tol, rough), careful,
        )  # fmt: skip
        if turn > FINE:
            value = component_objective(count, crossing, listed, low, high, b, size, total, levels)
            careful = not value < lowest
            lowest = min(lowest, value)
        off = write_imbalance(
            crossing, inner, listed, inside, a, b, y, ends, component, levels, found, size, x,
            excess,
        )  # fmt: skip
        to_neighbours(inner, inside, ends, b, y, excess)
        along_trees(ends, b, y, x, order, via, excess)
        off += drop_small(excess, max(tol, 0.1 * rough))
        by_cuts(inner, inside, starts, heads, sisters, arcs, b, y, excess, residual, trees)
        kept = find_sides(x, excess, trees, free)
        error = np.sqrt(off + kept)
        if rough > 0.0:
            rough = 0.0 if kept == 0.0 else min(rough, 1e-2 * error / np.sqrt(n))
            if rough < 1e6 * tol:
                rough = 0.0
        elif not error > 2.0 * tol * np.sqrt(n):
            break
        count = by_side(starts, heads, edges, b, y, free, component, order, via, turn < FINE)
        sum_components(a, component, size, total)
        for j in range(n):
            levels[component[j]] = x[j]
    return error


@compile_ability
def project(theta, layout, out, work, iwork):
    """The nearest point. work[: E]: the flows of the last call, or zeros.

    work: 12 V + 4 E. iwork: 9 V + 5 E + 4. Returns a bound on |out - z| over the nodes, relative to
    the largest number or 1; NaN on failure.
    """
    n, m = layout[0], layout[1]
    edges, ends = layout[3 + n + 4 * m : 3 + n + 6 * m], layout[3 + n + 6 * m : 3 + n + 8 * m]
    y, b, a, x = work[:m], work[m : 2 * m], work[2 * m : 2 * m + n], work[2 * m + n : 2 * (m + n)]
    arcs = iwork[:m]
    for j in range(n):
        for arc in range(layout[2 + j], layout[3 + j]):
            if ends[2 * edges[arc]] == j:
                arcs[edges[arc]] = arc
    size = load_point(theta, ends, a, b, x)
    if np.isnan(size):
        return np.nan
    tol = 1e-12 * min(size, 1.0) + 1e-14 * size
    error = solve_levels(layout, arcs, a, b, y, x, work[2 * (m + n) :], iwork[m:], tol)
    copy_values(x, out[:n])
    for e in range(m):
        out[n + e] = max(theta[n + e], abs(x[ends[2 * e]] - x[ends[2 * e + 1]]))
    return error / max(size, 1.0)
