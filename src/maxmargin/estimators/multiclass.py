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
    NonNegative,
    NonNegativeOrInf,
    PositiveOrInf,
    Seed,
    TaskCommands,
    Verbosity,
)
from maxmargin.validation.samples import as_dense, check_matrix, learn_classes


class MulticlassSVM(ClassifierMixin, StructuredSVM):
    """One of K classes by a large margin (Crammer and Singer 2001).

    Minimise  alpha/2 |W|^2 + sum_i omega_i max_k [w_k . x_i - w_{y_i} . x_i + [k != y_i]].

    X : (n_samples, n_features) array or CSR matrix; y : n_samples labels of any one type.

    Parameters
    ----------
    bias : learn a (penalised) constant for each class.
    alpha, loss, solver, tol, max_epochs, random_state, verbose, n_jobs, warm_start, time_limit,
    callbacks, domain, objective : see `StructuredSVM`.
    kernel : compare the features of samples by a kernel: "linear", "poly", "rbf", a function
        (A, B) -> matrix, or `features.KernelMap` with its options; None for the features as they
        are. coef_ then has weights of the kernel's coordinates in their place, and scores are
        k(x, support_vectors_) @ dual_coef_.

    Attributes
    ----------
    classes_, coef_, result_, n_features_in_ : see `StructuredSVM`. node_coef_ (n_features,
    n_classes) and bias_ (n_classes,) : the parts of coef_.
    With a kernel: kernel_, the fitted KernelMap; support_vectors_ (n_support_, n_features),
    dual_coef_ (n_support_, n_classes); residual_, the share of the kernel left out; dropped_, what
    support vectors left out could change.
    """

    classes_: np.ndarray

    def __init__(
        self,
        alpha: NonNegative = 1e-2,
        loss: str | Loss = "hamming",
        solver: str | Solver = "auto",
        tol: NonNegativeOrInf = 1e-3,
        max_epochs: CountOrZero = 100,
        random_state: Seed = 0,
        verbose: Verbosity = 0,
        *,
        n_jobs: TaskCommands = None,
        warm_start: bool = False,
        time_limit: PositiveOrInf | None = None,
        callbacks: Sequence[Callback] = (),
        domain: Domain | None = None,
        kernel: str | Callable[[Any, Any], Any] | KernelMap | None = None,
        objective: Literal["margin", "likelihood", "slack"] = "margin",
        bias: bool = True,
    ):
        self.alpha = alpha
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.max_epochs = max_epochs
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.callbacks = callbacks
        self.domain = domain
        self.kernel = kernel
        self.objective = objective
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
        """The best class of each sample."""
        return np.asarray(super().predict(X))

    def decision_function(self, X: Any) -> np.ndarray:
        """(n_samples, n_classes) scores; of two classes, by how much the second leads (n_samples,).

        They are not probabilities.
        """
        scores = self._stacked("max_marginals", X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def margins(self, X: Any) -> np.ndarray:
        """How much the best class of each sample leads the second best."""
        margins = super().margins(X)
        return np.concatenate(margins) if margins else np.empty(0)

    def predict_marginals(
        self,
        X: Any,
        method: Method = "auto",
        n_draws: int = 100,
        random_state: Seed = 0,
    ) -> np.ndarray:
        """(n_samples, n_classes) softmax of scores / temperature_; else as `StructuredSVM` says."""
        found = super().predict_marginals(X, method, n_draws, random_state)
        return np.concatenate([np.empty((0, len(self.classes_))), *found])

    def predict_proba(self, X: Any) -> np.ndarray:
        """What `predict_marginals` gives, under the name that scikit-learn knows.

        Trained by margins, they rank until `calibrate` is called, and are not frequencies.
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
        return as_dense(self.coef_)[-len(self.classes_) :] if self.bias else None
