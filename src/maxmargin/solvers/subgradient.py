"""Stochastic subgradient."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from maxmargin._numba.passes.online import score_scaled, subgradient_pass, subgradient_step
from maxmargin.problem import Problem
from maxmargin.result import State
from maxmargin.solvers.base import Solver
from maxmargin.solvers.domain_steps import domain_key, is_free, unprojected_weights
from maxmargin.validation.options import Count, CountOrZero, NonNegativeOrInf, Seed


class Subgradient(Solver):
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

    def compiled_modules(self) -> tuple[str, ...]:
        return ("batch", "online")

    def init(self, problem: Problem) -> State:
        state = State(np.zeros(problem.dim), problem.truth.copy(), self.generator())
        self._begin(problem, state, passes=0)
        return state

    def _begin(self, problem: Problem, state: State, passes: int) -> None:
        """As if `passes` (0 or 1) passes lay behind, all at the present w = w(z)."""
        k = passes * problem.n
        w_unprojected = state.w if is_free(problem) else unprojected_weights(problem, state.z)
        v = problem.alpha * k * w_unprojected
        weighted = self.averaging == "weighted"
        rates = np.ones(k) if weighted else 1.0 / np.arange(1, k + 1)
        state.clock[:3] = k, rates.sum(), float(weighted)
        steps = k * (k + 1) / 2 if weighted else k
        state.lag = np.empty(0)
        if self.averaging is not None:
            state.lag = problem.alpha * steps * state.w
            if is_free(problem):
                state.lag = state.clock[1] * v - state.lag
        nothing = (np.zeros_like(v), 0.0)
        state.extra = {
            "v": v,
            "visits": np.full(problem.n, passes, dtype=np.int64),
            "averaging": self.averaging,
            "before": nothing,
            "since": nothing,
        }
        if not is_free(problem):
            state.extra["domain"] = domain_key(problem)

    def _prepare(self, problem: Problem, state: State) -> None:
        """Go on from any dual point, such as another solver's or that of an interrupted pass."""
        extra, k = state.extra, state.clock[0]
        known = "v" in extra and extra.get("averaging", "none") == self.averaging
        known = known and extra.get("domain", 0) == domain_key(problem)
        if known and k > 0 and np.ptp(extra["visits"]) == 0:
            w_unprojected = state.w if is_free(problem) else unprojected_weights(problem, state.z)
            if np.allclose(extra["v"], problem.alpha * k * w_unprojected, rtol=1e-6, atol=1e-9):
                return
        self._begin(problem, state, passes=1)

    def _warm_start_from(self, problem: Problem, state: State) -> None:
        super()._warm_start_from(problem, state)
        self._prepare(problem, state)

    def epoch(self, problem: Problem, state: State) -> None:
        order = state.rng.permutation(problem.n)
        if is_free(problem):
            self._steps(problem, state, order, state.extra["v"], state.lag, problem.workspace())
            np.divide(state.extra["v"], problem.alpha * state.clock[0], out=state.w)
        else:
            self._inside(problem, state, order)
        state.n_oracle += problem.n
        if self.averaging == "half" and _is_power_of_two(state.epoch + 1):
            state.extra["before"] = state.extra["since"]
            state.extra["since"] = (self._sum(problem, state), state.clock[0])

    def _steps(
        self,
        problem: Problem,
        state: State,
        order: np.ndarray,
        v: np.ndarray,
        lag: np.ndarray,
        workspace: Any,
    ) -> None:
        """Steps by the samples of `order`, at w = v / (alpha k)."""
        function = problem.structure.compiled_function("maximize")
        rest = (problem.truth, v, state.z, state.extra["visits"], lag, state.clock)
        if function is not None:
            subgradient_pass(problem.packed, workspace, function, order, problem.alpha, *rest)
            return

        def at(i: int) -> int:
            k = state.clock[0]
            scale = 1.0 / (problem.alpha * k) if k else 0.0
            return score_scaled(problem.packed, i, v, scale, workspace)

        for i in problem.visits(order, workspace, at):
            subgradient_step(problem.packed, i, workspace, *rest)

    def _inside(self, problem: Problem, state: State, order: np.ndarray) -> None:
        """The same at w = P(v / (alpha k)); lag is alpha times the sum of rho_k w_k."""
        v, nothing, workspace = state.extra["v"], np.empty(0), problem.workspace()
        weighted = self.averaging == "weighted"
        for i in order:
            start = (problem.alpha * state.clock[0]) * state.w
            moved = start.copy()
            self._steps(problem, state, np.array([i]), moved, nothing, workspace)
            v += moved - start
            k = state.clock[0]
            state.w[:] = problem.domain.project(v / (problem.alpha * k))
            if len(state.lag):
                state.lag += (problem.alpha * k if weighted else problem.alpha) * state.w

    def _sum(self, problem: Problem, state: State) -> np.ndarray:
        """Alpha times the sum of rho_k w_k over all steps so far."""
        if not is_free(problem):
            return state.lag.copy()
        return state.clock[1] * state.extra["v"] - state.lag

    def candidates(self, problem: Problem, state: State) -> list[np.ndarray]:
        k = state.clock[0]
        if self.averaging is None or k == 0:
            return [state.w]
        total, steps = self._sum(problem, state), k * (k + 1) / 2
        if self.averaging == "half":
            before, start = state.extra["before"]
            total, steps = total - before, k - start
        average = total / (problem.alpha * steps)
        return [state.w, average if is_free(problem) else problem.domain.project(average)]

    def finalize(self, problem: Problem, state: State) -> None:
        state.w[:] = problem.weights(state.z)  # an interrupted pass has moved z, not yet w


def _is_power_of_two(n: int) -> bool:
    return n & (n - 1) == 0
