"""Bipartite matching: the nearest point of the polytope. Layouts as in `_numba.matching.maximize`.

z = clip(z' - a_j - b_k, 0, 1) with prices a, b >= 0 of the rows and columns; a price is zero where
the node's sum is below its cap. The upper clip counts only on edges both of whose ends may have
several links. Given b, each a_j is a problem of its own; what is left is convex in b,
piecewise quadratic, with gradient cap_k - (sum of column k), and is solved by Newton steps on
the smaller side, which is called the columns here. Nodes' own lower bounds on prices stand for 0
after the values were shifted by prices (`recentre_values`).
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.arrays import copy_values
from maxmargin._numba.compile import FLOATS, INTS, compile_ability, compile_internal, types
from maxmargin._numba.matching.edge_rows import (
    by_parts,
    by_rows,
    cap_of_column,
    cap_of_row,
    edges_of_row,
    index_by_rows,
    is_simple,
    read_edge,
)
from maxmargin._numba.matching.flow import best_flow
from maxmargin._numba.matching.maximize import best_matching
from maxmargin._numba.matching.project_steps import (
    columns_in_turn,
    highest_prices,
    newton_step,
    update_row_prices,
    write_residual,
)

EPS = 2.0**-52
FAR = 4.0  # from here on the prices of the best matching are a better start than zero


@compile_internal(
    types.float64(
        FLOATS, INTS, INTS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS,
        INTS, types.float64, types.int64, types.boolean,
    )
)  # fmt: skip
def solve_prices(
    value, starts, ends, row_cap, cap, top, low_a, low_b, a, b, floats, square, ints, size, limit,
    cold,
):  # fmt: skip
    """Prices a, b, from those given, to rounding. Returns the residual.

    A Newton step is kept if the residual halves, or if the dual objective falls, which is sure
    where the slope at its end still points on, as it is convex. Else it is cut short; and if there
    is no way down by it, the columns' prices are found one by one, which always is one.

    floats: 7 columns + 2 rows. square: columns^2. ints: edges + rows + 2 columns. size: the largest
    value. limit: of steps. cold: b is zero.
    """
    rows, columns, edges = len(row_cap), len(cap), len(value)
    gradient, sums = floats[:columns], floats[columns : 2 * columns]
    step, high = floats[2 * columns : 3 * columns], floats[3 * columns : 4 * columns]
    start, room = floats[4 * columns : 5 * columns], floats[5 * columns : 7 * columns + 2 * rows]
    listed, count = ints[:edges], ints[edges : edges + rows]
    free = ints[edges + rows : edges + rows + columns]
    place = ints[edges + rows + columns : edges + rows + 2 * columns]
    near = EPS * max(1.0, size)
    tol = (8.0 + 0.5 * rows) * near
    count[:] = 0
    objective = update_row_prices(
        value, starts, ends, row_cap, top, low_a, b, a, room, listed, count, sums, near
    )
    worst = write_residual(cap, sums, b, low_b, gradient)
    if worst <= tol:
        return worst
    if cold:
        # rows and columns share the excess
        for j in range(rows):
            a[j] = 0.5 * (a[j] + low_a[j])
        columns_in_turn(value, starts, ends, row_cap, cap, top, low_b, a, b, room, near)
        objective = update_row_prices(
            value, starts, ends, row_cap, top, low_a, b, a, room, listed, count, sums, near
        )
        worst = write_residual(cap, sums, b, low_b, gradient)
    for k in range(columns):
        objective += cap[k] * b[k]
    highest_prices(value, starts, ends, low_a, low_b, high)
    best, radius, stall = worst, min(0.25 * size, 1.0), 0
    for _ in range(limit):
        newton_step(
            square, step, starts, ends, listed, count, a, low_a, b, low_b, free, place, gradient,
            radius,
        )  # fmt: skip
        first_slope = 0.0
        for k in range(columns):
            start[k] = b[k]
            b[k] = min(max(b[k] + step[k], low_b[k]), high[k])
            step[k] = b[k] - start[k]
            first_slope += gradient[k] * step[k]
        clear = -first_slope > 1e-9 * (1.0 + abs(objective))  # else a fall may be rounding
        kept, t = False, 1.0
        for cut in range(12 if first_slope < 0.0 else 0):
            found = update_row_prices(
                value, starts, ends, row_cap, top, low_a, b, a, room, listed, count, sums, near
            )
            worst = write_residual(cap, sums, b, low_b, gradient)
            slope = 0.0
            for k in range(columns):
                slope += gradient[k] * step[k]
                found += cap[k] * b[k]
            fell = clear and found <= objective + 0.1 * t * first_slope
            if worst <= 0.5 * best or slope <= 0.0 or fell:
                kept, objective = True, found
                if cut == 0:
                    radius *= 2.0
                break
            # where the slope would be zero if it grew evenly
            t *= min(max(first_slope / (first_slope - slope), 0.1), 0.9)
            for k in range(columns):
                b[k] = start[k] + t * step[k]
        if not kept:
            copy_values(start, b)
            update_row_prices(
                value, starts, ends, row_cap, top, low_a, b, a, room, listed, count, sums, near
            )
            columns_in_turn(value, starts, ends, row_cap, cap, top, low_b, a, b, room, near)
            objective = update_row_prices(
                value, starts, ends, row_cap, top, low_a, b, a, room, listed, count, sums, near
            )
            for k in range(columns):
                objective += cap[k] * b[k]
            worst = write_residual(cap, sums, b, low_b, gradient)
        if worst <= tol:
            break
        if worst < best:
            best, stall = worst, 0
        else:
            stall += 1
            if stall > 4 and worst <= 1e-12 * max(1.0, size):  # rounding
                break
    return worst


@compile_internal(types.void(FLOATS, INTS, FLOATS, FLOATS, INTS))
def linear_prices(theta, layout, out, work, iwork):
    """work[: J + K] = prices by which the best matching is best: near those of far points."""
    rows, columns = layout[0], layout[1]
    if is_simple(layout):
        best_matching(
            theta, layout, work[:rows], work[rows : rows + columns],
            work[len(work) - columns :], iwork,
        )  # fmt: skip
    else:
        room = work[len(work) - 2 * (rows + columns) :]
        best_flow(theta, layout, out, room, iwork)
        copy_values(room[: rows + columns], work[: rows + columns])
        # a node with one link pays for what the link is worth beyond the prices
        for j in range(rows):
            first, last = edges_of_row(layout, j)
            for e in range(first, last):
                k, part = read_edge(layout, e)
                if out[part] > 0.0:
                    more = max(0.0, theta[part] - work[j] - work[rows + k])
                    if cap_of_column(layout, k) == 1:
                        work[rows + k] += more
                    elif cap_of_row(layout, j) == 1:
                        work[j] += more


@compile_internal(types.void(FLOATS, FLOATS, FLOATS, INTS, INTS, FLOATS, FLOATS, types.float64))
def recentre_values(value, low_a, low_b, starts, ends, a, b, size):
    """Shift the values by the prices, exactly: digits that were lost to their size come back.

    Prices go to a grid on which sums of two are exact; so what is left of each value that matters,
    a small number, is rounded once. The least prices move along.
    """
    grid = 2.0 ** (np.ceil(np.log2(size)) - 40.0)
    for j in range(len(a)):
        low_a[j] = -np.rint(a[j] / grid) * grid
        a[j] = max(0.0, low_a[j])
    for k in range(len(b)):
        low_b[k] = -np.rint(b[k] / grid) * grid
        b[k] = max(0.0, low_b[k])
    for j in range(len(a)):
        for e in range(starts[j], starts[j + 1]):
            value[e] += low_a[j] + low_b[e - starts[j] if len(ends) == 0 else ends[e]]


@compile_internal(types.void(FLOATS, INTS, INTS, FLOATS, FLOATS, FLOATS, FLOATS))
def clip_values(value, starts, ends, row_cap, top, a, b):
    """Overwrite the values by z."""
    for j in range(len(a)):
        first, price, capped = starts[j], a[j], row_cap[j] > 1.0
        for e in range(first, starts[j + 1]):
            k = e - first if len(ends) == 0 else ends[e]
            z = max(0.0, value[e] - b[k] - price)
            value[e] = min(z, top[k]) if capped else z


@compile_ability
def project(theta, layout, out, work, iwork):
    """The nearest point. work[: J + K]: prices of rows and columns of the last call, or zeros.

    work: (J + K) 5 + 8 min(J, K) + 2 max(J, K) + E + min(J, K)^2. iwork: 2 (J + K) + E + 1, at
    least 4 (J + K), or as much as `best_flow` needs. Returns the residual relative to the largest
    value or 1; NaN on failure.
    """
    J, K, edges = layout[0], layout[1], layout[2]
    if edges == 0:
        work[: J + K] = 0.0
        return 0.0
    swap = J < K  # Newton steps on the smaller side
    rows, columns = (K, J) if swap else (J, K)
    at = J + K
    a, b = (work[J:at], work[:J]) if swap else (work[:J], work[J:at])
    row_cap, cap = work[at : at + rows], work[at + rows : 2 * at]
    low_a, low_b = work[2 * at : 2 * at + rows], work[2 * at + rows : 3 * at]
    at *= 3
    top, floats = work[at : at + columns], work[at + columns : at + 8 * columns + 2 * rows]
    at += 8 * columns + 2 * rows
    value, square = work[at : at + edges], work[at + edges : at + edges + columns * columns]
    starts, ints = iwork[: rows + 1], iwork[rows + 1 : 2 * (rows + columns) + edges + 1]
    by_rows(theta, layout, swap, value, starts)
    ends, _ = index_by_rows(layout, swap)
    size, warm = 0.0, 0.0
    for e in range(edges):
        size = max(size, value[e])
    for j in range(rows):
        row_cap[j] = cap_of_column(layout, j) if swap else cap_of_row(layout, j)
        low_a[j] = 0.0
        a[j] = a[j] if a[j] >= 0.0 and a[j] <= size else 0.0
    for k in range(columns):
        cap[k] = cap_of_row(layout, k) if swap else cap_of_column(layout, k)
        top[k] = 1.0 if cap[k] > 1.0 else np.inf
        low_b[k] = 0.0
        b[k] = b[k] if b[k] >= 0.0 and b[k] <= size else 0.0
        warm = max(warm, b[k])
    worst = np.inf
    if size <= FAR or warm > 0.0:
        worst = solve_prices(
            value, starts, ends, row_cap, cap, top, low_a, low_b, a, b, floats, square, ints, size,
            50, warm == 0.0,
        )  # fmt: skip
    if worst > 1e-12 * max(1.0, size):
        linear_prices(theta, layout, out, work, iwork)
        by_rows(theta, layout, swap, value, starts)
        worst = solve_prices(
            value, starts, ends, row_cap, cap, top, low_a, low_b, a, b, floats, square, ints, size,
            1000, False,
        )  # fmt: skip
    if size > 64.0:
        recentre_values(value, low_a, low_b, starts, ends, a, b, size)
        worst = solve_prices(
            value, starts, ends, row_cap, cap, top, low_a, low_b, a, b, floats, square, ints, 1.0,
            1000, False,
        )  # fmt: skip
    clip_values(value, starts, ends, row_cap, top, a, b)
    by_parts(value, layout, swap, out)
    for j in range(rows):
        a[j] -= low_a[j]
    for k in range(columns):
        b[k] -= low_b[k]
    return worst / max(1.0, size) if worst < np.inf else np.nan
