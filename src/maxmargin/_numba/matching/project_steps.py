"""Bipartite matching: the steps of `_numba.matching.project`, where the problem is stated.

Of the two sides, `rows` is the larger one. Edges stand row by row: value (edges), starts
(rows + 1), ends: their columns, empty if all pairs are edges.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.arrays import copy_values
from maxmargin._numba.compile import FLOATS, INTS, compile_internal, types


@compile_internal(
    types.float64(FLOATS, types.float64, types.float64, types.float64, types.float64), True
)
def solve_threshold(c, cap, low, guess, near):
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


@compile_internal(
    types.float64(FLOATS, FLOATS, types.float64, types.float64, types.float64, types.float64), True
)
def level_capped(c, top, cap, low, guess, near):
    """As `solve_threshold`, with sum_i min(top_i, max(0, c_i - a)): Newton within a bracket."""
    n = len(c)
    left, right = low, np.inf  # the sum is above cap at left, if known; below at right
    known = False
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


@compile_internal(
    types.float64(
        FLOATS, INTS, INTS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, INTS, INTS, FLOATS,
        types.float64,
    )
)  # fmt: skip
def update_row_prices(value, starts, ends, cap, top, low, b, a, room, listed, count, sums, near):
    """Given the columns' prices b: the best prices a of the rows, and the columns' sums.

    value: all edges by rows; starts (rows + 1); ends: the edges' columns, empty if all pairs are
    edges. cap, low (rows): caps and least prices; top (columns): most on an edge, for rows with
    caps above 1. a: in, a guess; out, the prices. room: 2 columns. listed: edges by rows; on
    return, the first count[j] of row j are those strictly between their bounds, on entry those of
    the last call (or count[j] = 0). Returns the rows' share of the dual objective.
    """
    rows, columns, dense = len(cap), len(b), len(ends) == 0
    sums[:] = 0.0
    total = 0.0
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
            price = solve_threshold(c, cap[j], low[j], guess, near)
            for i in range(n):  # without branches, which would be guessed wrong
                listed[first + m] = i
                m += 1 if c[i] > price else 0
            for x in range(m):
                i = listed[first + x]
                d = c[i] - price
                sums[i if dense else ends[first + i]] += d
                total += 0.5 * d * d
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
                    used = min(d, most[i])
                    sums[i if dense else ends[first + i]] += used
                    total += used * (d - 0.5 * used)
                    if d < most[i]:
                        listed[first + m] = i
                        m += 1
        a[j] = price
        count[j] = m
        total += cap[j] * price
    return total


@compile_internal(types.float64(FLOATS, FLOATS, FLOATS, FLOATS, FLOATS))
def write_residual(cap, sums, b, low, gradient):
    """Write the gradient, cap - sums; returns the worst sum above its cap or price without need."""
    worst = 0.0
    for k in range(len(cap)):
        g = cap[k] - sums[k]
        gradient[k] = g
        wrong = -g if g < 0.0 else min(g, b[k] - low[k])
        worst = max(worst, wrong)
    return worst


@compile_internal(
    types.void(
        FLOATS, FLOATS, INTS, INTS, INTS, INTS, FLOATS, FLOATS, FLOATS, FLOATS, INTS, INTS, FLOATS,
        types.float64,
    )
)  # fmt: skip
def newton_step(
    square, rhs, starts, ends, listed, count, a, low_a, b, low_b, free, place, gradient, radius
):
    """Write to rhs the Newton step in b, on the columns whose price is not held at its least.

    The matrix is that of a graph: edges strictly between their bounds join columns by rows whose
    price moves with theirs. It is singular on a component where all prices may move; if its rows
    and columns balance, one price is kept, and if not, it goes `radius` far for each link too many.
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
            rhs[p] = radius * rhs[p] if abs(rhs[p]) > 1e-9 else 0.0
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


@compile_internal(types.void(FLOATS, INTS, INTS, FLOATS, FLOATS, FLOATS))
def highest_prices(value, starts, ends, low_a, low_b, high):
    """Write the prices from which on a column is empty."""
    dense = len(ends) == 0
    copy_values(low_b, high)
    for j in range(len(low_a)):
        first = starts[j]
        for e in range(first, starts[j + 1]):
            k = e - first if dense else ends[e]
            high[k] = max(high[k], value[e] - low_a[j])


@compile_internal(
    types.void(
        FLOATS, INTS, INTS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, types.float64,
    )
)  # fmt: skip
def columns_in_turn(value, starts, ends, row_cap, cap, top, low, a, b, room, near):
    """Write to b the best prices of the columns given those of the rows: always a step down."""
    rows, columns, dense = len(row_cap), len(cap), len(ends) == 0
    c, most = room[:rows], room[rows : 2 * rows]
    for k in range(columns):
        n = 0
        for j in range(rows):
            first = starts[j] + k if dense else starts[j]
            last = first + 1 if dense else starts[j + 1]
            for e in range(first, last):
                if dense or ends[e] == k:
                    c[n] = value[e] - a[j]
                    most[n] = top[k] if row_cap[j] > 1.0 else np.inf
                    n += 1
        if cap[k] < 2.0:
            b[k] = solve_threshold(c[:n], cap[k], low[k], b[k], near)
        else:
            b[k] = level_capped(c[:n], most[:n], cap[k], low[k], b[k], near)
