"""Tasks that predict twice, the second time with features of the first output."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from maxmargin.estimators import StructuredSVM
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.tasks.base import StructureTask


class GuidedTask(StructureTask):
    """A task with a second model, which has weights for features of the first one's outputs.

    guided : whether there is a first model. guide_ : its weights, as many as the second has; empty
    if there is none.
    """

    #: parts of the training samples that have first outputs of their own, and epochs for those
    _folds: ClassVar[int] = 3
    _first_epochs: ClassVar[int] = 8
    guided: bool
    guide_: np.ndarray

    def _time_left(self, started: float) -> float | None:
        if self.time_limit is None:
            return None
        return max(self.time_limit - (perf_counter() - started), 1e-3)

    def _fit_guide(
        self,
        fresh: StructuredSVM,
        n: int,
        seconds: float | None,
        prepare: Callable[[Sequence[int]], tuple[Any, Any]],
        predict: Callable[[np.ndarray, list[int], list[int]], None],
    ) -> np.ndarray:
        """Weights of the first model, of n samples.

        seconds : at most half of them are used; None means no limit. prepare(chosen) gives rows
        and targets of some samples. predict(w, seen, held) is called with weights from the samples
        `seen`, to predict the others, `held`: together these are all samples.
        """
        folds = self._folds
        seconds = None if seconds is None else seconds / (2 * (folds + 1))
        model = fresh.set_params(
            max_epochs=min(self._first_epochs, self.max_epochs), random_state=self.random_state,
            time_limit=seconds,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            for fold in range(folds):
                seen = [i for i in range(n) if i % folds != fold]
                held = [i for i in range(n) if i % folds == fold]
                predict(clone(model).fit(*prepare(seen)).coef_, seen, held)
            return clone(model).fit(*prepare(range(n))).coef_

    def _check_guide(self, size: int) -> None:
        """Raise an error if guide_ is not what `fit` leaves, with so many weights."""
        guide = self.guide_
        fitting = guide.shape in ((0,), (size,)) and guide.dtype == np.float64
        if not fitting or not np.isfinite(guide).all():
            raise ValueError(f"{type(self).__name__}: guide_ is not what fit leaves")
