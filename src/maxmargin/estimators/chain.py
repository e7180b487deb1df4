"""Label sequences."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from maxmargin.callbacks import Callback
from maxmargin.domains import Domain
from maxmargin.estimators.node_labels import NodeLabels
from maxmargin.estimators.partial import PartialTargets, find_runs
from maxmargin.estimators.probabilities import Method
from maxmargin.estimators.restrictions import Restriction, check_restrictions
from maxmargin.exceptions import SampleError
from maxmargin.features import FeatureMap, KernelMap, LabelConjoined
from maxmargin.losses import Loss
from maxmargin.solvers import Solver
from maxmargin.structures import Chain, Structure
from maxmargin.structures.base import Layout
from maxmargin.validation.options import (
    CountOrZero,
    NJobs,
    NonNegativeOrInf,
    Penalty,
    Positive,
    PositiveOrInf,
    Seed,
    Verbosity,
)
from maxmargin.validation.samples import (
    Rows,
    as_dense,
    check_labels,
    check_lengths,
    check_rows,
    has_rows,
    is_list,
    learn_classes,
    without_empty,
)


class ChainSVM(PartialTargets, NodeLabels):
    """Structural SVM for label sequences: a linear chain, trained by a large margin.

    Minimises over w the objective ::

        alpha/2 |w|^2 + sum_i omega_i max_y [w . (f(x_i, y) - f(x_i, y_i)) + loss(y_i, y)]

    where f counts node features with each label, pairs of neighbouring labels, and first and last
    labels. A sample x is an array, data frame or CSR matrix of shape (length, n_features), its
    target y a sequence of `length` labels of any one sortable type. Predictions for a sequence
    without elements are empty.

    Labels that are None are unknown. `fit` then minimises, over w and over the labels in their
    place, the same objective with a loss that counts known positions alone: labels that the model
    itself finds best are filled in, and the weights fitted to them, until these labels stay. That
    objective is not convex, and the certificate is one for the labels that were filled in.

    Parameters
    ----------
    ends : bool, default=True
        Learn a weight for each label as first and as last label.
    transitions : bool, default=True
        Learn a weight for each pair of neighbouring labels.
    forbidden_transitions : collection of (label, label), default=()
        Pairs (left label, right label) that must not occur. Labels that do not occur in y are
        ignored with a warning, because a fold may lack some labels.
    forbidden_first, forbidden_last : collection of labels, default=()
        Labels that must not begin, or end, a sequence.

    Attributes
    ----------
    first_ : ndarray of shape (n_labels,) or None
        Weights of the labels at the first element.
    last_ : ndarray of shape (n_labels,) or None
        Weights of the labels at the last element.
    transition_coef_ : ndarray of shape (n_labels, n_labels) or None
        Weights of label pairs; the row is the left label.
    """

    _noun = "rows"

    def __init__(
        self,
        alpha: Penalty = 1e-2,
        loss: str | Loss = "hamming",
        solver: str | Solver = "auto",
        tol: NonNegativeOrInf = 1e-3,
        max_epochs: CountOrZero = 100,
        random_state: Seed = 0,
        verbose: Verbosity = 0,
        *,
        n_jobs: NJobs = None,
        engine: Any = None,
        warm_start: bool = False,
        time_limit: PositiveOrInf | None = None,
        callbacks: Sequence[Callback] = (),
        domain: Domain | None = None,
        kernel: str | Callable[[Any, Any], Any] | KernelMap | None = None,
        objective: Literal["margin", "likelihood", "slack"] = "margin",
        bias: bool = True,
        intercept_scaling: Positive = 1.0,
        ends: bool = True,
        transitions: bool = True,
        forbidden_transitions: Collection[Any] = (),
        forbidden_first: Collection[Hashable] | str = (),
        forbidden_last: Collection[Hashable] | str = (),
    ):
        self._store_shared(locals())
        self.kernel = kernel
        self.bias = bias
        self.ends = ends
        self.transitions = transitions
        self.forbidden_transitions = forbidden_transitions
        self.forbidden_first = forbidden_first
        self.forbidden_last = forbidden_last

    def _make_structure(self) -> Structure:
        return Chain()  # what is forbidden is known once the labels are

    def _make_features(self) -> FeatureMap:
        return LabelConjoined(self.bias, self.ends, self.transitions)

    def _check_X(self, X: Any) -> tuple[Any, None]:
        return check_rows(X), None

    def _layouts(self, rows: Any, given: list[Layout] | None) -> list[Layout]:
        return [(int(length), len(self.classes_)) for length in rows.lengths]

    def _learn_labels(self, y: Any, rows: Any) -> list[np.ndarray]:
        check_lengths(y, rows.lengths)
        flat = np.concatenate(check_labels(y))
        self.classes_, numbers = learn_classes(flat)
        self.structure_ = self._structure_over_labels()
        self._warn_of_unseen(
            forbidden_transitions=chain.from_iterable(self.forbidden_transitions),
            forbidden_first=self.forbidden_first,
            forbidden_last=self.forbidden_last,
        )
        return np.split(numbers, np.cumsum(rows.lengths)[:-1])

    def _structure_over_labels(self) -> Chain:
        number = {label: k for k, label in enumerate(self.classes_.tolist())}
        ends = np.zeros((2, len(number)), dtype=bool)
        for row, labels in enumerate((self.forbidden_first, self.forbidden_last)):
            for label in labels:
                if label in number:
                    ends[row, number[label]] = True
        pairs = self._pairs("forbidden_transitions", self.forbidden_transitions)
        return Chain(
            forbidden_transitions=pairs,
            forbidden_first=ends[0] if ends[0].any() else None,
            forbidden_last=ends[1] if ends[1].any() else None,
        )

    # -- labels of which some are unknown ----------------------------------------------------------
    def _find_known(self, y: Any) -> list[np.ndarray] | None:
        if not is_list(y) or not any(is_list(own) and _has_none(own) for own in y):
            return None
        for i, own in enumerate(y):
            if not is_list(own):
                raise SampleError.of(i, ": y must be a list of labels, one per row of x.")
        return [np.array([label is not None for label in own], dtype=bool) for own in y]

    def _cut(self, X: Any, y: Any, known: list[np.ndarray]) -> tuple[Any, Any, np.ndarray]:
        rows = check_rows(X)
        check_lengths(y, rows.lengths)
        lengths, sample = find_runs(known)
        labels = iter([label for own in y for label in own if label is not None])
        matrix = rows.matrix[np.flatnonzero(np.concatenate(known))]
        return Rows(matrix, lengths), [[*islice(labels, int(n))] for n in lengths], sample

    def _allowed(self, y: Any, known: np.ndarray) -> np.ndarray:
        labels = self.classes_.tolist()
        return np.array([[label is None or label == own for own in labels] for label in y])

    def _fit_pieces(self, X: Any, y: Any, weight: np.ndarray) -> PartialTargets:
        # ends of stretches are not those of sequences
        own = clone(self).set_params(forbidden_first=(), forbidden_last=())
        found = PartialTargets._fit_pieces(own, X, y, weight)
        ends = {name: getattr(self, name) for name in ("forbidden_first", "forbidden_last")}
        found.set_params(**ends)
        found.structure_ = found._structure_over_labels()
        return found

    def _where_forbidden(self, y: Any, layout: Layout) -> str:
        own = self.structure_
        for t, mask, verb in (
            (0, own.forbidden_first, "begin"),
            (len(y) - 1, own.forbidden_last, "end"),
        ):
            if mask is not None and mask[y[t]]:
                label = self.classes_[[y[t]]].tolist()[0]
                return f": y[{t}] is {label!r}, which must not {verb} a sequence"
        steps = np.arange(len(y) - 1)
        edges = np.column_stack([steps, steps + 1])
        return self._forbidden_pair(y, edges, own.forbidden_transitions)

    # -- predicting, of sequences without elements too ---------------------------------------------
    def predict(self, X: Any) -> Any:
        return self._filled(X, super().predict, lambda: self.classes_[:0])

    def predict_restricted(
        self, X: Any, restrictions: Sequence[Restriction | None], time_limit: float | None = None
    ) -> Any:
        full = has_rows(X)
        if not full.all():
            own = check_restrictions(restrictions, len(full))
            restrictions = [own[i] for i in np.flatnonzero(full)]
        call = super().predict_restricted
        return self._filled(X, call, lambda: self.classes_[:0], restrictions, time_limit)

    def predict_k_best(self, X: Any, k: int) -> list[list[tuple[Any, float]]]:
        return self._filled(X, super().predict_k_best, lambda: [(self.classes_[:0], 0.0)], k)

    def predict_marginals(
        self, X: Any, method: Method = "auto", n_draws: int = 100, random_state: Any = 0
    ) -> Any:
        call = super().predict_marginals
        return self._filled(X, call, self._no_rows, method, n_draws, random_state)

    def decision_function(self, X: Any) -> Any:
        return self._filled(X, super().decision_function, self._no_rows)

    def margins(self, X: Any) -> Any:
        return self._filled(X, super().margins, lambda: np.empty(0))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        self._check_names(X)
        return super().score(*without_empty(X, y, sample_weight))

    def _filled(
        self, X: Any, call: Callable[..., Any], nothing: Callable[[], Any], *options: Any
    ) -> Any:
        """What is found for the sequences that have elements, and `nothing` for the others."""
        check_is_fitted(self, "coef_")
        self._check_names(X)
        full = has_rows(X)
        if full.all():
            return call(X, *options)
        found: Iterator[Any] = iter(())
        if full.any():
            rows = check_rows(X, empty_ok=True)
            try:
                found = iter(call(Rows(rows.matrix, rows.lengths[full]), *options))
            except SampleError as error:
                raise error.renumbered(np.flatnonzero(full).tolist()) from error
        return [next(found) if own else nothing() for own in full]

    def _no_rows(self) -> np.ndarray:
        return np.empty((0, len(self.classes_)))

    # -- weights -----------------------------------------------------------------------------------
    @property
    def first_(self) -> np.ndarray | None:
        return self._rows()[-2] if self.ends else None

    @property
    def last_(self) -> np.ndarray | None:
        return self._rows()[-1] if self.ends else None

    @property
    def transition_coef_(self) -> np.ndarray | None:
        check_is_fitted(self, "coef_")
        if not self.transitions:
            return None
        labels = len(self.classes_)
        return as_dense(self.coef_)[-labels * labels :].reshape(labels, labels)


def _has_none(labels: Any) -> bool:
    numeric = isinstance(labels, np.ndarray) and labels.dtype != object
    return not numeric and any(label is None for label in labels)
