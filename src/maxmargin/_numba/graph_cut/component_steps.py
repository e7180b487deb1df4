"""Points that are constant on components: the best one, by Newton steps and merging.

Minimise  sum_c (size_c x_c^2 / 2 - total_c x_c) + sum_e 1/2 max(0, |x_i - x_j| - b_e)^2  over x in
[0, 1], where e are the edges between components i, j. An edge with b < 0 has a kink where its ends
are equal. The sign of its flow y says which end is above; two components that would pass each other
become one. `_numba.graph_cut.project` finds out which should be parted again.
"""

from __future__ import annotations

from maxmargin._numba.arrays import copy_values
from maxmargin._numba.compile import FLOATS, INTS, compile_inlined, compile_internal, types

BENT = 0.01  # of the slope of a step: less is left of it where bounds have bent the way too much


@compile_inlined
def edge_flow(apart, b, y):
    """The flow over an edge whose ends are so far apart; the sign of a kink is that of y."""
    if b < 0.0:
        return apart - b if y > 0.0 else apart + b
    return max(apart - b, 0.0) + min(apart + b, 0.0)


@compile_inlined
def find_root(up, c):
    """What a component became part of."""
    while up[c] != c:
        up[c] = up[up[c]]
        c = up[c]
    return c


@compile_internal(
    types.int64(
        types.int64, types.int64, INTS, INTS, INTS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS,
        FLOATS,
    )
)  # fmt: skip
def write_gradient(count, crossing, listed, low, high, b, y, size, total, x, found, diagonal):
    """found: the gradient at x. Edges that are curved there come first; returns how many."""
    for c in range(count):
        found[c] = size[c] * x[c] - total[c]
        diagonal[c] = size[c]
    curved = 0
    for i in range(crossing):
        e, u, v = listed[i], low[i], high[i]
        flow = edge_flow(x[u] - x[v], b[e], y[e])
        if b[e] < 0.0 or flow != 0.0:
            found[u] += flow
            found[v] -= flow
            diagonal[u] += 1.0
            diagonal[v] += 1.0
            if curved < i:
                listed[i], low[i], high[i] = listed[curved], low[curved], high[curved]
                listed[curved], low[curved], high[curved] = e, u, v
            curved += 1
    return curved


@compile_internal(
    types.void(
        types.int64, types.int64, INTS, INTS, FLOATS, FLOATS, FLOATS, INTS, FLOATS, FLOATS,
        FLOATS, FLOATS, types.float64,
    )
)  # fmt: skip
def newton_step(count, curved, low, high, size, diagonal, found, free, step, left, way, image, tol):
    """The Newton step of the free components, by conjugate gradients, to a relative accuracy."""
    power = 0.0
    for c in range(count):
        step[c] = 0.0
        left[c] = -found[c] if free[c] else 0.0
        way[c] = left[c] / diagonal[c]
        power += left[c] * way[c]
    goal = tol * tol * power
    for _ in range(200):
        if power <= goal:
            return
        for c in range(count):
            image[c] = size[c] * way[c]
        for i in range(curved):
            u, v = low[i], high[i]
            flow = way[u] - way[v]
            image[u] += flow
            image[v] -= flow
        curve = 0.0
        for c in range(count):
            if free[c]:
                curve += way[c] * image[c]
        if curve <= 0.0:
            return
        length, after = power / curve, 0.0
        for c in range(count):
            if free[c]:
                step[c] += length * way[c]
                left[c] -= length * image[c]
                image[c] = left[c] / diagonal[c]
                after += left[c] * image[c]
        turn = after / power
        power = after
        for c in range(count):
            if free[c]:
                way[c] = image[c] + turn * way[c]


@compile_internal(
    types.float64(types.int64, types.int64, INTS, INTS, INTS, FLOATS, FLOATS, FLOATS, FLOATS)
)
def component_objective(count, crossing, listed, low, high, b, size, total, x):
    """What is minimised, whichever end of an edge is above, but for a constant."""
    value = 0.0
    for c in range(count):
        value += x[c] * (0.5 * size[c] * x[c] - total[c])
    for i in range(crossing):
        apart, price = abs(x[low[i]] - x[high[i]]), b[listed[i]]
        if price < 0.0:
            value += apart * (0.5 * apart - price)
        elif apart > price:
            value += 0.5 * (apart - price) ** 2
    return value


@compile_internal(types.float64(types.int64, FLOATS, FLOATS, FLOATS, FLOATS, INTS))
def fix_at_bounds(count, x, found, size, diagonal, free):
    """Hold components at bounds, and put them there from nearby; returns the largest gradient.

    Else one that is all but at its bound would bend the way of its neighbours.
    """
    worst = 0.0
    for c in range(count):
        free[c] = 1
        way = found[c] / diagonal[c]
        if (x[c] <= 0.0 and way >= 0.0) or (x[c] >= 1.0 and way <= 0.0):
            free[c] = 0
            continue
        worst = max(worst, abs(found[c]) / size[c])
        if (x[c] < 1e-6 and way > x[c]) or (x[c] > 1.0 - 1e-6 and way < x[c] - 1.0):
            free[c] = 0
            x[c] = 0.0 if way > 0.0 else 1.0
    return worst


@compile_internal(types.float64(types.int64, INTS, INTS, INTS, FLOATS, FLOATS, FLOATS, FLOATS))
def first_meeting(crossing, listed, low, high, b, y, x, end):
    """How far one can go from x to `end` before components at a kink pass each other."""
    far = 1.0
    for i in range(crossing):
        e = listed[i]
        if b[e] < 0.0:
            sign = 1.0 if y[e] > 0.0 else -1.0
            before = sign * (x[low[i]] - x[high[i]])
            after = sign * (end[low[i]] - end[high[i]])
            if after < 0.0:
                far = min(far, max(before, 0.0) / (max(before, 0.0) - after))
    return far


