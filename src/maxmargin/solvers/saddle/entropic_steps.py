"""The epochs of the dual extragradient method whose steps in z are entropic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from maxmargin.problem import Problem
from maxmargin.result import empty_array, state_field
from maxmargin.solvers.saddle.euclidean_steps import DualExtragradientState
from maxmargin.solvers.saddle.output_geometry import EntropicOutputs, Moved, Steps
from maxmargin.solvers.saddle.weight_geometry import Weights

_RUSH, _GROW, _SHRINK = 2.0, 1.1, 0.6  # of steps: before one was too long, after one was not, was
_LONGEST = 1e6  # times the first; where nothing depends on w, no step is ever too long
_TRIES = 100
_ROUNDING = 1e-12


@dataclass(repr=False)
class MarginalState(DualExtragradientState):
    """State of `DualExtragradient` with entropic steps in z."""

    #: v: log-potentials (not kept if memory is low), point of the weights' geometry, and g(v)
    potentials: np.ndarray = state_field(empty_array)
    point_w: np.ndarray = state_field(empty_array)
    loss_gradient_v: np.ndarray = state_field(empty_array)
    #: sum of omega (log Z - potentials . y) at the start
    log_start: float = state_field(0.0)
    #: sum of all steps, the last one, the longest there may be, and whether one was too long
    step_sum: float = state_field(0.0)
    last_step: float = state_field(0.0)
    longest_step: float = state_field(0.0)
    was_too_long: bool = state_field(False)
    #: sums of the guarantee, see `output_geometry`, and the distance of the farthest z
    gains: float = state_field(0.0)
    excess: float = state_field(0.0)
    max_distance_z: float = state_field(0.0)
    #: (2, 2 * n_weights + 2) sums of w, g, loss and weight of recent u's, see `_remember`
    recent: np.ndarray = state_field(lambda: np.empty((2, 0)))
    #: `step_sum` where the second row begins
    recent_start: float = state_field(0.0)

    def recent_average(self) -> tuple[np.ndarray, np.ndarray, float] | None:
        """w, g and loss of the average of recent u's; None before the first epoch."""
        total, dim = self.recent.sum(axis=0), len(self.w)
        if total[-1] == 0.0:
            return None
        mean = total / total[-1]
        return mean[:dim], mean[dim:-2], float(mean[-2])


