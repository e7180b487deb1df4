"""Batch Frank-Wolfe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin.problem import Problem
from maxmargin.result import State, state_field
from maxmargin.solvers.base import Requires, Solver
from maxmargin.solvers.domain_steps import best_share, is_free, unprojected_weights
from maxmargin.validation.options import Count, CountOrZero, NonNegativeOrInf, Seed


@dataclass(repr=False)
class FrankWolfeState(State):
    """State of `FrankWolfe`."""

    #: w(z) but for the domain; None where w may be anything
    w_unprojected: np.ndarray | None = state_field(None)
    #: gap before the last step
    gap: float = state_field(np.inf, warm="keep")


class FrankWolfe(Solver[FrankWolfeState]):
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
    requires: ClassVar[Requires] = Requires(any_domain=True, shards="sums")
    state_class = FrankWolfeState

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

    def init(self, problem: Problem) -> FrankWolfeState:
        state = FrankWolfeState(np.zeros(problem.dim), problem.truth_copy(), self.generator())
        self._prepare(problem, state)
        return state

    def _prepare(self, problem: Problem, state: FrankWolfeState) -> None:
        """In a domain, w before it is put back."""
        if not is_free(problem) and state.w_unprojected is None:
            state.w_unprojected = unprojected_weights(problem, state.z)

    def epoch(self, problem: Problem, state: FrankWolfeState) -> None:
        self._prepare(problem, state)
        vertex = np.empty_like(state.z)
        gaps = problem.apply("maximize", state.w, point=state.z, out=vertex)
        state.n_oracle += problem.n
        state.gap = gap = float(problem.sample_weight @ gaps)
        vertex -= state.z
        change = problem.features(vertex)
        if problem.oracle.may_time_out:  # gaps are bounds where the oracle gave up
            gap = float(state.w @ change + problem.sample_weight @ problem.loss_of_change(vertex))
        if gap > 0.0:
            step = self._step(problem, state, change, gap)
            state.z += step * vertex
            self._move(problem, state, (step / problem.alpha) * change)

    def _step(
        self, problem: Problem, state: FrankWolfeState, change: np.ndarray, gap: float
    ) -> float:
        if not self.line_search:
            return 2.0 / (state.epoch + 2.0)
        norm = float(change @ change)
        if problem.alpha * gap >= norm:
            return 1.0
        if state.w_unprojected is None:
            return problem.alpha * gap / norm
        return best_share(problem, state.w_unprojected, change, gap - float(state.w @ change))

    def _move(self, problem: Problem, state: FrankWolfeState, change: np.ndarray) -> None:
        if state.w_unprojected is None:
            state.w -= change
        else:
            state.w_unprojected -= change
            state.w[:] = problem.domain.project(state.w_unprojected)

    def estimate(self, state: FrankWolfeState) -> float:
        return state.gap

    def _finalize(self, problem: Problem, state: FrankWolfeState) -> None:
        state.w[:] = problem.weights(state.z)
        if state.w_unprojected is not None:
            state.w_unprojected = unprojected_weights(problem, state.z)
