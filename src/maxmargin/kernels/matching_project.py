"""Bipartite matching: the nearest point of the polytope. Shapes as in `kernels.matching`.

z = clip(z' - a_j - b_k, 0, 1) with prices a, b >= 0 of the rows and columns; a price is zero where
the node's sum is below its cap. The upper clip counts only on edges both of whose ends may have
several links. Given b, each a_j is a problem of its own; what is left is convex in b,
piecewise quadratic, with gradient cap_k - (sum of column k), and is solved by Newton steps on
the smaller side, which is called the columns here. Nodes' own lower bounds on prices stand for 0
after the values were shifted by prices (`recentre`).
"""

from __future__ import annotations

import numpy as np
from numba import types

from maxmargin.kernels.compile import FLOATS, INTS, ability, piece
from maxmargin.kernels.matching import best_matching, is_simple
from maxmargin.kernels.matching_flow import (
    best_flow,
    cap_of_column,
    cap_of_row,
    edge,
    edges_of_row,
)

EPS = 2.0**-52
FAR = 4.0  # from here on the prices of the best matching are a better start than zero


@piece(types.float64(FLOATS, types.float64, types.float64, types.float64, types.float64), True)
def level(c, cap, low, guess, near):
    """The a >= low with sum_i max(0, c_i - a) = cap; low, if the sum is below cap there.

    Newton on a convex piecewise linear function: it ends as soon as the number of terms stays.
    near: steps of that size are rounding.
    """
    n = len(c)
    a = max(guess, low)
    last = -1.0
    for _ in range(100):
        total, count = 0.0, 0.0
        for i in range(n):
            d = c[i] - a
            total += d if d > 0.0 else 0.0
            count += 1.0 if d > 0.0 else 0.0
        if count == 0.0:
            if a <= low:
                return low
            high = -np.inf
            for i in range(n):
                high = max(high, c[i])
            a = max(low, high - cap)
            if high <= low:
                return low
            last = -1.0
            continue
        step = (total - cap) / count
        if a + step <= low:
            if a <= low:
                return low
            a, last = low, -1.0
            continue
        a += step
        if count == last or (step <= near and step >= -near):
            return a
        last = count
    return a


@piece(
    types.float64(FLOATS, FLOATS, types.float64, types.float64, types.float64, types.float64), True
)
def level_capped(c, top, cap, low, guess, near):
    """As `level`, with sum_i min(top_i, max(0, c_i - a)): Newton within a bracket."""
    n = len(c)
    left, right, known = (
        low,
        np.inf,
        False,
    )  # the sum is above cap at left, if known; below at right
    a = max(guess, low)
    for trial in range(200):
        total, slope = 0.0, 0.0
        for i in range(n):
            d = c[i] - a
            if d > 0.0:
                total += min(d, top[i])
                slope += 1.0 if d < top[i] else 0.0
        excess = total - cap
        if excess > 0.0:
            left, known = a, True
        elif a <= low:
            return low
        else:
            right = a
        step = excess / slope if slope > 0.0 else 0.0
        if (slope > 0.0 or excess == 0.0) and step <= near and step >= -near:
            return max(low, a + step)
        if known and right - left <= near:
            return a
        a += step
        if slope == 0.0 or a <= left or a >= right or trial > 30:
            if not known:
                a = low
            elif right < np.inf:
                a = 0.5 * (left + right)
            else:
                for i in range(n):
                    a = max(a, c[i])
    return a


@piece(
    types.void(
        FLOATS, INTS, INTS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, INTS, INTS, FLOATS,
        types.float64,
    )
)  # fmt: skip
def sweep(value, starts, ends, cap, top, low, b, a, room, listed, count, sums, near):
    """Given the columns' prices b: the best prices a of the rows, and the columns' sums.

    value: all edges by rows; starts (rows + 1); ends: the edges' columns, empty if all pairs are
    edges. cap, low (rows): caps and least prices; top (columns): most on an edge, for rows with
    caps above 1. a: in, a guess; out, the prices. room: 2 columns. listed: edges by rows, of which
    the first count[j] of row j are out the places strictly between their bounds; in, those of
    the last call (or count[j] = 0).
    """
    rows, columns, dense = len(cap), len(b), len(ends) == 0
    sums[:] = 0.0
    for j in range(rows):
        first, n = starts[j], starts[j + 1] - starts[j]
        c = room[:n]
        if dense:
            for i in range(n):
                c[i] = value[first + i] - b[i]
        else:
            for i in range(n):
                c[i] = value[first + i] - b[ends[first + i]]
        m = 0
        if cap[j] < 2.0:
            guess = a[j]
            if count[j] > 0 and guess > low[j]:
                guess = -cap[j]
                for i in range(count[j]):
                    guess += c[listed[first + i]]
                guess /= count[j]
            price = level(c, cap[j], low[j], guess, near)
            for i in range(n):
                d = c[i] - price
                if d > 0.0:
                    listed[first + m] = i
                    m += 1
                    sums[i if dense else ends[first + i]] += d
        else:
            most = top
            if not dense:
                most = room[columns : columns + n]
                for i in range(n):
                    most[i] = top[ends[first + i]]
            price = level_capped(c, most, cap[j], low[j], a[j], near)
            for i in range(n):
                d = c[i] - price
                if d > 0.0:
                    sums[i if dense else ends[first + i]] += min(d, most[i])
                    if d < most[i]:
                        listed[first + m] = i
                        m += 1
        a[j] = price
        count[j] = m


