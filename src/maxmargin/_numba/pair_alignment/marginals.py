"""Alignments of two strings: sums over all paths. Layouts, parts: `pair_alignment.maximize`."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import compile_ability, compile_inlined, compile_internal, types
from maxmargin._numba.exponential import exp_low
from maxmargin._numba.pair_alignment.maximize import divide_parts, find_place


@compile_internal(types.float64(types.float64))
def exp_once(x):
    """`exp_low` as a function of its own, so that its many places here are not typed one by one."""
    return exp_low(x)


@compile_inlined
def log_add(a, b, c):
    """Log of exp(a) + exp(b) + exp(c)."""
    high = max(a, b, c)
    if high == -np.inf:
        return high
    return high + np.log(exp_once(a - high) + exp_once(b - high) + exp_once(c - high))


@compile_inlined
def divide_mass(mass, a, b, c):
    """A mass in proportion to exp(a), exp(b) and exp(c), of which one is not -inf."""
    high = max(a, b, c)
    first, second, third = exp_once(a - high), exp_once(b - high), exp_once(c - high)
    mass /= first + second + third
    return mass * first, mass * second, mass * third


@compile_ability
def marginals(theta, layout, out, work, iwork):
    """The probability of each part. work: 3 (m + 1) (n + 1) + 6 (n + 1). Returns log Z.

    Sums of paths to each node come first; then, from the end back, each node divides its
    probability among what leads to it, so that the sums are right whatever the size of the scores.
    """
    m, n, local, by_cell = layout[0], layout[1], layout[2] != 0, layout[3] != 0
    size, places, square = n + 1, n + 1 if by_cell else 3, (m + 1) * (n + 1)
    parts = divide_parts(theta, layout)
    match, delete, insert = work[:square], work[square : 2 * square], work[2 * square : 3 * square]
    value = 0.0 if local else -np.inf
    for i in range(m + 1):
        row = 2 * n * find_place(i, m, by_cell)
        for j in range(size):
            v = i * size + j
            match[v], delete[v], insert[v] = -np.inf, -np.inf, -np.inf
            if i and j:
                u = v - size - 1
                total = log_add(match[u], delete[u], insert[u])
                if local:
                    total = log_add(total, 0.0, -np.inf)
                match[v] = total + parts.match[(i - 1) * n + j - 1]
            elif not (i or j or local):
                match[v] = 0.0
            if i:
                u, at = v - size, 2 * ((i - 1) * places + find_place(j, n, by_cell))
                turn = insert[u] if i == 1 or j == n else -np.inf
                opened, further = parts.delete[at], parts.delete[at + 1]
                delete[v] = log_add(match[u] + opened, turn + opened, delete[u] + further)
            if j:
                u, at = v - 1, row + 2 * (j - 1)
                opened, further = parts.insert[at], parts.insert[at + 1]
                insert[v] = log_add(match[u] + opened, delete[u] + opened, insert[u] + further)
            if local:
                value = log_add(value, match[v], -np.inf)
    if not local:
        value = log_add(match[square - 1], delete[square - 1], insert[square - 1])
    out[:] = 0.0
    if value == -np.inf:
        return value
    own = divide_parts(out, layout)
    mass = work[3 * square :]  # of each kind in this row, then in the row above
    mass[: 6 * size] = 0.0
    whole = 0.0
    if local:  # 1 but for the rounding of large scores
        whole = exp_once(-value)
        for v in range(square):
            whole += exp_once(match[v] - value)
    else:
        last = square - 1
        mass[n], mass[size + n], mass[2 * size + n] = divide_mass(
            1.0, match[last], delete[last], insert[last]
        )
    for i in range(m, -1, -1):
        row = 2 * n * find_place(i, m, by_cell)
        for j in range(n, -1, -1):
            v, above = i * size + j, 3 * size + j
            if local:
                mass[j] += exp_once(match[v] - value) / whole
            p = mass[2 * size + j]
            if p > 0.0:
                u, at = v - 1, row + 2 * (j - 1)
                opened, further = parts.insert[at], parts.insert[at + 1]
                a, b, c = divide_mass(p, match[u] + opened, delete[u] + opened, insert[u] + further)
                own.insert[at] += a + b
                own.insert[at + 1] += c
                mass[j - 1] += a
                mass[size + j - 1] += b
                mass[2 * size + j - 1] += c
            p = mass[size + j]
            if p > 0.0:
                u, at = v - size, 2 * ((i - 1) * places + find_place(j, n, by_cell))
                turn = insert[u] if i == 1 or j == n else -np.inf
                opened, further = parts.delete[at], parts.delete[at + 1]
                a, b, c = divide_mass(p, match[u] + opened, turn + opened, delete[u] + further)
                own.delete[at] += a + b
                own.delete[at + 1] += c
                mass[above] += a
                mass[above + 2 * size] += b
                mass[above + size] += c
            p = mass[j]
            if p > 0.0 and i and j:
                u = v - size - 1
                own.match[(i - 1) * n + j - 1] += p
                if local:
                    total = log_add(match[u], delete[u], insert[u])
                    _, p, _ = divide_mass(p, 0.0, total, -np.inf)
                if p > 0.0:
                    a, b, c = divide_mass(p, match[u], delete[u], insert[u])
                    mass[above - 1] += a
                    mass[above + size - 1] += b
                    mass[above + 2 * size - 1] += c
        for k in range(3 * size):
            mass[k], mass[3 * size + k] = mass[3 * size + k], 0.0
    return value
