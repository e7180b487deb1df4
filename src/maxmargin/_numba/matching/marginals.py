"""Bipartite matching: the entropic projection, for caps 0 and 1 only.

Layouts as in `_numba.matching.maximize`.

This is the point z of the matching polytope that maximises theta . z + entropy, the entropy being
-sum x log x over the edges' z and over the slacks of rows and columns, s = 1 - (sum of the node).
It is NOT the vector of marginals of a distribution over matchings, which are #P-hard to find.

z_jk = exp(theta_jk + 1 - a_j - b_k), s_j = exp(-a_j), s_k = exp(-b_k). Given b, the prices a of the
rows are logs of sums; what is left is smooth and convex in b, with gradient 1 - (sum and slack of
column k), and is solved by Newton steps on the smaller side, called the columns here. Sharp scores
are reached by way of flatter ones, theta / heat, because Newton steps only see as far as 1.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.arrays import copy_values
from maxmargin._numba.compile import FLOATS, INTS, compile_ability, compile_internal, types
from maxmargin._numba.matching.edge_rows import by_parts, by_rows, index_by_rows, is_simple

EPS = 2.0**-52


@compile_internal(
    types.float64(
        FLOATS, INTS, INTS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, types.float64
    )
)  # fmt: skip
def balance_rows(value, starts, ends, low_a, low_b, b, a, z, gradient, heat):
    """Given b: z and the rows' prices a, and the gradient in b; returns its largest entry.

    Scores are value / heat + 1. low_a, low_b: the logs of slacks are these less the price.
    """
    rows, columns, dense = len(a), len(b), len(ends) == 0
    for k in range(columns):
        gradient[k] = 1.0 - np.exp(low_b[k] - b[k])
    for j in range(rows):
        first, last = starts[j], starts[j + 1]
        high = low_a[j]
        for e in range(first, last):
            k = e - first if dense else ends[e]
            z[e] = value[e] / heat + 1.0 - b[k]
            high = max(high, z[e])
        total = np.exp(low_a[j] - high)
        for e in range(first, last):
            z[e] = np.exp(z[e] - high) if z[e] - high > -700.0 else 0.0
            total += z[e]
        a[j] = high + np.log(total)
        scale = 1.0 / total
        for e in range(first, last):
            z[e] *= scale
            gradient[e - first if dense else ends[e]] -= z[e]
    worst = 0.0
    for k in range(columns):
        worst = max(worst, abs(gradient[k]))
    return worst


@compile_internal(types.void(FLOATS, FLOATS, INTS, INTS, FLOATS, FLOATS))
def newton_step(square, step, starts, ends, z, gradient):
    """Write the Newton step; the Hessian is diag(1 - gradient) - z' z."""
    columns, dense = len(gradient), len(ends) == 0
    square[:] = 0.0
    for k in range(columns):
        square[k * columns + k] = 1.0 - gradient[k]
        step[k] = -gradient[k]
    for j in range(len(starts) - 1):
        first, last = starts[j], starts[j + 1]
        for e in range(first, last):
            if z[e] == 0.0:
                continue
            line = square[(e - first if dense else ends[e]) * columns :]
            if dense:
                for k in range(e - first, columns):
                    line[k] -= z[e] * z[first + k]
            else:
                for f in range(e, last):
                    line[ends[f]] -= z[e] * z[f]
    for p in range(columns):
        line = square[p * columns : (p + 1) * columns]
        line[p] += 1e-15  # where no slack is left, only differences of prices matter
        for q in range(p + 1, columns):
            if line[q] != 0.0:
                factor = line[q] / line[p]
                step[q] -= factor * step[p]
                for r in range(q, columns):
                    square[q * columns + r] -= factor * line[r]
    for p in range(columns - 1, -1, -1):
        line = square[p * columns : (p + 1) * columns]
        total = step[p]
        for q in range(p + 1, columns):
            total -= line[q] * step[q]
        # a pivot that is rounding: keep this price
        step[p] = total / line[p] if line[p] > 1e-14 else 0.0


