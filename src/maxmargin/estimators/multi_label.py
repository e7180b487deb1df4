"""Any number of labels out of several."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin.callbacks import Callback
from maxmargin.domains import Domain
from maxmargin.estimators.base import StructuredSVM
from maxmargin.estimators.label_pairs import pairs_of
from maxmargin.estimators.label_rows import TextRows, read_label_rows, to_sets
from maxmargin.estimators.probabilities import Method
from maxmargin.estimators.restrictions import Restriction, restrict_labels
from maxmargin.features import FeatureMap, MultiLabelFeatures
from maxmargin.losses import Loss, resolve_loss
from maxmargin.problem import Problem
from maxmargin.samples import Samples
from maxmargin.solvers import Solver
from maxmargin.structures import MultiLabel, Network, Structure
from maxmargin.structures.base import Layout
from maxmargin.structures.multi_label.multi_label import FEW, forest_of
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
from maxmargin.validation.samples import as_dense, check_matrix, check_rows, check_sample_weight


class MultiLabelSVM(ClassifierMixin, StructuredSVM):
    """Structural SVM for multi-label classification with weights of label pairs.

    Minimises over w the objective ::

        alpha/2 |w|^2 + sum_i omega_i max_z [w . (f(x_i, z) - f(x_i, y_i)) + loss(y_i, z)]

    where f has the features of x for each label that is on, and 1 for each pair of labels that are
    both on. The best labels are found exactly for up to 20 labels and where the pairs have no
    cycles; see `method`.

    X is an array or CSR matrix of shape (n_samples, n_features). y is an indicator matrix of shape
    (n_samples, n_labels), dense, sparse or a data frame, or a list of sets of labels; predictions
    are then sets, too. A label that all samples have, or none, is allowed.

    Parameters
    ----------
    loss : {"hamming", "hamming-sum"} or Loss, default="hamming"
        Loss of an output; "hamming" is the fraction of wrong labels. `losses.Hamming` has costs for
        missed and for superfluous labels.
    bias : bool, default=True
        Learn a (penalised) constant for each label.
    pairs : {"all", "tree"}, list of (label, label) or None, default="all"
        Label pairs with weights. "tree" takes those of a spanning tree with the highest mutual
        information in y (Chow and Liu 1968). With None, labels are independent.
    pair_features : bool, default=False
        Let the weight of a pair depend on x, instead of one number for all samples.
    method : {"auto", "exact", "bounded"}, default="auto"
        Inference method, see `MultiLabel`. "auto" is exact for up to 20 labels and for pairs
        without cycles, else bounded.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Names or indices of the columns of y, or the labels of its sets, sorted.
    node_coef_ : ndarray of shape (n_features, n_labels)
        Weights of the node features, a part of ``coef_``.
    bias_ : ndarray of shape (n_labels,) or None
        Constants of the labels.
    pairs_ : ndarray of shape (n_pairs, 2)
        Label pairs with weights, as indices into ``classes_``.
    pair_coef_ : ndarray of shape (n_pairs,) or (n_features + 1, n_pairs), or None
        Weights of the pairs; the second shape is for pair_features, with the constant last.

    Examples
    --------
    >>> X = [[1.0, 0.0], [0.9, 0.2], [0.0, 1.0], [0.1, 0.8]]
    >>> y = [{"sea", "beach"}, {"sea", "beach"}, {"wood"}, {"wood"}]
    >>> model = MultiLabelSVM(alpha=0.01).fit(X, y)
    >>> [sorted(labels) for labels in model.predict([[0.8, 0.1], [0.2, 0.7]])]
    [['beach', 'sea'], ['wood']]
    """

    classes_: np.ndarray
    sets_: bool
    network_: Network

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
        objective: Literal["margin", "likelihood", "slack"] = "margin",
        bias: bool = True,
        intercept_scaling: Positive = 1.0,
        pairs: Collection[Any] | str | None = "all",
        pair_features: bool = False,
        method: Literal["auto", "exact", "bounded"] = "auto",
    ):
        self._store_shared(locals())
        self.bias = bias
        self.pairs = pairs
        self.pair_features = pair_features
        self.method = method

    def _make_structure(self) -> Structure:
        return MultiLabel(self.method)  # which is decided once the labels are known

    def _make_features(self) -> FeatureMap:
        return MultiLabelFeatures(self.bias, self.pair_features)

    def _resolved_loss(self) -> Loss:
        """Its class weights, if any, are those of labels that are off, 0, and on, 1."""
        return resolve_loss(self.loss).bind(np.array([0, 1]))

    # -- samples -----------------------------------------------------------------------------------
    def _check_X(self, X: Any) -> tuple[Any, None]:
        if isinstance(X, TextRows):
            return check_rows(X), None
        return check_matrix(X), None

    def _in_chunks(self, X: Any) -> Iterator[Samples]:
        return super()._in_chunks(X.widened(self.n_features_in_) if isinstance(X, TextRows) else X)

    def _n_labels(self) -> int:
        return len(self.classes_)

    def validate(self) -> None:
        super().validate()
        if not hasattr(self, "coef_"):
            return
        found = self.network_.n_nodes, self.network_.n_edges
        if found != (len(self.classes_), self.feature_map_.n_pairs):
            raise ValueError("network_ is not of as many labels and pairs as there are weights")
        if not isinstance(self.sets_, bool):
            raise ValueError("sets_ is neither True nor False")

    def _layouts(self, rows: Any, given: list[Layout] | None) -> list[Layout]:
        return [self.network_] * len(rows.lengths)

    # -- labels ------------------------------------------------------------------------------------
    def _problem(self, X: Any, y: Any, sample_weight: Any, node_weight: Any) -> Problem:
        self._pair_weight = sample_weight  # the tree of labels is that of the weighted samples
        try:
            return super()._problem(X, y, sample_weight, node_weight)
        finally:
            del self._pair_weight

    def _learn_labels(self, y: Any, rows: Any) -> np.ndarray:
        if y is None:
            raise ValueError("MultiLabelSVM requires y to be passed, but the target y is None.")
        found = read_label_rows(y)
        n = len(rows.lengths)
        if len(found.matrix) != n:
            raise ValueError(f"X has {n} samples, y has {len(found.matrix)}.")
        self.classes_, self.sets_ = found.classes, found.sets
        weight = check_sample_weight(self._pair_weight, n)
        self.network_ = pairs_of(self.pairs, found.matrix, found.classes, weight, found.sets)
        self.feature_map_.set_params(n_pairs=self.network_.n_edges)
        if self.method == "auto":
            few = len(self.classes_) <= FEW or forest_of(self.network_) is not None
            self.structure_.set_params(method="exact" if few else "bounded")
        return found.matrix

    def _known_targets(self, y: Any, rows: Any) -> np.ndarray:
        found = read_label_rows(y, self.classes_).matrix
        if len(found) != len(rows.lengths):
            raise ValueError(f"X has {len(rows.lengths)} samples, y has {len(found)}.")
        return found

    def _agreement(
        self, y: Any, outputs: list[Any], layouts: list[Layout], sample_weight: Any = None
    ) -> float:
        truth = read_label_rows(y, self.classes_).matrix
        if len(truth) != len(outputs):
            raise ValueError(f"X has {len(outputs)} samples, y has {len(truth)}.")
        if not outputs:
            return 0.0
        weight = check_sample_weight(sample_weight, len(outputs))
        return float(weight @ (truth == np.array(outputs)).mean(axis=1))

    # -- predicting --------------------------------------------------------------------------------
    def predict(self, X: Any) -> Any:
        """Predict the labels of each sample.

        Parameters
        ----------
        X : array_like or CSR matrix of shape (n_samples, n_features)
            Feature matrix.

        Returns
        -------
        ndarray of shape (n_samples, n_labels) or list of set
            Indicator matrix, or sets of labels if `fit` was given sets.
        """
        check_is_fitted(self, "coef_")
        nothing = np.empty((0, len(self.classes_)), dtype=np.int64)
        found = np.concatenate([nothing, *(row[None] for row in super().predict(X))])
        return to_sets(found, self.classes_) if self.sets_ else found

    def predict_restricted(
        self, X: Any, restrictions: Sequence[Restriction | None], time_limit: float | None = None
    ) -> Any:
        found = super().predict_restricted(X, restrictions, time_limit)
        nothing = np.empty((0, len(self.classes_)), dtype=np.int64)
        rows = np.concatenate([nothing, *(row[None] for row in found)])
        return to_sets(rows, self.classes_) if self.sets_ else rows

    def _restrict(self, restriction: Restriction, layout: Layout) -> Layout:
        number = {label: k for k, label in enumerate(self.classes_.tolist())}

        def place(label: Any) -> int:
            if label not in number:
                raise ValueError(f"label {label!r} was not learned.")
            return number[label]

        if set(restriction.counts or {}) - {1}:
            raise ValueError(
                "counts={1: n} says how many labels are on; of a single label, known={label: 0 or"
                " 1} says it."
            )
        known, off = restriction.known or {}, restriction.forbidden or ()
        numbered = replace(
            restriction,
            known={place(label): value for label, value in known.items()},
            forbidden={place(label): [1] for label in off},
        )
        return restrict_labels(numbered, self.structure_, layout, np.array([0, 1]))

    def predict_k_best(self, X: Any, k: int) -> list[list[tuple[Any, float]]]:
        found = super().predict_k_best(X, k)
        if not self.sets_:
            return found
        return [[(to_sets(z[None], self.classes_)[0], own) for z, own in best] for best in found]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the fraction of labels that are predicted correctly, 1 - Hamming loss.

        Parameters
        ----------
        X : array_like or CSR matrix of shape (n_samples, n_features)
            Feature matrix.
        y : indicator matrix or list of set
            True labels.

        Returns
        -------
        float
            Score from 0 to 1.
        """
        return StructuredSVM.score(self, X, y, sample_weight)

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the score of the best output with each label minus that of the best without it.

        Positive where the label is predicted. These scores are not probabilities.

        Parameters
        ----------
        X : array_like or CSR matrix of shape (n_samples, n_features)
            Feature matrix.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Scores of the labels.
        """
        check_is_fitted(self, "coef_")
        nothing = np.empty((0, len(self.classes_)))
        return np.concatenate([nothing, *(own.T for own in self._per_variable("leads", X))])

    def margins(self, X: Any) -> np.ndarray:
        """Compute the score of the best output minus that of the best with the label changed.

        Parameters
        ----------
        X : array_like or CSR matrix of shape (n_samples, n_features)
            Feature matrix.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Absolute values of `decision_function`.
        """
        return np.abs(self.decision_function(X))

    def predict_marginals(
        self, X: Any, method: Method = "auto", n_draws: int = 100, random_state: Seed = 0
    ) -> np.ndarray:
        """Compute the marginal probability that each label is on; see `StructuredSVM`.

        Parameters
        ----------
        X : array_like or CSR matrix of shape (n_samples, n_features)
            Feature matrix.
        method : {"auto", "exact", "perturb"}, default="auto"
            Exact sums, or perturb-and-MAP; see `StructuredSVM.predict_marginals`.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Probabilities.
        """
        found = super().predict_marginals(X, method, n_draws, random_state)
        nothing = np.empty((0, len(self.classes_)))
        return np.concatenate([nothing, *(own.T for own in found)])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Compute what `predict_marginals` gives, under scikit-learn's name.

        Those of margin training are suitable for ranking only, until `calibrate` is called.

        Parameters
        ----------
        X : array_like or CSR matrix of shape (n_samples, n_features)
            Feature matrix.

        Returns
        -------
        ndarray of shape (n_samples, n_labels)
            Probabilities.
        """
        return self.predict_marginals(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        tags.target_tags.two_d_labels = True
        return tags

    # -- weights -----------------------------------------------------------------------------------
    @property
    def pairs_(self) -> np.ndarray:
        return self.network_.edges

    @property
    def node_coef_(self) -> np.ndarray:
        labels = len(self.classes_)
        own = as_dense(self.coef_)[: self.n_features_in_ * labels]
        return own.reshape(self.n_features_in_, labels)

    @property
    def bias_(self) -> np.ndarray | None:
        start, labels = self.n_features_in_ * len(self.classes_), len(self.classes_)
        own = as_dense(self.coef_)[start : start + labels]
        return own * self._constant() if self.bias else None

    @property
    def pair_coef_(self) -> np.ndarray | None:
        pairs = self.network_.n_edges
        if not pairs:
            return None
        rows = self.n_features_in_ + 1 if self.pair_features else 1
        own = as_dense(self.coef_)[-rows * pairs :]
        return own.reshape(rows, pairs) if self.pair_features else own
