"""The weights of a run, as steps read and move them: anywhere, or kept in a domain.

    w = s P(v),   P(v) = v without weights of the wrong sign,   s = min(scale, radius / |P(v)|)

Steps move v, which is w but for the domain. With signs or a Euclidean ball the domain costs next to
nothing: a step touches the weights of its own sample only, because s is one number.
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
    gather_weights,
    local_size,
    scatter_weights,
    write_part_scores,
)

SIGNS = types.Array(types.int8, 1, "C")
SCALE, RADIUS, SQUARE = 0, 1, 2  # places in `Weights.norm`
SEARCH_STEPS = 60  # of a line search, which needs a few mostly
ENOUGH = 1e-6  # of the first slope: a line search ends there, 1e-12 of its gain below the best


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
    sign: np.ndarray  # (d,) 1 where w must not be negative, -1 where not positive, else 0; or empty
    norm: np.ndarray  # (3,) at SCALE, RADIUS and SQUARE: |P(v)|^2, kept up to date if radius < inf
    average: Average


AVERAGE = tuple_type(Average, dict.fromkeys(Average._fields, FLOATS))
WEIGHTS = tuple_type(Weights, {"v": FLOATS, "sign": SIGNS, "norm": FLOATS, "average": AVERAGE})


def start_average(size: int = 0) -> Average:
    """An average of as many weights that begins with the next step."""
    return Average(np.zeros(size), np.zeros(1), np.zeros(1))


@compile_inlined
def is_free(weights):
    """Whether w is v times SCALE, without signs or a ball."""
    return len(weights.sign) == 0 and weights.norm[RADIUS] == np.inf


@compile_inlined
def clip_weight(sign, k, value):
    """P for one weight: 0 if `value` has the wrong sign for weight k. sign: of all, or empty."""
    if len(sign) > 0 and sign[k] * value < 0.0:
        return 0.0
    return value


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
def gather_within(packed, i, weights, local):
    """Copy the weights w that sample i touches to `local`."""
    scale = scale_for(weights, weights.norm[SQUARE])
    gather_weights(packed, i, weights.v, local)
    n = 0
    if len(weights.sign) > 0:
        for b in range(packed.block_ptr[i], packed.block_ptr[i + 1]):
            start, width = np.int64(packed.block_start[b]), np.int64(packed.block_width[b])
            sign, own = weights.sign[start : start + width], local[n : n + width]
            for k in range(width):
                own[k] = own[k] if sign[k] * own[k] >= 0.0 else 0.0
            n += width
    if scale != 1.0:
        for k in range(local_size(packed, i)):
            local[k] *= scale


@compiled_function(types.int64(PACKED, types.int64, WEIGHTS, WORKSPACE))
def score_sample(packed, i, weights, workspace):
    """workspace.theta = F_i^T w + c_i, workspace.local = w; returns the number of parts."""
    gather_within(packed, i, weights, workspace.local)
    write_part_scores(packed, i, workspace.local, workspace.theta)
    add_costs(packed, i, workspace.theta)
    return packed.part_ptr[i + 1] - packed.part_ptr[i]


@compile_internal(
    types.float64(PACKED, types.int64, FLOATS, types.float64, WEIGHTS, types.float64), reorder=True
)
def move_signed(packed, i, change, scale, weights, before):
    """Let v += scale * change on the weights of sample i; returns the rise of |P(v)|^2."""
    signed, averaged = len(weights.sign) > 0, len(weights.average.correction) > 0
    square, n = 0.0, 0
    for b in range(packed.block_ptr[i], packed.block_ptr[i + 1]):
        start, width = np.int64(packed.block_start[b]), np.int64(packed.block_width[b])
        v, u = weights.v[start : start + width], change[n : n + width]
        sign = weights.sign[start : start + width]
        for k in range(width):
            old = v[k]
            new = old + scale * u[k]
            v[k] = new
            if signed:
                old = old if sign[k] * old >= 0.0 else 0.0
                new = new if sign[k] * new >= 0.0 else 0.0
            square += (new - old) * (new + old)
            if averaged:
                weights.average.correction[start + k] += before * (new - old)
        n += width
    return square


@compile_internal(types.void(PACKED, types.int64, FLOATS, types.float64, WEIGHTS))
def move_weights(packed, i, change, scale, weights):
    """Let v += scale * change on the weights that sample i touches."""
    before = weights.average.total[0]
    if is_free(weights):
        scatter_weights(packed, i, change, scale, weights.v)
        if len(weights.average.correction) > 0 and before != 0.0:
            scatter_weights(packed, i, change, scale * before, weights.average.correction)
        return
    weights.norm[SQUARE] += move_signed(packed, i, change, scale, weights, before)


@compile_internal(types.float64(PACKED, types.int64, FLOATS, types.float64, WEIGHTS), reorder=True)
def slope_at(packed, i, change, step, weights):
    """Return w . change where v - step * change is in the place of v."""
    square, inner = 0.0, 0.0
    signed = len(weights.sign) > 0
    n = 0
    for b in range(packed.block_ptr[i], packed.block_ptr[i + 1]):
        start, width = np.int64(packed.block_start[b]), np.int64(packed.block_width[b])
        v, u = weights.v[start : start + width], change[n : n + width]
        if signed:
            sign = weights.sign[start : start + width]
            for k in range(width):
                old = v[k] if sign[k] * v[k] >= 0.0 else 0.0
                new = v[k] - step * u[k]
                new = new if sign[k] * new >= 0.0 else 0.0
                square += (new - old) * (new + old)
                inner += new * u[k]
        else:
            for k in range(width):
                square -= step * u[k] * (2.0 * v[k] - step * u[k])
                inner += (v[k] - step * u[k]) * u[k]
        n += width
    return inner * scale_for(weights, max(weights.norm[SQUARE] + square, 0.0))


@compile_internal(
    types.float64(
        PACKED, types.int64, FLOATS, types.float64, WEIGHTS, types.float64, types.float64,
        types.float64,
    )
)  # fmt: skip
def best_share(packed, i, change, rate, weights, gain, gap, first):
    """The share in [0, 1] of a step -rate * change of v at which the dual is highest, nearly.

    As `solvers.domain_steps.best_share`, which knows any domain.

    gain : c_i . delta, so that the slope is gain + w . change, which is the gap at first. It falls,
    and is linear between the kinks of w: halving with secants (Illinois) needs a few sums over the
    sample's weights. first : a share that does not go too far, the best one without a domain.
    """
    low, at_low, small = 0.0, gap, ENOUGH * gap
    high, at_high, side = 1.0, 0.0, 0
    share = first
    for _ in range(SEARCH_STEPS):
        found = gain + slope_at(packed, i, change, share * rate, weights)
        if abs(found) <= small or (share == 1.0 and found > 0.0):
            return share
        if found > 0.0:
            if at_high == 0.0:  # not yet too far: along the secant
                low, before, at_before = share, low, at_low
                at_low = found
                share = min(1.0, low + (low - before) * found / max(at_before - found, 1e-300))
                continue
            low, at_low = share, found
            at_high *= 0.5 if side > 0 else 1.0
            side = 1
        else:
            high, at_high = share, found
            at_low *= 0.5 if side < 0 else 1.0
            side = -1
        share = (low * at_high - high * at_low) / (at_high - at_low)
    return low
