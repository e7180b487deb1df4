"""Weights of submodular tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.domains.base import Domain, as_indices, check_indices

#: what is added up for the labels 00, 01, 10, 11
_SIGNS = np.array([1.0, -1.0, -1.0, 1.0])


class SubmodularCone(Domain):
    """Tables of four weights with `w[k, 00] + w[k, 11] >= w[k, 01] + w[k, 10]`; others are free.

    Parameters
    ----------
    indices : array_like of int, default=None
        Numbers of the weights of all tables, each table in the order 00, 01, 10, 11; None means all
        weights.
    """

    def __init__(self, indices: Any = None):
        self.indices = indices

    def check(self, dim: int) -> None:
        own = self._own(dim) if self.indices is None else self.indices
        if len(check_indices("indices", own, dim)) % 4:
            raise ValueError("indices must name four weights for each table: 00, 01, 10, 11.")

    @property
    def is_cone(self) -> bool:
        return True

    def _own(self, dim: int) -> np.ndarray:
        return np.arange(dim) if self.indices is None else as_indices(self.indices)

    def project(self, w: np.ndarray) -> np.ndarray:
        w, own = w.copy(), self._own(len(w))
        tables = w[own].reshape(-1, 4)
        lack = np.maximum(-(tables @ _SIGNS), 0.0)
        w[own] = (tables + lack[:, None] / 4 * _SIGNS).ravel()
        return w

    def _argmin_linear(self, gradient: np.ndarray) -> np.ndarray | None:
        small = 1e-12 * float(np.abs(gradient).max(initial=0.0))
        return None if (np.abs(self.project(-gradient)) > small).any() else np.zeros_like(gradient)
