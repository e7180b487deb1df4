"""Items within several integer capacities, by branch and bound.

layout = (m, dimensions, capacities, then the weights of all items in each dimension in turn).
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import FLOATS, INTS, compile_ability, compile_internal, types
from maxmargin._numba.decisions.spanning_tree import order_by_value


@compile_internal(types.float64(FLOATS, INTS, INTS, INTS, INTS, types.int64))
def bound_rest(theta, layout, orders, place, room, depth):
    """What items from place `depth` on add at most: the least over dimensions, items divisible."""
    count, dimensions = layout[0], layout[1]
    least = np.inf
    for d in range(dimensions):
        total, left = 0.0, room[d]
        for k in range(count - 1, -1, -1):
            p = orders[d * count + k]
            if place[p] < depth:
                continue
            weight = layout[2 + dimensions + d * count + p]
            if weight > left:
                total += theta[p] * left / weight
                break
            total += theta[p]
            left -= weight
        least = min(least, total)
    return least


@compile_internal(types.void(FLOATS, INTS, FLOATS, INTS, INTS))
def order_items(theta, layout, density, orders, place):
    """Items by score per weight in each dimension, and in all of them: their places, best first.

    Items that score nothing or do not fit have no place: -1.
    """
    count, dimensions = layout[0], layout[1]
    weights = layout[2 + dimensions :]
    for d in range(dimensions + 1):
        for p in range(count):
            size, fits = 0.0, theta[p] > 0.0
            for j in range(dimensions):
                own = weights[j * count + p]
                fits = fits and own <= layout[2 + j]
                if d in (j, dimensions):
                    size += own / max(layout[2 + j], 1)
            density[p] = theta[p] / max(size, 1e-300) if fits else -1.0
        order_by_value(density, orders[d * count : (d + 1) * count])
    for k in range(count):
        p = orders[dimensions * count + k]
        place[p] = count - 1 - k if density[p] >= 0.0 else -1


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """The best items; returns the sum of their scores.

    Depth first, the densest item first, with it before without it; `value[t]` is the score of what
    is taken of the first t items. work: 2 m + 1; iwork: (dimensions + 2) m + m + dimensions.
    """
    count, dimensions = layout[0], layout[1]
    weights = layout[2 + dimensions :]
    density, value = work[:count], work[count : 2 * count + 1]
    orders, place = iwork[: (dimensions + 1) * count], iwork[(dimensions + 1) * count :][:count]
    taken = iwork[(dimensions + 2) * count :][:count]
    room = iwork[(dimensions + 3) * count :][:dimensions]
    order_items(theta, layout, density, orders, place)
    items = 0
    for p in range(count):
        items = max(items, place[p] + 1)
    for d in range(dimensions):
        room[d] = layout[2 + d]
    best, depth = 0.0, 0
    out[:] = 0.0
    value[0] = 0.0
    while depth >= 0:
        while depth < items:
            if value[depth] + bound_rest(theta, layout, orders, place, room, depth) <= best:
                break
            p = orders[(dimensions + 1) * count - 1 - depth]
            fits = True
            for d in range(dimensions):
                fits = fits and weights[d * count + p] <= room[d]
            taken[depth] = 1 if fits else 0
            value[depth + 1] = value[depth]
            if fits:
                value[depth + 1] += theta[p]
                for d in range(dimensions):
                    room[d] -= weights[d * count + p]
            depth += 1
        if depth == items and value[depth] > best:
            best = value[depth]
            for k in range(items):
                out[orders[(dimensions + 1) * count - 1 - k]] = float(taken[k])
        depth -= 1
        while depth >= 0 and taken[depth] == 0:
            depth -= 1
        if depth >= 0:  # the last item that was taken is left out
            p = orders[(dimensions + 1) * count - 1 - depth]
            taken[depth] = 0
            value[depth + 1] = value[depth]
            for d in range(dimensions):
                room[d] += weights[d * count + p]
            depth += 1
    return best
