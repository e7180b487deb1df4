"""Sparse models: fits over growing l1 balls, from few weights to many."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from maxmargin.domains import L1Ball, RealSpace, Signs
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.result import Result
from maxmargin.solvers import BCFW, Solver
from maxmargin.validation import as_dense, is_number


@dataclass(frozen=True)
class PathPoint:
    """One fit of a path.

    n_nonzero : weights that are not zero. n_features : features of which some weight is not zero,
    biases and label pairs not counted. norm : sum of the absolute weights, at most the radius.
    primal, dual, gap, status : the certificate of this fit. Scores are nan if not asked for.
    """

    radius: float
    n_nonzero: int
    n_features: int
    norm: float
    primal: float
    dual: float
    gap: float
    status: str
    n_epochs: int
    seconds: float
    train_score: float
    validation_score: float


class L1Path:
    """What `l1_path` returns: a point and a sparse row of weights for each radius.

    Attributes
    ----------
    points : list of PathPoint, smallest radius first. radii : array.
    weights : CSR array (radii, weights). validated : whether there are validation scores.
    best_index_, best_ : the point with the best validation score, of equals the sparsest, and its
        fitted estimator.
    """

    def __init__(
        self, points: Sequence[PathPoint], weights: Any, results: Sequence[Result], estimator: Any
    ):
        self.points = list(points)
        self.weights = weights
        self._results = list(results)
        self._estimator = estimator

    @property
    def radii(self) -> np.ndarray:
        return np.array([point.radius for point in self.points])

    @property
    def validated(self) -> bool:
        return bool(np.isfinite([point.validation_score for point in self.points]).all())

    @property
    def best_index_(self) -> int:
        if not self.validated:
            raise ValueError("no validation scores: give l1_path validation=(X, y).")
        return int(np.argmax([point.validation_score for point in self.points]))

    @cached_property
    def best_(self) -> Any:
        return self.model(self.best_index_)

    def model(self, index: int) -> Any:
        """The fitted estimator of one radius; it shares nothing with the others."""
        count = len(self.points)
        if not is_number(index, whole=True) or not -count <= index < count:
            raise IndexError(f"model({index!r}): the path has {count} radii, 0 to {count - 1}.")
        index = range(count)[index]
        w = self.weights[[index]].toarray().ravel()
        found = copy(self._estimator)
        inner = found
        if hasattr(found, "model_"):  # a task: its weights are its model's
            inner = found.model_ = copy(found.model_)
        domain = _ball(self._estimator.domain, self.points[index].radius)
        found.set_params(domain=domain)
        inner.set_params(domain=domain)
        inner.coef_ = w
        inner.result_ = replace(self._results[index], w=w)
        return found

    def to_frame(self) -> Any:
        """A pandas DataFrame, one row a radius (needs pandas: `pip install pandas`)."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install pandas") from error
        return pd.DataFrame([asdict(point) for point in self.points])

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        few, many = self.points[0], self.points[-1]
        size = self.weights.shape[1]
        best = (
            f", best at radius {self.points[self.best_index_].radius:.4g}" if self.validated else ""
        )
        return (
            f"<L1Path: {len(self)} radii from {few.radius:.4g} to {many.radius:.4g},"
            f" {few.n_nonzero} to {many.n_nonzero} of {size} weights not zero{best}>"
        )


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
) -> L1Path:
    """Fit the estimator with |w|_1 <= radius for each radius, each fit starting from the last.

    The smaller the radius, the more weights are exactly zero. The estimator is not changed.

    Parameters
    ----------
    estimator : one with the option `domain`; its signs, if any, are kept. alpha may be 0.
    radii : positive numbers, in any order; None means `n_radii` of them, each the same factor above
        the one before, from `ratio` times the l1 norm of the solution without a ball up to that
        norm. Without a penalty (alpha=0) there is no such solution: give radii.
    validation : held-out (X, y), whose scores choose `best_`.
    tol, max_epochs : as in estimators; None leaves theirs.
    solver : "auto" is the estimator's own if it names one; else "smoothed" where the structure has
        expectations, BCFW without averages where it has none, "extragradient" where alpha is 0.
    train_score : also score the training data.
    """
    _check_options(estimator, n_radii, ratio, validation)
    fitted = clone(estimator).set_params(warm_start=True)
    given = {"tol": tol, "max_epochs": max_epochs}
    fitted.set_params(**{name: value for name, value in given.items() if value is not None})
    found = _radii(fitted, X, y, radii, n_radii, ratio)
    fitted.set_params(solver=_solver(fitted, solver))
    points, rows, results, missed = [], [], [], []
    for radius in found:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fitted.set_params(domain=_ball(estimator.domain, radius)).fit(X, y)
        if any(issubclass(own.category, ConvergenceWarning) for own in caught):
            missed.append(radius)
        for own in caught:
            if not issubclass(own.category, ConvergenceWarning):
                warnings.warn_explicit(own.message, own.category, own.filename, own.lineno)
        points.append(_point(fitted, radius, (X, y) if train_score else None, validation))
        rows.append(sparse.csr_array(fitted.coef_[None]))
        results.append(replace(fitted.result_, w=np.empty(0), state=None))
    _warn(missed, points)
    fitted.set_params(warm_start=False)
    return L1Path(points, sparse.vstack(rows, format="csr"), results, fitted)


