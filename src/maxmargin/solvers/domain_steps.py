"""How solvers that move z, or step along subgradients, keep w in its domain W.

    w(z) = P(w_unprojected),   w_unprojected(z) = sum_i omega_i F_i (y_i - z_i) / alpha,   P the
    projection on W

D(z) has the gradient omega_i (F_i^T w(z) + c_i) in z_i, as without a domain. P moves no two points
apart, so D bends no more than without one either: a step that never lowers the dual without a
domain never lowers it in one. Steps are therefore those of R^d, taken from w(z), and w is put back
after each of them. The certificate P(w) - D(z) is exact all the time.

Where one share of the way to a vertex is asked for, the best one is found exactly instead: in balls
that are small beside w_unprojected, D bends far less than without a domain, and the steps of R^d
are short.

Boxes, signs and Euclidean balls (`Domain.limits`) are kept inside compiled passes, see
`_numba.passes.weights`. For other domains there is a loop in Python over single samples, in which a
step costs as much as there are weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from maxmargin._numba.passes.weights import Average, Weights, start_average
from maxmargin.domains import RealSpace
from maxmargin.domains.base import Limits
from maxmargin.memory import add_scaled
from maxmargin.problem import Dual, Problem
from maxmargin.result import State, state_field
from maxmargin.solvers.identity import describe_object

#: takes samples and the weights to read and move
Steps = Callable[[np.ndarray, Weights], None]


@dataclass(repr=False)
class AverageState(State):
    """State of a solver that averages the weights of its steps."""

    average: Average = state_field(start_average, warm="keep")


@dataclass(repr=False)
class BlockState(AverageState):
    """State of a solver that steps in one sample at a time; `average` since the certificate."""

    #: w(z) but for the domain; None where w may be anything
    w_unprojected: np.ndarray | None = state_field(None)


def is_free(problem: Problem) -> bool:
    """Whether w may be anything."""
    return isinstance(problem.domain, RealSpace)


def domain_key(problem: Problem) -> int:
    """A checksum of the domain, 0 for R^d: averages of weights belong to one domain only."""
    return 0 if is_free(problem) else crc32(describe_object(problem.domain).encode()) or 1


def unprojected_weights(problem: Problem, z: Dual) -> np.ndarray:
    """w_unprojected(z), which is w(z) but for the domain."""
    return -problem.loss_gradient(z) / problem.alpha


def limits_for_steps(problem: Problem, scaled: bool = False) -> Limits | None:
    """The domain's limits, if compiled steps average v within them; scaled : w is P(scale v)."""
    limits = problem.weight_limits
    return None if limits is None or (scaled and not limits.is_cone) else limits


def carry_weights(
    v: np.ndarray, limits: Limits, average: Average, scale: float | None = None
) -> Weights:
    """Weights w = P(scale v) as compiled steps move them; None: no step changes a scale of 1."""
    low, high, radius = limits
    scaled = scale is not None and not limits.is_cone  # bounds are of scaled weights
    clipped = v if scaled else clip_weights(v, limits)
    square = float(clipped @ clipped) if radius < np.inf else 0.0
    seen = np.full(len(v) if scaled else 0, average.steps[0])
    norm = np.array([1.0 if scale is None else scale, radius, square])
    return Weights(v, clipped, low, high, norm, seen, average)


def free_weights(v: np.ndarray, average: Average) -> Weights:
    """Weights w = v that may be anything."""
    return carry_weights(v, RealSpace().limits(len(v)), average)


def clip_weights(v: np.ndarray, limits: Limits) -> np.ndarray:
    """Return v within its bounds, v itself if there are none."""
    return np.clip(v, limits.low, limits.high) if len(limits.low) else v


def visit_samples(
    steps: Steps,
    problem: Problem,
    state: AverageState,
    v: np.ndarray | None,
    order: np.ndarray,
    scale: Callable[[], float] | None = None,
    gaps: np.ndarray | None = None,
) -> None:
    """Take steps for the samples of `order`, and let state.w be P(scale() v) after them.

    v : what w is but for domain and scale; None if it is w. gaps : of all samples, where the domain
    is not known to compiled code, if the step goes to the vertex itself and is to be drawn back to
    where D is highest on the way.
    """
    limits = problem.weight_limits
    if limits is None:
        assert v is not None
        for i in order:
            _visit_sample(steps, problem, state, v, i, scale or (lambda: 1.0), gaps)
        return
    weights = carry_weights(
        state.w if v is None else v, limits, state.average, None if scale is None else scale()
    )
    _swap_correction_and_sum(state, weights)
    try:
        steps(order, weights)
    finally:  # an oracle in Python may be interrupted
        if v is not None:
            np.multiply(v, 1.0 if scale is None else scale(), out=state.w)
            if not is_free(problem):
                state.w[:] = problem.domain.project(state.w)
        _swap_correction_and_sum(state, weights)


def _swap_correction_and_sum(state: AverageState, weights: Weights) -> None:
    """Let the average's correction be the sum of all weights, or the other way round."""
    if len(weights.seen) and len(state.average.correction):
        np.subtract(
            state.average.total[0] * state.w, state.average.correction, out=state.average.correction
        )


