"""Extragradient (Korpelevich 1976)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from maxmargin.problem import Problem
from maxmargin.solvers.saddle.base import SaddleSolver, SaddleState
from maxmargin.validation.options import Count, CountOrZero, NonNegativeOrInf, Positive, Ratio, Seed

_NU = 0.9  # how near to 1 / L a step may be
_MANY = 60  # shorter steps in a row: by then a step is 1e-11 of the first


class ExtragradientState(SaddleState):
    """State of `Extragradient`, of what all saddle-point solvers have."""


class Extragradient(SaddleSolver[ExtragradientState]):
    """Find the saddle point of L(w, z) by predicting a step and correcting it.

    The step is ::

        u' = P(u - beta T(u)),   u+ = P(u - beta T(u')),   T = (gradient in w, -gradient in z)

    The last iterate is the answer; it converges, linearly in the end. With `step="adaptive"`, a
    prediction for which `r = beta |T(u) - T(u')| / |u - u'|` is above 0.9 is made again with beta
    (2/3) min(1, 1/r); where r stays below 0.4, the next beta is longer by half.

    Parameters
    ----------
    step : float or {"norm", "adaptive"}, default="adaptive"
        Step length: "adaptive", "norm" (1 / L by power iteration) or a number.
    ratio : float or "auto", default="auto"
        Step length in w relative to that in z; see `SaddleSolver`.

    References
    ----------
    Taskar, Lacoste-Julien, Jordan, NIPS 2005.
    """

    name: ClassVar[str] = "extragradient"
    state_class = ExtragradientState
    summary: ClassVar[str] = (
        "Extragradient: steps in weights and outputs that are predicted, then corrected."
    )

    def __init__(
        self,
        step: Positive | Literal["norm", "adaptive"] = "adaptive",
        ratio: Ratio | Literal["auto"] = "auto",
        max_epochs: CountOrZero | None = None,
        tol: NonNegativeOrInf | None = None,
        random_state: Seed = None,
        check_every: Count | None = None,
    ):
        self.step = step
        self.ratio = ratio
        self.max_epochs = max_epochs
        self.tol = tol
        self.random_state = random_state
        self.check_every = check_every

    def init(self, problem: Problem) -> ExtragradientState:
        state = ExtragradientState(np.zeros(problem.dim), problem.truth_copy(), self.generator())
        self.begin(problem, state)
        return state

    def epoch(self, problem: Problem, state: ExtragradientState) -> None:
        alpha, geometry = problem.alpha, self.weight_geometry(problem, state.ratio)
        z, pointers = state.z, state.warm_pointers
        predicted, corrected = np.empty_like(z), np.empty_like(z)
        for _ in range(_MANY):
            beta = state.step
            w = geometry.step(state.w, -(alpha * state.w + state.loss_gradient), beta)
            gradient, sums_of_pass = self.ascend(
                problem, state.w, beta, z, predicted, state.warm_v, pointers
            )
            last, corrections = self.ascend(
                problem, w, beta, z, corrected, state.warm_u, pointers, reference=state.w
            )
            state.n_project += 2 * problem.n
            moved = w - state.w
            back = geometry.squared_dual(alpha * moved + gradient - state.loss_gradient)
            whole = geometry.squared(moved) + sums_of_pass[0]
            r = beta * float(np.sqrt((back + corrections[1]) / whole)) if whole > 0 else 0.0
            if self.step != "adaptive" or r <= _NU:
                break
            state.step = beta * (2.0 / 3.0) * min(1.0, 1.0 / r)
        state.w = geometry.step(state.w, -(alpha * w + gradient), beta)
        state.z[:] = corrected
        state.loss_gradient, state.loss = last, float(corrections[3])
        state.residual = float(max(sums_of_pass[2], corrections[2]))
        if self.step == "adaptive" and r < 0.4 and whole > 0:  # at rest, it would grow for ever
            state.step = 1.5 * beta

    def _finalize(self, problem: Problem, state: ExtragradientState) -> None:
        # nothing: gradient and loss are sums of the last pass, in which no rounding adds up
        pass
