"""Sets of weights by their definitions: projections by bisection, minima by formulas."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

FINE = {"xtol": 1e-300, "rtol": 1e-15, "maxiter": 1000}


def into_ball(v, kind, radius):
    """The point of the ball nearest to v.

    By bisection on one number: the factor (l2), or how much of the largest entry stays (l1).
    """
    if np.linalg.norm(v, 2 if kind == "l2" else 1) <= radius:
        return v.copy()
    if kind == "l2":
        return v * brentq(lambda t: np.linalg.norm(t * v) - radius, 0.0, 1.0, **FINE)
    below = np.abs(v) - np.abs(v).max()

    def left(t):
        return np.maximum(below + t, 0.0)

    return np.sign(v) * left(brentq(lambda t: left(t).sum() - radius, 0.0, radius, **FINE))


@dataclass(frozen=True)
class WeightSet:
    """kind: "all", "nonnegative", or the ball "l2" or "l1" with its radius."""

    kind: str
    radius: float = np.inf

    def project(self, w):
        if self.kind == "nonnegative":
            return np.maximum(w, 0.0)
        return w.copy() if self.kind == "all" else into_ball(w, self.kind, self.radius)

    def lowest(self, slope, alpha):
        """The minimum of slope . w + alpha/2 |w|^2."""
        if alpha > 0:
            w = self.project(-slope / alpha)
            return slope @ w + alpha / 2 * (w @ w)
        if self.kind in ("l2", "l1"):
            return -self.radius * np.linalg.norm(slope, 2 if self.kind == "l2" else np.inf)
        down = slope if self.kind == "all" else np.minimum(slope, 0.0)
        return -np.inf if down.any() else 0.0


class BoundedSet:
    """Each of n weights between bounds of its own around 0, some below and some above."""

    def __init__(self, n):
        rng = np.random.default_rng(0)
        self.low, self.high = rng.uniform([-0.08, 0.0], [0.01, 0.09], size=(n, 2)).T
        self.high = np.maximum(self.low, self.high)

    def project(self, w):
        return np.minimum(np.maximum(w, self.low), self.high)


@dataclass(frozen=True)
class EdgeSet:
    """Weights of edges from `start` on: not negative, or tables of four that are submodular."""

    start: int
    tables: bool = False

    def project(self, w):
        w = w.copy()
        if not self.tables:
            w[self.start :] = np.maximum(w[self.start :], 0.0)
            return w
        normal = np.array([1.0, -1.0, -1.0, 1.0])
        for k in range(self.start, len(w), 4):
            excess = normal @ w[k : k + 4]
            if excess < 0:
                w[k : k + 4] -= excess / 4 * normal
        return w
