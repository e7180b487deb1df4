"""What all paths are: a point and a row of weights for each of several models of one estimator."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from maxmargin.callbacks import Callback
from maxmargin.optional import import_pandas
from maxmargin.problem import Problem
from maxmargin.result import Result, Status
from maxmargin.solvers.run import Run
from maxmargin.validation.samples import as_dense, is_number


@dataclass(frozen=True, kw_only=True)
class PathPoint:
    """One model of a path.

    Parameters
    ----------
    alpha : float
        Strength of the penalty.
    radius : float, default=inf
        Radius of the ball that constrains the weights; inf for none.
    n_nonzero : int
        Number of nonzero weights.
    n_features : int
        Number of features with a nonzero weight, biases and label pairs not counted.
    norm : float
        l1 norm of the weights.
    norm_w : float
        Euclidean norm of the weights.
    hinge : float
        Objective without the penalty.
    primal, dual, gap : float
        Certificate: objective, lower bound and their difference.
    status : str
        Why training stopped.
    n_epochs, n_oracle : int
        Number of epochs and of oracle calls for this model.
    seconds : float
        Training time of this model.
    train_score, validation_score : float
        Scores; NaN if not requested.
    """

    alpha: float
    radius: float = float("inf")
    n_nonzero: int
    n_features: int
    norm: float
    norm_w: float
    hinge: float
    primal: float
    dual: float
    gap: float
    status: str
    n_epochs: int
    n_oracle: int
    seconds: float
    train_score: float
    validation_score: float


class Path:
    """Models of one estimator along a regularisation parameter.

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
    points : list of PathPoint
        Summary of each model.
    weights : CSR array of shape (n_points, n_weights)
        Weights of each model.
    validated : bool
        Whether there are validation scores.
    best_index_ : int
        Index of the point with the best validation score; of equal ones the first, which is the
        most regularised.
    best_ : estimator
        The fitted estimator of that point.
    """

    #: the number of a point by which the path goes, and what several of them are called
    parameter: ClassVar[str]
    plural: ClassVar[str]

    def __init__(
        self,
        points: Sequence[PathPoint],
        weights: Sequence[np.ndarray],
        results: Sequence[Result],
        estimator: Any,
    ):
        self.points = list(points)
        self.weights = stack_weights(weights)
        self._results = list(results)
        self._estimator = estimator

    @property
    def values(self) -> np.ndarray:
        """Regularisation parameter of each point."""
        return np.array([getattr(point, self.parameter) for point in self.points])

    @property
    def validated(self) -> bool:
        return bool(np.isfinite([point.validation_score for point in self.points]).all())

    @property
    def best_index_(self) -> int:
        if not self.validated:
            raise ValueError("no validation scores: give the path validation=(X, y).")
        return int(np.argmax([point.validation_score for point in self.points]))

    @cached_property
    def best_(self) -> Any:
        return self._model(self.best_index_)

    def model(self, index: int) -> Any:
        """Return the fitted estimator of one point, independent of the others.

        Parameters
        ----------
        index : int
            Index of the point.

        Returns
        -------
        estimator
            A fitted estimator.
        """
        count = len(self.points)
        if not is_number(index, whole=True) or not -count <= index < count:
            raise IndexError(
                f"model({index!r}): the path has {count} {self.plural}, 0 to {count - 1}."
            )
        return self._model(range(count)[index])

    def _model(self, index: int) -> Any:
        return self._made(index, self._results[index], **self._options(index))

    @abstractmethod
    def _options(self, index: int) -> dict[str, Any]:
        """Options of the estimator that this point has for itself."""

    def _made(self, index: int, result: Result, **options: Any) -> Any:
        """A copy of the estimator with the weights of one point."""
        w = self.weights[[index]].toarray().ravel()
        found = copy(self._estimator)
        inner = found
        if hasattr(found, "model_"):  # a task: its weights are its model's
            inner = found.model_ = copy(found.model_)
        for own in (found, inner):
            own.set_params(**options)
        inner.coef_ = w
        inner.result_ = replace(result, w=w)
        return found

    def to_frame(self) -> Any:
        """Convert the points to a data frame (needs pandas).

        Returns
        -------
        pandas.DataFrame
            One row per point.
        """
        return import_pandas().DataFrame([asdict(point) for point in self.points])

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        first, last = self.values[[0, -1]]
        best = ""
        if self.validated:
            best = f", best at {self.parameter} {self.values[self.best_index_]:.4g}"
        many = self.plural if len(self) > 1 else self.parameter
        return (
            f"<{type(self).__name__}: {len(self)} {many} from {first:.4g} to {last:.4g},"
            f" {self._told()}{best}>"
        )

    def _told(self) -> str:
        """What grows along the path."""
        norms = [point.norm_w for point in self.points]
        return f"|w| from {norms[0]:.4g} to {norms[-1]:.4g}"


def stack_weights(weights: Sequence[np.ndarray]) -> Any:
    """Rows of weights as one CSR array: many are zero, or all alike."""
    rows = [sparse.csr_array(as_dense(w)[None]) for w in weights]
    return sparse.vstack(rows, format="csr")


def scores_of(estimator: Any, *data: tuple[Any, Any] | None) -> list[float]:
    """The estimator's score of each (X, y), nan for None."""
    return [float("nan") if own is None else float(estimator.score(*own)) for own in data]