@piece(types.float64(FLOATS, FLOATS, FLOATS, FLOATS, FLOATS))
def residual(cap, sums, b, low, gradient):
    """Write the gradient, cap - sums; returns the worst sum above its cap or price without need."""
    worst = 0.0
    for k in range(len(cap)):
        g = cap[k] - sums[k]
        gradient[k] = g
        wrong = -g if g < 0.0 else min(g, b[k] - low[k])
        worst = max(worst, wrong)
    return worst


@piece(
    types.void(
        FLOATS, FLOATS, INTS, INTS, INTS, INTS, FLOATS, FLOATS, FLOATS, FLOATS, INTS, INTS, FLOATS,
        types.float64,
    )
)  # fmt: skip
def newton(
    square, rhs, starts, ends, listed, count, a, low_a, b, low_b, free, place, gradient, reach
):
    """Write to rhs the Newton step in b, on the columns whose price is not held at its least.

    The matrix is that of a graph: edges strictly between their bounds join columns by rows whose
    price moves with theirs. It is singular on a component where all prices may move; if its rows
    and columns balance, one price is kept, and if not, it goes `reach` far for each link too many.
    """
    rows, columns, dense = len(count), len(b), len(ends) == 0
    m = 0
    for k in range(columns):
        place[k] = -1
        if b[k] > low_b[k] or gradient[k] < 0.0:
            place[k], free[m] = m, k
            m += 1
    for p in range(m):
        square[p * m + p : (p + 1) * m] = 0.0
        rhs[p] = -gradient[free[p]]
    for j in range(rows):
        first, n = starts[j], count[j]
        share = 1.0 / n if n > 0 and a[j] > low_a[j] else 0.0
        for x in range(n):
            i = listed[first + x]
            p = place[i if dense else ends[first + i]]
            if p < 0:
                continue
            square[p * m + p] += 1.0 - share
            if share > 0.0:
                for y in range(x + 1, n):
                    i = listed[first + y]
                    q = place[i if dense else ends[first + i]]
                    if q >= 0:
                        square[(p * m + q) if p < q else (q * m + p)] -= share
    for p in range(m):
        line = square[p * m : (p + 1) * m]
        pivot = line[p]
        if pivot <= 1e-10:
            continue
        for q in range(p + 1, m):
            if line[q] != 0.0:
                factor = line[q] / pivot
                rhs[q] -= factor * rhs[p]
                for r in range(q, m):
                    square[q * m + r] -= factor * line[r]
    for p in range(m - 1, -1, -1):
        line = square[p * m : (p + 1) * m]
        if line[p] <= 1e-10:
            rhs[p] = reach * rhs[p] if abs(rhs[p]) > 1e-9 else 0.0
            continue
        x = rhs[p]
        for q in range(p + 1, m):
            x -= line[q] * rhs[q]
        rhs[p] = x / line[p]
    # to all columns
    for p in range(m - 1, -1, -1):
        rhs[free[p]] = rhs[p]
    for k in range(columns):
        if place[k] < 0:
            rhs[k] = 0.0


@piece(
    types.void(
        FLOATS, INTS, INTS, INTS, INTS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS,
        types.float64,
    )
)  # fmt: skip
def columns_in_turn(value, starts, ends, listed, count, row_cap, cap, top, low, a, b, room, near):
    """Write to b the best prices of the columns given those of the rows: always a step down."""
    rows, columns, dense = len(count), len(cap), len(ends) == 0
    c, most = room[:rows], room[rows : 2 * rows]
    for k in range(columns):
        n = 0
        for j in range(rows):
            first = starts[j]
            if dense:
                c[n] = value[first + k] - a[j]
                most[n] = top[k] if row_cap[j] > 1.0 else np.inf
                n += 1
            else:
                for e in range(first, starts[j + 1]):
                    if ends[e] == k:
                        c[n] = value[e] - a[j]
                        most[n] = top[k] if row_cap[j] > 1.0 else np.inf
                        n += 1
        if cap[k] < 2.0:
            b[k] = level(c[:n], cap[k], low[k], b[k], near)
        else:
            b[k] = level_capped(c[:n], most[:n], cap[k], low[k], b[k], near)


