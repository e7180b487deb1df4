"""Structured perceptrons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from maxmargin._numba.packed_samples import score_block
from maxmargin._numba.passes.block_step import Average, start_average
from maxmargin._numba.passes.online import perceptron_pass, perceptron_step
from maxmargin.problem import Problem
from maxmargin.result import State, state_field
from maxmargin.solvers.base import Solver
from maxmargin.solvers.domain_steps import domain_key, is_free
from maxmargin.validation.options import Count, CountOrZero, NonNegativeOrInf, Seed


@dataclass(repr=False)
class PerceptronState(State):
    """State of `Perceptron`."""

    #: average of w over all visits of samples, and their number
    average: Average = state_field(start_average, warm="keep")
    #: its domain, see `domain_key`
    domain: int = state_field(0, warm="keep")
    #: share of the samples that were wrong in the last pass
    train_error: float = state_field(np.nan)


class Perceptron(Solver[PerceptronState]):
    """Add F_i (y_i - s) whenever the best output s is not the true one; no penalty, no margin.

    It ignores alpha and the loss and provides no bound, so that results have no certificate; a pass
    without mistakes ends the run as converged. In a domain w is projected after each update;
    averages are inside, too, because it is convex.

    Parameters
    ----------
    averaged : bool, default=True
        Whether to return the average of all iterates, which generalises much better.
    batch : bool, default=False
        Whether to update once per pass, by all mistakes together.

    References
    ----------
    Collins, EMNLP 2002.
    """

    name: ClassVar[str] = "perceptron"
    summary: ClassVar[str] = (
        "Structured perceptron: adds what the truth has and the prediction lacks; no penalty"
        " and no bound."
    )
    needs_penalty: ClassVar[bool] = False
    certifies: ClassVar[bool] = False
    has_objective: ClassVar[bool] = False
    any_domain: ClassVar[bool] = True
    state_class = PerceptronState

    def __init__(
        self,
        averaged: bool = True,
        batch: bool = False,
        max_epochs: CountOrZero | None = None,
        tol: NonNegativeOrInf | None = None,
        random_state: Seed = None,
        check_every: Count | None = None,
    ):
        self.averaged = averaged
        self.batch = batch
        self.max_epochs = max_epochs
        self.tol = tol
        self.random_state = random_state
        self.check_every = check_every

    def compiled_modules(self, problem: Problem) -> tuple[str, ...]:
        return ("batch", "online")

    def init(self, problem: Problem) -> PerceptronState:
        state = PerceptronState(np.zeros(problem.dim), problem.truth.copy(), self.generator())
        state.domain = domain_key(problem)
        self._prepare(problem, state)
        return state

    def _prepare(self, problem: Problem, state: PerceptronState) -> None:
        if self.averaged and len(state.average.correction) == 0:
            state.average = start_average(problem.dim)

    def _warm_start_from(self, problem: Problem, state: State) -> PerceptronState:
        own = super()._warm_start_from(problem, state)
        if own.domain != domain_key(problem):
            # the average may be outside this domain
            own.average = own.average._replace(correction=np.empty(0))
        own.domain = domain_key(problem)
        if not is_free(problem):
            own.w[:] = problem.domain.project(own.w)
        return own

    def epoch(self, problem: Problem, state: PerceptronState) -> None:
        self._prepare(problem, state)
        mistakes = self._batch(problem, state) if self.batch else self._online(problem, state)
        state.n_oracle += problem.n
        # samples without weight are no reason to go on
        state.train_error = mistakes / np.count_nonzero(problem.packed.weight)

    def _online(self, problem: Problem, state: PerceptronState) -> int:
        order = state.rng.permutation(problem.n)
        order = order[problem.packed.weight[order] > 0]
        workspace = problem.workspace()
        if is_free(problem):
            return self._steps(problem, order, workspace, state.w, state.average)
        mistakes, count_only = 0, state.average._replace(correction=np.empty(0))
        for i in order:
            w = state.w.copy()
            if self._steps(problem, np.array([i]), workspace, w, count_only):
                mistakes += 1
                self._add(problem, state, w - state.w)
        return mistakes

    def _steps(
        self, problem: Problem, order: np.ndarray, workspace: Any, w: np.ndarray, average: Average
    ) -> int:
        """Updates of w by the samples of `order`; returns the number of mistakes."""
        plain = problem.without_loss()
        function = problem.structure.compiled_function("maximize")
        rest = (problem.truth, w, average)
        if function is not None:
            return perceptron_pass(plain.packed, workspace, function, order, *rest)
        mistakes = 0

        def at(i: int) -> int:
            return score_block(plain.packed, i, w, workspace)

        for i in plain.visits(order, workspace, at):
            mistakes += perceptron_step(plain.packed, i, workspace, *rest)
        return mistakes

    def _add(self, problem: Problem, state: PerceptronState, change: np.ndarray) -> None:
        """The update of the step that was counted last, as far as the domain lets it."""
        if is_free(problem):
            state.w += change
        else:
            w = problem.domain.project(state.w + change)
            change = w - state.w
            state.w[:] = w
        if len(state.average.correction):
            state.average.correction[:] += (state.average.steps[0] - 1.0) * change

    def _batch(self, problem: Problem, state: PerceptronState) -> int:
        vertex = np.empty_like(problem.truth)
        problem.without_loss().apply("maximize", state.w, out=vertex)
        state.average.steps[0] += 1.0
        self._add(problem, state, problem.features(problem.truth - vertex))
        wrong = np.add.reduceat(vertex != problem.truth, problem.part_ptr[:-1]) > 0
        return int(np.count_nonzero(wrong & (problem.packed.weight > 0)))

    def has_converged(self, state: PerceptronState) -> bool:
        return state.train_error == 0.0

    def final_weights(self, state: PerceptronState) -> np.ndarray:
        correction, steps = state.average
        if not self.averaged or steps[0] == 0 or len(correction) == 0:
            return state.w
        return state.w - correction / steps[0]

    def metrics(self, problem: Problem, state: PerceptronState, primal: float) -> dict[str, float]:
        return {"train_error": state.train_error}
