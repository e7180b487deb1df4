"""Different domains for different weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from maxmargin.domains.base import Domain, Limits, as_indices, check_indices, check_limits


class Product(Domain):
    """Product of domains: each group of weights has its own; weights in no group are free.

    Parameters
    ----------
    groups : list of (array_like of int, Domain)
        Numbers of the weights of each group, and their domain; no weight may be in two groups.
    """

    def __init__(self, groups: Any):
        self.groups = groups

    def check(self, dim: int) -> None:
        seen = np.zeros(dim, dtype=bool)
        self._check_pairs()
        for g, (indices, domain) in enumerate(self.groups):
            own = check_indices(f"group {g}", indices, dim)
            if not isinstance(domain, Domain) or isinstance(domain, Product):
                raise TypeError(
                    f"group {g}: {domain!r} must be a Domain, such as L2Ball(1.0), and no Product;"
                    " name the groups of an inner product here."
                )
            domain.check(len(own))
            if not (domain.is_cone or np.isfinite(domain.max_norm(len(own)))):
                raise ValueError(
                    f"group {g}: a {type(domain).__name__} without bounds must be a cone; name"
                    " the weights that have bounds, others are free."
                )
            if seen[own].any():
                raise ValueError(f"group {g}: weight {own[seen[own]][0]} is in two groups.")
            seen[own] = True

    @property
    def is_cone(self) -> bool:
        return all(domain.is_cone for _, domain in self.groups)

    def _check_pairs(self) -> None:
        if not isinstance(self.groups, list | tuple):
            raise TypeError(f"groups={self.groups!r} must be a list of pairs (indices, Domain).")
        for g, group in enumerate(self.groups):
            if not isinstance(group, list | tuple) or len(group) != 2:
                raise TypeError(f"group {g}: {group!r} must be a pair (indices, Domain).")

    def _parts(self) -> Iterator[tuple[np.ndarray, Domain]]:
        for indices, domain in self.groups:
            yield as_indices(indices), domain

    def _free(self, dim: int) -> np.ndarray:
        free = np.ones(dim, dtype=bool)
        for own, _ in self._parts():
            free[own] = False
        return np.flatnonzero(free)

    def limits(self, dim: int) -> Limits | None:
        # of bounds only: a ball of some weights has a scale of its own
        low, high = np.full(dim, -np.inf), np.full(dim, np.inf)
        for own, domain in self._parts():
            found = check_limits(domain, len(own))
            if found is None or np.isfinite(found.radius):
                return None
            if len(found.low):
                low[own], high[own] = found.low, found.high
        return Limits(low, high, np.inf)

    def max_norm(self, dim: int) -> float:
        if len(self._free(dim)):
            return float("inf")
        return float(np.sqrt(sum(d.max_norm(len(own)) ** 2 for own, d in self._parts())))

    def project(self, w: np.ndarray) -> np.ndarray:
        out = w.copy()
        for own, domain in self._parts():
            out[own] = domain.project(w[own])
        return out

    def _argmin_linear(self, gradient: np.ndarray) -> np.ndarray | None:
        if gradient[self._free(len(gradient))].any():
            return None
        w = np.zeros_like(gradient)
        for own, domain in self._parts():
            found = domain._argmin_linear(gradient[own])
            if found is None:
                return None
            w[own] = found
        return w

    def argmin_linear(self, gradient: np.ndarray, alpha: float = 0.0) -> tuple[np.ndarray, float]:
        w, value = super().argmin_linear(gradient, alpha)
        if alpha == 0 and np.isfinite(value):  # each knows its own minimum best
            value = sum(domain.argmin_linear(gradient[own])[1] for own, domain in self._parts())
        return w, value

    def min_linear_within(self, gradient: np.ndarray, radius: float) -> float:
        # bounded groups as they are, all unbounded ones together within the radius
        total, steep = 0.0, float(np.sum(gradient[self._free(len(gradient))] ** 2))
        for own, domain in self._parts():
            if np.isfinite(domain.max_norm(len(own))):
                total += domain.min_linear_within(gradient[own], radius)
            else:  # a cone: its minimum at radius 1 is how steep it is
                steep += domain.min_linear_within(gradient[own], 1.0) ** 2
        return total - radius * float(np.sqrt(steep))
