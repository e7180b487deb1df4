"""Balls of the Euclidean norm and of the sum of absolute values."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from maxmargin.domains.base import Domain, Limits, RealSpace, check_limits
from maxmargin.domains.signs import Signs
from maxmargin.validation.options import Bounds, check_options

Radius = Annotated[
    float,
    Bounds(0, open_low=True),
    "A ball of radius 0 holds only w = 0; for no bound at all, give domain=None.",
]


class _Ball(Domain):
    """|w| <= radius in some norm, with the signs of some weights given.

    Signs commute with the projection: what they cut off becomes zero, and a ball never turns a
    weight around.
    """

    def __init__(self, radius: Radius, signs: Any = None):
        self.radius = radius
        self.signs = signs

    def check(self, dim: int) -> None:
        check_options(self)
        if self.signs is not None:
            self._check_signs()
            self.signs.check(dim)

    def _check_signs(self) -> None:
        if not isinstance(self.signs, Signs):
            raise TypeError(f"signs={self.signs!r} must be domains.Signs(...) or None.")

    def max_norm(self, dim: int) -> float:
        return float(self.radius)

    def _signed(self, w: np.ndarray) -> np.ndarray:
        return w if self.signs is None else self.signs.project(w)


class L2Ball(_Ball):
    """Euclidean ball `|w| <= radius`, optionally intersected with a cone.

    Parameters
    ----------
    radius : float
        Radius of the ball, above 0; gamma in the papers.
    signs : Signs or other cone, default=None
        Cone to intersect with, such as `Signs`, `SubmodularCone` or a `Product` of cones: the
        projection on the cone, scaled to the radius, is the projection on the intersection. None
        means no restriction.
    """

    def _check_signs(self) -> None:
        if not isinstance(self.signs, Domain) or not self.signs.is_cone:
            raise TypeError(
                f"signs={self.signs!r} must be domains.Signs(...) or another cone, or None."
            )

    def limits(self, dim: int) -> Limits | None:
        found = check_limits(RealSpace() if self.signs is None else self.signs, dim)
        return None if found is None else found._replace(radius=float(self.radius))

    def project(self, w: np.ndarray) -> np.ndarray:
        w = self._signed(w)
        norm = float(np.linalg.norm(w))
        return w * (self.radius / norm) if norm > self.radius else w.copy()

    def _argmin_linear(self, gradient: np.ndarray) -> np.ndarray:
        down = self._signed(-gradient)
        norm = float(np.linalg.norm(down))
        return down * (self.radius / norm) if norm > 0 else np.zeros_like(gradient)

    def argmin_linear(self, gradient: np.ndarray, alpha: float = 0.0) -> tuple[np.ndarray, float]:
        w, value = super().argmin_linear(gradient, alpha)
        if alpha == 0:
            # not gradient . w: of a gradient across the cone, w is rounding drawn out to the radius
            value = -float(self.radius) * float(np.linalg.norm(self._signed(-gradient)))
        return w, value


class L1Ball(_Ball):
    """Ball of the l1 norm, `sum_k |w_k| <= radius`, in which few weights differ from zero.

    Steps of solvers may be Euclidean or entropic.

    Parameters
    ----------
    radius : float
        Radius of the ball, above 0.
    signs : Signs, default=None
        Weights that must not be negative or positive; None means no restriction.
    """

    def project(self, w: np.ndarray) -> np.ndarray:
        w = self._signed(w)
        size = np.abs(w)
        if size.sum() <= self.radius:
            return w.copy()
        # measured from the largest entry, so that a small radius beside it loses no digits
        size -= size.max()
        ordered = np.sort(size)[::-1]
        # the largest entries that stay positive when all are lowered by the same amount
        level = (np.cumsum(ordered) - self.radius) / np.arange(1, len(w) + 1)
        count = int(np.flatnonzero(ordered > level)[-1])
        return np.sign(w) * np.maximum(size - level[count], 0.0)

    def _argmin_linear(self, gradient: np.ndarray) -> np.ndarray:
        down = self._signed(-gradient)
        w = np.zeros_like(gradient)
        if len(w):
            k = int(np.argmax(np.abs(down)))
            w[k] = self.radius * np.sign(down[k])
        return w

    def from_potentials(self, potential: np.ndarray) -> np.ndarray:
        """Return the w that maximises potential . w / radius + entropy of (v0, v+, v-).

        w = radius (v+ - v-) with (v0, v+, v-) on the simplex: `v0 ~ 1`, `v+ ~ exp(potential)`, `v-
        ~ exp(-potential)`, without those that `signs` excludes.

        Parameters
        ----------
        potential : ndarray of shape (n_weights,)
            Logarithms of the ratios `v+ / v0`.

        Returns
        -------
        ndarray of shape (n_weights,)
            Weights in the ball.
        """
        plus, minus, total, _ = self._exponentials(potential)
        return (plus - minus) * (self.radius / total)

    def log_total(self, potential: np.ndarray) -> float:
        """Return the log of the normalising sum of `from_potentials`, of 1 and all exponentials.

        Parameters
        ----------
        potential : ndarray of shape (n_weights,)
            Logarithms of the ratios `v+ / v0`.

        Returns
        -------
        float
            Logarithm of the sum.
        """
        _, _, total, high = self._exponentials(potential)
        return float(np.log(total) + high)

    def _exponentials(self, potential: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, float]:
        """exp(potential - high), exp(-potential - high), their sum and exp(-high), and high."""
        up = self._signed_mask(len(potential), 1.0)
        down = self._signed_mask(len(potential), -1.0)
        up_hill = np.where(up, potential, -np.inf)
        down_hill = np.where(down, -potential, -np.inf)
        # of those allowed only, so that never all of them vanish beside it
        high = max(np.max(up_hill, initial=0.0), np.max(down_hill, initial=0.0))
        plus, minus = np.exp(up_hill - high), np.exp(down_hill - high)
        return plus, minus, np.exp(-high) + plus.sum() + minus.sum(), float(high)

    def _signed_mask(self, dim: int, sign: float) -> np.ndarray:
        """Which weights may have the sign."""
        return self._signed(np.full(dim, sign)) != 0.0