def fit_metrics(estimator: Any, w: np.ndarray) -> dict[str, Any]:
    """How large the weights are, and how many."""
    model = getattr(estimator, "model_", estimator)
    # features of nodes where some weight is not zero; weights themselves where rows are parts
    rows = getattr(model, "node_coef_", w)[: model.n_features_in_]
    return {
        "n_nonzero": int(np.count_nonzero(w)),
        "n_features": int(np.count_nonzero(rows.reshape(len(rows), -1).any(axis=1))),
        "norm": float(np.abs(w).sum()),
        "norm_w": float(np.linalg.norm(w)),
    }


class KeepProblem(Callback):
    """Keep the problem of a run; `only` ends it before the first epoch, with w = 0 or as given."""

    problem: Problem

    def __init__(self, only: bool = False):
        self.only = only

    def on_start(self, run: Run) -> None:
        self.problem = run.problem
        if self.only:
            run.stop(Status.STOPPED, "only the problem was asked for")


def check_estimator(estimator: Any, option: str, use: str) -> None:
    """Fail unless it is an estimator object with the option by which the path goes."""
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        name = estimator.__name__ if isinstance(estimator, type) else repr(estimator)
        raise TypeError(
            f"estimator: {name} is not an estimator object, such as ChainSVM(alpha=0.01)."
        )
    if option not in estimator.get_params(deep=False):
        raise TypeError(f"{type(estimator).__name__} has no option `{option}`{use}")
    if estimator.get_params(deep=False).get("kernel") is not None:
        raise ValueError(
            "kernel: each model has support rows of its own, which a path does not keep. Transform"
            " the features first, or fit model by model with warm_start=True."
        )


def check_validation(validation: Any) -> None:
    """Fail unless it is (X, y) or None."""
    if validation is not None and (not isinstance(validation, tuple) or len(validation) != 2):
        raise TypeError("validation must be a pair (X, y), or None.")


def check_count(name: str, value: Any) -> None:
    """Fail unless it is 1, 2, ..."""
    if not is_number(value, whole=True) or value < 1:
        raise ValueError(f"{name}={value!r} must be an integer, 1 or more.")


def check_share(name: str, value: Any) -> None:
    """Fail unless it is between 0 and 1, both excluded."""
    if not is_number(value) or not 0 < value < 1:
        raise ValueError(f"{name}={value!r} must be a number between 0 and 1.")


def check_positive(name: str, values: Any) -> list[float]:
    """Positive numbers in any order, as a sorted list without repetitions."""
    found = np.atleast_1d(np.asarray(values, dtype=object)).ravel().tolist()
    wrong = [own for own in found if not (is_number(own) and 0 < own < np.inf)]
    if not found or wrong:
        what = f"found {wrong[0]!r}" if wrong else "none are given"
        raise ValueError(f"{name} must be positive numbers; {what}.")
    return sorted({float(own) for own in found})