@piece(
    types.float64(
        FLOATS, INTS, INTS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS,
        INTS, types.float64, INTS,
    )
)  # fmt: skip
def solve(
    value, starts, ends, row_cap, cap, top, low_a, low_b, a, b, floats, square, ints, size, stats
):
    """Prices a, b, from those given, to rounding. Returns the residual.

    floats: 7 columns + 2 max(rows, columns). square: columns^2. ints: edges + rows + 2 columns.
    size: the largest value.
    """
    rows, columns, edges = len(row_cap), len(cap), len(value)
    wide = max(rows, columns)
    gradient, sums = floats[:columns], floats[columns : 2 * columns]
    step, old, high = (
        floats[2 * columns : 3 * columns],
        floats[3 * columns : 4 * columns],
        floats[4 * columns : 5 * columns],
    )
    start = floats[5 * columns : 6 * columns]
    room = floats[7 * columns : 7 * columns + 2 * wide]
    listed, count = ints[:edges], ints[edges : edges + rows]
    free = ints[edges + rows : edges + rows + columns]
    place = ints[edges + rows + columns : edges + rows + 2 * columns]
    near = EPS * max(1.0, size)
    tol = (8.0 + 0.5 * rows) * near
    dense = len(ends) == 0
    for k in range(columns):
        high[k] = low_b[k]
    for j in range(rows):
        count[j] = 0
        for e in range(starts[j], starts[j + 1]):
            k = e - starts[j] if dense else ends[e]
            high[k] = max(high[k], value[e] - low_a[j])
    sweep(value, starts, ends, row_cap, top, low_a, b, a, room, listed, count, sums, near)
    worst = residual(cap, sums, b, low_b, gradient)
    best = worst
    reach = min(0.25 * size, 1.0)
    stall = 0
    for _ in range(300):
        if worst <= tol:
            break
        stats[0] += 1
        newton(
            square, step, starts, ends, listed, count, a, low_a, b, low_b, free, place, gradient,
            reach,
        )  # fmt: skip
        slope = 0.0
        for k in range(columns):
            start[k] = b[k]
            old[k] = gradient[k]
            b[k] = min(max(b[k] + step[k], low_b[k]), high[k])
            step[k] = b[k] - start[k]
            slope += old[k] * step[k]
        accepted = False
        if slope < 0.0:
            left, right, t = 0.0, 1.0, 1.0
            slope_left, slope_right = slope, 0.0
            for cut in range(12):
                sweep(
                    value, starts, ends, row_cap, top, low_a, b, a, room, listed, count, sums, near
                )
                worst = residual(cap, sums, b, low_b, gradient)
                stats[1] += 1
                slope = 0.0
                for k in range(columns):
                    slope += gradient[k] * step[k]
                if worst <= 0.5 * best or slope <= 0.0:
                    accepted = True
                    if cut == 0:
                        reach *= 2.0
                    break
                right, slope_right = t, slope
                t = left + (right - left) * slope_left / (slope_left - slope_right)
                t = min(max(t, left + 0.1 * (right - left)), left + 0.9 * (right - left))
                for k in range(columns):
                    b[k] = start[k] + t * step[k]
        if not accepted:
            stats[2] += 1
            for k in range(columns):
                b[k] = start[k]
            sweep(value, starts, ends, row_cap, top, low_a, b, a, room, listed, count, sums, near)
            columns_in_turn(
                value, starts, ends, listed, count, row_cap, cap, top, low_b, a, b, room, near
            )
            sweep(value, starts, ends, row_cap, top, low_a, b, a, room, listed, count, sums, near)
            worst = residual(cap, sums, b, low_b, gradient)
        if worst < best:
            best, stall = worst, 0
        else:
            stall += 1
            if stall > 4 and worst <= 1e-12 * max(1.0, size):  # rounding
                break
    return worst


@piece(types.void(FLOATS, INTS, FLOATS, FLOATS, INTS))
def linear_prices(theta, shape, out, work, iwork):
    """work[: J + K] = prices by which the best matching is best: near those of far points."""
    rows, columns = shape[0], shape[1]
    if is_simple(shape):
        best_matching(
            theta, shape, work[:rows], work[rows : rows + columns],
            work[len(work) - columns :], iwork,
        )  # fmt: skip
    else:
        room = work[len(work) - 2 * (rows + columns) :]
        best_flow(theta, shape, out, room, iwork)
        work[: rows + columns] = room[: rows + columns]
        # a node with one link pays for what the link is worth beyond the prices
        for j in range(rows):
            first, last = edges_of_row(shape, j)
            for e in range(first, last):
                k, part = edge(shape, e)
                if out[part] > 0.0:
                    more = max(0.0, theta[part] - work[j] - work[rows + k])
                    if cap_of_column(shape, k) == 1:
                        work[rows + k] += more
                    elif cap_of_row(shape, j) == 1:
                        work[j] += more