def _check_options(estimator: Any, n_radii: int, ratio: float, validation: Any) -> None:
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        name = estimator.__name__ if isinstance(estimator, type) else repr(estimator)
        raise TypeError(f"estimator: {name} is no estimator object, such as ChainSVM(alpha=0.01).")
    if "domain" not in estimator.get_params(deep=False):
        raise TypeError(
            f"{type(estimator).__name__} has no option `domain`, in which the l1 ball is given; use"
            " the estimator below it, such as ChainSVM on rows of features."
        )
    if not is_number(n_radii, whole=True) or n_radii < 1:
        raise ValueError(f"n_radii={n_radii!r} must be a whole number, 1 or more.")
    if not is_number(ratio) or not 0 < ratio < 1:
        raise ValueError(f"ratio={ratio!r} must be a number between 0 and 1.")
    if validation is not None and (not isinstance(validation, tuple) or len(validation) != 2):
        raise TypeError("validation must be a pair (X, y), or None.")
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


def _radii(estimator: Any, X: Any, y: Any, radii: Any, n_radii: int, ratio: float) -> list[float]:
    if radii is None:
        return _default_radii(estimator, X, y, n_radii, ratio)
    found = np.atleast_1d(np.asarray(radii, dtype=object)).ravel().tolist()
    wrong = [own for own in found if not (is_number(own) and 0 < own < np.inf)]
    if not found or wrong:
        what = f"{wrong[0]!r} is none" if wrong else "there is none"
        raise ValueError(f"radii must be positive numbers; {what}.")
    return sorted({float(own) for own in found})


def _default_radii(estimator: Any, X: Any, y: Any, n_radii: int, ratio: float) -> list[float]:
    if estimator.alpha == 0:
        raise ValueError(
            "alpha=0: without a penalty there is no solution whose l1 norm ends the path; give"
            " radii, such as numpy.geomspace(0.1, 100, 10)."
        )
    domain = estimator.domain
    signs = domain.signs if isinstance(domain, L1Ball) else domain
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # its norm is a scale, no more
        free = clone(estimator).set_params(domain=signs).fit(X, y)
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
    able = structure is not None and structure.has("tilt") and structure.tilt_is_expectation
    if own == "auto" and able:
        return "smoothed"
    return "extragradient" if estimator.alpha == 0 else BCFW(averaging=False)


def _point(estimator: Any, radius: float, train: Any, validation: Any) -> PathPoint:
    result, w = estimator.result_, as_dense(estimator.coef_)
    scores = [
        float("nan") if own is None else float(estimator.score(*own)) for own in (train, validation)
    ]
    return PathPoint(
        radius=float(radius),
        n_nonzero=int(np.count_nonzero(w)),
        n_features=_count_features(estimator, w),
        norm=float(np.abs(w).sum()),
        primal=result.primal,
        dual=result.dual,
        gap=result.gap,
        status=result.status.value,
        n_epochs=result.n_epochs,
        seconds=result.state.seconds,
        train_score=scores[0],
        validation_score=scores[1],
    )


def _count_features(estimator: Any, w: np.ndarray) -> int:
    """Features of nodes with a weight that is not zero; weights themselves where rows are parts."""
    model = getattr(estimator, "model_", estimator)
    rows = getattr(model, "node_coef_", w)[: model.n_features_in_]
    return int(np.count_nonzero(rows.reshape(len(rows), -1).any(axis=1)))


def _warn(missed: list[float], points: list[PathPoint]) -> None:
    if not missed:
        return
    gaps = [p.gap / abs(p.primal) for p in points if p.radius in missed and p.primal]
    worst = max(gaps, default=float("inf"))
    warnings.warn(
        f"{len(missed)} of {len(points)} fits ended above tol, the worst at a gap of"
        f" {100 * worst:.3g} %; see `status`. Raise max_epochs or tol.",
        ConvergenceWarning,
        stacklevel=3,
    )
