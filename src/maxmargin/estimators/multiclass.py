"""One label out of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from maxmargin.callbacks import Callback
from maxmargin.domains import Domain
from maxmargin.estimators.base import StructuredSVM
from maxmargin.estimators.probabilities import Method, label_numbers
from maxmargin.estimators.restrictions import Restriction, restrict_labels
from maxmargin.features import FeatureMap, KernelMap, LabelConjoined
from maxmargin.losses import Loss
from maxmargin.solvers import Solver
from maxmargin.structures import Multiclass, Structure
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
from maxmargin.validation.samples import as_dense, check_matrix, learn_classes


class MulticlassSVM(ClassifierMixin, StructuredSVM):
    """Multiclass SVM of Crammer and Singer (2001).

    Minimises over W the objective ::

        alpha/2 |W|^2 + sum_i omega_i max_k [w_k . x_i - w_{y_i} . x_i + [k != y_i]]

    X is an array or CSR matrix of shape (n_samples, n_features), y has n_samples labels of any one
    type.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf"}, callable, KernelMap or None, default=None
        Kernel on the features: a name, a function (A, B) -> matrix, or `features.KernelMap` with
        options. None means the features as they are. With a kernel, ``coef_`` has weights of the
        kernel's coordinates, and scores are ``k(x, support_vectors_) @ dual_coef_``.
    bias : bool, default=True
        Learn a constant for each label, penalised as `intercept_scaling` says.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes, sorted.
    node_coef_ : ndarray of shape (n_features, n_classes)
        Weights of the features, a part of ``coef_``.
    bias_ : ndarray of shape (n_classes,) or None
        Constants of the classes.
    kernel_ : KernelMap or None
        The fitted kernel map.
    support_vectors_ : array of shape (n_support, n_features)
        Training rows on which scores depend; only with a kernel.
    dual_coef_ : ndarray of shape (n_support, n_classes)
        Coefficients of the support vectors; only with a kernel.
    n_support_ : int
        Number of support vectors; only with a kernel.
    residual_ : float
        Fraction of the trace of the kernel matrix that the coordinates leave out.
    dropped_ : float
        Bound on the change of a score by the omitted support vectors, per ``sqrt(k(x, x))``.
    """

    classes_: np.ndarray

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
    ):
        self._store_shared(locals())
        self.kernel = kernel
        self.bias = bias

    def _make_structure(self) -> Structure:
        return Multiclass()

    def _make_features(self) -> FeatureMap:
        return LabelConjoined(self.bias, ends=False, transitions=False)

    def _check_X(self, X: Any) -> tuple[Any, None]:
        return check_matrix(X), None

    def _n_labels(self) -> int:
        return len(self.classes_)

    def _layouts(self, rows: Any, given: list[Layout] | None) -> list[Layout]:
        return [(len(self.classes_),)] * len(rows.lengths)

    def _learn_labels(self, y: Any, rows: Any) -> np.ndarray:
        if y is None:
            raise ValueError("MulticlassSVM requires y to be passed, but the target y is None.")
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        if len(y) != len(rows.lengths):
            raise ValueError(f"X has {len(rows.lengths)} samples, y has {len(y)}.")
        check_classification_targets(y)
        self.classes_, numbers = learn_classes(y)
        return numbers

    def _output(self, z: np.ndarray, layout: Layout) -> Any:
        return self.classes_[self.structure_.decode(z, layout)]

    def _restrict(self, restriction: Restriction, layout: Layout) -> Layout:
        """A sample is the only node, number 0."""
        return restrict_labels(restriction, self.structure_, layout, self.classes_)

    def _right(self, truth: Any, output: Any, layout: Layout) -> np.ndarray:
        return np.atleast_1d(truth == output)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the class of each sample.

        Parameters
        ----------
        X : array_like or CSR matrix of shape (n_samples, n_features)
            Feature matrix.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted classes.
        """
        return np.asarray(super().predict(X))

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the scores of the classes; they are not probabilities.

        Parameters
        ----------
        X : array_like or CSR matrix of shape (n_samples, n_features)
            Feature matrix.

        Returns
        -------
        ndarray of shape (n_samples, n_classes) or (n_samples,)
            Scores; for two classes, score of the second minus score of the first.
        """
        scores = self._stacked("max_marginals", X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def margins(self, X: Any) -> np.ndarray:
        """Compute the score of the best class of each sample minus that of the second best.

        Parameters
        ----------
        X : array_like or CSR matrix of shape (n_samples, n_features)
            Feature matrix.

        Returns
        -------
        ndarray of shape (n_samples,)
            Margins.
        """
        margins = super().margins(X)
        return np.concatenate(margins) if margins else np.empty(0)

    def predict_marginals(
        self, X: Any, method: Method = "auto", n_draws: int = 100, random_state: Seed = 0
    ) -> np.ndarray:
        """Compute the softmax of scores / temperature; see `StructuredSVM`.

        Parameters
        ----------
        X : array_like or CSR matrix of shape (n_samples, n_features)
            Feature matrix.
        method : {"auto", "exact", "perturb"}, default="auto"
            Exact sums, or perturb-and-MAP; see `StructuredSVM.predict_marginals`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        found = super().predict_marginals(X, method, n_draws, random_state)
        return np.concatenate([np.empty((0, len(self.classes_))), *found])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Compute what `predict_marginals` gives, under scikit-learn's name.

        Those of margin training are suitable for ranking only, until `calibrate` is called.

        Parameters
        ----------
        X : array_like or CSR matrix of shape (n_samples, n_features)
            Feature matrix.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities.
        """
        return self.predict_marginals(X)

    def _known_targets(self, y: Any, rows: Any) -> np.ndarray:
        own = column_or_1d(y, warn=True)
        if len(own) != len(rows.lengths):
            raise ValueError(f"X has {len(rows.lengths)} samples, y has {len(own)}.")
        return np.concatenate(label_numbers(own[:, None], rows.lengths, self.classes_))

    def _stacked(self, ability: str, X: Any) -> np.ndarray:
        check_is_fitted(self, "coef_")
        nothing = np.empty((0, len(self.classes_)))
        return np.concatenate([nothing, *self._per_variable(ability, X)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def node_coef_(self) -> np.ndarray:
        return self._node_weights()

    @property
    def bias_(self) -> np.ndarray | None:
        own = as_dense(self.coef_)[-len(self.classes_) :]
        return own * self._constant() if self.bias else None
