"""Batch Frank-Wolfe."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from maxmargin.problem import Problem
from maxmargin.result import State
from maxmargin.solvers.base import Solver


class FrankWolfe(Solver):
    """Maximise D(z) by Frank-Wolfe steps of all samples at once.

    An epoch asks every oracle for s_i = argmax a_i . s, then moves all z_i by the same share gamma
    towards s_i: the exact maximiser clip(alpha gap / |u|^2, 0, 1) with
    u = sum_i omega_i F_i (s_i - z_i), or 2 / (k + 2). The gap is exact at every epoch.

    Reference: Lacoste-Julien, Jaggi, Schmidt, Pletscher, ICML 2013, algorithm 2.
    """

    name: ClassVar[str] = "fw"

    def __init__(
        self,
        line_search: bool = True,
        max_epochs: int | None = None,
        tol: float | None = None,
        random_state: Any = None,
        check_every: int | None = None,
    ):
        self.line_search = line_search
        self.max_epochs = max_epochs
        self.tol = tol
        self.random_state = random_state
        self.check_every = check_every

    def init(self, problem: Problem) -> State:
        return State(np.zeros(problem.dim), problem.truth.copy(), self.generator())

    def epoch(self, problem: Problem, state: State) -> None:
        vertex = np.empty_like(state.z)
        gaps = problem.apply("maximize", state.w, point=state.z, out=vertex)
        state.n_oracle += problem.n
        gap = float(problem.blocks.weight @ gaps)
        state.extra["gap"] = gap
        vertex -= state.z
        change = problem.features(vertex)
        norm = float(change @ change)
        step = 2.0 / (state.epoch + 2.0)
        if self.line_search:
            step = 1.0 if problem.alpha * gap >= norm else problem.alpha * gap / norm
        if gap > 0.0:
            state.z += step * vertex
            state.w -= (step / problem.alpha) * change

    def estimate(self, state: State) -> float:
        return state.extra.get("gap", float("inf"))

    def settle(self, problem: Problem, state: State) -> None:
        state.w[:] = problem.weights(state.z)
