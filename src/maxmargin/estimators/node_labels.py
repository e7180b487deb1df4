"""What estimators share that give each node of a sample a label."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.estimators.base import StructuredSVM
from maxmargin.estimators.probabilities import label_numbers
from maxmargin.estimators.restrictions import Restriction, restrict_labels, some_labels
from maxmargin.metrics.labels import find_known
from maxmargin.structures.base import Layout
from maxmargin.validation.samples import as_dense, is_list


class NodeLabels(StructuredSVM):
    """Labels of nodes, with weights for their features, biases and ends, then for pairs.

    Attributes
    ----------
    kernel : {"linear", "poly", "rbf"}, callable, KernelMap or None, default=None
        Kernel on the features: a name, a function (A, B) -> matrix, or `features.KernelMap` with
        options. None means the features as they are. With a kernel, ``coef_`` has weights of the
        kernel's coordinates, and scores are ``k(x, support_vectors_) @ dual_coef_``.
    bias : bool, default=True
        Learn a constant for each label, penalised as `intercept_scaling` says.
    classes_ : ndarray of shape (n_labels,)
        Labels, sorted.
    node_coef_ : ndarray of shape (n_features, n_labels)
        Weights of the node features, a part of ``coef_``.
    bias_ : ndarray of shape (n_labels,) or None
        Constants of the labels.
    kernel_ : KernelMap or None
        The fitted kernel map.
    support_vectors_ : array of shape (n_support, n_features)
        Training rows on which scores depend; only with a kernel.
    dual_coef_ : ndarray of shape (n_support, n_labels)
        Coefficients of the support vectors; only with a kernel.
    n_support_ : int
        Number of support vectors; only with a kernel.
    residual_ : float
        Fraction of the trace of the kernel matrix that the coordinates leave out.
    dropped_ : float
        Bound on the change of a score by the omitted support vectors, per ``sqrt(k(x, x))``.
    """

    bias: bool
    ends: bool
    classes_: np.ndarray
    #: what nodes are called in errors
    _noun = "nodes"

    def _n_labels(self) -> int:
        return len(self.classes_)

    def _known_targets(self, y: Any, rows: Any) -> list[np.ndarray]:
        return label_numbers(y, rows.lengths, self.classes_)

    def _pairs(self, name: str, pairs: Collection[Any]) -> np.ndarray | None:
        """(K, K), True for the pairs of labels listed; None if none of them was learned."""
        number = {label: k for k, label in enumerate(self.classes_.tolist())}
        found = np.zeros((len(number), len(number)), dtype=bool)
        for pair in pairs:
            if not is_list(pair) or len(pair) != 2:
                raise ValueError(f"{name}: {pair!r} is not a pair of labels, such as ('a', 'b').")
            first, second = pair
            if first in number and second in number:
                found[number[first], number[second]] = True
        return found if found.any() else None

    def _warn_of_unseen(self, **forbidden: Iterable[Any]) -> None:
        """Tell of labels that options forbid and that y does not have: by mistake, perhaps."""
        known, found = set(self.classes_.tolist()), []
        for name, labels in forbidden.items():
            unseen = list(dict.fromkeys(label for label in labels if label not in known))
            if unseen:
                found.append(f"{name} has {some_labels(unseen)}")
        if found:
            warnings.warn(
                f"{', and '.join(found)}: labels that y does not have, and that are ignored. Check"
                " their spelling, unless this is a part of the data that lacks them.",
                UserWarning,
                stacklevel=self._depth + 2,
            )

    def _forbidden_pair(self, y: Any, edges: np.ndarray, mask: Any) -> str:
        """The first edge whose labels must not go together, in words; mask : (K, K) or None."""
        if mask is None:
            return ""
        ends = np.asarray(y)[edges]
        wrong = np.flatnonzero(np.asarray(mask)[ends[:, 0], ends[:, 1]])
        if len(wrong) == 0:
            return ""
        (u, v), (a, b) = edges[wrong[0]].tolist(), self.classes_[ends[wrong[0]]].tolist()
        return f": y[{u}] and y[{v}] are {a!r} and {b!r}, a pair that is forbidden"

    def _restrict(self, restriction: Restriction, layout: Layout) -> Layout:
        return restrict_labels(restriction, self.structure_, layout, self.classes_)

    def _output(self, z: np.ndarray, layout: Layout) -> np.ndarray:
        return self.classes_[self.structure_.decode(z, layout)]

    def _right(self, truth: Any, output: Any, layout: Layout) -> np.ndarray:
        truth = np.asarray(truth)
        if truth.shape != output.shape:
            raise ValueError(f"y has {truth.size} labels but x has {len(output)} {self._noun}.")
        return (truth == output)[find_known(truth)]  # None: unknown

    def decision_function(self, X: Any) -> Any:
        """Compute for each node and label the score of the best output with that label at the node.

        Returns
        -------
        list of ndarray of shape (n_nodes, n_labels)
            Scores (max-marginals), one array per sample.
        """
        return list(self._per_variable("max_marginals", X))

    # -- weights -----------------------------------------------------------------------------------
    def _rows(self) -> np.ndarray:
        check_is_fitted(self, "coef_")
        labels = len(self.classes_)
        count = self._n_columns() + int(self.bias) + 2 * int(self.ends)
        return as_dense(self.coef_)[: count * labels].reshape(count, labels)

    @property
    def node_coef_(self) -> np.ndarray:
        return self._rows()[: self._n_columns()]

    @property
    def bias_(self) -> np.ndarray | None:
        return self._rows()[self._n_columns()] * self._constant() if self.bias else None
