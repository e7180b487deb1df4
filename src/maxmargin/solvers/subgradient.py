"""Stochastic subgradient."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from maxmargin.problem import Problem
from maxmargin.result import State
from maxmargin.solvers.base import Solver


class Subgradient(Solver):
    """Minimise P(w) by stochastic subgradients with the step 1 / (alpha k).

    w_k = (1 - 1/k) w_{k-1} + 1/(alpha k) n omega_i psi_i(s), psi_i(s) = F_i (y_i - s), which is
    v_k / (alpha k) with v the plain sum of n omega_i psi_i: no step touches all weights. Samples
    come in reshuffled passes, so that after each pass w is w(z) of z_i = the mean of sample i's
    answers: this gives a dual bound and so a certificate, which the textbook method lacks.

    References: Shalev-Shwartz, Singer, Srebro, ICML 2007 (the step); Lacoste-Julien et al., 2013
    (weighted averages).

    Parameters
    ----------
    averaging : "weighted" (weight k), "half" (uniform over the second half of the passes at least;
        SSG-tavg in the papers) or None. The best certified of last and average is returned.
    """

    name: ClassVar[str] = "ssg"

    def __init__(
        self,
        averaging: Literal["weighted", "half"] | None = "weighted",
        max_epochs: int | None = None,
        tol: float | None = None,
        random_state: Any = None,
        check_every: int | None = None,
    ):
        self.averaging = averaging
        self.max_epochs = max_epochs
        self.tol = tol
        self.random_state = random_state
        self.check_every = check_every

    def check(self, problem: Problem) -> None:
        super().check(problem)
        if self.averaging not in ("weighted", "half", None):
            raise ValueError(f'averaging={self.averaging!r} must be "weighted", "half" or None.')

    def kernels(self) -> tuple[str, ...]:
        return ("batch", "online")

    def init(self, problem: Problem) -> State:
        state = State(np.zeros(problem.dim), problem.truth.copy(), self.generator())
        self._begin(problem, state, passes=0)
        return state

    def _begin(self, problem: Problem, state: State, passes: int) -> None:
        """As if `passes` (0 or 1) passes lay behind, all at the present w = w(z)."""
        k = passes * problem.n
        v = problem.alpha * k * state.w
        weighted = self.averaging == "weighted"
        rates = np.ones(k) if weighted else 1.0 / np.arange(1, k + 1)
        state.clock[:3] = k, rates.sum(), float(weighted)
        steps = k * (k + 1) / 2 if weighted else k
        state.lag = np.empty(0)
        if self.averaging is not None:
            state.lag = state.clock[1] * v - problem.alpha * steps * state.w
        nothing = (np.zeros_like(v), 0.0)
        state.extra = {
            "v": v,
            "visits": np.full(problem.n, passes, dtype=np.int64),
            "averaging": self.averaging,
            "before": nothing,
            "since": nothing,
        }

    def _prepare(self, problem: Problem, state: State) -> None:
        """Go on from any dual point, such as another solver's or that of an interrupted pass."""
        known = state.extra.get("averaging", "none") == self.averaging and "v" in state.extra
        if known and np.ptp(state.extra["visits"]) == 0:
            v, k = state.extra["v"], state.clock[0]
            known = k > 0 and np.allclose(v, problem.alpha * k * state.w, rtol=1e-6, atol=1e-9)
        else:
            known = False
        if not known:
            self._begin(problem, state, passes=1)

    def _adopt(self, problem: Problem, state: State) -> None:
        super()._adopt(problem, state)
        self._prepare(problem, state)

    def epoch(self, problem: Problem, state: State) -> None:
        from maxmargin.kernels.online import score_scaled, subgradient_pass, subgradient_step

        order = state.rng.permutation(problem.n)
        kernel = problem.structure.kernel("maximize")
        space = problem.space()
        v, visits = state.extra["v"], state.extra["visits"]
        rest = (problem.truth, v, state.z, visits, state.lag, state.clock)
        if kernel is not None:
            subgradient_pass(problem.blocks, space, kernel, order, problem.alpha, *rest)
        else:
            for i in order:
                k = state.clock[0]
                scale = 1.0 / (problem.alpha * k) if k else 0.0
                parts = score_scaled(problem.blocks, i, v, scale, space)
                problem.answer(i, space, parts)
                subgradient_step(problem.blocks, i, space, *rest)
        state.n_oracle += problem.n
        np.divide(v, problem.alpha * state.clock[0], out=state.w)
        if self.averaging == "half" and _is_power_of_two(state.epoch + 1):
            state.extra["before"] = state.extra["since"]
            state.extra["since"] = (self._sum(state), state.clock[0])

    def _sum(self, state: State) -> np.ndarray:
        """Alpha times the sum of rho_k w_k over all steps so far."""
        return state.clock[1] * state.extra["v"] - state.lag

    def candidates(self, problem: Problem, state: State) -> list[np.ndarray]:
        k = state.clock[0]
        if self.averaging is None or k == 0:
            return [state.w]
        total, steps = self._sum(state), k * (k + 1) / 2
        if self.averaging == "half":
            before, start = state.extra["before"]
            total, steps = total - before, k - start
        return [state.w, total / (problem.alpha * steps)]

    def settle(self, problem: Problem, state: State) -> None:
        state.w[:] = problem.weights(state.z)  # an interrupted pass has moved z, not yet w


def _is_power_of_two(n: int) -> bool:
    return n & (n - 1) == 0
