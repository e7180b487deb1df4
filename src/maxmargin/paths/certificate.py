"""What one pair (w, z) proves at every alpha, and over which alphas that is enough."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.problem import Problem

#: steps towards the best mixture of outputs of the greatest loss, and when another one pays
ROUNDS = 30
ENOUGH = 0.95


@dataclass(frozen=True)
class Certificate:
    """Objective of w and bound of z as functions of alpha.

    With A = |w|^2 / 2, H the weighted sum of hinges at w, l the weighted loss of z, and
    B = |P(-g(z))|^2 / 2, P being the projection on the domain, which is a cone (R^d: P(v) = v):

        P(alpha) = alpha A + H,       D(alpha) = max over 0 <= t <= 1 of  t l - t^2 B / alpha.

    D is the dual value of y + t (z - y), the best on the line between truth and z; t = 1 where
    alpha >= 2 B / l, else t = alpha l / (2 B). P is linear. D is concave: l - B / alpha where
    t = 1, and on the left of that alpha l^2 / (4 B), which meets it with the same value and slope.

    Attributes: A, H, l, B as `half_norm`, `hinge`, `loss`, `half_slope`.
    """

    half_norm: float
    hinge: float
    loss: float
    half_slope: float

    @classmethod
    def of(cls, problem: Problem, w: np.ndarray, z: np.ndarray, hinge: float) -> Certificate:
        direction = problem.domain.project(-problem.loss_gradient(z))
        loss = max(float(problem.sample_weight @ problem.loss_at(z)), 0.0)
        return cls(float(w @ w) / 2, hinge, loss, float(direction @ direction) / 2)

    def primal(self, alpha: float) -> float:
        return alpha * self.half_norm + self.hinge

    def dual(self, alpha: float) -> float:
        if self.half_slope == 0.0:
            return self.loss
        if alpha * self.loss >= 2 * self.half_slope:
            return self.loss - self.half_slope / alpha
        return alpha * self.loss**2 / (4 * self.half_slope)

    def gap(self, alpha: float) -> float:
        return self.primal(alpha) - self.dual(alpha)

    def relative_gap(self, alpha: float) -> float:
        primal = self.primal(alpha)
        return self.gap(alpha) / primal if primal > 0 else 0.0

    def interval(self, eps: float) -> tuple[float, float] | None:
        """The alphas where gap <= eps * primal, or None if there are none.

        They are those with (1 - eps) P(alpha) - D(alpha) <= 0, a convex function: an interval.
        """
        share, turn = 1.0 - eps, self._turn()
        a, b = share * self.half_norm, self.half_slope
        lead = self.loss - share * self.hinge
        if a == 0.0 and (self.hinge == 0.0 or (b == 0.0 and lead >= 0)):
            return 0.0, float("inf")
        if lead <= 0:  # D is l at most
            return None
        if b == 0.0:
            return 0.0, lead / a
        if a == 0.0:
            low, high = b / lead, float("inf")
        else:
            square = lead**2 - 4 * a * b
            if square < 0:
                return None
            high = (lead + square**0.5) / (2 * a)
            low = b / (a * high)
        if high < turn:
            return None
        left = self._left(share, turn)
        return max(low, turn) if left is None else left, high

    def _turn(self) -> float:
        """Where t becomes 1."""
        return 2 * self.half_slope / self.loss if self.loss > 0 else 0.0

    def _left(self, share: float, turn: float) -> float | None:
        """The least such alpha below the turn, where P and D are both linear."""
        growth = self.loss**2 / (4 * self.half_slope) - share * self.half_norm
        low = share * self.hinge / growth if growth > 0 else float("inf")
        return low if low <= turn else None


def at_zero(problem: Problem, eps: float) -> tuple[Certificate, float]:
    """What w = 0 and outputs of the greatest loss prove, and above which alpha that is eps.

    At w = 0, H is the greatest loss L. For outputs z that have it, l = L too, so that w = 0 is
    within eps of the optimum wherever alpha >= B / (eps L): above that there is nothing to learn.
    Mostly several outputs have the greatest loss (any wrong label is as wrong as another). Of all
    their mixtures that with the least B proves most: a few steps of batch Frank-Wolfe go there.
    """
    z, w = np.empty_like(problem.truth), np.zeros(problem.dim)
    weight = problem.sample_weight
    hinges = np.maximum(problem.apply("maximize", w, point=problem.truth, out=z), 0.0)
    worst = float(weight @ hinges)
    with np.errstate(over="ignore"):
        found = Certificate.of(problem, w, z, worst)
    if not np.isfinite(found.half_slope):
        raise ValueError("the features are too large to be squared; scale them down.")
    least = _least(found, eps)
    s = np.empty_like(z)
    for _ in range(ROUNDS):
        if least == 0.0:
            break
        towards = problem.domain.project(-problem.loss_gradient(z)) / least
        gap = float(weight @ problem.apply("maximize", towards, point=z, out=s))
        step = problem.features(s - z)
        curve = float(step @ step) / least
        z += min(gap / curve, 1.0) * (s - z) if curve > 0 else s - z
        better = Certificate.of(problem, w, z, worst)
        before, least = least, min(least, _least(better, eps))
        if least < before:
            found = better
        if least > ENOUGH * before:
            break
    return found, least


def _least(zero: Certificate, eps: float) -> float:
    span = zero.interval(eps)
    return float("inf") if span is None else span[0]
