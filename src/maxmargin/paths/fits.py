"""Fits of one estimator with one option after another, each starting from the last."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from maxmargin.exceptions import ConvergenceWarning
from maxmargin.paths.base import KeepProblem, PathPoint, fit_metrics, scores_of
from maxmargin.problem import Problem
from maxmargin.result import Result
from maxmargin.validation.samples import as_dense


@dataclass
class Fits:
    """Warm-started fits on the same data, with what the path keeps of each.

    fit_params : further arguments of `fit`, such as sample_weight. train, validation : what to
    score, or None.
    """

    estimator: Any
    X: Any
    y: Any
    fit_params: dict[str, Any]
    train_score: bool
    validation: tuple[Any, Any] | None
    points: list[PathPoint] = field(default_factory=list)
    weights: list[np.ndarray] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    _missed: list[PathPoint] = field(default_factory=list)

    def add(self, radius: float = float("inf"), **options: Any) -> None:
        """Fit with these options and keep the model."""
        fitted = self.estimator
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fitted.set_params(**options).fit(self.X, self.y, **self.fit_params)
        late = [own for own in caught if issubclass(own.category, ConvergenceWarning)]
        for own in caught:
            if own not in late:
                warnings.warn_explicit(own.message, own.category, own.filename, own.lineno)
        point = self._point(radius)
        if late:
            self._missed.append(point)
        self.points.append(point)
        self.weights.append(as_dense(fitted.coef_).copy())
        self.results.append(replace(fitted.result_, w=np.empty(0), state=None))

    def _point(self, radius: float) -> PathPoint:
        fitted, result = self.estimator, self.estimator.result_
        w = as_dense(fitted.coef_)
        train = (self.X, self.y) if self.train_score else None
        scores = scores_of(fitted, train, self.validation)
        alpha = float(getattr(fitted, "model_", fitted).alpha)
        return PathPoint(
            alpha=alpha,
            radius=float(radius),
            hinge=result.primal - alpha / 2 * float(w @ w),
            primal=result.primal,
            dual=result.dual,
            gap=result.gap,
            status=result.status.value,
            n_epochs=result.n_epochs,
            n_oracle=result.state.n_oracle,
            seconds=result.state.seconds,
            train_score=scores[0],
            validation_score=scores[1],
            **fit_metrics(fitted, w),
        )

    def parts(self) -> tuple[list[PathPoint], list[np.ndarray], list[Result], Any]:
        """What a Path is made of; warns once of all fits that ended early."""
        if self._missed:
            gaps = [own.gap / abs(own.primal) for own in self._missed if own.primal]
            warnings.warn(
                f"{len(self._missed)} of {len(self.points)} fits ended above tol, the worst at a"
                f" gap of {100 * max(gaps, default=float('inf')):.3g} %; see `status`."
                " Raise max_epochs or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.estimator.set_params(warm_start=False)
        return self.points, self.weights, self.results, self.estimator


def prepare_clone(estimator: Any, tol: float | None, max_epochs: int | None, **options: Any) -> Any:
    """A clone to fit again and again; None leaves the estimator's own."""
    given = {"tol": tol, "max_epochs": max_epochs, **options}
    found = {name: value for name, value in given.items() if value is not None}
    return clone(estimator).set_params(warm_start=True, **found)


def problem_of(
    estimator: Any, X: Any, y: Any, fit_params: dict[str, Any], **options: Any
) -> Problem:
    """The problem that the estimator would solve; it is fitted with w = 0 then.

    It is asked of a run that ends before its first epoch, which works for estimators and tasks.
    """
    kept, own = KeepProblem(only=True), estimator.callbacks
    try:
        estimator.set_params(callbacks=[kept], **options).fit(X, y, **fit_params)
    finally:
        estimator.set_params(callbacks=own)
    return kept.problem