@compile_internal(
    types.boolean(
        types.int64, types.int64, INTS, INTS, INTS, FLOATS, FLOATS, FLOATS, INTS, types.float64
    )
)
def unite_crossed(count, crossing, listed, low, high, b, y, end, up, near):
    """Unite the components that have passed each other at `end`, or are as near as `near`."""
    for c in range(count):
        up[c] = c
    some = False
    for i in range(crossing):
        e = listed[i]
        if b[e] < 0.0:
            apart = end[low[i]] - end[high[i]]
            if (apart if y[e] > 0.0 else -apart) < near:
                u, v = find_root(up, low[i]), find_root(up, high[i])
                if u != v:
                    up[max(u, v)] = min(u, v)
                    some = True
    return some


@compile_internal(
    types.UniTuple(types.int64, 3)(
        types.int64, types.int64, types.int64, INTS, INTS, INTS, INTS, INTS, INTS, INTS, FLOATS,
        FLOATS, FLOATS, FLOATS, FLOATS,
    )
)  # fmt: skip
def renumber_components(
    count, crossing, inner, listed, low, high, inside, component, up, name, b, y, size, total, x
):  # fmt: skip
    """Renumber components after `unite_crossed`; returns how many, and edges of each kind."""
    left = 0
    for c in range(count):
        above = find_root(up, c)
        if above == c:
            name[c] = left
            size[left], total[left], x[left] = size[c], total[c], size[c] * x[c]
            left += 1
        else:
            k = name[above]  # roots have the lowest number
            name[c] = k
            size[k] += size[c]
            total[k] += total[c]
            x[k] += size[c] * x[c]
    for c in range(left):
        x[c] /= size[c]
    for j in range(len(component)):
        component[j] = name[component[j]]
    kept = 0
    for i in range(crossing):
        e, u, v = listed[i], name[low[i]], name[high[i]]
        if u != v:
            listed[kept], low[kept], high[kept] = e, u, v
            kept += 1
        elif b[e] < 0.0:
            y[e] = min(max(y[e], b[e]), -b[e])
            inside[inner] = e
            inner += 1
        else:
            y[e] = 0.0
    return left, kept, inner


@compile_internal(
    types.UniTuple(types.int64, 3)(
        types.int64, types.int64, types.int64, INTS, INTS, INTS, INTS, INTS, INTS, INTS, FLOATS,
        FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, types.float64, types.boolean,
    )
)  # fmt: skip
def best_levels(
    count, crossing, inner, listed, low, high, inside, component, free, up, b, y, size, total, x,
    found, floats, tol, careful,
):  # fmt: skip
    """Find x of each component, from the one given, to tol; returns what `renumber_components`
    returns.

    found: the gradient there. floats: 6 a component. careful: merge only those that meet first,
    which never climbs.
    """
    n = len(component)
    diagonal, step, left = floats[:n], floats[n : 2 * n], floats[2 * n : 3 * n]
    way, image, end = floats[3 * n : 4 * n], floats[4 * n : 5 * n], floats[5 * n : 6 * n]
    for turn in range(60 + count):
        curved = write_gradient(
            count, crossing, listed, low, high, b, y, size, total, x, found, diagonal
        )
        worst = fix_at_bounds(count, x, found, size, diagonal, free)
        if not worst > tol:
            # flows of another call may be of the wrong sign, which no step has seen yet
            if not unite_crossed(count, crossing, listed, low, high, b, y, x, up, 0.0):
                break
            count, crossing, inner = renumber_components(
                count, crossing, inner, listed, low, high, inside, component, up, free, b, y, size,
                total, x,
            )  # fmt: skip
            continue
        accuracy = max(0.1 * tol / worst, min(0.1, worst))
        newton_step(
            count, curved, low, high, size, diagonal, found, free, step, left, way, image, accuracy
        )
        first, straight = 0.0, 0.0
        for c in range(count):
            end[c] = min(max(x[c] + step[c], 0.0), 1.0)
            first += found[c] * (end[c] - x[c])
            straight += found[c] * step[c]
        if not first < BENT * straight:
            # bounds have bent the way; a step that is sure to go down
            first = 0.0
            for c in range(count):
                end[c] = min(max(x[c] - 0.5 * found[c] / diagonal[c], 0.0), 1.0)
                first += found[c] * (end[c] - x[c])
        near = 0.0
        if careful:
            far = first_meeting(crossing, listed, low, high, b, y, x, end)
            if far < 1.0:
                near = 1e-14
                for c in range(count):
                    end[c] = x[c] + far * (end[c] - x[c])
        if unite_crossed(count, crossing, listed, low, high, b, y, end, up, near):
            copy_values(end[:count], x[:count])
            count, crossing, inner = renumber_components(
                count, crossing, inner, listed, low, high, inside, component, up, free, b, y, size,
                total, x,
            )  # fmt: skip
            continue
        for _ in range(10 if turn > 3 else 0):
            write_gradient(
                count, crossing, listed, low, high, b, y, size, total, end, found, diagonal
            )
            last = 0.0
            for c in range(count):
                last += found[c] * (end[c] - x[c])
            if last <= -0.5 * first:
                break
            # too far: to where the slope would be zero if it grew evenly
            share = first / (first - last)
            for c in range(count):
                end[c] = x[c] + share * (end[c] - x[c])
        copy_values(end[:count], x[:count])
    return count, crossing, inner
