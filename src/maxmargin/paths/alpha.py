"""Fits over falling penalties, each starting from the last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from maxmargin.paths.base import (
    Path,
    check_count,
    check_estimator,
    check_positive,
    check_share,
    check_validation,
)
from maxmargin.paths.certificate import at_zero
from maxmargin.paths.fits import Fits, prepare_clone, problem_of
from maxmargin.problem import Problem
from maxmargin.solvers import Solver

#: how good w = 0 is at the first alpha of a grid that nobody gave
FIRST = 0.1


class AlphaPath(Path):
    """Regularisation path over alpha, as `alpha_path` returns it, largest alpha first.

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
    alphas : ndarray of shape (n_points,)
        Values of alpha. For the others see `Path`.
    """

    parameter: ClassVar[str] = "alpha"
    plural: ClassVar[str] = "alphas"

    @property
    def alphas(self) -> np.ndarray:
        return self.values

    def _options(self, index: int) -> dict[str, Any]:
        return {"alpha": self.points[index].alpha}


def alpha_path(
    estimator: Any,
    X: Any,
    y: Any,
    alphas: Sequence[float] | np.ndarray | None = None,
    *,
    validation: tuple[Any, Any] | None = None,
    n_alphas: int = 10,
    ratio: float = 1e-3,
    tol: float | None = None,
    max_epochs: int | None = None,
    solver: str | Solver | None = None,
    train_score: bool = True,
    fit_params: Mapping[str, Any] | None = None,
) -> AlphaPath:
    """Fit the estimator for each alpha, from large to small, each fit starting from the last.

    The dual point z, and with it w(z) for the new alpha, is passed from one fit to the next. Each
    fit has a certificate of its own. The estimator is not changed.

    Parameters
    ----------
    estimator : estimator
        Any estimator or task of this library; its `domain`, if any, is used.
    X : sequence of samples
        Samples in the form that `fit` takes.
    y : sequence of outputs
        True outputs in the form that `fit` takes.
    alphas : array_like or None, default=None
        Positive numbers, in any order. None means `n_alphas` numbers in a geometric sequence, down
        to `ratio` times the first; see Notes.
    validation : tuple (X, y) or None, default=None
        Held-out data, whose scores choose ``best_``.
    n_alphas : int, default=10
        Length of the sequence if alphas is None.
    ratio : float, default=0.001
        Smallest alpha divided by the largest if alphas is None.
    tol : float or None, default=None
        Relative duality gap at which each fit stops; None means that of the estimator.
    max_epochs : int or None, default=None
        Largest number of epochs of each fit; None means that of the estimator.
    solver : str, Solver or None, default=None
        Solver of each fit; None means that of the estimator. A solver without a dual point starts
        from the last weights.
    train_score : bool, default=True
        Whether to score the training data, too.
    fit_params : dict or None, default=None
        Further arguments of `fit`, such as ``{"sample_weight": ...}``.

    Returns
    -------
    AlphaPath
        The models, largest alpha first.

    Notes
    -----
    If alphas is None, the first is where w = 0 begins to be more than 10 % worse than the optimum:
    ``alpha = |v|^2 / (2 * 0.1 * L)``, where L is the largest loss of outputs, and v the sum of the
    features of the ground truth minus those of outputs with that loss (see
    `maxmargin.paths.certificate`). Larger values learn nothing. For objectives other than margins,
    alphas must be given.
    """
    check_estimator(estimator, "alpha", ", by which the path goes.")
    check_count("n_alphas", n_alphas)
    check_share("ratio", ratio)
    check_validation(validation)
    found = None if alphas is None else check_positive("alphas", alphas)[::-1]
    more = dict(fit_params or {})
    fitted = prepare_clone(estimator, tol, max_epochs, solver=solver)
    if found is None:
        found = _grid(problem_of(fitted, X, y, more, alpha=1.0), n_alphas, ratio)
    fits = Fits(fitted, X, y, more, train_score, validation)
    for alpha in found:
        fits.add(alpha=alpha)
    return AlphaPath(*fits.parts())


def _grid(problem: Problem, n_alphas: int, ratio: float) -> list[float]:
    if problem.objective != "margin":
        raise ValueError(
            f"objective={problem.objective!r}: where its path begins is not known beforehand; give"
            " alphas, such as numpy.geomspace(1, 1e-4, 10)."
        )
    if not problem.domain.is_cone:
        raise ValueError(
            f"domain: where the path in a {type(problem.domain).__name__} begins is not known"
            " beforehand; give alphas, such as numpy.geomspace(1, 1e-4, 10)."
        )
    first = at_zero(problem, FIRST)[1]
    if first == np.inf:
        raise ValueError(
            "alphas: the bounds of this oracle at w = 0 are too wide to say where the path begins;"
            " give alphas, such as numpy.geomspace(1, 1e-4, 10)."
        )
    if first == 0.0:
        raise ValueError(
            "w = 0 is the optimum at every alpha: no output has a loss, or features tell nothing;"
            " give alphas if that is meant."
        )
    return np.geomspace(first, ratio * first, n_alphas).tolist()
