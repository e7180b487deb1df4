"""The weights of a run, as steps read and move them: anywhere, or kept in a domain.

    w = s P(v),   P(v) = v clipped to the bounds,   s = min(scale, radius / |P(v)|)

Steps move v, which is w but for the domain. In a box or a Euclidean ball the domain costs next to
nothing: a step touches the weights of its own sample only, because s is one number. With bounds
other than 0 and inf, the radius is inf and scale is 1; or, after step k, scale is 1 / (alpha k) and
w = P(scale v). Weights that no step touches fall from bound to bound then: sums of them over past
steps have a known form, and are made when a weight is touched (`Weights.seen`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin._numba.compile import (
    FLOATS,
    compile_inlined,
    compile_internal,
    compiled_function,
    tuple_type,
    types,
)
from maxmargin._numba.packed_samples import (
    PACKED,
    WORKSPACE,
    add_costs,
    blocks_of_group,
    gather_weights,
    local_size,
    runs_of_group,
    scatter_weights,
    write_part_scores,
)

SCALE, RADIUS, SQUARE = 0, 1, 2  # places in `Weights.norm`
SEARCH_STEPS = 60  # of a line search, which needs one or two mostly
ENOUGH = 1e-2  # of the first slope: a line search ends there, 1e-4 of its gain below the best


class Average(NamedTuple):
    """The average of the weights of a run's steps, by what they are more than it.

    With weights rho_k the sum of rho_k w_k = rho_k s_k P(v_k) over steps 1 to K is
    A_K P(v_K) - correction, A_k = rho_1 s_1 + ... + rho_k s_k, where the correction sums each
    change of P(v) times the A before it: no step touches more than its own weights.
    """

    correction: np.ndarray  # as long as w; empty if there is no average
    steps: np.ndarray  # (1,) K
    total: np.ndarray  # (1,) A_K

    def validate(self) -> None:
        """Nothing yet: arrays must go with those of a run, as checkpoints see to."""


class Weights(NamedTuple):
    """What `w = s P(v)` is made of, and its average."""

    v: np.ndarray  # (d,)
    clipped: np.ndarray  # (d,) P(v); v itself without bounds
    low: np.ndarray  # (d,) bounds of the weights, or empty
    high: np.ndarray  # as `low`
    norm: np.ndarray  # (3,) at SCALE, RADIUS and SQUARE: |P(v)|^2, kept up to date if radius < inf
    #: (d,) where w = P(scale v), the step up to which `average.correction` is the plain sum of
    #: rho_k w_k; else empty
    seen: np.ndarray
    average: Average


AVERAGE = tuple_type(Average, dict.fromkeys(Average._fields, FLOATS))
WEIGHTS = tuple_type(Weights, dict.fromkeys(Weights._fields, FLOATS) | {"average": AVERAGE})


def start_average(size: int = 0) -> Average:
    """An average of as many weights that begins with the next step."""
    return Average(np.zeros(size), np.zeros(1), np.zeros(1))


@compile_inlined
def is_free(weights):
    """Whether w is v times SCALE, without bounds or a ball."""
    return len(weights.low) == 0 and weights.norm[RADIUS] == np.inf


@compile_inlined
def clip_weight(value, low, high):
    """P for one weight."""
    value = value if value > low else low
    return value if value < high else high


@compile_inlined
def scale_for(weights, square):
    """The s that belongs to |P(v)|^2."""
    scale, radius = weights.norm[SCALE], weights.norm[RADIUS]
    if scale * scale * square > radius * radius:
        return radius / np.sqrt(square)
    return scale


@compile_inlined
def count_step(weights, growing):
    """Add the present weights to the average; growing : with the step's number as their weight."""
    weights.average.steps[0] += 1.0
    rho = weights.average.steps[0] if growing else 1.0
    weights.average.total[0] += rho * scale_for(weights, weights.norm[SQUARE])


@compile_internal(types.void(PACKED, types.int64, WEIGHTS, FLOATS))
def clip_local(packed, i, weights, local):
    """Clip scaled weights that sample i touches to their bounds."""
    n = 0
    for g in range(len(packed.group_width)):
        width, first, last = runs_of_group(packed, i, g)
        for b in range(first, last):
            start = np.int64(packed.block_start[b])
            low, high = weights.low[start : start + width], weights.high[start : start + width]
            own = local[n : n + width]
            for k in range(width):
                own[k] = clip_weight(own[k], low[k], high[k])
            n += width


