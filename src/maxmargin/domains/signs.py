"""Weights whose sign is known beforehand."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.domains.base import Domain, Limits, as_indices, check_indices


class Signs(Domain):
    """Weights of given signs: `w_k >= 0` for k in `positive`, `w_k <= 0` for k in `negative`.

    The other weights are free.

    Parameters
    ----------
    positive, negative : array_like of int, default=()
        Numbers of the weights.
    """

    def __init__(self, positive: Any = (), negative: Any = ()):
        self.positive = positive
        self.negative = negative

    def check(self, dim: int) -> None:
        up = check_indices("positive", self.positive, dim)
        both = np.intersect1d(up, check_indices("negative", self.negative, dim))
        if len(both):
            raise ValueError(f"weight {both[0]} is said to be both positive and negative.")

    @property
    def is_cone(self) -> bool:
        return True

    def _signed(self, dim: int) -> tuple[np.ndarray, np.ndarray]:
        return as_indices(self.positive), as_indices(self.negative)

    def limits(self, dim: int) -> Limits:
        low, high = np.full(dim, -np.inf), np.full(dim, np.inf)
        up, down = self._signed(dim)
        low[up], high[down] = 0.0, 0.0
        return Limits(low, high, np.inf)

    def project(self, w: np.ndarray) -> np.ndarray:
        up, down = self._signed(len(w))
        w = w.copy()
        w[up] = np.maximum(w[up], 0.0)
        w[down] = np.minimum(w[down], 0.0)
        return w

    def _argmin_linear(self, gradient: np.ndarray) -> np.ndarray | None:
        return None if self.project(-gradient).any() else np.zeros_like(gradient)


class NonNegative(Signs):
    """Non-negative weights: `w_k >= 0` for k in `indices`.

    Parameters
    ----------
    indices : array_like of int, default=None
        Numbers of the weights; None means all.
    """

    def __init__(self, indices: Any = None):
        self.indices = indices

    def check(self, dim: int) -> None:
        if self.indices is not None:
            check_indices("indices", self.indices, dim)

    def _signed(self, dim: int) -> tuple[np.ndarray, np.ndarray]:
        own = np.arange(dim) if self.indices is None else as_indices(self.indices)
        return own, as_indices(())
