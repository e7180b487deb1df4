"""The epochs of the dual extragradient method whose steps in z are Euclidean."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._numba.passes.saddle import dual_range, score_norm
from maxmargin.problem import Problem
from maxmargin.result import State
from maxmargin.solvers.saddle.base import measure_sample_move
from maxmargin.solvers.saddle.weight_geometry import Weights


class ProjectedSteps:
    """What `DualExtragradient` keeps in the state, and one epoch of it.

    passed: epochs since the start; anchor_w, anchor_z: the start; s_w, s_z: sums of gradients (s_z
    is not kept if memory is low); gradient_u: in w, at the last u; warm_v, warm_u: what projections
    left behind.
    """

    def __init__(self, solver: Any, problem: Problem, state: State):
        self.solver, self.problem, self.state = solver, problem, state
        self.low = solver.memory == "low"

    def begin(self, z: np.ndarray, point: np.ndarray) -> None:
        """Start from z, and from the weights at `point`."""
        problem, extra = self.problem, self.state.extra
        extra["anchor_w"], extra["anchor_z"] = point, z
        extra["s_w"] = np.zeros(problem.dim)
        extra["s_z"] = np.empty(0) if self.low else np.zeros(len(z))
        extra["gradient_u"] = problem.alpha * self.state.w + extra["gradient"]
        size = 0 if self.low else int(extra["pointers"][-1])
        extra["warm_v"], extra["warm_u"] = np.zeros(size), np.zeros(size)

    def _restart(self) -> None:
        """Begin anew from the average, with w and z balanced by how far each has come."""
        solver, problem, state, extra = self.solver, self.problem, self.state, self.state.extra
        far = state.w - extra["anchor_w"]
        apart = solver.square_distance(problem, state.z, extra["anchor_z"])
        if solver.ratio == "auto" and apart > 0 and far.any():
            extra["ratio"] = float(np.sqrt(extra["ratio"] * (far @ far) / apart))
            if solver.step_rule == "norm":
                geometry = solver.weight_geometry(problem, extra["ratio"])
                extra["step"] = solver.length(problem, geometry, extra)
        extra["passed"], extra["restart_gap"] = 0.0, extra["gap"]
        extra["anchor_w"], extra["anchor_z"] = state.w.copy(), state.z.copy()
        extra["s_w"][:], extra["s_z"][:] = 0.0, 0.0
        extra["u_w"] = state.w.copy()
        extra["gradient_u"] = problem.alpha * state.w + extra["gradient"]

    def epoch(self) -> None:
        solver, problem, extra = self.solver, self.problem, self.state.extra
        if solver.restarts and "gap" in extra and extra["gap"] <= extra["restart_gap"] / 2:
            self._restart()
        geometry = solver.weight_geometry(problem, extra["ratio"])
        step = extra["step"]
        extra["whole"] = self.low  # else s and the average change sample by sample
        if solver.past:
            gradient = extra["s_w"] - extra["gradient_u"]
            point = geometry.step(extra["anchor_w"], gradient, step)
            w, look = geometry.weights(point), extra["u_w"]
            _, total_u, sums_of_pass = self._pass(look)
        else:
            ahead = geometry.step(extra["anchor_w"], extra["s_w"], step)
            look = geometry.weights(ahead)
            total_v, total_u, sums_of_pass = self._pass(look)
            gradient = -(problem.alpha * look + total_v)
            w = geometry.weights(geometry.step(ahead, gradient, step))
            if solver.step_rule == "adaptive":
                self._adapt(geometry, w - look, total_u - total_v, sums_of_pass[0])
        self._arrive(w, total_u, sums_of_pass)

    def _arrive(self, w: np.ndarray, total_u: np.ndarray, sums_of_pass: np.ndarray) -> None:
        """Take u into the sums and averages."""
        problem, state, extra = self.problem, self.state, self.state.extra
        t = extra["passed"]
        extra["gradient_u"] = problem.alpha * w + total_u
        extra["s_w"] -= extra["gradient_u"]
        extra["u_w"] = w
        share = 1.0 / (t + 1.0)
        state.w += share * (w - state.w)
        extra["gradient"] += share * (total_u - extra["gradient"])
        extra["loss"] += share * (float(sums_of_pass[3]) - extra["loss"])
        extra["last"] = (total_u, float(sums_of_pass[3]))
        extra["residual"] = max(extra.get("residual", 0.0), float(sums_of_pass[2]))
        extra["passed"], extra["whole"] = t + 1.0, True
        state.n_project += problem.n if self.solver.past or t == 0 else 2 * problem.n

    def _pass(self, look: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """g(v), g(u) and the sums of a pass that looks ahead by the weights `look`."""
        problem, state, extra = self.problem, self.state, self.state.extra
        w, t = state.w if self.low else extra["u_w"], extra["passed"]
        function = problem.structure.compiled_function("project")
        largest = int(np.diff(problem.part_ptr).max())

        def visit(first: int, last: int, sums: list[np.ndarray], sums_of_pass: np.ndarray) -> None:
            if function is None:
                self._visit_in_python(look, range(first, last), sums, sums_of_pass)
                return
            dual_range(
                problem.packed, problem.workspace(), function, first, last, w, look, t,
                extra["step"],
                self.solver.past, extra["anchor_z"], extra["s_z"], state.z, extra["warm_v"],
                extra["warm_u"], extra["pointers"], problem.truth, np.empty(largest), *sums,
                sums_of_pass,
            )  # fmt: skip

        (total_v, total_u), sums_of_pass = self.solver.in_ranges(problem, 2, visit)
        return total_v, total_u, sums_of_pass

    def _visit_in_python(
        self, look: np.ndarray, samples: range, sums: list[np.ndarray], sums_of_pass: np.ndarray
    ) -> None:
        """`_numba.passes.saddle.dual_range` for structures that project in Python."""
        problem, state, extra = self.problem, self.state, self.state.extra
        low, t, step = self.low, extra["passed"], extra["step"]
        for i in samples:
            part = problem.parts(i)
            s = np.zeros(part.stop - part.start)
            if t > 0:
                theta = problem.scores(state.w if low else extra["u_w"], i)
                s = t * theta if low else extra["s_z"][part] + theta
            if not low:
                extra["s_z"][part] = s
            base, gradient = extra["anchor_z"][part], problem.scores(look, i)
            v = base.copy()
            if self.solver.past:
                u = problem.projected(base + step * (s + gradient), i)
            else:
                v = v if t == 0 else problem.projected(base + step * s, i)
                u = problem.projected(v + step * gradient, i)
                measure_sample_move(problem, i, v, v, sums[0], np.zeros(len(sums_of_pass)))
            measure_sample_move(problem, i, u, v, sums[1], sums_of_pass)
            if not low:
                state.z[part] += (u - state.z[part]) / (t + 1.0)

    def _adapt(
        self, geometry: Weights, moved: np.ndarray, change: np.ndarray, moved_z: float
    ) -> None:
        """Shorten the next steps if this one was too long for the operator where it went."""
        problem, extra = self.problem, self.state.extra
        forward = score_norm(problem.packed, problem.workspace(), moved)
        back = geometry.squared_dual(problem.alpha * moved + change)
        whole = geometry.squared(moved) + moved_z
        if whole <= 0:
            return
        r = extra["step"] * np.sqrt((back + forward) / whole)
        if r > 1.0:
            extra["step"] *= float((2.0 / 3.0) / r)
