"""What a domain of weights must be able to do."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin.validation.learned import Checked
from maxmargin.validation.options import check_options


class Limits(NamedTuple):
    """Bounds of the weights and a radius: where that is all that a domain says."""

    low: np.ndarray  # (n_weights,) -inf where there is none; empty if all weights are free
    high: np.ndarray  # as `low`
    radius: float  # largest Euclidean norm; inf if there is none

    @property
    def is_cone(self) -> bool:
        """Whether the bounds are signs, so that they hold of any multiple of the weights."""
        return not any(bound[np.isfinite(bound)].any() for bound in self[:2])


class Domain(Checked, BaseEstimator):
    """A closed convex set W of weight vectors, which mostly contains 0.

    The penalty `alpha/2 |w|^2` is not a domain and can be combined with any. An unbounded domain is
    a cone, a box, or a product with these, so that its intersection with a ball is known.
    """

    @property
    def is_cone(self) -> bool:
        """Whether t w is in W for every w in W and t > 0."""
        return False

    @abstractmethod
    def project(self, w: np.ndarray) -> np.ndarray:
        """Return the Euclidean projection of weights on W, as a new array.

        Parameters
        ----------
        w : ndarray of shape (n_weights,)
            Weights.

        Returns
        -------
        ndarray of shape (n_weights,)
            The nearest point of W.
        """

    @abstractmethod
    def _argmin_linear(self, gradient: np.ndarray) -> np.ndarray | None:
        """A minimiser of gradient . w over W, or None if there is no minimum."""

    def max_norm(self, dim: int) -> float:
        """Return the largest `|w|` in W.

        Parameters
        ----------
        dim : int
            Number of weights.

        Returns
        -------
        float
            Largest norm; inf for a cone.
        """
        return float("inf")

    def limits(self, dim: int) -> Limits | None:
        """Return bounds or a radius, if these are all that the domain says.

        Then the projection clips weights to their bounds and scales the result down to the radius,
        which may be finite if the bounds are 0 or infinite. Compiled passes keep such domains at
        next to no cost.

        Parameters
        ----------
        dim : int
            Number of weights.

        Returns
        -------
        low, high : ndarray of shape (n_weights,)
            Bounds, infinite where there is none; empty if all weights are free.
        radius : float
            Largest Euclidean norm; inf if there is none. Instead of all three, None if the domain
            is of another kind.
        """
        return None

    def check(self, dim: int) -> None:
        """Raise an error if the domain does not fit the number of weights.

        Parameters
        ----------
        dim : int
            Number of weights.
        """

    def argmin_linear(self, gradient: np.ndarray, alpha: float = 0.0) -> tuple[np.ndarray, float]:
        """Minimise `gradient . w + alpha/2 |w|^2` over W.

        Parameters
        ----------
        gradient : ndarray of shape (n_weights,)
            Coefficients of the linear function.
        alpha : float, default=0.0
            Coefficient of the penalty.

        Returns
        -------
        w : ndarray of shape (n_weights,)
            A minimiser; zeros if there is none.
        minimum : float
            The minimum; -inf if there is none.
        """
        if alpha > 0:
            w = self.project(-gradient / alpha)
            return w, float(gradient @ w + alpha / 2 * (w @ w))
        found = self._argmin_linear(gradient)
        if found is None:
            return np.zeros_like(gradient), -float("inf")
        return found, float(gradient @ found)

    def min_linear_within(self, gradient: np.ndarray, radius: float) -> float:
        """Return the minimum of gradient . w over W, limited to a ball if W is unbounded.

        On a cone that is `-radius |P(-gradient)|`.

        Parameters
        ----------
        gradient : ndarray of shape (n_weights,)
            Coefficients of the linear function.
        radius : float
            Radius of the ball that limits an unbounded domain.

        Returns
        -------
        float
            The minimum.
        """
        if np.isfinite(self.max_norm(len(gradient))):
            return self.argmin_linear(gradient)[1]
        return -radius * float(np.linalg.norm(self.project(-gradient)))

    def contains(self, w: np.ndarray, tol: float = 1e-9) -> bool:
        """Tell whether w is in W.

        Parameters
        ----------
        w : ndarray of shape (n_weights,)
            Weights.
        tol : float, default=1e-9
            Tolerance on the distance, relative to `|w|`.

        Returns
        -------
        bool
            True if w is in W up to the tolerance.
        """
        apart = float(np.linalg.norm(self.project(w) - w))
        return apart <= tol * float(np.linalg.norm(w))


class RealSpace(Domain):
    """All of R^d."""

    @property
    def is_cone(self) -> bool:
        return True

    def limits(self, dim: int) -> Limits:
        return Limits(np.empty(0), np.empty(0), np.inf)

    def project(self, w: np.ndarray) -> np.ndarray:
        return w.copy()

    def _argmin_linear(self, gradient: np.ndarray) -> np.ndarray | None:
        return None if gradient.any() else np.zeros_like(gradient)


def as_indices(indices: Any) -> np.ndarray:
    """Numbers of weights as an array."""
    found = np.atleast_1d(np.asarray(indices))
    return found.astype(np.int64) if found.size else np.empty(0, dtype=np.int64)


def check_indices(name: str, indices: Any, dim: int) -> np.ndarray:
    """Numbers of weights as an array, of which there are `dim`; errors name the option."""
    found = np.atleast_1d(np.asarray(indices))
    if found.size == 0:
        return as_indices(found)
    if found.dtype.kind not in "iu" or found.ndim != 1 or (found < 0).any():
        raise ValueError(f"{name} must be a list of numbers of weights from 0, found {indices!r}.")
    if len(np.unique(found)) != len(found):
        raise ValueError(f"{name} names a weight twice.")
    if found.max() >= dim:
        raise ValueError(f"{name} names weight {found.max()}, but there are {dim} (from 0).")
    return as_indices(found)


def check_domain(domain: Any, dim: int) -> Domain:
    """A domain that fits, from what the user gave; None means R^d."""
    found = RealSpace() if domain is None else domain
    if not isinstance(found, Domain):
        raise TypeError(
            f"domain={domain!r} must be a Domain, such as domains.L2Ball(10.0), or None."
        )
    check_options(found)
    found.check(dim)
    return found


def check_limits(domain: Domain, dim: int) -> Limits | None:
    """The domain's `limits`, fit for compiled code, which checks nothing.

    None also if a subclass has another projection and does not say what its limits are.
    """
    owners = [_owner(type(domain), name) for name in ("limits", "project")]
    found = domain.limits(dim) if issubclass(*owners) else None
    if found is None:
        return None
    low, high = (np.require(bound, np.float64, ["C", "W"]) for bound in found[:2])
    limits = Limits(low, high, float(found[2]))
    fits = low.shape == high.shape and low.shape in ((0,), (dim,)) and bool((low <= high).all())
    if not (fits and limits.radius > 0 and (limits.is_cone or limits.radius == np.inf)):
        raise ValueError(
            f"{type(domain).__name__}.limits returned {low.shape} and {high.shape} bounds and the"
            f" radius {limits.radius}; expected {dim} lower and upper bounds, or none, and a"
            " positive radius, inf unless all bounds are 0 or infinite."
        )
    return limits


def _owner(cls: type, name: str) -> type:
    """The class that defines a method."""
    return next(base for base in cls.__mro__ if name in vars(base))
