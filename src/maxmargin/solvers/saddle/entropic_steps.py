"""The epochs of the dual extragradient method whose steps in z are entropic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from maxmargin.problem import Problem
from maxmargin.result import State
from maxmargin.solvers.saddle.output_geometry import EntropicOutputs, Moved, Steps
from maxmargin.solvers.saddle.weight_geometry import Weights

_RUSH, _GROW, _SHRINK = 2.0, 1.1, 0.6  # of steps: before one was too long, after one was not, was
_LONGEST = 1e6  # times the first; where nothing depends on w, no step is ever too long
_TRIES = 100
_ROUNDING = 1e-12


class MarginalSteps:
    """What `DualExtragradient(z_geometry="entropic")` keeps in the state, and one epoch of it.

    travelled: the sum of all steps; s_w: that of steps times gradients; point_w, q, slope_v: v, as
    points of the geometries (q is not kept if memory is low), and g(v); log_start: sum of
    omega (log Z - q . y) at the start; gains: the last sum of the excess, see `output_geometry`;
    recent: see `_remember`; reach_z: the farthest z from the start; gradient: at the last u, for
    `past`; tight: whether a step was too long yet.
    """

    def __init__(self, solver: Any, problem: Problem, state: State):
        self.solver, self.problem, self.state = solver, problem, state
        self.low = solver.memory == "low"
        self.outputs = EntropicOutputs(problem, solver.start)

    def begin(self, z: np.ndarray, point: np.ndarray) -> None:
        """Start from the potentials that favour z, and from the weights at `point`."""
        extra, w = self.state.extra, self.state.w
        extra["max_distance_z"] = self.outputs.max_distance(z)
        extra["travelled"] = extra["gains"] = extra["excess"] = extra["last_step"] = 0.0
        extra["longest"] = _LONGEST * extra["step"]
        extra["tight"], extra["renewed"] = False, 0.0
        extra["recent"] = np.zeros((2, 2 * self.problem.dim + 2))
        extra["anchor_w"], extra["anchor_z"], extra["point_w"] = point, z, point.copy()
        extra["s_w"] = np.zeros(self.problem.dim)
        extra["q"] = np.empty(0) if self.low else self.outputs.potentials(z)
        _, gradient, moved = self._move(Steps(w, 0.0, w, 0.0, w, 0.0, False))
        extra["gradient_v"], extra["log_start"] = gradient, moved.log_total
        extra["gradient_u"] = self.problem.alpha * w + gradient

    def _move(self, steps: Steps) -> tuple[np.ndarray, np.ndarray, Moved]:
        q = self.state.extra["q"]
        return self.outputs.move(steps, q, self.solver.in_ranges, not self.low)

    def epoch(self) -> None:
        geometry = self.solver.weight_geometry(self.problem, self.state.extra["ratio"])
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
            grown = extra["step"] * (_GROW if extra["tight"] else _RUSH)
            extra["step"] = min(grown, extra["longest"])

    def _look_ahead(self, geometry: Weights, step: float) -> bool:
        """Figure 4 of the paper. False if an adaptive step was too long, which changes nothing."""
        problem, state, extra = self.problem, self.state, self.state.extra
        look = geometry.weights(extra["point_w"])
        gradient = problem.alpha * look + extra["gradient_v"]
        w = geometry.weights(geometry.step(extra["point_w"], -gradient, step))
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
        extra["gradient_v"], extra["s_w"] = total_v, s_w
        extra["point_w"] = geometry.step(extra["anchor_w"], s_w, 1.0)
        self._arrive(w, total_u, moved, step)
        return True

    def _look_back(self, geometry: Weights) -> None:
        """The same with the gradient of the last u in the place of that at v, which is not asked.

        Where potentials are kept, they are without that gradient until now.
        """
        state, extra = self.state, self.state.extra
        step, last = extra["step"], 0.0 if self.low else extra["last_step"]
        gradient = extra["s_w"] - step * extra["gradient_u"]
        w = geometry.weights(geometry.step(extra["anchor_w"], gradient, 1.0))
        look = extra["u_w"]
        steps = Steps(state.w, extra["travelled"], look, step + last, look, last, True)
        total_u, _, moved = self._move(steps)
        state.n_project += self.problem.n
        extra["gradient_u"] = self.problem.alpha * w + total_u
        extra["s_w"] = extra["s_w"] - step * extra["gradient_u"]
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
        extra["gradient"] = extra["gradient"] + share * (total_u - extra["gradient"])
        extra["loss"] += share * (moved.loss - extra["loss"])
        extra["last"] = (total_u, moved.loss)
        extra["passed"] += 1.0
        self._remember(step)

    def _remember(self, step: float) -> None:
        """Sums of u over the last half of the way, at least, and three quarters, at most.

        The first points are far from all others, and weigh on the average of all for long.
        """
        extra = self.state.extra
        if extra["travelled"] > 2 * extra["renewed"]:
            extra["renewed"] = extra["travelled"] - step
            extra["recent"] = np.stack([extra["recent"][1], np.zeros(len(extra["recent"][1]))])
        gradient, loss = extra["last"]
        extra["recent"][1] += step * np.concatenate([extra["u_w"], gradient, [loss, 1.0]])

    def recent(self) -> tuple[np.ndarray, np.ndarray, float] | None:
        """w, g and loss of the average of these; None before the first epoch."""
        total, dim = self.state.extra["recent"].sum(axis=0), self.problem.dim
        if total[-1] == 0.0:
            return None
        mean = total / total[-1]
        return mean[:dim], mean[dim:-2], float(mean[-2])

    def restricted_gap(self, geometry: Weights, distance_w: float, distance_z: float) -> float:
        """The gap of the averages against all points within these distances of the start.

        By the duals of both maxima, for each a minimum over one multiplier, so that it is never
        too low; the penalty counts by its tangent at the average, as in the theory.
        """
        problem, state, extra = self.problem, self.state, self.state.extra
        q, w = self.outputs.potentials(extra["anchor_z"]), state.w
        none = np.zeros(problem.dim)

        def rise(scale: float) -> float:
            steps = Steps(none, 0.0, w, 0.0, w, scale, False)
            moved = self.outputs.move(steps, q, self.solver.in_ranges, True)[2]
            return moved.log_total - extra["log_start"]

        gradient = extra["gradient"] + problem.alpha * w
        fall = least_dual(
            lambda scale: geometry.conjugate(extra["anchor_w"], -scale * gradient), distance_w
        )
        return least_dual(rise, distance_z) + fall + problem.alpha * float(w @ w) - extra["loss"]

    def promise(self, reach_w: float) -> float:
        """What the gap of the averages is at most; nan if nothing is known."""
        extra = self.state.extra
        if extra["passed"] == 0 or (self.solver.past and self.solver.step_rule != "norm"):
            return float("nan")
        return (reach_w + extra["max_distance_z"] + max(extra["excess"], 0.0)) / extra["travelled"]


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
