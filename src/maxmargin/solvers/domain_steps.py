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

This is a loop in Python over single samples, and a step costs as much as there are weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from zlib import crc32

import numpy as np

from maxmargin._numba.passes.block_step import Average, start_average
from maxmargin.domains import RealSpace
from maxmargin.problem import Problem
from maxmargin.result import State, state_field
from maxmargin.solvers.identity import describe_object


@dataclass(repr=False)
class BlockState(State):
    """State of a solver that steps in one sample at a time."""

    #: w(z) but for the domain; None where w may be anything
    w_unprojected: np.ndarray | None = state_field(None)
    #: average of w since the last certificate
    average: Average = state_field(start_average, warm="keep")


BlockT = TypeVar("BlockT", bound=BlockState)
Step = Callable[[Problem, BlockT, np.ndarray], None]


def is_free(problem: Problem) -> bool:
    """Whether w may be anything."""
    return isinstance(problem.domain, RealSpace)


def domain_key(problem: Problem) -> int:
    """A checksum of the domain, 0 for R^d: averages of weights belong to one domain only."""
    return 0 if is_free(problem) else crc32(describe_object(problem.domain).encode()) or 1


def unprojected_weights(problem: Problem, z: np.ndarray) -> np.ndarray:
    """w_unprojected(z), which is w(z) but for the domain."""
    return -problem.loss_gradient(z) / problem.alpha


def visit_samples(
    step: Step[BlockT],
    problem: Problem,
    state: BlockT,
    order: np.ndarray,
    gaps: np.ndarray | None = None,
) -> None:
    """Steps in z for the samples of `order`; in a domain one by one, with w projected after each.

    gaps : of all samples, if the step goes to the vertex itself, and is to be drawn back to where D
    is highest on the way. Averages have the weight k, as in `_numba.passes.bcfw`.
    """
    w_unprojected, average = state.w_unprojected, state.average
    if w_unprojected is None:
        step(problem, state, order)
        return
    for i in order:
        before, start = state.w.copy(), state.z[problem.parts(i)].copy()
        # the step would add its own change, not what is left of it
        state.average = average._replace(correction=np.empty(0))
        try:
            step(problem, state, np.array([i]))
        finally:
            state.average = average
        moved = state.w - before
        if gaps is not None:
            change, gap = -problem.alpha * moved, float(problem.packed.weight[i] * gaps[i])
            gain, z = gap - float(before @ change), state.z[problem.parts(i)]
            share = best_share(problem, w_unprojected, change, gain) if gap > 0.0 else 0.0
            z[:] = start + share * (z - start)
            moved *= share
        w_unprojected += moved
        state.w[:] = problem.domain.project(w_unprojected)
        if len(average.correction):
            k = average.steps[0]
            average.correction[:] += (k * (k - 1) / 2) * (state.w - before)


def weights_and_average(problem: Problem, state: BlockState) -> list[np.ndarray]:
    """The weights of a state and their average, if there is one, where step k has the weight k."""
    k = state.average.steps[0]
    if k == 0 or len(state.average.correction) == 0:
        return [state.w]
    average = state.average.correction / (-k * (k + 1) / 2)
    average += state.w
    if not is_free(problem):  # rounding
        average = problem.domain.project(average)
    return [state.w, average]


def finalize_weights(problem: Problem, state: BlockState) -> None:
    """Let w be w(z) without rounding, and keep its average where it is."""
    exact = problem.weights(state.z)
    if len(state.average.correction):
        k = state.average.steps[0]
        state.w -= exact  # in place: weights may be many
        state.w *= k * (k + 1) / 2
        state.average.correction[:] -= state.w
    state.w[:] = exact
    if state.w_unprojected is not None:
        state.w_unprojected = unprojected_weights(problem, state.z)


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