@compile_internal(
    types.float64(
        FLOATS, INTS, INTS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, types.float64,
        types.float64,
    )
)  # fmt: skip
def solve_duals(value, starts, ends, low_a, low_b, a, b, z, floats, square, heat, tol):
    """Newton with a line search by slopes; returns the residual. floats: 4 columns."""
    columns = len(b)
    gradient, step = floats[:columns], floats[columns : 2 * columns]
    start, best_b = floats[2 * columns : 3 * columns], floats[3 * columns : 4 * columns]
    worst = balance_rows(value, starts, ends, low_a, low_b, b, a, z, gradient, heat)
    best = worst
    copy_values(b, best_b)
    radius, stall = 4.0, 0
    for _ in range(200):
        if worst <= tol or stall > 8:
            break
        newton_step(square, step, starts, ends, z, gradient)
        far = 0.0
        for k in range(columns):
            far = max(far, abs(step[k]))
        slope = 0.0
        for k in range(columns):
            start[k] = b[k]
            if far > radius:
                step[k] *= radius / far
            b[k] = max(b[k] + step[k], low_b[k])
            step[k] = b[k] - start[k]
            slope += gradient[k] * step[k]
        first_slope, left, right, t = slope, 0.0, 1.0, 1.0
        for cut in range(30):
            worst = balance_rows(value, starts, ends, low_a, low_b, b, a, z, gradient, heat)
            slope = 0.0
            for k in range(columns):
                slope += gradient[k] * step[k]
            if worst <= 0.5 * best or slope <= 0.0 or slope <= 1e-15 * columns:
                if cut == 0 and far > radius:
                    radius *= 2.0
                break
            right = t
            t = left + (right - left) * first_slope / (first_slope - slope)
            t = min(max(t, left + 0.1 * (right - left)), left + 0.9 * (right - left))
            for k in range(columns):
                b[k] = start[k] + t * step[k]
        stall += 1
        if worst < best:
            if worst < 0.9 * best or best > 1e-10:
                stall = 0
            best = worst
            copy_values(b, best_b)
    if best < worst:
        copy_values(best_b, b)
        worst = balance_rows(value, starts, ends, low_a, low_b, b, a, z, gradient, heat)
    return worst


@compile_ability
def marginals(theta, layout, out, work, iwork):
    """The z that maximises theta . z + entropy; returns that maximum, NaN for caps above 1."""
    J, K, edges = layout[0], layout[1], layout[2]
    if not is_simple(layout):
        return np.nan
    if edges == 0:
        return 0.0
    swap = J < K
    rows, columns = (K, J) if swap else (J, K)
    a, b = work[:rows], work[rows : rows + columns]
    at = rows + columns
    low_a, low_b = work[at : at + rows], work[at + rows : at + rows + columns]
    at += rows + columns
    floats = work[at : at + 4 * columns]
    at += 4 * columns
    value, z = work[at : at + edges], work[at + edges : at + 2 * edges]
    square = work[at + 2 * edges : at + 2 * edges + columns * columns]
    starts = iwork[: rows + 1]
    by_rows(theta, layout, swap, value, starts)
    ends, _ = index_by_rows(layout, swap)
    size = 0.0
    for e in range(edges):
        size = max(size, value[e])
    low_a[:] = 0.0
    low_b[:] = 0.0
    b[:] = 1.0
    heat = max(1.0, 0.25 * size)
    while heat > 1.0:
        solve_duals(value, starts, ends, low_a, low_b, a, b, z, floats, square, heat, 1e-3)
        cooler = max(1.0, 0.25 * heat)
        for k in range(columns):
            b[k] *= heat / cooler
        heat = cooler
    tol = EPS * (4.0 + rows)
    worst = solve_duals(value, starts, ends, low_a, low_b, a, b, z, floats, square, 1.0, tol)
    if size > 8.0:
        # digits are lost to the size of the scores: shift them by prices on a grid, exactly
        grid = 2.0 ** (np.ceil(np.log2(size)) - 40.0)
        for j in range(rows):
            low_a[j] = -np.rint(a[j] / grid) * grid
        for k in range(columns):
            low_b[k] = -np.rint(b[k] / grid) * grid
            b[k] = max(b[k] + low_b[k], low_b[k])
        for j in range(rows):
            for e in range(starts[j], starts[j + 1]):
                value[e] += low_a[j] + low_b[e - starts[j] if layout[6] == 0 else ends[e]]
        worst = solve_duals(value, starts, ends, low_a, low_b, a, b, z, floats, square, 1.0, tol)
    by_parts(z, layout, swap, out)
    total = 0.0
    for e in range(edges):
        total -= z[e]
    for j in range(rows):
        total += a[j] - low_a[j]
    for k in range(columns):
        total += (b[k] - low_b[k]) * (1.0 - floats[k])
    return total if worst <= 1e-6 else np.nan
