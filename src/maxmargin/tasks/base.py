"""What tasks have in common: they make features of their inputs and leave the rest to a model."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from maxmargin.callbacks import Callback, EarlyStopping
from maxmargin.estimators import StructuredSVM
from maxmargin.estimators.probabilities import warn_if_uncalibrated
from maxmargin.exceptions import FitInterrupted
from maxmargin.oracles.base import check_k
from maxmargin.persistence import Savable
from maxmargin.result import Result
from maxmargin.solvers import Solver
from maxmargin.structures.base import Layout
from maxmargin.validation.samples import LaidOutRows

logger = logging.getLogger("maxmargin")

#: options of a task that are its model's, too
_SHARED = ("tol", "max_epochs", "random_state", "verbose", "n_jobs", "engine", "warm_start",
           "time_limit")  # fmt: skip
#: rows and targets of some samples, and which they are
Prepared = tuple[LaidOutRows, list[Any], list[int]]


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
    engine : str, Engine or None, default=None
        Where training is computed: "threads", "processes", "ray", "dask", or an engine of
        `maxmargin.parallel`; None means this thread. Results depend on its shards and rounds only.
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

    alpha: float | None
    solver: str | Solver | None
    tol: float
    max_epochs: int
    random_state: Any
    verbose: int
    n_jobs: int | None
    engine: Any
    warm_start: bool
    time_limit: float | None
    callbacks: Sequence[Callback]
    model_: Any

    def _store_shared(self, given: Mapping[str, Any]) -> None:
        """Keep those arguments of a constructor that all tasks have. given : its `locals()`."""
        for name in ("alpha", "solver", "callbacks", *_SHARED):
            setattr(self, name, given[name])

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
        model = fresh
        if self.warm_start and type(old) is type(fresh):
            model = copy(old).set_params(**fresh.get_params(deep=False))
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


class StructureTask(Task):
    """A task whose outputs are those of one structure, decoded from the scores of its parts.

    A subclass says how inputs and outputs are checked, what the rows of features and the targets
    of its model are, what the scores of an input's parts are, and what an output looks like.
    """

    #: whether the k best outputs of an input without parts are one, of score 0, or none
    _empty_has_score: ClassVar[bool] = False

    # -- what a task says --------------------------------------------------------------------------
    @abstractmethod
    def _check(self, inputs: Any) -> list[Any]:
        """Checked inputs; errors name the sample."""

    @abstractmethod
    def _check_truth(self, outputs: Any, inputs: list[Any]) -> list[Any]:
        """Checked outputs of checked inputs, as metrics take them."""

    @abstractmethod
    def _rows(self, inputs: list[Any], truth: list[Any]) -> Prepared:
        """Rows and targets for the model, and which inputs they are of: those that have parts.

        inputs, truth : checked. What was learned is known, but model_ may not yet be fitted.
        """

    @abstractmethod
    def _scores(self, inputs: Any) -> Iterator[tuple[Any, np.ndarray]]:
        """What a task knows of each input, and the scores of its parts."""

    @abstractmethod
    def _layout(self, sample: Any) -> Layout | None:
        """The layout of an input as `_scores` gives it; None if it has no parts."""

    @abstractmethod
    def _output(self, z: np.ndarray | None, sample: Any) -> Any:
        """The output of a vertex; z is None where there are no parts."""

    @abstractmethod
    def _probabilities(self, p: np.ndarray, sample: Any) -> Any:
        """What `predict_marginals` gives for an input; p is empty where there are no parts."""

    # -- what follows ------------------------------------------------------------------------------
    def _knowing(self, learned: dict[str, Any], model: StructuredSVM) -> StructureTask:
        """A copy that knows what was learned, but for the weights."""
        found = copy(self)
        found.__dict__.update(learned, model_=model)
        return found

    @staticmethod
    def _count_samples(learned: int, given: int, limit: str) -> dict[str, int]:
        """What `fit` tells of samples that are left out. limit : the option that bounds them."""
        if learned < given:
            text = "learned from %d of %d samples; the others are beyond %s, or have no parts"
            logger.info(text, learned, given, limit)
        return {"n_learned_": learned, "n_given_": given}

    def _fit_model(
        self,
        fresh: StructuredSVM,
        learned: dict[str, Any],
        rows: Any,
        targets: Any,
        weight: Any,
        **options: Any,
    ) -> None:
        """Fit a model to rows and targets, and set what was learned.

        options : of the model, where they are not those of the task.
        """
        knowing = self._knowing(learned, fresh)

        def on_rows(stopping: EarlyStopping) -> None:
            inputs, truth, metric = self._check(stopping.X), stopping.y, stopping.metric
            if not len(self._check_truth(truth, inputs)):
                raise ValueError("EarlyStopping has no samples to watch; give it some.")

            def score(model: StructuredSVM, w: np.ndarray) -> float:
                own = knowing._knowing({}, copy(model))
                own.model_.coef_, own.model_.temperature_ = w, 1.0
                if metric is None:
                    return own.score(inputs, truth)
                return float(metric(truth, own.predict(inputs)))

            stopping.score_model = score

        with self._watched(on_rows) as callbacks:
            model = self._start(fresh).set_params(callbacks=callbacks, **options)
            with self._learning(**learned, model_=model):
                model.fit(rows, targets, weight)

    def _structure(self) -> Any:
        check_is_fitted(self, "model_")
        return self.model_.structure_

    def _find_best(self, oracle: Any, theta: np.ndarray, layout: Layout) -> np.ndarray:
        """The vertex that `predict` decodes."""
        return oracle.maximize(theta, layout)[0]

    def predict(self, inputs: Any, /) -> Any:
        oracle, found = self._structure().oracle(), []
        for sample, theta in self._scores(inputs):
            layout = self._layout(sample)
            z = None if layout is None else self._find_best(oracle, theta, layout)
            found.append(self._output(z, sample))
        return found

    def predict_marginals(self, inputs: Any, /) -> Any:
        """Compute the probabilities of parts of the outputs, p(output) ~ exp(score / T).

        T is ``temperature_``. The likelihood objective fits these probabilities. Those of margin
        training are suitable for ranking only, until `calibrate` is called.

        Parameters
        ----------
        inputs : sequence
            Inputs in the form that `fit` takes.

        Returns
        -------
        list
            Probabilities for each input.
        """
        oracle, found = self._structure().oracle(), []
        warn_if_uncalibrated(self.model_, 4)
        for sample, theta in self._scores(inputs):
            layout, p = self._layout(sample), np.empty(0)
            if layout is not None:
                p = oracle.marginals(theta / self.temperature_, layout)
            found.append(self._probabilities(p, sample))
        return found

    def predict_k_best(self, inputs: Any, /, k: int) -> Any:
        """Predict the k best outputs of each input.

        Parameters
        ----------
        inputs : sequence
            Inputs in the form that `fit` takes.
        k : int
            Number of outputs per input; all are returned if there are fewer.

        Returns
        -------
        list of list of (output, float)
            Outputs of each input with their scores, best first.
        """
        structure, found = self._structure(), []
        check_k(k)
        for sample, theta in self._scores(inputs):
            layout = self._layout(sample)
            if layout is None:
                found.append([(self._output(None, sample), 0.0)] if self._empty_has_score else [])
            else:
                best = structure.k_best(theta, layout, k)
                found.append([(self._output(z, sample), score) for z, score in best])
        return found

    def calibrate(self, inputs: Any, outputs: Any, /) -> Any:
        """Fit ``temperature_``, the divisor of scores in `predict_marginals`, on held-out data.

        The data must not be that of `fit`, on which the model is overconfident. Predictions do not
        change.

        Parameters
        ----------
        inputs : sequence
            Inputs in the form that `fit` takes.
        outputs : sequence
            True outputs.

        Returns
        -------
        Task
            The estimator itself.
        """
        check_is_fitted(self, "model_")
        inputs = self._check(inputs)
        rows, targets, _ = self._rows(inputs, self._check_truth(outputs, inputs))
        self.model_.calibrate(rows, targets)
        return self

    def _compare(self, inputs: Any, outputs: Any) -> tuple[list[Any], list[Any]]:
        """True outputs, checked, and predicted ones."""
        inputs = self._check(inputs)
        return self._check_truth(outputs, inputs), self.predict(inputs)
