"""Stochastic subgradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from maxmargin._numba.passes.online import subgradient_pass, subgradient_step
from maxmargin._numba.passes.weights import Weights, score_sample, start_average, sum_all_until_now
from maxmargin.problem import Problem
from maxmargin.result import State, empty_array, state_field
from maxmargin.solvers.base import Requires, Solver
from maxmargin.solvers.domain_steps import (
    AverageState,
    domain_key,
    is_free,
    limits_for_steps,
    sum_weights,
    unprojected_weights,
    visit_samples,
)
from maxmargin.validation.options import Count, CountOrZero, NonNegativeOrInf, Seed


@dataclass(repr=False)
class SubgradientState(AverageState):
    """State of `Subgradient` after k steps."""

    #: sum of all steps: alpha k w, but for the domain
    v: np.ndarray = state_field(empty_array, warm="keep")
    #: visits of each sample
    visits: np.ndarray = state_field(lambda: np.empty(0, dtype=np.int64), warm="keep")
    #: the option by which w is averaged, and the domain, see `domain_key`
    averaging: str | None = state_field(None, warm="keep")
    domain: int = state_field(0, warm="keep")
    #: what averages of the last half leave out: the sum of w, and the number of steps
    half_sum: np.ndarray = state_field(empty_array, warm="keep")
    half_steps: float = state_field(0.0, warm="keep")
    #: and what the next half will leave out
    next_sum: np.ndarray = state_field(empty_array, warm="keep")
    next_steps: float = state_field(0.0, warm="keep")


class Subgradient(Solver[SubgradientState]):
    """Minimise P(w) by stochastic subgradients with the step 1 / (alpha k).

    The iteration is ::

        w_k = (1 - 1/k) w_{k-1} + 1/(alpha k) n omega_i psi_i(s),   psi_i(s) = F_i (y_i - s)

    which is v_k / (alpha k) with v the plain sum of n omega_i psi_i: no step touches all weights.
    Samples come in reshuffled passes, so that after each pass w is w(z) of z_i = the mean of sample
    i's answers: this gives a dual bound and so a certificate, which the textbook method lacks.

    In a domain w_k = P(v_k / (alpha k)), the dual averaging form of the method: w is still w(z)
    after each pass, and the certificate as exact (`solvers.domain_steps`).

    Parameters
    ----------
    averaging : {"weighted", "half"} or None, default="weighted"
        "weighted" (weights proportional to k), "half" (uniform over at least the second half of the
        passes; SSG-tavg in the papers) or None. The best certified of last and average is returned.

    References
    ----------
    - Shalev-Shwartz, Singer, Srebro, ICML 2007 (the step).
    - Lacoste-Julien et al., ICML 2013 (weighted averages).
    """

    name: ClassVar[str] = "ssg"
    summary: ClassVar[str] = (
        "Stochastic subgradients: quick first passes, steps of a fixed schedule."
    )
    requires: ClassVar[Requires] = Requires(any_domain=True)
    state_class = SubgradientState

    def __init__(
        self,
        averaging: Literal["weighted", "half"] | None = "weighted",
        max_epochs: CountOrZero | None = None,
        tol: NonNegativeOrInf | None = None,
        random_state: Seed = None,
        check_every: Count | None = None,
    ):
        self.averaging = averaging
        self.max_epochs = max_epochs
        self.tol = tol
        self.random_state = random_state
        self.check_every = check_every

    def _compiled_modules(self, problem: Problem) -> tuple[str, ...]:
        return ("batch", "online")

    def init(self, problem: Problem) -> SubgradientState:
        state = SubgradientState(np.zeros(problem.dim), problem.truth_copy(), self.generator())
        self._begin(problem, state, passes=0)
        return state

    def _begin(self, problem: Problem, state: SubgradientState, passes: int) -> None:
        """As if `passes` (0 or 1) passes lay behind, all at the present w = w(z)."""
        k = passes * problem.n
        free = state.w if is_free(problem) else unprojected_weights(problem, state.z)
        state.v = problem.alpha * k * free
        state.average = start_average(0 if self.averaging is None else problem.dim)
        state.average.steps[0] = k
        if self.averaging is not None and k:
            n_terms = k * (k + 1) / 2 if self.averaging == "weighted" else k
            known = limits_for_steps(problem, scaled=True) is not None
            scale = 1.0 / (problem.alpha * k) if known else 1.0
            state.average.total[0] = scale * n_terms
            # so that the sum of the weights is as many times w
            state.average.correction[:] = sum_weights(problem, state, state.v) - n_terms * state.w
        state.visits = np.full(problem.n, passes, dtype=np.int64)
        state.averaging, state.domain = self.averaging, domain_key(problem)
        state.half_sum = state.next_sum = np.zeros_like(state.v)
        state.half_steps = state.next_steps = 0.0

    def _warm_start_from(self, problem: Problem, state: State) -> SubgradientState:
        # go on from any dual point, such as another solver's or that of an interrupted pass
        own, k = super()._warm_start_from(problem, state), 0.0
        if own.averaging == self.averaging and own.domain == domain_key(problem):
            k = own.average.steps[0]
        if k > 0 and np.ptp(own.visits) == 0:
            w_unprojected = own.w if is_free(problem) else unprojected_weights(problem, own.z)
            if np.allclose(own.v, problem.alpha * k * w_unprojected, rtol=1e-6, atol=1e-9):
                return own
        self._begin(problem, own, passes=1)
        return own

    def epoch(self, problem: Problem, state: SubgradientState) -> None:
        packed, growing = problem.packed, self.averaging == "weighted"
        # in a domain that compiled code does not know, weights are scaled before the projection
        alpha = problem.alpha if problem.weight_limits is not None else 0.0

        def steps(order: np.ndarray, weights: Weights) -> None:
            rest = (alpha, growing, problem.truth, weights, state.z, state.visits)

            def step(i: int, workspace: Any, value: float) -> None:
                subgradient_step(packed, i, workspace, *rest)

            try:
                problem.sweep(
                    order,
                    lambda function, workspace: subgradient_pass(
                        packed, workspace, function, order, *rest
                    ),
                    step,
                    lambda i, workspace: score_sample(packed, i, weights, workspace),
                )
            finally:
                if len(weights.seen):
                    sum_all_until_now(weights, growing)

        def scale() -> float:
            return 1.0 / (problem.alpha * max(state.average.steps[0], 1.0))

        visit_samples(steps, problem, state, state.v, state.rng.permutation(problem.n), scale)
        state.n_oracle += problem.n
        if self.averaging == "half" and _is_power_of_two(state.epoch + 1):
            state.half_sum, state.half_steps = state.next_sum, state.next_steps
            state.next_sum = sum_weights(problem, state, state.v)
            state.next_steps = float(state.average.steps[0])

    def candidates(self, problem: Problem, state: SubgradientState) -> list[np.ndarray]:
        k = state.average.steps[0]
        if self.averaging is None or k == 0:
            return [state.w]
        average, steps = sum_weights(problem, state, state.v), k * (k + 1) / 2
        if self.averaging == "half":
            average -= state.half_sum
            steps = k - state.half_steps
        average /= steps
        return [state.w, average if is_free(problem) else problem.domain.project(average)]

    def _finalize(self, problem: Problem, state: SubgradientState) -> None:
        state.w[:] = problem.weights(state.z)  # an interrupted pass has moved z, not yet w


def _is_power_of_two(n: int) -> bool:
    return n & (n - 1) == 0
