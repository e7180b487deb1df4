"""Structured perceptrons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from maxmargin._numba.passes.online import perceptron_pass, perceptron_step
from maxmargin._numba.passes.weights import Weights, score_sample, start_average
from maxmargin.problem import Problem
from maxmargin.result import State, state_field
from maxmargin.solvers.base import Pieces, PiecewiseSolver, Requires, cut_order
from maxmargin.solvers.domain_steps import (
    AverageState,
    carry_weights,
    domain_key,
    free_weights,
    is_free,
)
from maxmargin.validation.options import Count, CountOrZero, NonNegativeOrInf, Seed


@dataclass(repr=False)
class PerceptronState(AverageState):
    """State of `Perceptron`; its average is over all visits of samples."""

    #: domain of the average, see `domain_key`
    domain: int = state_field(0, warm="keep")
    #: share of the samples that were wrong in the last pass
    train_error: float = state_field(np.nan)


class Perceptron(PiecewiseSolver[PerceptronState]):
    """Add F_i (y_i - s) whenever the best output s is not the true one; no penalty, no margin.

    It ignores alpha and the loss and provides no bound, so that results have no certificate; a pass
    without mistakes ends the run as converged. In a domain w is projected after each update;
    averages are inside, too, because it is convex.

    On the shards of an engine, workers start each round from the mean of their weights, and the
    average is over rounds.

    Parameters
    ----------
    averaged : bool, default=True
        Whether to return the average of all iterates, which generalises much better.
    batch : bool, default=False
        Whether to update once per pass, by all mistakes together.

    References
    ----------
    - Collins, EMNLP 2002.
    - McDonald, Hall, Mann, NAACL 2010 (shards).
    """

    name: ClassVar[str] = "perceptron"
    summary: ClassVar[str] = (
        "Structured perceptron: adds what the truth has and the prediction lacks; no penalty"
        " and no bound."
    )
    requires: ClassVar[Requires] = Requires(
        penalty=False, any_domain=True, has_objective=False, shards="rounds"
    )
    certifies: ClassVar[bool] = False
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

    def _compiled_modules(self, problem: Problem) -> tuple[str, ...]:
        return ("batch", "online")

    def init(self, problem: Problem) -> PerceptronState:
        state = PerceptronState(np.zeros(problem.dim), problem.truth_copy(), self.generator())
        state.w, state.domain = problem.domain.project(state.w), domain_key(problem)
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

    def rounds(
        self, problem: Problem, state: PerceptronState, n_pieces: int | None = None
    ) -> Pieces:
        self._prepare(problem, state)
        order = np.arange(problem.n) if self.batch else state.rng.permutation(problem.n)
        # samples without weight are no reason to go on
        order = order[problem.sample_weight[order] > 0]
        mistakes = len(order)  # those not visited are not known to be right
        if self.batch:
            yield order
            mistakes = self._batch(problem, state)
        else:
            for piece in cut_order(order, n_pieces):
                for part in (yield piece) or (piece,):
                    mistakes += self._online(problem, state, part) - len(part)
        yield order[:0]
        state.n_oracle += problem.n
        state.train_error = mistakes / max(len(order), 1)  # a shard may have no weight

    def _online(self, problem: Problem, state: PerceptronState, order: np.ndarray) -> int:
        limits = problem.weight_limits
        if limits is not None and limits.radius == np.inf:
            return self._steps(problem, order, carry_weights(state.w, limits, state.average))
        mistakes, count_only = 0, state.average._replace(correction=np.empty(0))
        for i in order:
            w = state.w.copy()
            if self._steps(problem, np.array([i]), free_weights(w, count_only)):
                mistakes += 1
                self._add(problem, state, w - state.w)
        return mistakes

    def _steps(self, problem: Problem, order: np.ndarray, weights: Weights) -> int:
        """Updates of w by the samples of `order`; returns the number of mistakes."""
        plain = problem.without_loss()
        packed, mistakes = plain.packed, 0

        def step(i: int, workspace: Any, value: float) -> None:
            nonlocal mistakes
            mistakes += perceptron_step(packed, i, workspace, problem.truth, weights)

        found = plain.sweep(
            order,
            lambda function, workspace: perceptron_pass(
                packed, workspace, function, order, problem.truth, weights
            ),
            step,
            lambda i, workspace: score_sample(packed, i, weights, workspace),
        )
        return mistakes if found is None else int(found)

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
        vertex = np.empty(int(problem.part_ptr[-1]))
        problem.without_loss().apply("maximize", state.w, out=vertex)
        state.average.steps[0] += 1.0
        state.average.total[0] += 1.0
        self._add(problem, state, problem.features(problem.truth - vertex))
        wrong = np.add.reduceat(vertex != problem.truth, problem.part_ptr[:-1]) > 0
        return int(np.count_nonzero(wrong & (problem.sample_weight > 0)))

    def estimate(self, state: PerceptronState) -> float:
        # there is no gap, but what is 0 once it has converged
        return state.train_error

    def _has_converged(self, state: PerceptronState) -> bool:
        return state.train_error == 0.0

    def candidates(self, problem: Problem, state: PerceptronState) -> list[np.ndarray]:
        correction, steps = state.average.correction, state.average.steps[0]
        if not self.averaged or steps == 0 or len(correction) == 0:
            return [state.w]
        return [state.w - correction / steps]

    def metrics(self, problem: Problem, state: PerceptronState, primal: float) -> dict[str, float]:
        return {"train_error": state.train_error}
