"""Stochastic subgradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from maxmargin._numba.passes.block_step import Average, start_average
from maxmargin._numba.passes.online import score_scaled, subgradient_pass, subgradient_step
from maxmargin.problem import Problem
from maxmargin.result import State, empty_array, state_field
from maxmargin.solvers.base import Solver
from maxmargin.solvers.domain_steps import domain_key, is_free, unprojected_weights
from maxmargin.validation.options import Count, CountOrZero, NonNegativeOrInf, Seed


@dataclass(repr=False)
class SubgradientState(State):
    """State of `Subgradient` after k steps."""

    #: sum of all steps: alpha k w, but for the domain
    v: np.ndarray = state_field(empty_array, warm="keep")
    #: visits of each sample
    visits: np.ndarray = state_field(lambda: np.empty(0, dtype=np.int64), warm="keep")
    #: average of w, and k; in a domain its correction is alpha times the sum of rho_k w_k itself
    average: Average = state_field(start_average, warm="keep")
    #: (1,) sum of rho_k / k, see `subgradient_step`
    rates: np.ndarray = state_field(lambda: np.zeros(1), warm="keep")
    #: the option by which w is averaged, and the domain, see `domain_key`
    averaging: str | None = state_field(None, warm="keep")
    domain: int = state_field(0, warm="keep")
    #: what averages of the last half leave out: alpha times the sum of w, and the number of steps
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
    any_domain: ClassVar[bool] = True
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

    def compiled_modules(self, problem: Problem) -> tuple[str, ...]:
        return ("batch", "online")

    def init(self, problem: Problem) -> SubgradientState:
        state = SubgradientState(np.zeros(problem.dim), problem.truth.copy(), self.generator())
        self._begin(problem, state, passes=0)
        return state

    def _begin(self, problem: Problem, state: SubgradientState, passes: int) -> None:
        """As if `passes` (0 or 1) passes lay behind, all at the present w = w(z)."""
        k = passes * problem.n
        w_unprojected = state.w if is_free(problem) else unprojected_weights(problem, state.z)
        state.v = v = problem.alpha * k * w_unprojected
        weighted = self.averaging == "weighted"
        rates = np.ones(k) if weighted else 1.0 / np.arange(1, k + 1)
        state.rates = np.array([rates.sum()])
        steps = k * (k + 1) / 2 if weighted else k
        correction = np.empty(0)
        if self.averaging is not None:
            correction = problem.alpha * steps * state.w
            if is_free(problem):
                correction = state.rates[0] * v - correction
        state.average = Average(correction, np.array([float(k)]))
        state.visits = np.full(problem.n, passes, dtype=np.int64)
        state.averaging, state.domain = self.averaging, domain_key(problem)
        state.half_sum = state.next_sum = np.zeros_like(v)
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
        order = state.rng.permutation(problem.n)
        if is_free(problem):
            self._steps(problem, state, order, state.v, state.average, problem.workspace())
            np.divide(state.v, problem.alpha * state.average.steps[0], out=state.w)
        else:
            self._inside(problem, state, order)
        state.n_oracle += problem.n
        if self.averaging == "half" and _is_power_of_two(state.epoch + 1):
            state.half_sum, state.half_steps = state.next_sum, state.next_steps
            state.next_sum = self._sum(problem, state)
            state.next_steps = float(state.average.steps[0])

    def _steps(
        self,
        problem: Problem,
        state: SubgradientState,
        order: np.ndarray,
        v: np.ndarray,
        average: Average,
        workspace: Any,
    ) -> None:
        """Steps by the samples of `order`, at w = v / (alpha k)."""
        function = problem.structure.compiled_function("maximize")
        weighted = self.averaging == "weighted"
        rest = (weighted, problem.truth, v, state.z, state.visits, average, state.rates)
        if function is not None:
            subgradient_pass(problem.packed, workspace, function, order, problem.alpha, *rest)
            return

        def at(i: int) -> int:
            k = average.steps[0]
            scale = 1.0 / (problem.alpha * k) if k else 0.0
            return score_scaled(problem.packed, i, v, scale, workspace)

        for i in problem.visits(order, workspace, at):
            subgradient_step(problem.packed, i, workspace, *rest)

    def _inside(self, problem: Problem, state: SubgradientState, order: np.ndarray) -> None:
        """The same at w = P(v / (alpha k))."""
        v, (total, steps), workspace = state.v, state.average, problem.workspace()
        weighted, count_only = self.averaging == "weighted", Average(np.empty(0), steps)
        for i in order:
            start = (problem.alpha * steps[0]) * state.w
            moved = start.copy()
            self._steps(problem, state, np.array([i]), moved, count_only, workspace)
            v += moved - start
            state.w[:] = problem.domain.project(v / (problem.alpha * steps[0]))
            if len(total):
                total += (problem.alpha * steps[0] if weighted else problem.alpha) * state.w

    def _sum(self, problem: Problem, state: SubgradientState) -> np.ndarray:
        """Alpha times the sum of rho_k w_k over all steps so far."""
        if not is_free(problem):
            return state.average.correction.copy()
        return state.rates[0] * state.v - state.average.correction

    def candidates(self, problem: Problem, state: SubgradientState) -> list[np.ndarray]:
        k = state.average.steps[0]
        if self.averaging is None or k == 0:
            return [state.w]
        total, steps = self._sum(problem, state), k * (k + 1) / 2
        if self.averaging == "half":
            total, steps = total - state.half_sum, k - state.half_steps
        average = total / (problem.alpha * steps)
        return [state.w, average if is_free(problem) else problem.domain.project(average)]

    def finalize(self, problem: Problem, state: SubgradientState) -> None:
        state.w[:] = problem.weights(state.z)  # an interrupted pass has moved z, not yet w


def _is_power_of_two(n: int) -> bool:
    return n & (n - 1) == 0
