"""Targets of which some positions are unknown."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import replace
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from maxmargin.estimators.base import StructuredSVM
from maxmargin.estimators.restrictions import Restriction
from maxmargin.exceptions import ConvergenceWarning, SampleError
from maxmargin.persistence.checkpoints import Checkpoint
from maxmargin.validation.samples import check_sample_weight, check_targets

#: times that unknown positions are filled in, at most
_ROUNDS = 10
#: a time limit that is over
_LEAST_SECONDS = 1e-3


class PartialTargets(StructuredSVM):
    """Sequences of which some positions are unknown: these are filled in by the model itself.

    The objective of such targets is ``alpha/2 |w|^2 + sum_i omega_i min_y L_i(w, y)`` over all
    outputs y that agree with what is known, where L_i is the hinge, with a loss that counts known
    positions alone, or minus the log-likelihood of y. It is not convex. `fit` begins with the known
    stretches as samples of their own, and then repeats: fill in the best output that agrees; fit
    the weights to it. Neither step raises the objective by more than the duality gap.

    Attributes
    ----------
    n_imputations_ : int
        How often unknown positions were filled in; only if there were any. The certificate of
        ``result_`` is then that of the last convex problem: no weights are better for the outputs
        that were filled in, but for others there may be, as its text says; its history is of the
        last round.
    """

    n_imputations_: int
    _depth: ClassVar[int] = 4

    @abstractmethod
    def _find_known(self, y: Any) -> list[np.ndarray] | None:
        """Which positions of each sample are known; None if all of them are."""

    @abstractmethod
    def _cut(self, X: Any, y: Any, known: list[np.ndarray]) -> tuple[Any, Any, np.ndarray]:
        """Known stretches as samples: their X and y, and of which sample each is."""

    @abstractmethod
    def _allowed(self, y: Any, known: np.ndarray) -> np.ndarray:
        """Which values of the variables of a sample agree with what is known."""

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, node_weight: Any = None
    ) -> PartialTargets:
        self.__dict__.pop("n_imputations_", None)
        known = self._find_known(y)
        if known is None:
            samples = [X, y]
            del X, y  # `fit` forgets them, too, before it trains
            return super().fit(samples.pop(0), samples.pop(), sample_weight, node_weight)
        check_targets(y, len(known))
        if any(isinstance(own, Checkpoint) and own.resume for own in self.callbacks):
            raise ValueError(
                "Checkpoint(resume=True) needs labels that are all known: each time that unknown"
                " ones are filled in is a run of its own. Use resume=False."
            )
        weight = check_sample_weight(sample_weight, len(known))
        if not any(own.any() for own in known):
            raise ValueError("y has no known labels: there is nothing to learn from.")
        started = perf_counter()
        pieces, targets, sample = self._cut(X, y, known)
        try:
            model = self._fit_pieces(pieces, targets, weight[sample])
        except SampleError as error:
            raise error.renumbered(sample.tolist()) from error
        if self.objective != "likelihood":
            node_weight = self._weigh_known(known, node_weight)
        allowed = [model._allowed(own, mask) for own, mask in zip(y, known, strict=True)]
        restrictions = [Restriction(off=np.flatnonzero(~own.ravel())) for own in allowed]
        filled = model.predict_restricted(X, restrictions)
        given = self.warm_start, self.time_limit
        try:
            for count in range(1, _ROUNDS + 1):
                self.time_limit = _time_left(given[1], started)
                super().fit(X, filled, sample_weight, node_weight)
                self._say_what_is_bounded(count)
                last, filled = filled, self.predict_restricted(X, restrictions)
                self.warm_start, self.n_imputations_ = True, count
                if all(map(_is_same, filled, last)) or self.time_limit == _LEAST_SECONDS:
                    return self
        finally:
            self.warm_start, self.time_limit = given
        warnings.warn(
            f"unknown labels still changed after {_ROUNDS} rounds of filling them in.",
            ConvergenceWarning,
            stacklevel=2,
        )
        return self

    def _say_what_is_bounded(self, count: int) -> None:
        """The bound is one of the last convex problem; others may have a lower objective."""
        text = (
            f"epochs and bound are of round {count}, for the labels that were filled in before it;"
            " with others the objective may be lower"
        )
        message = "; ".join(filter(None, [self.result_.message, text]))
        self.result_ = replace(self.result_, message=message)

    def _weigh_known(self, known: list[np.ndarray], node_weight: Any) -> list[np.ndarray]:
        """Costs of errors, none at positions that are unknown."""
        if node_weight is None:
            return [own.astype(np.float64) for own in known]
        if len(node_weight) != len(known):
            raise ValueError(f"X has {len(known)} samples, node_weight has {len(node_weight)}.")
        found = []
        for i, (own, weight) in enumerate(zip(known, node_weight, strict=True)):
            if np.shape(weight) != own.shape:
                raise SampleError.of(
                    i, f": node_weight has shape {np.shape(weight)}, not {own.shape}."
                )
            found.append(np.asarray(weight, dtype=np.float64) * own)
        return found

    def _fit_pieces(self, X: Any, y: Any, weight: np.ndarray) -> PartialTargets:
        own = clone(self).set_params(warm_start=False, callbacks=())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a start need not be optimal
            return StructuredSVM.fit(own, X, y, weight)


def _time_left(limit: float | None, started: float) -> float | None:
    return None if limit is None else max(limit - (perf_counter() - started), _LEAST_SECONDS)


def _is_same(a: Any, b: Any) -> bool:
    return list(a) == list(b)


def find_runs(known: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of the runs of known positions, and the sample of each."""
    lengths, sample = [], []
    for i, own in enumerate(known):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], own.astype(np.int8), [0]])))
        lengths += (edges[1::2] - edges[::2]).tolist()
        sample += [i] * (len(edges) // 2)
    return np.array(lengths, dtype=np.int64), np.array(sample, dtype=np.int64)
