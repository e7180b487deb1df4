"""The path that one run takes, from w = 0 on: the models that early stopping chooses from."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from maxmargin.exceptions import ConvergenceWarning
from maxmargin.paths.base import (
    KeepProblem,
    Path,
    PathPoint,
    check_count,
    check_estimator,
    check_validation,
    fit_metrics,
    scores_of,
)
from maxmargin.paths.fits import prepare_clone
from maxmargin.result import Record, Result, Status
from maxmargin.solvers import Solver, resolve_solver
from maxmargin.solvers.run import Run
from maxmargin.validation.samples import is_number


class IteratesPath(Path):
    """Models at several epochs of one run, as `iterates_path` returns them, earliest first.

    `n_epochs`, `n_oracle` and `seconds` of a point are totals of the run until then.

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
    epochs : ndarray of shape (n_points,)
        Number of epochs of each model. For the others see `Path`.
    """

    parameter: ClassVar[str] = "n_epochs"
    plural: ClassVar[str] = "iterates"

    @property
    def epochs(self) -> np.ndarray:
        return self.values

    def _options(self, index: int) -> dict[str, Any]:
        return {}


class _KeepIterates(KeepProblem):
    """Keep the weights of each record and their hinges."""

    def __init__(self) -> None:
        super().__init__()
        self.weights: list[np.ndarray] = []
        self.hinges: list[float] = []
        self.records: list[Record] = []

    def on_record(self, run: Run, record: Record) -> None:
        self.weights.append(run.newest.copy())
        self.hinges.append(float(run.problem.sample_weight @ run.problem.hinges(run.newest)))
        self.records.append(record)


def iterates_path(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    alpha: float = 0.0,
    solver: str | Solver = "dual-extragradient",
    max_epochs: int = 500,
    every: int | None = None,
    validation: tuple[Any, Any] | None = None,
    train_score: bool = True,
    fit_params: Mapping[str, Any] | None = None,
) -> IteratesPath:
    """Fit once and keep the models of several epochs.

    Without a penalty (alpha=0) a run of the dual extragradient method goes from w = 0 to larger and
    larger weights, and the epoch takes the role of the penalty: the path of the 2006 paper, to be
    compared with that of the optima (`alpha_path`, `plotting.PathsDisplay`). The estimator is not
    changed.

    Parameters
    ----------
    estimator : estimator
        Any estimator or task of this library; its callbacks are not used.
    X : sequence of samples
        Samples in the form that `fit` takes.
    y : sequence of outputs
        True outputs in the form that `fit` takes.
    alpha : float, default=0.0
        Strength of the penalty, instead of the estimator's.
    solver : str or Solver, default="dual-extragradient"
        Solver, instead of the estimator's.
    max_epochs : int, default=500
        Number of epochs of the run.
    every : int or None, default=None
        Epochs between models; None means that the number of epochs grows by half each time.
    validation : tuple (X, y) or None, default=None
        Held-out data, whose scores choose ``best_``.
    train_score : bool, default=True
        Whether to score the training data, too.
    fit_params : dict or None, default=None
        Further arguments of `fit`, such as ``{"sample_weight": ...}``.

    Returns
    -------
    IteratesPath
        The models, earliest first.
    """
    check_estimator(estimator, "alpha", ", which the run must be able to set to 0.")
    check_validation(validation)
    check_count("max_epochs", max_epochs)
    if every is not None:
        check_count("every", every)
    if not is_number(alpha) or alpha < 0:
        raise ValueError(f"alpha={alpha!r} must be a number, 0 or more.")
    engine = resolve_solver(solver).set_params(check_every=every, tol=0.0, max_epochs=max_epochs)
    kept = _KeepIterates()
    fitted = prepare_clone(estimator, None, None, alpha=float(alpha), solver=engine)
    fitted.set_params(callbacks=[kept], warm_start=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is not meant to converge
        fitted.fit(X, y, **dict(fit_params or {}))
    fitted.set_params(callbacks=estimator.callbacks)
    inner = getattr(fitted, "model_", fitted)
    inner.set_params(callbacks=estimator.callbacks)
    final = inner.result_ = replace(inner.result_, state=None)
    train = (X, y) if train_score else None
    points = [_point(fitted, kept, k, train, validation) for k in range(len(kept.records))]
    results = [_result(final, point) for point in points]
    return IteratesPath(points, kept.weights, results, fitted)


def _point(fitted: Any, kept: _KeepIterates, index: int, train: Any, validation: Any) -> PathPoint:
    w, record, hinge = kept.weights[index], kept.records[index], kept.hinges[index]
    inner = getattr(fitted, "model_", fitted)
    inner.coef_ = w
    scores = scores_of(fitted, train, validation)
    primal = hinge + inner.alpha / 2 * float(w @ w)
    return PathPoint(
        alpha=float(inner.alpha),
        hinge=hinge,
        primal=primal,
        dual=record.dual,
        gap=primal - record.dual,
        status="stopped",
        n_epochs=record.epoch,
        n_oracle=record.n_oracle,
        seconds=record.seconds,
        train_score=scores[0],
        validation_score=scores[1],
        **fit_metrics(fitted, w),
    )


def _result(final: Result, point: PathPoint) -> Result:
    return replace(
        final,
        w=np.empty(0),
        primal=point.primal,
        dual=point.dual,
        gap=point.gap,
        status=Status.STOPPED,
        n_epochs=point.n_epochs,
        message=f"the weights of epoch {point.n_epochs}",
    )
