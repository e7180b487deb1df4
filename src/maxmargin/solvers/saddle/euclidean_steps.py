"""The epochs of the dual extragradient method whose steps in z are Euclidean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._numba.passes.saddle import dual_range, score_norm
from maxmargin.problem import Problem
from maxmargin.result import empty_array, state_field
from maxmargin.solvers.saddle.base import SaddleState, measure_sample_move
from maxmargin.solvers.saddle.weight_geometry import Weights


@dataclass(repr=False)
class DualExtragradientState(SaddleState):
    """State of `DualExtragradient`, whose w and z are averages of the points u."""

    #: the start, w as a point of its geometry
    anchor_w: np.ndarray = state_field(empty_array)
    anchor_z: np.ndarray = state_field(empty_array)
    #: sum of the gradients in w, times their steps if z is entropic
    s_w: np.ndarray = state_field(empty_array)
    #: of the last u: weights, g, loss, and the gradient in w with the penalty
    u_w: np.ndarray = state_field(empty_array)
    loss_gradient_u: np.ndarray = state_field(empty_array)
    loss_u: float = state_field(0.0)
    gradient_u: np.ndarray = state_field(empty_array)
    #: steps since the start
    n_steps: float = state_field(0.0)
    #: gap at the last certificate, and at the first one after the start
    gap: float = state_field(np.nan)
    restart_gap: float = state_field(np.nan)


@dataclass(repr=False)
class ProjectedState(DualExtragradientState):
    """State of `DualExtragradient` with projected steps in z."""

    #: sum of the gradients in z; not kept if memory is low
    s_z: np.ndarray = state_field(empty_array)


class ProjectedSteps:
    """One epoch of `DualExtragradient` with projected steps in z."""

    def __init__(self, solver: Any, problem: Problem, state: ProjectedState):
        self.solver, self.problem, self.state = solver, problem, state
        self.low = solver.memory == "low"

    def begin(self, z: np.ndarray, point: np.ndarray) -> None:
        """Start from z, and from the weights at `point`."""
        problem, state = self.problem, self.state
        state.anchor_w, state.anchor_z = point, z
        state.s_w = np.zeros(problem.dim)
        state.s_z = np.empty(0) if self.low else np.zeros(len(z))
        state.gradient_u = problem.alpha * state.w + state.loss_gradient
        size = 0 if self.low else int(state.warm_pointers[-1])
        state.warm_v, state.warm_u = np.zeros(size), np.zeros(size)

    def _restart(self) -> None:
        """Begin anew from the average, with w and z balanced by how far each has come."""
        solver, problem, state = self.solver, self.problem, self.state
        far = state.w - state.anchor_w
        apart = solver.square_distance(problem, state.z, state.anchor_z)
        if solver.ratio == "auto" and apart > 0 and far.any():
            state.ratio = float(np.sqrt(state.ratio * (far @ far) / apart))
            if solver.step_rule == "norm":
                geometry = solver.weight_geometry(problem, state.ratio)
                state.step = solver.length(problem, geometry, state)
        state.n_steps, state.restart_gap = 0.0, state.gap
        state.anchor_w, state.anchor_z = state.w.copy(), state.z.copy()
        state.s_w[:], state.s_z[:] = 0.0, 0.0
        state.u_w = state.w.copy()
        state.gradient_u = problem.alpha * state.w + state.loss_gradient

    def epoch(self) -> None:
        solver, problem, state = self.solver, self.problem, self.state
        if solver.restarts and state.gap <= state.restart_gap / 2:
            self._restart()
        geometry = solver.weight_geometry(problem, state.ratio)
        step = state.step
        state.is_complete = self.low  # else s and the average change sample by sample
        if solver.past:
            gradient = state.s_w - state.gradient_u
            point = geometry.step(state.anchor_w, gradient, step)
            w, look = geometry.weights(point), state.u_w
            _, total_u, sums_of_pass = self._pass(look)
        else:
            ahead = geometry.step(state.anchor_w, state.s_w, step)
            look = geometry.weights(ahead)
            total_v, total_u, sums_of_pass = self._pass(look)
            gradient = -(problem.alpha * look + total_v)
            w = geometry.weights(geometry.step(ahead, gradient, step))
            if solver.step_rule == "adaptive":
                self._adapt(geometry, w - look, total_u - total_v, sums_of_pass[0])
        self._arrive(w, total_u, sums_of_pass)

    def _arrive(self, w: np.ndarray, total_u: np.ndarray, sums_of_pass: np.ndarray) -> None:
        """Take u into the sums and averages."""
        problem, state = self.problem, self.state
        t = state.n_steps
        state.gradient_u = problem.alpha * w + total_u
        state.s_w -= state.gradient_u
        state.u_w = w
        share = 1.0 / (t + 1.0)
        state.w += share * (w - state.w)
        state.loss_gradient += share * (total_u - state.loss_gradient)
        state.loss += share * (float(sums_of_pass[3]) - state.loss)
        state.loss_gradient_u, state.loss_u = total_u, float(sums_of_pass[3])
        state.residual = max(state.residual, float(sums_of_pass[2]))
        state.n_steps, state.is_complete = t + 1.0, True
        state.n_project += problem.n if self.solver.past or t == 0 else 2 * problem.n

    def _pass(self, look: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """g(v), g(u) and the sums of a pass that looks ahead by the weights `look`."""
        problem, state = self.problem, self.state
        w, t = state.w if self.low else state.u_w, state.n_steps
        function = problem.oracle.compiled_function("project")
        largest = int(np.diff(problem.part_ptr).max())

        def visit(first: int, last: int, sums: list[np.ndarray], sums_of_pass: np.ndarray) -> None:
            if function is None:
                self._visit_in_python(look, range(first, last), sums, sums_of_pass)
                return
            dual_range(
                problem.packed, problem.workspace(), function, first, last, w, look, t,
                state.step,
                self.solver.past, state.anchor_z, state.s_z, state.z, state.warm_v,
                state.warm_u, state.warm_pointers, problem.truth, np.empty(largest), *sums,
                sums_of_pass,
            )  # fmt: skip

        (total_v, total_u), sums_of_pass = self.solver.in_ranges(problem, 2, visit)
        return total_v, total_u, sums_of_pass

    def _visit_in_python(
        self, look: np.ndarray, samples: range, sums: list[np.ndarray], sums_of_pass: np.ndarray
    ) -> None:
        """`_numba.passes.saddle.dual_range` for structures that project in Python."""
        problem, state = self.problem, self.state
        low, t, step = self.low, state.n_steps, state.step
        for i in samples:
            part = problem.parts(i)
            s = np.zeros(part.stop - part.start)
            if t > 0:
                theta = problem.scores(state.w if low else state.u_w, i)
                s = t * theta if low else state.s_z[part] + theta
            if not low:
                state.s_z[part] = s
            base, gradient = state.anchor_z[part], problem.scores(look, i)
            v = base.copy()
            if self.solver.past:
                u = problem.calls.compute("project", base + step * (s + gradient), i)
            else:
                v = v if t == 0 else problem.calls.compute("project", base + step * s, i)
                u = problem.calls.compute("project", v + step * gradient, i)
                measure_sample_move(problem, i, v, v, sums[0], np.zeros(len(sums_of_pass)))
            measure_sample_move(problem, i, u, v, sums[1], sums_of_pass)
            if not low:
                state.z[part] += (u - state.z[part]) / (t + 1.0)

    def _adapt(
        self, geometry: Weights, moved: np.ndarray, change: np.ndarray, moved_z: float
    ) -> None:
        """Shorten the next steps if this one was too long for the operator where it went."""
        problem, state = self.problem, self.state
        forward = score_norm(problem.packed, problem.workspace(), moved)
        back = geometry.squared_dual(problem.alpha * moved + change)
        whole = geometry.squared(moved) + moved_z
        if whole <= 0:
            return
        r = state.step * np.sqrt((back + forward) / whole)
        if r > 1.0:
            state.step *= float((2.0 / 3.0) / r)