def _visit_sample(
    steps: Steps,
    problem: Problem,
    state: AverageState,
    v: np.ndarray,
    i: int,
    scale: Callable[[], float],
    gaps: np.ndarray | None,
) -> None:
    """Take one step as in R^d, and project."""
    before = state.w.copy()
    start = state.z[problem.parts(i)].copy() if gaps is not None else None
    total = state.average.total[0]
    # the step would add its own change to the average, not what is left of it
    steps(np.array([i]), free_weights(state.w, state.average._replace(correction=np.empty(0))))
    moved = state.w - before
    if gaps is not None and start is not None:
        change, gap = -problem.alpha * moved, float(problem.sample_weight[i] * gaps[i])
        gain, z = gap - float(before @ change), state.z[problem.parts(i)]
        share = best_share(problem, v, change, gain) if gap > 0.0 else 0.0
        z[:] = start + share * (z - start)
        moved *= share
    v += moved
    state.w[:] = problem.domain.project(scale() * v)
    if len(state.average.correction):
        state.average.correction[:] += total * (state.w - before)


def move_all_weights(problem: Problem, state: BlockState, change: np.ndarray) -> None:
    """Let w follow z in a step of all samples, by this much but for the domain."""
    old = _averaged(problem, state.w, state.w_unprojected).copy()
    if state.w_unprojected is None:
        state.w += change
    else:
        state.w_unprojected += change
        state.w[:] = problem.domain.project(state.w_unprojected)
    new, average = _averaged(problem, state.w, state.w_unprojected), state.average
    if len(average.correction):
        average.correction[:] += average.total[0] * (new - old)
    average.steps[0] += 1.0
    norm = np.linalg.norm(new) if state.w_unprojected is not None else 0.0
    scale = float(np.linalg.norm(state.w) / norm) if norm > 0.0 else 1.0
    average.total[0] += average.steps[0] * scale


def sum_weights(problem: Problem, state: AverageState, v: np.ndarray) -> np.ndarray:
    """Sum of the weights of all steps, each times its weight in the average.

    v : what w is a multiple of but for the domain.
    """
    total = state.average.total[0] * _averaged(problem, state.w, v, scaled=True)
    total -= state.average.correction
    return total


def _averaged(
    problem: Problem, w: np.ndarray, v: np.ndarray | None, scaled: bool = False
) -> np.ndarray:
    """What `Average` sums the changes of: v within its bounds, or w."""
    limits = limits_for_steps(problem, scaled)
    return w if v is None or limits is None else clip_weights(v, limits)


def weights_and_average(
    problem: Problem, state: BlockState, take: bool = False
) -> list[np.ndarray]:
    """The weights of a state and their average, if there is one, where step k has the weight k.

    take : let the average take the place of its correction, which the state loses.
    """
    k, average = state.average.steps[0], state.average.correction
    if k == 0 or len(average) == 0:
        return [state.w]
    total = k * (k + 1) / 2
    scale, base = state.average.total[0], _averaged(problem, state.w, state.w_unprojected)
    if take:
        state.average = start_average()
    else:
        average = average.copy()
    average /= -total
    add_scaled(average, scale / total, base)
    if not is_free(problem):  # rounding
        average = problem.domain.project(average)
    return [state.w, average]


def finalize_weights(problem: Problem, state: BlockState, w: np.ndarray | None = None) -> None:
    """Let w be w(z) without rounding, and keep its average where it is. w : w(z), if known."""
    total, correction = state.average.total[0], state.average.correction
    if len(correction):  # in place: weights may be many
        add_scaled(correction, -total, _averaged(problem, state.w, state.w_unprojected))
    if w is None:
        problem.weights(state.points, out=state.w)
    else:
        state.w[:] = w
    if state.w_unprojected is not None:
        state.w_unprojected = unprojected_weights(problem, state.points)
    if len(correction):
        add_scaled(correction, total, _averaged(problem, state.w, state.w_unprojected))


def best_share(
    problem: Problem, w_unprojected: np.ndarray, change: np.ndarray, gain: float
) -> float:
    """The gamma in [0, 1] at which D(z + gamma d) is highest; D is concave along d.

    change = sum_i omega_i F_i d_i and gain = sum_i omega_i c_i . d_i, so that the slope at gamma is
    gain + w . change at w = P(w_unprojected - gamma change / alpha). It falls, and is linear
    between the kinks of P: halving with secants (Illinois) needs a few projections, and no oracle.
    """

    def slope(share: float) -> float:
        return gain + float(
            problem.domain.project(w_unprojected - (share / problem.alpha) * change) @ change
        )

    low, high = 0.0, 1.0
    at_low, at_high = slope(low), slope(high)
    if at_high >= 0 or at_low <= 0:
        return 1.0 if at_high >= 0 else 0.0
    small, side = 1e-12 * at_low, 0
    for _ in range(60):
        share = (low * at_high - high * at_low) / (at_high - at_low)
        found = slope(share)
        if abs(found) <= small or high - low <= 1e-15:
            return share
        if found > 0:
            low, at_low = share, found
            at_high *= 0.5 if side > 0 else 1.0
            side = 1
        else:
            high, at_high = share, found
            at_low *= 0.5 if side < 0 else 1.0
            side = -1
    return low
