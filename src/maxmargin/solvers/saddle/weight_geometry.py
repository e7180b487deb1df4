"""How the saddle-point solvers measure and move w: by Euclidean or by entropic steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin._numba.passes.saddle import gram_range, square_rows
from maxmargin.domains import Domain, L1Ball, Product, RealSpace
from maxmargin.domains.base import as_indices
from maxmargin.features.base import feature_values
from maxmargin.problem import Problem


class EuclideanWeights:
    """d(w, w') = |w - w'|^2 / (2 ratio); a point is w itself."""

    def __init__(self, domain: Domain, ratio: float):
        self.domain, self.ratio = domain, ratio

    def start(self, w: np.ndarray) -> np.ndarray:
        return self.domain.project(w)

    def step(self, point: np.ndarray, gradient: np.ndarray, eta: float) -> np.ndarray:
        """The w that maximises eta gradient . w - d(point, w)."""
        return self.domain.project(point + (eta * self.ratio) * gradient)

    def weights(self, point: np.ndarray) -> np.ndarray:
        return point

    def conjugate(self, point: np.ndarray, gradient: np.ndarray) -> float:
        """The largest gradient . w - d(point, w)."""
        w = self.step(point, gradient, 1.0)
        return float(gradient @ w - (w - point) @ (w - point) / (2 * self.ratio))

    def norm(
        self,
        problem: Problem,
        steps: int = 100,
        weight: np.ndarray | None = None,
        own: np.ndarray | None = None,
    ) -> float:
        """The norm of w -> F^T w at ratio 1, by this many power iterations.

        weight : of the samples, if not the problem's. own : the numbers of the weights, if not all.
        """
        return operator_norm(problem, steps, weight=weight, own=own)

    def column_norms(self, problem: Problem) -> np.ndarray | None:
        """|F_p| in the dual norm, for each part p of all samples."""
        return np.sqrt(_by_part(problem, np.add, feature_values(problem.packed) ** 2))

    def scaled(self, norm: float, alpha: float) -> tuple[float, float]:
        """That norm, and the one of the penalty's gradient, as this geometry measures them."""
        return float(np.sqrt(self.ratio) * norm), alpha * self.ratio

    def squared(self, moved: np.ndarray) -> float:
        """|moved|^2 as the geometry measures it."""
        return float(moved @ moved) / self.ratio

    def squared_dual(self, gradient: np.ndarray) -> float:
        """The square of the dual norm."""
        return float(gradient @ gradient) * self.ratio

    def max_distance(self, radius: float, start: np.ndarray) -> float:
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

    def step(self, point: np.ndarray, gradient: np.ndarray, eta: float) -> np.ndarray:
        return point + (eta * self.ratio * self.domain.radius) * gradient

    def weights(self, point: np.ndarray) -> np.ndarray:
        return self.domain.from_potentials(point)

    def conjugate(self, point: np.ndarray, gradient: np.ndarray) -> float:
        ahead = self.step(point, gradient, 1.0)
        return (self.domain.log_total(ahead) - self.domain.log_total(point)) / self.ratio

    def norm(
        self,
        problem: Problem,
        steps: int = 100,
        weight: np.ndarray | None = None,
        own: np.ndarray | None = None,
    ) -> float:
        """|.|_1 on v, Euclidean on z: the longest row of F, so no power iteration."""
        rows = np.zeros(problem.dim)
        square_rows(_weighted(problem, weight), rows)
        rows = rows if own is None else rows[own]
        return float(self.domain.radius * np.sqrt(rows.max(initial=0.0)))

    def column_norms(self, problem: Problem) -> np.ndarray | None:
        sizes = _by_part(problem, np.maximum, np.abs(feature_values(problem.packed)))
        return self.domain.radius * sizes

    def scaled(self, norm: float, alpha: float) -> tuple[float, float]:
        return float(np.sqrt(self.ratio) * norm), alpha * self.ratio * self.domain.radius**2

    def squared(self, moved: np.ndarray) -> float:
        return float(np.abs(moved).sum() / self.domain.radius) ** 2 / self.ratio

    def squared_dual(self, gradient: np.ndarray) -> float:
        return float(np.abs(gradient).max() * self.domain.radius) ** 2 * self.ratio

    def max_distance(self, radius: float, start: np.ndarray) -> float:
        return float(np.log(2 * len(start) + 1)) / self.ratio


class BlockWeights:
    """Each group of a Product has steps of its own: entropic in L1Balls, Euclidean elsewhere.

    A point has potentials where steps are entropic, and w elsewhere. d is the sum of all groups',
    an L1Ball's at such a ratio that its farthest point is as far as by Euclidean steps.
    """

    def __init__(self, domain: Product, dim: int, ratio: float):
        self.ratio = ratio
        groups: list[tuple[np.ndarray, Domain]] = [(as_indices(i), d) for i, d in domain.groups]
        taken = np.concatenate([own for own, _ in groups])
        groups.append((np.setdiff1d(np.arange(dim), taken), RealSpace()))
        self.groups = [(own, self._geometry(d, len(own), ratio)) for own, d in groups if len(own)]

    def _geometry(self, domain: Domain, dim: int, ratio: float) -> Weights:
        if not isinstance(domain, L1Ball):
            return EuclideanWeights(domain, ratio)
        return EntropicWeights(domain, ratio * 2 * float(np.log(2 * dim + 1)) / domain.radius**2)

    def _joined(self, dim: int, values: Callable) -> np.ndarray:
        out = np.zeros(dim)
        for own, geometry in self.groups:
            out[own] = values(own, geometry)
        return out

    def start(self, w: np.ndarray) -> np.ndarray:
        return self._joined(len(w), lambda own, g: g.start(w[own]))

    def step(self, point: np.ndarray, gradient: np.ndarray, eta: float) -> np.ndarray:
        return self._joined(len(point), lambda own, g: g.step(point[own], gradient[own], eta))

    def weights(self, point: np.ndarray) -> np.ndarray:
        return self._joined(len(point), lambda own, g: g.weights(point[own]))

    def conjugate(self, point: np.ndarray, gradient: np.ndarray) -> float:
        return sum(g.conjugate(point[own], gradient[own]) for own, g in self.groups)

    def norm(self, problem: Problem, steps: int = 100, weight: np.ndarray | None = None) -> float:
        """At most the root of the sum of the groups' squares."""
        norms = [g.scaled(g.norm(problem, steps, weight, own), 0.0)[0] for own, g in self.groups]
        return float(np.linalg.norm(norms) / np.sqrt(self.ratio))

    def column_norms(self, problem: Problem) -> np.ndarray | None:
        return None

    def scaled(self, norm: float, alpha: float) -> tuple[float, float]:
        most = max(g.scaled(0.0, alpha)[1] for _, g in self.groups)
        return float(np.sqrt(self.ratio) * norm), most

    def squared(self, moved: np.ndarray) -> float:
        return sum(g.squared(moved[own]) for own, g in self.groups)

    def squared_dual(self, gradient: np.ndarray) -> float:
        return sum(g.squared_dual(gradient[own]) for own, g in self.groups)

    def max_distance(self, radius: float, start: np.ndarray) -> float:
        return sum(
            g.max_distance(min(radius, g.domain.max_norm(len(own))), start[own])
            for own, g in self.groups
        )


Weights = Any  # EuclideanWeights | EntropicWeights | BlockWeights


def operator_norm(
    problem: Problem,
    max_steps: int = 100,
    tol: float = 1e-3,
    weight: np.ndarray | None = None,
    own: np.ndarray | None = None,
) -> float:
    """|F Omega^(1/2)|_2, the largest singular value, by power iteration (from below).

    Begins at random and at the weight whose features are largest, and takes the larger result; a
    random start alone may miss one large feature among very many. Stops when a step changes it by
    less than tol, relatively. weight: Omega, if not that of the problem; own: the numbers of
    the weights, if not all.
    """
    rows, packed = np.zeros(problem.dim), _weighted(problem, weight)
    square_rows(packed, rows)
    on = np.ones(problem.dim)
    if own is not None:
        on = np.zeros(problem.dim)
        on[own] = 1.0
    largest = np.zeros(problem.dim)
    largest[np.argmax(rows * on)] = 1.0
    any_way = np.random.default_rng(0).standard_normal(problem.dim) * on
    starts = (any_way / np.linalg.norm(any_way), largest)
    return max(_power_iteration(problem, packed, x, on, max_steps, tol) for x in starts)


def _power_iteration(
    problem: Problem, packed: Any, x: np.ndarray, on: np.ndarray, max_steps: int, tol: float
) -> float:
    workspace, value = problem.workspace(), 0.0
    for _ in range(max_steps):
        image = np.zeros(problem.dim)
        gram_range(packed, workspace, 0, problem.n, x, image)
        image *= on
        found = float(np.linalg.norm(image))
        if found == 0.0:
            return 0.0
        x = image / found
        if abs(found - value) <= tol * found:
            return float(np.sqrt(found))
        value = found
    return float(np.sqrt(value))


def _weighted(problem: Problem, weight: np.ndarray | None) -> Any:
    return problem.packed if weight is None else problem.packed._replace(weight=weight)


def _by_part(problem: Problem, join: np.ufunc, values: np.ndarray) -> np.ndarray:
    """Values of all features joined for each part; parts of one row have the same features."""
    packed = problem.packed
    rows = np.zeros(len(packed.width))
    join.at(rows, np.repeat(np.arange(len(rows)), np.diff(packed.indptr)), values)
    return np.repeat(rows, packed.width)
