"""Sparse models: fits over growing l1 balls, from few weights to many."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from maxmargin.domains import L1Ball, RealSpace, Signs
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.paths.base import (
    Path,
    check_count,
    check_estimator,
    check_positive,
    check_share,
    check_validation,
)
from maxmargin.paths.fits import Fits, prepare_clone
from maxmargin.solvers import BCFW, Solver
from maxmargin.validation.samples import as_dense


class L1Path(Path):
    """Regularisation path over the l1 norm, as `l1_path` returns it, smallest radius first.

    Parameters
    ----------
    points : sequence of PathPoint
        Summary of each model.
    weights : sequence of ndarray
        Weights of each model.
    results : sequence of Result
        Certificate of each model.
    estimator : estimator
        The fitted estimator, of which `model` makes copies.

    Attributes
    ----------
    radii : ndarray of shape (n_points,)
        Values of the radius. For the others see `Path`.
    """

    parameter: ClassVar[str] = "radius"
    plural: ClassVar[str] = "radii"

    @property
    def radii(self) -> np.ndarray:
        return self.values

    def _options(self, index: int) -> dict[str, Any]:
        return {"domain": _ball(self._estimator.domain, self.points[index].radius)}

    def _told(self) -> str:
        few, many = self.points[0], self.points[-1]
        size = self.weights.shape[1]
        return f"{few.n_nonzero} to {many.n_nonzero} of {size} weights not zero"


def l1_path(
    estimator: Any,
    X: Any,
    y: Any,
    radii: Sequence[float] | np.ndarray | None = None,
    *,
    validation: tuple[Any, Any] | None = None,
    n_radii: int = 10,
    ratio: float = 1e-2,
    tol: float | None = 1e-2,
    max_epochs: int | None = 1000,
    solver: str | Solver = "auto",
    train_score: bool = True,
    fit_params: Mapping[str, Any] | None = None,
) -> L1Path:
    """Fit the estimator with an l1 constraint on the weights, for each of several radii.

    Each fit starts from the last one. The smaller the radius, the more weights are exactly zero.
    The estimator is not changed.

    Parameters
    ----------
    estimator : estimator
        One with the option `domain`, whose signs, if any, are kept. alpha may be 0.
    X : sequence of samples
        Samples in the form that `fit` takes.
    y : sequence of outputs
        True outputs in the form that `fit` takes.
    radii : array_like or None, default=None
        Positive bounds on the l1 norm of w, in any order. None means `n_radii` numbers in a
        geometric sequence, from `ratio` times the l1 norm of the unconstrained solution up to that
        norm. Without a penalty (alpha=0) there is no such solution, and radii must be given.
    validation : tuple (X, y) or None, default=None
        Held-out data, whose scores choose ``best_``.
    n_radii : int, default=10
        Length of the sequence if radii is None.
    ratio : float, default=0.01
        Smallest radius divided by the largest if radii is None.
    tol : float or None, default=0.01
        Relative duality gap at which each fit stops; None means that of the estimator.
    max_epochs : int or None, default=1000
        Largest number of epochs of each fit; None means that of the estimator.
    solver : str or Solver, default="auto"
        "auto" is the estimator's own if it names one; else "smoothed" where the structure has
        marginals, BCFW without averaging where it has none, "extragradient" where alpha is 0.
    train_score : bool, default=True
        Whether to score the training data, too.
    fit_params : dict or None, default=None
        Further arguments of `fit`, such as ``{"sample_weight": ...}``.

    Returns
    -------
    L1Path
        The models, smallest radius first.
    """
    _check_options(estimator, n_radii, ratio, validation)
    fitted = prepare_clone(estimator, tol, max_epochs)
    found = _radii(fitted, X, y, radii, n_radii, ratio, fit_params)
    fitted.set_params(solver=_solver(fitted, solver))
    fits = Fits(fitted, X, y, dict(fit_params or {}), train_score, validation)
    for radius in found:
        fits.add(radius, domain=_ball(estimator.domain, radius))
    return L1Path(*fits.parts())


def _check_options(estimator: Any, n_radii: int, ratio: float, validation: Any) -> None:
    below = (
        ", in which the l1 ball is given; use the estimator below it, such as ChainSVM on rows of"
        " features."
    )
    check_estimator(estimator, "domain", below)
    check_count("n_radii", n_radii)
    check_share("ratio", ratio)
    check_validation(validation)
    _ball(estimator.domain, 1.0)


def _ball(domain: Any, radius: float) -> L1Ball:
    """The l1 ball with the signs that the estimator's domain has."""
    if domain is None or isinstance(domain, RealSpace):
        return L1Ball(radius)
    if isinstance(domain, L1Ball):
        return L1Ball(radius, domain.signs)
    if isinstance(domain, Signs):
        return L1Ball(radius, domain)
    raise ValueError(
        f"domain: a {type(domain).__name__} cannot be joined with an l1 ball; use Signs,"
        " NonNegative or None."
    )


def _radii(
    estimator: Any, X: Any, y: Any, radii: Any, n_radii: int, ratio: float, fit_params: Any
) -> list[float]:
    if radii is not None:
        return check_positive("radii", radii)
    if estimator.alpha == 0:
        raise ValueError(
            "alpha=0: without a penalty there is no solution whose l1 norm ends the path; give"
            " radii, such as numpy.geomspace(0.1, 100, 10)."
        )
    domain = estimator.domain
    signs = domain.signs if isinstance(domain, L1Ball) else domain
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # its norm is a scale, no more
        free = clone(estimator).set_params(domain=signs).fit(X, y, **dict(fit_params or {}))
    norm = float(np.abs(as_dense(free.coef_)).sum())
    if norm == 0.0:
        raise ValueError("the solution without a ball is w = 0 already; lower alpha.")
    return np.geomspace(ratio * norm, norm, n_radii).tolist() if n_radii > 1 else [norm]


def _solver(estimator: Any, solver: str | Solver) -> Any:
    """A solver whose weights are projections, so that zeros are exact."""
    own = estimator.solver if isinstance(solver, str) and solver == "auto" else solver
    if not isinstance(own, str) or own not in ("auto", "bcfw"):
        return own
    make = getattr(estimator, "_make_structure", None)
    structure = None if make is None else make()
    if own == "auto" and structure is not None and structure.oracle().has_expectations:
        return "smoothed"
    return "extragradient" if estimator.alpha == 0 else BCFW(averaging=False)
