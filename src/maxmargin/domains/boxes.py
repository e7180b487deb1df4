"""Weights between bounds, or of known values."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.domains.base import Domain, Limits, as_indices, check_indices


class Box(Domain):
    """Weights between bounds: `low <= w_k <= high` for k in `indices`; the others are free.

    0 need not be between them.

    Parameters
    ----------
    low, high : float or array_like, default=-inf and inf
        Bounds, one for all weights or one for each; they may be infinite.
    indices : array_like of int, default=None
        Numbers of the weights; None means all.
    """

    def __init__(self, low: Any = -np.inf, high: Any = np.inf, indices: Any = None):
        self.low = low
        self.high = high
        self.indices = indices

    def check(self, dim: int) -> None:
        if self.indices is not None:
            check_indices("indices", self.indices, dim)
        count = dim if self.indices is None else len(as_indices(self.indices))
        for name, given in self._given().items():
            found = np.asarray(given)
            if found.dtype.kind not in "iuf" or found.shape not in ((), (count,)):
                raise ValueError(f"{name} must be a number or {count} of them, found {found!r}.")
        low, high = self._bounds(dim)
        wrong = ~(low <= high) | (low == np.inf) | (high == -np.inf)  # also NaN
        if wrong.any():
            k = int(np.flatnonzero(wrong)[0])
            names = ", ".join(self._given())
            raise ValueError(f"{names}: weight {k} cannot be between {low[k]} and {high[k]}.")

    def _given(self) -> dict[str, Any]:
        """Bounds by the names of their options."""
        return {"low": self.low, "high": self.high}

    def _bounds(self, dim: int) -> tuple[np.ndarray, np.ndarray]:
        low, high = np.full(dim, -np.inf), np.full(dim, np.inf)
        own = slice(None) if self.indices is None else as_indices(self.indices)
        given = list(self._given().values())
        low[own], high[own] = given[0], given[-1]
        return low, high

    def limits(self, dim: int) -> Limits:
        return Limits(*self._bounds(dim), np.inf)

    def max_norm(self, dim: int) -> float:
        return float(np.linalg.norm(np.maximum(*map(np.abs, self._bounds(dim)))))

    def project(self, w: np.ndarray) -> np.ndarray:
        return np.clip(w, *self._bounds(len(w)))

    def _ends(self, gradient: np.ndarray) -> np.ndarray:
        """Where each coordinate alone is least, infinite where it falls for ever."""
        low, high = self._bounds(len(gradient))
        still = np.clip(0.0, low, high)
        return np.where(gradient > 0, low, np.where(gradient < 0, high, still))

    def _argmin_linear(self, gradient: np.ndarray) -> np.ndarray | None:
        found = self._ends(gradient)
        return found if np.isfinite(found).all() else None

    def min_linear_within(self, gradient: np.ndarray, radius: float) -> float:
        ends = self._ends(gradient)
        bounded = np.isfinite(ends)
        steep = float(np.linalg.norm(gradient[~bounded]))
        return float(gradient[bounded] @ ends[bounded]) - radius * steep


class Fixed(Box):
    """Weights of known values: `w_k = value_k` for k in `indices`; the others are free.

    Parameters
    ----------
    indices : array_like of int
        Numbers of the weights.
    values : float or array_like, default=0.0
        Their values, one for all or one for each.
    """

    def __init__(self, indices: Any, values: Any = 0.0):
        self.indices = indices
        self.values = values

    def _given(self) -> dict[str, Any]:
        return {"values": self.values}
