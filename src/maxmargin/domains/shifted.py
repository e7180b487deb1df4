"""A domain that was moved."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.domains.base import Domain, Limits, check_limits


class Shifted(Domain):
    """All w + by for w in another domain; 0 need not be one of them.

    So weights with a prior stay where they must: what they differ by from the prior is in the
    domain, moved by minus the prior.

    Parameters
    ----------
    domain : Domain
        The domain that is moved.
    by : array_like of shape (n_weights,)
        How far.
    """

    def __init__(self, domain: Domain, by: Any):
        self.domain = domain
        self.by = by

    def check(self, dim: int) -> None:
        if np.shape(self.by) != (dim,) or not np.isfinite(self.by).all():
            raise ValueError(f"by has shape {np.shape(self.by)}, expected {dim} finite numbers.")
        self.domain.check(dim)

    def limits(self, dim: int) -> Limits | None:
        found = check_limits(self.domain, dim)
        if found is None or np.isfinite(found.radius) or not len(found.low):
            return None
        return Limits(found.low + self.by, found.high + self.by, np.inf)

    def max_norm(self, dim: int) -> float:
        return self.domain.max_norm(dim) + float(np.linalg.norm(self.by))

    def project(self, w: np.ndarray) -> np.ndarray:
        return self.domain.project(w - self.by) + self.by

    def min_linear_within(self, gradient: np.ndarray, radius: float) -> float:
        # a ball around the domain's own origin that has the whole of the other one in it
        wide = radius + float(np.linalg.norm(self.by))
        return self.domain.min_linear_within(gradient, wide) + float(gradient @ self.by)

    def _argmin_linear(self, gradient: np.ndarray) -> np.ndarray | None:
        found = self.domain._argmin_linear(gradient)
        return None if found is None else found + self.by