class MarginalSteps:
    """One epoch of `DualExtragradient(z_geometry="entropic")`."""

    def __init__(self, solver: Any, problem: Problem, state: MarginalState):
        self.solver, self.problem, self.state = solver, problem, state
        self.low = solver.memory == "low"
        self.outputs = EntropicOutputs(problem, solver.start)

    def begin(self, z: np.ndarray, point: np.ndarray) -> None:
        """Start from the potentials that favour z, and from the weights at `point`."""
        state, w = self.state, self.state.w
        state.max_distance_z = self.outputs.max_distance(z)
        state.longest_step = _LONGEST * state.step
        state.recent = np.zeros((2, 2 * self.problem.dim + 2))
        state.anchor_w, state.anchor_z, state.point_w = point, z, point.copy()
        state.s_w = np.zeros(self.problem.dim)
        state.potentials = np.empty(0) if self.low else self.outputs.potentials(z)
        _, gradient, moved = self._move(Steps(w, 0.0, w, 0.0, w, 0.0, False))
        state.loss_gradient_v, state.log_start = gradient, moved.log_total
        state.gradient_u = self.problem.alpha * w + gradient

    def _move(self, steps: Steps) -> tuple[np.ndarray, np.ndarray, Moved]:
        return self.outputs.move(steps, self.state.potentials, self.solver.in_ranges, not self.low)

    def epoch(self) -> None:
        geometry = self.solver.weight_geometry(self.problem, self.state.ratio)
        if self.solver.past:
            self._look_back(geometry)
            return
        state, adaptive = self.state, self.solver.step_rule == "adaptive"
        for _ in range(_TRIES):
            short = self._look_ahead(geometry, state.step)
            if short or not adaptive:
                break
            state.step *= _SHRINK
            state.was_too_long = True
        if adaptive and short:
            longer = state.step * (_GROW if state.was_too_long else _RUSH)
            state.step = min(longer, state.longest_step)

    def _look_ahead(self, geometry: Weights, step: float) -> bool:
        """Figure 4 of the paper. False if an adaptive step was too long, which changes nothing."""
        problem, state = self.problem, self.state
        look = geometry.weights(state.point_w)
        gradient = problem.alpha * look + state.loss_gradient_v
        w = geometry.weights(geometry.step(state.point_w, -gradient, step))
        steps = Steps(state.w, state.step_sum, look, step, w, step, False)
        total_u, total_v, moved = self._move(steps)
        state.n_project += 2 * problem.n
        gradient = problem.alpha * w + total_u
        s_w = state.s_w - step * gradient
        gains = state.gains + step * (problem.alpha * float(w @ w) - moved.loss)
        terms = (
            moved.log_total, -state.log_start, geometry.conjugate(state.anchor_w, s_w), gains,
        )  # fmt: skip
        excess = float(sum(terms))
        rounding = _ROUNDING * float(np.sum(np.abs(terms)))
        if self.solver.step_rule == "adaptive" and not excess <= rounding:
            return False
        state.excess, state.gains = excess, gains
        state.loss_gradient_v, state.s_w = total_v, s_w
        state.point_w = geometry.step(state.anchor_w, s_w, 1.0)
        self._arrive(w, total_u, moved, step)
        return True

    def _look_back(self, geometry: Weights) -> None:
        """The same with the gradient of the last u in the place of that at v, which is not asked.

        Where potentials are kept, they are without that gradient until now.
        """
        state = self.state
        step, last = state.step, 0.0 if self.low else state.last_step
        gradient = state.s_w - step * state.gradient_u
        w = geometry.weights(geometry.step(state.anchor_w, gradient, 1.0))
        look = state.u_w
        steps = Steps(state.w, state.step_sum, look, step + last, look, last, True)
        total_u, _, moved = self._move(steps)
        state.n_project += self.problem.n
        state.gradient_u = self.problem.alpha * w + total_u
        state.s_w = state.s_w - step * state.gradient_u
        self._arrive(w, total_u, moved, step)

    def _arrive(self, w: np.ndarray, total_u: np.ndarray, moved: Moved, step: float) -> None:
        """Take u into the averages, which count it as much as its step was long."""
        state = self.state
        state.step_sum += step
        share = step / state.step_sum
        state.w = state.w + share * (w - state.w)
        if not self.low:
            state.potentials = moved.after
            state.z = state.z + share * (moved.out - state.z)
        state.u_w, state.last_step = w, step
        state.loss_gradient = state.loss_gradient + share * (total_u - state.loss_gradient)
        state.loss += share * (moved.loss - state.loss)
        state.loss_gradient_u, state.loss_u = total_u, moved.loss
        state.n_steps += 1.0
        self._remember(step)

    def _remember(self, step: float) -> None:
        """Sums of u over the last half of the way, at least, and three quarters, at most.

        The first points are far from all others, and weigh on the average of all for long.
        """
        state = self.state
        if state.step_sum > 2 * state.recent_start:
            state.recent_start = state.step_sum - step
            state.recent = np.stack([state.recent[1], np.zeros(len(state.recent[1]))])
        rest = np.array([state.loss_u, 1.0])
        state.recent[1] += step * np.concatenate([state.u_w, state.loss_gradient_u, rest])

    def restricted_gap(self, geometry: Weights, distance_w: float, distance_z: float) -> float:
        """The gap of the averages against all points within these distances of the start.

        By the duals of both maxima, for each a minimum over one multiplier, so that it is never
        too low; the penalty counts by its tangent at the average, as in the theory.
        """
        problem, state = self.problem, self.state
        q, w = self.outputs.potentials(state.anchor_z), state.w
        none = np.zeros(problem.dim)

        def rise(scale: float) -> float:
            steps = Steps(none, 0.0, w, 0.0, w, scale, False)
            moved = self.outputs.move(steps, q, self.solver.in_ranges, True)[2]
            return moved.log_total - state.log_start

        gradient = state.loss_gradient + problem.alpha * w
        fall = least_dual(
            lambda scale: geometry.conjugate(state.anchor_w, -scale * gradient), distance_w
        )
        return least_dual(rise, distance_z) + fall + problem.alpha * float(w @ w) - state.loss

    def promise(self, reach_w: float) -> float:
        """What the gap of the averages is at most; nan if nothing is known."""
        state = self.state
        if state.n_steps == 0 or (self.solver.past and self.solver.step_rule != "norm"):
            return float("nan")
        return (reach_w + state.max_distance_z + max(state.excess, 0.0)) / state.step_sum


def least_dual(conjugate: Callable[[float], float], distance: float) -> float:
    """The least (distance + conjugate(scale)) / scale over scale > 0.

    It is the largest gradient . x within the distance, conjugate(scale) being the largest
    scale gradient . x - d(x). The logarithm of scale is sought: wherever it ends, the value holds.
    """

    def value(log_scale: float) -> float:
        scale = float(np.exp(log_scale))
        return (distance + conjugate(scale)) / scale

    coarse = np.linspace(-18.0, 18.0, 13)
    k = int(np.argmin([value(x) for x in coarse]))
    ends = (coarse[max(k - 1, 0)], coarse[min(k + 1, len(coarse) - 1)])
    return float(minimize_scalar(value, bounds=ends, method="bounded", options={"xatol": 1e-4}).fun)