@ability
def project(theta, shape, out, work, iwork):
    """The nearest point. work: prices of rows and columns of the last call, or zeros; see scratch.

    Returns the residual relative to the largest value or 1; NaN on failure.
    """
    J, K, edges, index_at = shape[0], shape[1], shape[2], shape[6]
    stats = iwork[len(iwork) - 4 :]
    stats[:] = 0
    if edges == 0:
        work[: J + K] = 0.0
        return 0.0
    swap = J < K  # Newton steps on the smaller side
    rows, columns = (K, J) if swap else (J, K)
    wide = max(J, K)
    at = J + K
    a, b = (work[J:at], work[:J]) if swap else (work[:J], work[J:at])
    row_cap, cap = work[at : at + rows], work[at + rows : at + rows + columns]
    at += rows + columns
    low_a, low_b = work[at : at + rows], work[at + rows : at + rows + columns]
    at += rows + columns
    top = work[at : at + columns]
    floats = work[at + columns : at + 8 * columns + 2 * wide]
    at += 8 * columns + 2 * wide
    value = work[at : at + edges]
    square = work[at + edges : at + edges + columns * columns]
    starts = iwork[: rows + 1]
    ints = iwork[rows + 1 : 2 * rows + 2 * columns + edges + 1]
    # values by rows
    index = 0
    ends = ints[:0]
    parts = ints[:0]
    if index_at == 0:
        for j in range(rows + 1):
            starts[j] = j * columns
        if swap:
            for j in range(rows):
                for k in range(columns):
                    value[j * columns + k] = theta[k * rows + j]
        else:
            value[:] = theta
    else:
        index = index_at + J + 1 + 2 * edges if swap else index_at
        starts[:] = shape[index : index + rows + 1]
        ends = shape[index + rows + 1 : index + rows + 1 + edges]
        parts = shape[index + rows + 1 + edges : index + rows + 1 + 2 * edges]
        for e in range(edges):
            value[e] = theta[parts[e]]
    size = 0.0
    for e in range(edges):
        size = max(size, value[e])
    for j in range(rows):
        row_cap[j] = cap_of_column(shape, j) if swap else cap_of_row(shape, j)
        low_a[j] = 0.0
        if not (a[j] >= 0.0 and a[j] < np.inf):
            a[j] = 0.0
    for k in range(columns):
        cap[k] = cap_of_row(shape, k) if swap else cap_of_column(shape, k)
        top[k] = 1.0 if cap[k] > 1.0 else np.inf
        low_b[k] = 0.0
        if not (b[k] >= 0.0 and b[k] < np.inf):
            b[k] = 0.0
    warm = 0.0
    for k in range(columns):
        warm = max(warm, b[k])
    if size > FAR and warm == 0.0:
        linear_prices(theta, shape, out, work, iwork)
        if index_at == 0:
            for j in range(rows + 1):
                starts[j] = j * columns
        else:
            starts[:] = shape[index : index + rows + 1]
    worst = solve(
        value, starts, ends, row_cap, cap, top, low_a, low_b, a, b, floats, square, ints, size,
        stats,
    )  # fmt: skip
    if size > 64.0:
        # digits are lost to the size of the values: shift them by prices on a grid, exactly
        grid = 2.0 ** (np.ceil(np.log2(size)) - 40.0)
        for j in range(rows):
            low_a[j] = -np.rint(a[j] / grid) * grid
            a[j] = max(0.0, low_a[j])
        for k in range(columns):
            low_b[k] = -np.rint(b[k] / grid) * grid
            b[k] = max(0.0, low_b[k])
        for j in range(rows):
            for e in range(starts[j], starts[j + 1]):
                k = e - starts[j] if index_at == 0 else ends[e]
                value[e] += low_a[j] + low_b[k]
        worst = solve(
            value, starts, ends, row_cap, cap, top, low_a, low_b, a, b, floats, square, ints, 1.0,
            stats,
        )  # fmt: skip
    for j in range(rows):
        for e in range(starts[j], starts[j + 1]):
            i = e - starts[j]
            k = i if index_at == 0 else ends[e]
            z = max(0.0, value[e] - b[k] - a[j])
            if row_cap[j] > 1.0:
                z = min(z, top[k])
            if index_at > 0:
                out[parts[e]] = z
            else:
                out[i * rows + j if swap else e] = z
    for j in range(rows):
        a[j] -= low_a[j]
    for k in range(columns):
        b[k] -= low_b[k]
    return worst if worst < np.inf else np.nan
