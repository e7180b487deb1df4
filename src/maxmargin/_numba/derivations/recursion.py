"""Derivations: one recursion over items for maxima, sums and the best with each part.

layout = (V, E, then four lists). Items 0 to V - 1 are in an order in which the antecedents of an
item come before it; the last one is the goal. Steps are sorted by the item that they conclude. The
lists are: where the steps of each item begin (V + 1), the two antecedents of each step or -1 (2 E),
where the parts of each step begin (E + 1), and the parts.

An antecedent may be used by many steps, and a part switched on by many. What a pass from the goal
down needs to know of an item is then how often it is used, so that no derivation is walked as a
tree.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import FLOATS, INTS, compile_ability, compile_internal, types
from maxmargin._numba.exponential import exp_low


@compile_internal(types.float64(FLOATS, INTS, types.int64))
def step_score(theta, layout, e):
    """The sum of the scores of the parts that step e switches on."""
    items, steps = layout[0], layout[1]
    ptr = 3 + items + 2 * steps
    first = ptr + steps + 1
    total = 0.0
    for k in range(first + layout[ptr + e], first + layout[ptr + e + 1]):
        total += theta[layout[k]]
    return total


@compile_internal(types.float64(INTS, FLOATS, types.int64))
def add_antecedents(layout, values, e):
    """The sum of the values of the antecedents of step e."""
    at = 3 + layout[0] + 2 * e
    total = 0.0
    if layout[at] >= 0:
        total += values[layout[at]]
    if layout[at + 1] >= 0:
        total += values[layout[at + 1]]
    return total


@compile_internal(types.void(INTS, types.int64, types.float64, FLOATS, FLOATS))
def use_step(layout, e, times, used, out):
    """Add the number of uses of a step to its parts and antecedents."""
    items, steps = layout[0], layout[1]
    ptr = 3 + items + 2 * steps
    first = ptr + steps + 1
    for k in range(first + layout[ptr + e], first + layout[ptr + e + 1]):
        out[layout[k]] += times
    at = 3 + items + 2 * e
    if layout[at] >= 0:
        used[layout[at]] += times
    if layout[at + 1] >= 0:
        used[layout[at + 1]] += times


@compile_internal(types.void(FLOATS, INTS, FLOATS, INTS))
def best_steps(theta, layout, best, chosen):
    """best[v] = score of the best derivation of item v, -inf if there is none; its last step."""
    for v in range(layout[0]):
        best[v], chosen[v] = -np.inf, -1
        for e in range(layout[2 + v], layout[3 + v]):
            score = step_score(theta, layout, e) + add_antecedents(layout, best, e)
            if score > best[v]:
                best[v], chosen[v] = score, e


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """The parts of the best derivation. work: 2 V, iwork: V. Returns its score.

    Leaves in work[:V] the scores of the best derivation of each item.
    """
    items = layout[0]
    best, used = work[:items], work[items : 2 * items]
    best_steps(theta, layout, best, iwork)
    out[:] = 0.0
    value = best[items - 1]
    if value == -np.inf:
        return value
    used[:] = 0.0
    used[items - 1] = 1.0
    for v in range(items - 1, -1, -1):
        if used[v] > 0.0:
            use_step(layout, iwork[v], used[v], used, out)
    return value


@compile_internal(types.void(FLOATS, INTS, FLOATS, FLOATS))
def inside_sums(theta, layout, inside, share):
    """inside[v] = log of the sum over the derivations of v; share[e] = that of step e in it."""
    for v in range(layout[0]):
        first, last = layout[2 + v], layout[3 + v]
        high = -np.inf
        for e in range(first, last):
            share[e] = step_score(theta, layout, e) + add_antecedents(layout, inside, e)
            high = max(high, share[e])
        inside[v] = high
        if high > -np.inf:
            total = 0.0
            for e in range(first, last):
                share[e] = exp_low(share[e] - high)
                total += share[e]
            for e in range(first, last):
                share[e] /= total
            inside[v] += np.log(total)


@compile_ability
def marginals(theta, layout, out, work, iwork):
    """How often each part is expected. work: 2 V + E. Returns log Z.

    Each item divides its expected uses among its steps, so that the sums are right whatever the
    size of the scores. Leaves in work[2 V:] the share of each step in the sum of its item.
    """
    items = layout[0]
    inside, used, share = work[:items], work[items : 2 * items], work[2 * items :]
    inside_sums(theta, layout, inside, share)
    out[:] = 0.0
    value = inside[items - 1]
    if value == -np.inf:
        return value
    used[:] = 0.0
    used[items - 1] = 1.0
    for v in range(items - 1, -1, -1):
        if used[v] > 0.0:
            for e in range(layout[2 + v], layout[3 + v]):
                if share[e] > 0.0:
                    use_step(layout, e, used[v] * share[e], used, out)
    return value


@compile_ability
def max_marginals(theta, layout, out, work, iwork):
    """The score of the best derivation with each part. work: 2 V, iwork: V. Returns the best."""
    items, steps = layout[0], layout[1]
    ptr = 3 + items + 2 * steps
    first = ptr + steps + 1
    best, beyond = work[:items], work[items : 2 * items]
    best_steps(theta, layout, best, iwork)
    out[:] = -np.inf
    beyond[:] = -np.inf
    beyond[items - 1] = 0.0
    for v in range(items - 1, -1, -1):
        for e in range(layout[2 + v], layout[3 + v]):
            own = beyond[v] + step_score(theta, layout, e)
            if own + add_antecedents(layout, best, e) == -np.inf:
                continue
            for k in range(first + layout[ptr + e], first + layout[ptr + e + 1]):
                p = layout[k]
                out[p] = max(out[p], own + add_antecedents(layout, best, e))
            a, b = layout[3 + items + 2 * e], layout[4 + items + 2 * e]
            if a >= 0:
                beyond[a] = max(beyond[a], own + (best[b] if b >= 0 else 0.0))
            if b >= 0:
                beyond[b] = max(beyond[b], own + (best[a] if a >= 0 else 0.0))
    return best[items - 1]
