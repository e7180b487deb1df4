"""Batch Frank-Wolfe."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from maxmargin.problem import Problem
from maxmargin.result import State
from maxmargin.solvers.base import Solver
from maxmargin.solvers.domain_steps import best_share, is_free, unprojected_weights
from maxmargin.validation.options import Count, CountOrZero, NonNegativeOrInf, Seed


class FrankWolfe(Solver):
    """Maximise D(z) by Frank-Wolfe steps of all samples at once.

    An epoch calls every oracle for s_i = argmax a_i . s, then moves all z_i by the same fraction
    gamma towards s_i: the exact maximiser ::

        gamma = clip(alpha gap / |u|^2, 0, 1),   u = sum_i omega_i F_i (s_i - z_i)

    or 2 / (k + 2). The gap is exact at every epoch. In a domain w = w(z) is projected
    (`solvers.domain_steps`), and the maximiser is found by a few more projections.

    Parameters
    ----------
    line_search : bool, default=True
        Whether to use the exact maximiser; False means 2 / (k + 2).

    References
    ----------
    Lacoste-Julien, Jaggi, Schmidt, Pletscher, ICML 2013, algorithm 2.
    """

    name: ClassVar[str] = "fw"
    summary: ClassVar[str] = "Frank-Wolfe: steps in all samples at once, with a bound."
    any_domain: ClassVar[bool] = True

    def __init__(
        self,
        line_search: bool = True,
        max_epochs: CountOrZero | None = None,
        tol: NonNegativeOrInf | None = None,
        random_state: Seed = None,
        check_every: Count | None = None,
    ):
        self.line_search = line_search
        self.max_epochs = max_epochs
        self.tol = tol
        self.random_state = random_state
        self.check_every = check_every

    def init(self, problem: Problem) -> State:
        state = State(np.zeros(problem.dim), problem.truth.copy(), self.generator())
        self._prepare(problem, state)
        return state

    def _prepare(self, problem: Problem, state: State) -> None:
        """In a domain, w before it is put back."""
        if not is_free(problem) and "w_unprojected" not in state.extra:
            state.extra["w_unprojected"] = unprojected_weights(problem, state.z)

    def _warm_start_from(self, problem: Problem, state: State) -> None:
        super()._warm_start_from(problem, state)
        state.extra.pop("w_unprojected", None)  # of another alpha or other data, maybe

    def epoch(self, problem: Problem, state: State) -> None:
        self._prepare(problem, state)
        vertex = np.empty_like(state.z)
        gaps = problem.apply("maximize", state.w, point=state.z, out=vertex)
        state.n_oracle += problem.n
        gap = float(problem.packed.weight @ gaps)
        state.extra["gap"] = gap
        vertex -= state.z
        change = problem.features(vertex)
        if (
            problem.structure.may_time_out
        ):  # gaps are bounds where the oracle gave up: not of this way
            gap = float(state.w @ change + problem.packed.weight @ problem.loss_of_change(vertex))
        if gap > 0.0:
            step = self._step(problem, state, change, gap)
            state.z += step * vertex
            self._move(problem, state, (step / problem.alpha) * change)

    def _step(self, problem: Problem, state: State, change: np.ndarray, gap: float) -> float:
        if not self.line_search:
            return 2.0 / (state.epoch + 2.0)
        norm = float(change @ change)
        if problem.alpha * gap >= norm:
            return 1.0
        if is_free(problem):
            return problem.alpha * gap / norm
        return best_share(
            problem, state.extra["w_unprojected"], change, gap - float(state.w @ change)
        )

    def _move(self, problem: Problem, state: State, change: np.ndarray) -> None:
        if is_free(problem):
            state.w -= change
        else:
            state.extra["w_unprojected"] -= change
            state.w[:] = problem.domain.project(state.extra["w_unprojected"])

    def estimate(self, state: State) -> float:
        return state.extra.get("gap", float("inf"))

    def finalize(self, problem: Problem, state: State) -> None:
        state.w[:] = problem.weights(state.z)
        if "w_unprojected" in state.extra:
            state.extra["w_unprojected"] = unprojected_weights(problem, state.z)
