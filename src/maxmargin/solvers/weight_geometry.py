"""How the saddle-point solvers measure and move w: by Euclidean or by entropic steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.domains import Domain, L1Ball
from maxmargin.problem import Problem


class EuclideanWeights:
    """d(w, w') = |w - w'|^2 / (2 ratio); a point is w itself."""

    def __init__(self, domain: Domain, ratio: float):
        self.domain, self.ratio = domain, ratio

    def start(self, w: np.ndarray) -> np.ndarray:
        return self.domain.project(w)

    def step(self, point: np.ndarray, slope: np.ndarray, eta: float) -> np.ndarray:
        """The w that maximises eta slope . w - d(point, w)."""
        return self.domain.project(point + (eta * self.ratio) * slope)

    def weights(self, point: np.ndarray) -> np.ndarray:
        return point

    def norm(self, problem: Problem, steps: int = 100) -> float:
        """The norm of w -> F^T w at ratio 1, by so many power iterations."""
        return operator_norm(problem, steps)

    def scaled(self, norm: float, alpha: float) -> tuple[float, float]:
        """That norm, and the one of the penalty's gradient, as this geometry measures them."""
        return float(np.sqrt(self.ratio) * norm), alpha * self.ratio

    def squared(self, moved: np.ndarray) -> float:
        """|moved|^2 as the geometry measures it."""
        return float(moved @ moved) / self.ratio

    def squared_dual(self, slope: np.ndarray) -> float:
        """The square of the dual norm."""
        return float(slope @ slope) * self.ratio

    def reach(self, radius: float, start: np.ndarray) -> float:
        """The largest d(start, w) for |w| <= radius."""
        return (radius + float(np.linalg.norm(start))) ** 2 / (2 * self.ratio)


class EntropicWeights:
    """w = radius (v+ - v-) in an l1 ball; d is the relative entropy of (v0, v+, v-), / ratio.

    A point is the vector of potentials q: v0 ~ 1, v+ ~ exp(q), v- ~ exp(-q). It starts at the
    centre, q = 0.
    """

    def __init__(self, domain: L1Ball, ratio: float):
        self.domain, self.ratio = domain, ratio

    def start(self, w: np.ndarray) -> np.ndarray:
        return np.zeros_like(w)

    def step(self, point: np.ndarray, slope: np.ndarray, eta: float) -> np.ndarray:
        return point + (eta * self.ratio * self.domain.radius) * slope

    def weights(self, point: np.ndarray) -> np.ndarray:
        return self.domain.from_potentials(point)

    def norm(self, problem: Problem, steps: int = 100) -> float:
        """|.|_1 on v, Euclidean on z: the longest row of F, so no power iteration."""
        from maxmargin.kernels.saddle import square_rows

        rows = np.zeros(problem.dim)
        square_rows(problem.blocks, rows)
        return float(self.domain.radius * np.sqrt(rows.max(initial=0.0)))

    def scaled(self, norm: float, alpha: float) -> tuple[float, float]:
        return float(np.sqrt(self.ratio) * norm), alpha * self.ratio * self.domain.radius**2

    def squared(self, moved: np.ndarray) -> float:
        return float(np.abs(moved).sum() / self.domain.radius) ** 2 / self.ratio

    def squared_dual(self, slope: np.ndarray) -> float:
        return float(np.abs(slope).max() * self.domain.radius) ** 2 * self.ratio

    def reach(self, radius: float, start: np.ndarray) -> float:
        return float(np.log(2 * len(start) + 1)) / self.ratio


Weights = Any  # EuclideanWeights | EntropicWeights


def operator_norm(problem: Problem, max_steps: int = 100, tol: float = 1e-3) -> float:
    """|F Omega^(1/2)|_2, the largest singular value, by power iteration (from below).

    Begins at random and at the weight whose features are largest, and takes the larger result; a
    random start alone may miss one large feature among very many. Stops when a step changes it by
    less than tol, relatively.
    """
    from maxmargin.kernels.saddle import square_rows

    rows = np.zeros(problem.dim)
    square_rows(problem.blocks, rows)
    largest = np.zeros(problem.dim)
    largest[np.argmax(rows)] = 1.0
    any_way = np.random.default_rng(0).standard_normal(problem.dim)
    starts = (any_way / np.linalg.norm(any_way), largest)
    return max(_power_iteration(problem, x, max_steps, tol) for x in starts)


def _power_iteration(problem: Problem, x: np.ndarray, max_steps: int, tol: float) -> float:
    from maxmargin.kernels.saddle import gram_range

    space, value = problem.space(), 0.0
    for _ in range(max_steps):
        image = np.zeros(problem.dim)
        gram_range(problem.blocks, space, 0, problem.n, x, image)
        found = float(np.linalg.norm(image))
        if found == 0.0:
            return 0.0
        x = image / found
        if abs(found - value) <= tol * found:
            return float(np.sqrt(found))
        value = found
    return float(np.sqrt(value))
