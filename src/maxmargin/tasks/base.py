"""What tasks have in common: they make features of their inputs and leave the rest to a model."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from maxmargin.callbacks import Callback, EarlyStopping
from maxmargin.estimators import StructuredSVM
from maxmargin.exceptions import FitInterrupted
from maxmargin.persistence import Savable
from maxmargin.result import Result

#: options of a task that are its model's, too
_SHARED = ("tol", "max_epochs", "random_state", "verbose", "n_jobs", "warm_start", "time_limit")


class Task(Savable, BaseEstimator):
    """A learner whose `fit` sets model_, a StructuredSVM on features of the task's inputs.

    Attributes
    ----------
    random_state : int, Generator, RandomState or None, default=0
        Seed; the same integer gives bitwise identical results.
    verbose : int, default=0
        0 is silent, 1 shows a progress bar, 2 also logs every certificate.
    n_jobs : int or None, default=None
        Threads for objectives and predictions, -1 for all cores; results do not depend on it.
    warm_start : bool, default=False
        Start from the dual point of the last fit, for another alpha or solver on the same data.
    time_limit : float or None, default=None
        Training stops after this many seconds; None means no limit.
    coef_ : ndarray of shape (n_weights,)
        Weights of the model.
    result_ : Result
        Certificate and history of the training run.
    n_features_in_ : int
        Number of features.
    temperature_ : float
        Divisor of the scores in `predict_marginals`: 1, or the value found by `calibrate`.
    """

    callbacks: Sequence[Callback]
    warm_start: bool
    model_: Any

    @abstractmethod
    def predict(self, inputs: Any, /) -> Any:
        """Predict the best output of each input.

        Parameters
        ----------
        inputs : sequence
            Inputs in the form that `fit` takes.

        Returns
        -------
        list
            One output per input.
        """

    def _start(self, fresh: StructuredSVM) -> Any:
        """The model to fit: a new one, or a copy of the last, which stays if this fit fails."""
        old = getattr(self, "model_", None)
        model = copy(old) if self.warm_start and old is not None else fresh
        return model.set_params(**{name: getattr(self, name) for name in _SHARED})

    @contextmanager
    def _watched(self, on_rows: Callable[[EarlyStopping], None]) -> Iterator[list[Callback]]:
        """The callbacks for the model; `on_rows` turns held-out inputs into features, in place."""
        used = [copy(own) if isinstance(own, EarlyStopping) else own for own in self.callbacks]
        for own in used:
            if isinstance(own, EarlyStopping):
                on_rows(own)
        yield used
        for given, own in zip(self.callbacks, used, strict=True):
            if isinstance(given, EarlyStopping) and isinstance(own, EarlyStopping):
                given.best_, given.bad_ = own.best_, own.bad_
                given.best_epoch_ = own.best_epoch_

    @contextmanager
    def _learning(self, **learned: Any) -> Iterator[None]:
        """Set attributes once the model is fitted within, or was interrupted and has weights."""
        try:
            yield
        except FitInterrupted:
            self.__dict__.update(learned)
            raise
        self.__dict__.update(learned)

    @property
    def coef_(self) -> np.ndarray:
        return self.model_.coef_

    def sparsify(self) -> Task:
        """Convert ``coef_`` to a sparse matrix, see `StructuredSVM.sparsify`.

        Returns
        -------
        Task
            The estimator itself.
        """
        check_is_fitted(self, "model_")
        self.model_.sparsify()
        return self

    def densify(self) -> Task:
        """Convert ``coef_`` back to a dense array.

        Returns
        -------
        Task
            The estimator itself.
        """
        check_is_fitted(self, "model_")
        self.model_.densify()
        return self

    @property
    def result_(self) -> Result:
        return self.model_.result_

    @property
    def n_features_in_(self) -> int:
        return self.model_.n_features_in_

    @property
    def temperature_(self) -> float:
        """Divisor of the scores in `predict_marginals`: 1, or the value found by `calibrate`."""
        return self.model_._temperature()