@compile_internal(types.void(PACKED, types.int64, WEIGHTS, FLOATS))
def gather_within(packed, i, weights, local):
    """Copy the weights w that sample i touches to `local`."""
    scale = scale_for(weights, weights.norm[SQUARE])
    gather_weights(packed, i, weights.clipped, local)
    if scale != 1.0:
        for k in range(local_size(packed, i)):
            local[k] *= scale
    if len(weights.seen) > 0:
        clip_local(packed, i, weights, local)


@compiled_function(types.int64(PACKED, types.int64, WEIGHTS, WORKSPACE))
def score_sample(packed, i, weights, workspace):
    """workspace.theta = F_i^T w + c_i, workspace.local = w; returns the number of parts."""
    gather_within(packed, i, weights, workspace.local)
    write_part_scores(packed, i, workspace.local, workspace.theta)
    add_costs(packed, i, workspace.theta)
    return packed.part_ptr[i + 1] - packed.part_ptr[i]


@compile_internal(
    types.UniTuple(types.float64, 2)(PACKED, types.int64, FLOATS, types.float64, WEIGHTS),
    reorder=True,
)
def move_within(packed, i, change, scale, weights):
    """`move_weights` in a domain; returns p . change at p = P(v), and |change|^2 of the weights
    that are not at a bound; these are 0 if there are no bounds.
    """
    bounded, averaged = len(weights.low) > 0, len(weights.average.correction) > 0
    before = weights.average.total[0]
    inner, rise, curvature, n = 0.0, 0.0, 0.0, 0
    for g in range(len(packed.group_width)):
        width, first, last = runs_of_group(packed, i, g)
        for b in range(first, last):
            start = np.int64(packed.block_start[b])
            v, u = weights.v[start : start + width], change[n : n + width]
            low, high = weights.low[start : start + width], weights.high[start : start + width]
            clipped = weights.clipped[start : start + width]
            correction = weights.average.correction[start : start + width]
            n += width
            if not bounded:
                for k in range(width):
                    step = scale * u[k]
                    rise += step * (2.0 * v[k] + step)
                    v[k] += step
                    if averaged:
                        correction[k] += before * step
                continue
            for k in range(width):
                moved = v[k] + scale * u[k]
                old, new = clipped[k], clip_weight(moved, low[k], high[k])
                v[k], clipped[k] = moved, new
                inner += new * u[k]
                rise += (new - old) * (new + old)
                curvature += u[k] * u[k] if new == moved else 0.0
                if averaged:
                    correction[k] += before * (new - old)
    weights.norm[SQUARE] = max(weights.norm[SQUARE] + rise, 0.0)
    return inner, curvature


@compile_internal(types.void(PACKED, types.int64, FLOATS, types.float64, WEIGHTS))
def move_weights(packed, i, change, scale, weights):
    """Let v += scale * change on the weights that sample i touches."""
    if not is_free(weights):
        move_within(packed, i, change, scale, weights)
        return
    before = weights.average.total[0]
    scatter_weights(packed, i, change, scale, weights.v)
    if len(weights.average.correction) > 0 and before != 0.0:
        scatter_weights(packed, i, change, scale * before, weights.average.correction)


@compile_internal(types.float64(types.float64, types.float64))
def sum_inverses(first, last):
    """Sum of 1 / t over t = first + 1 to last."""
    total = 0.0
    while first < last and first < 50.0:
        first += 1.0
        total += 1.0 / first
    if first < last:
        a, b = 1.0 / first, 1.0 / last
        total += np.log1p((last - first) * a) + (b - a) / 2.0
        total += (a * a - b * b) / 12.0 - (a**4 - b**4) / 120.0
    return total


@compile_internal(types.float64(*[types.float64] * 5, types.boolean))
def sum_clipped(x, low, high, first, last, growing):
    """Sum of rho_t P(x / t) over steps t = first + 1 to last; rho_t is t if growing, else 1."""
    sign = 1.0
    if x < 0.0:
        sign, x, low, high = -1.0, -x, -high, -low
    # at the upper bound until `early`, at the lower one after `late`
    early = last if high <= 0.0 else min(max(np.ceil(x / high) - 1.0, first), last)
    late = last if low <= 0.0 else max(min(np.floor(x / low), last), early)
    total = x * (late - early if growing else sum_inverses(early, late))
    if early > first:
        total += high * sum_numbers(first, early, growing)
    if late < last:
        total += low * sum_numbers(late, last, growing)
    return sign * total


@compile_inlined
def sum_numbers(first, last, growing):
    """Sum of rho_t over t = first + 1 to last."""
    return 0.5 * (last - first) * (last + first + 1.0) if growing else last - first


@compile_inlined
def sum_until_now(weights, k, growing):
    """Add to the sum of w_k what it was in the steps since it was last seen."""
    done = weights.average.steps[0]
    weights.average.correction[k] += sum_clipped(
        weights.v[k] * weights.norm[SCALE] * done,  # v / alpha
        weights.low[k],
        weights.high[k],
        weights.seen[k],
        done,
        growing,
    )
    weights.seen[k] = done


