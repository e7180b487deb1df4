"""Models whose intervals of alpha follow one another without a hole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.paths.certificate import Certificate
from maxmargin.problem import Problem
from maxmargin.result import Result
from maxmargin.solvers import BCFW

#: how much of its expected reach a model is trusted to have upwards
TRUST = 0.8


@dataclass(frozen=True)
class Piece:
    """A model, what it proves, the alphas it stands for, and what it cost."""

    w: np.ndarray
    certificate: Certificate
    alpha: float
    low: float
    high: float
    n_epochs: int = 0
    n_oracle: int = 0
    seconds: float = 0.0

    @property
    def gap_above(self) -> float:
        """The relative gap at `high`; at infinity, where w = 0 is the optimum, 0."""
        return self.certificate.relative_gap(self.high) if np.isfinite(self.high) else 0.0


class Pieces:
    """Pieces from large alpha to small, found one after the other.

    A model is solved somewhat below the end of the last one: far enough for its interval to be
    used on both sides, near enough for the two to overlap. If they do not, it is solved at the end
    of the last one, where nothing can be missed.

    model : the estimator whose problem it is, for warm starts. eps : to which the pieces are good.
    stuck : why the end was not reached; empty if it was.
    """

    def __init__(self, model: Any, problem: Problem, engine: BCFW, eps: float):
        self.model, self.problem, self.engine, self.eps = model, problem, engine, eps
        self.found: list[Piece] = []
        self.stuck = ""
        self._cost = np.zeros(3)

    def add_zero(self, certificate: Certificate, low: float, high: float) -> None:
        """The first piece, w = 0, in closed form."""
        alpha = low if low > 0 else min(high, 1.0)
        w = np.zeros(self.problem.dim)
        self.found.append(Piece(w, certificate, alpha, low, high))

    def down_to(self, top: float, end: float) -> None:
        """Add pieces until `end` is reached, or say why not."""
        stretch = 1.0
        low = self.found[-1].low if self.found else top
        while not self.stuck and (not self.found or low > end):
            alpha = max(low / stretch, end)
            span = self._solved(alpha)
            if span is not None and span[1] < low:
                alpha = low
                span = self._solved(alpha)
            if span is None or not (span[0] < low or low == end):
                self.stuck = self._why(alpha)
                return
            self._add(alpha, max(min(span[0], low), end), low)
            stretch = (min(span[1], 1e3 * alpha) / alpha) ** TRUST
            low = self.found[-1].low

    def _solved(self, alpha: float) -> tuple[float, float] | None:
        """Solve at alpha; where the model that is found is good enough."""
        self.problem.alpha = alpha
        state = self.model._last_state(self.problem)
        result = self.engine.run(self.problem, state)
        self.model.result_ = result
        self._cost += (result.n_epochs, result.state.n_oracle, result.state.seconds)
        return self._certificate(result).interval(self.eps)

    def _certificate(self, result: Result) -> Certificate:
        w = result.w
        hinge = max(result.primal - self.problem.alpha / 2 * float(w @ w), 0.0)
        return Certificate.of(self.problem, w, result.state.z, hinge)

    def _add(self, alpha: float, low: float, high: float) -> None:
        result, (epochs, oracle, seconds) = self.model.result_, self._cost
        self.found.append(
            Piece(
                result.w.copy(),
                self._certificate(result),
                alpha,
                low,
                high,
                int(epochs),
                int(oracle),
                float(seconds),
            )
        )
        self._cost = np.zeros(3)

    def _why(self, alpha: float) -> str:
        result = self.model.result_
        return (
            f"{result.n_epochs} epochs at alpha {alpha:.4g} left a gap of"
            f" {100 * result.relative_gap:.3g} % ({result.status.value})"
        )
