"""The epochs of the dual extragradient method whose steps in z are entropic."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.problem import Problem
from maxmargin.result import State
from maxmargin.solvers.output_geometry import EntropicOutputs, Moved, Steps
from maxmargin.solvers.weight_geometry import Weights

_RUSH, _GROW, _SHRINK = 2.0, 1.1, 0.6  # of steps: before one was too long, after one was not, was
_TRIES = 100
_ROUNDING = 1e-12


class TiltedSteps:
    """What `DualExtragradient(z_geometry="entropic")` keeps in the state, and one epoch of it.

    travelled: the sum of all steps; s_w: that of steps times gradients; point_w, q, slope_v: v, as
    points of the geometries (q is not kept if memory is low), and g(v); log_start: sum of
    omega (log Z - q . y) at the start; gains: the last sum of the excess, see `output_geometry`;
    reach_z: the farthest z from the start; gradient: at the last u, for `past`; tight: whether a
    step was too long yet.
    """

    def __init__(self, solver: Any, problem: Problem, state: State):
        self.solver, self.problem, self.state = solver, problem, state
        self.low = solver.memory == "low"
        self.outputs = EntropicOutputs(problem, solver.start)

    def begin(self, z: np.ndarray, point: np.ndarray) -> None:
        """Start from the potentials that favour z, and from the weights at `point`."""
        extra, w = self.state.extra, self.state.w
        extra["reach_z"] = self.outputs.reach(z)
        extra["travelled"] = extra["gains"] = extra["excess"] = extra["last_step"] = 0.0
        extra["tight"] = False
        extra["anchor_w"], extra["point_w"] = point, point.copy()
        extra["s_w"] = np.zeros(self.problem.dim)
        extra["q"] = np.empty(0) if self.low else self.outputs.potentials(z)
        _, slope, moved = self._move(Steps(w, 0.0, w, 0.0, w, 0.0, False))
        extra["slope_v"], extra["log_start"] = slope, moved.log_total
        extra["gradient"] = self.problem.alpha * w + slope

    def _move(self, steps: Steps) -> tuple[np.ndarray, np.ndarray, Moved]:
        q = self.state.extra["q"]
        return self.outputs.move(steps, q, self.solver.in_ranges, not self.low)

    def epoch(self, geometry: Weights) -> None:
        if self.solver.past:
            self._look_back(geometry)
            return
        extra, adaptive = self.state.extra, self.solver.step_rule == "adaptive"
        for _ in range(_TRIES):
            short = self._look_ahead(geometry, extra["step"])
            if short or not adaptive:
                break
            extra["step"] *= _SHRINK
            extra["tight"] = True
        if adaptive and short:
            extra["step"] *= _GROW if extra["tight"] else _RUSH

    def _look_ahead(self, geometry: Weights, step: float) -> bool:
        """Figure 4 of the paper. False if an adaptive step was too long, which changes nothing."""
        problem, state, extra = self.problem, self.state, self.state.extra
        look = geometry.weights(extra["point_w"])
        slope = problem.alpha * look + extra["slope_v"]
        w = geometry.weights(geometry.step(extra["point_w"], -slope, step))
        steps = Steps(state.w, extra["travelled"], look, step, w, step, False)
        total_u, total_v, moved = self._move(steps)
        state.n_project += 2 * problem.n
        gradient = problem.alpha * w + total_u
        s_w = extra["s_w"] - step * gradient
        gains = extra["gains"] + step * (problem.alpha * float(w @ w) - moved.loss)
        terms = (
            moved.log_total, -extra["log_start"], geometry.conjugate(extra["anchor_w"], s_w), gains,
        )  # fmt: skip
        excess = float(sum(terms))
        rounding = _ROUNDING * float(np.sum(np.abs(terms)))
        if self.solver.step_rule == "adaptive" and not excess <= rounding:
            return False
        extra["excess"], extra["gains"] = excess, gains
        extra["slope_v"], extra["s_w"] = total_v, s_w
        extra["point_w"] = geometry.step(extra["anchor_w"], s_w, 1.0)
        self._arrive(w, total_u, moved, step)
        return True

    def _look_back(self, geometry: Weights) -> None:
        """The same with the gradient of the last u in the place of that at v, which is not asked.

        Where potentials are kept, they are without that gradient until now.
        """
        state, extra = self.state, self.state.extra
        step, last = extra["step"], 0.0 if self.low else extra["last_step"]
        slope = extra["s_w"] - step * extra["gradient"]
        w = geometry.weights(geometry.step(extra["anchor_w"], slope, 1.0))
        look = extra["u_w"]
        steps = Steps(state.w, extra["travelled"], look, step + last, look, last, True)
        total_u, _, moved = self._move(steps)
        state.n_project += self.problem.n
        extra["gradient"] = self.problem.alpha * w + total_u
        extra["s_w"] = extra["s_w"] - step * extra["gradient"]
        self._arrive(w, total_u, moved, step)

    def _arrive(self, w: np.ndarray, total_u: np.ndarray, moved: Moved, step: float) -> None:
        """Take u into the averages, which count it as much as its step was long."""
        state, extra = self.state, self.state.extra
        extra["travelled"] += step
        share = step / extra["travelled"]
        state.w = state.w + share * (w - state.w)
        if not self.low:
            extra["q"] = moved.after
            state.z = state.z + share * (moved.out - state.z)
        extra["u_w"], extra["last_step"] = w, step
        extra["slope"] = extra["slope"] + share * (total_u - extra["slope"])
        extra["loss"] += share * (moved.loss - extra["loss"])
        extra["last"] = (total_u, moved.loss)
        extra["passed"] += 1.0

    def promise(self, reach_w: float) -> float:
        """What the gap of the averages is at most; nan if nothing is known."""
        extra = self.state.extra
        if extra["passed"] == 0 or (self.solver.past and self.solver.step_rule != "norm"):
            return float("nan")
        return (reach_w + extra["reach_z"] + max(extra["excess"], 0.0)) / extra["travelled"]