@compiled_function(types.void(WEIGHTS, types.boolean))
def sum_all_until_now(weights, growing):
    """Bring the sums of all weights up to the last step; `seen` may not be empty."""
    if len(weights.average.correction) > 0:
        for k in range(len(weights.v)):
            sum_until_now(weights, k, growing)


@compile_internal(types.void(PACKED, types.int64, FLOATS, types.float64, types.boolean, WEIGHTS))
def move_scaled(packed, i, change, scale, growing, weights):
    """`move_weights` where w = P(scale v)."""
    if len(weights.average.correction) > 0:
        n = 0
        for g in range(len(packed.group_width)):
            width, first, last = blocks_of_group(packed, i, g)
            for b in range(first, last):
                start = np.int64(packed.block_start[b])
                for k in range(start, start + width):
                    if change[n] != 0.0:
                        sum_until_now(weights, k, growing)
                    n += 1
    scatter_weights(packed, i, change, scale, weights.v)


@compile_internal(types.void(PACKED, types.int64, WEIGHTS))
def drop_excess(packed, i, weights):
    """Let v be P(v) on the weights that sample i touches: the next step starts there."""
    for g in range(len(packed.group_width)):
        width, first, last = blocks_of_group(packed, i, g)
        for b in range(first, last):
            start = np.int64(packed.block_start[b])
            for k in range(start, start + width):
                weights.v[k] = weights.clipped[k]


@compile_internal(
    types.UniTuple(types.float64, 2)(PACKED, types.int64, FLOATS, WEIGHTS), reorder=True
)
def compare_weights(packed, i, change, weights):
    """Return P(v) . change, and |change|^2 of the weights that are not at a bound."""
    inner, curvature, n = 0.0, 0.0, 0
    for g in range(len(packed.group_width)):
        width, first, last = runs_of_group(packed, i, g)
        for b in range(first, last):
            start = np.int64(packed.block_start[b])
            v, u = weights.v[start : start + width], change[n : n + width]
            clipped = weights.clipped[start : start + width]
            for k in range(width):
                inner += clipped[k] * u[k]
                curvature += u[k] * u[k] if clipped[k] == v[k] else 0.0
            n += width
    return inner, curvature


@compile_inlined
def best_step(weights, gain, inner, curvature):
    """How much further to go until gain + w . change is 0, if no weight meets a bound on the way.

    inner, curvature : P(v) . change, and |change|^2 of the weights that may move.
    """
    scale, radius, square = weights.norm[SCALE], weights.norm[RADIUS], weights.norm[SQUARE]
    if curvature == 0.0:
        return np.inf if gain + inner * scale_for(weights, square) > 0.0 else -np.inf
    across = max(square - inner * inner / curvature, 0.0)  # of |P(v)|^2, and does not change
    room = radius * radius - gain * gain / curvature
    if scale * scale * across <= room:
        return (inner + gain / scale) / curvature  # to a point inside the ball
    if room <= 0.0:
        return np.inf if gain > 0.0 else -np.inf
    return (inner + gain * np.sqrt(across / room)) / curvature


@compile_internal(types.float64(PACKED, types.int64, FLOATS, types.float64, types.float64, WEIGHTS))
def search_share(packed, i, change, gap, rate, weights):
    """Let v -= share * rate * change, where the dual is nearly highest; returns share in [0, 1].

    As `solvers.domain_steps.best_share`, which knows any domain.

    The slope is gain + w . change, which is the gap at first. It falls, and has a known form as
    long as no weight meets a bound: Newton steps, kept between shares that are too short and too
    long, are few, and each reads and moves the weights at once.
    """
    bounded = len(weights.low) > 0
    inner, curvature = compare_weights(packed, i, change, weights)
    gain = gap - inner * scale_for(weights, weights.norm[SQUARE])
    done, low, high = 0.0, 0.0, np.inf
    share = min(max(best_step(weights, gain, inner, curvature) / rate, 0.0), 1.0)
    for _ in range(SEARCH_STEPS):
        inner, curvature = move_within(packed, i, change, (done - share) * rate, weights)
        done = share
        slope = gain + inner * scale_for(weights, weights.norm[SQUARE])
        if not bounded or abs(slope) <= ENOUGH * gap or (share == 1.0 and slope > 0.0):
            break
        if slope > 0.0:
            low = share
        else:
            high = share
        share += best_step(weights, gain, inner, curvature) / rate
        if not low < share < high:
            share = 0.5 * (low + high)
        share = min(share, 1.0)
    return done
