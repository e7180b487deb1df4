"""Costs of parts from features of instances, or of parts, or both."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse

from maxmargin.exceptions import SampleError
from maxmargin.features.base import FeatureMap, Group, append_ones
from maxmargin.validation.options import check_options
from maxmargin.validation.samples import Rows, check_matrix, check_rows


class DecisionFeatures(FeatureMap):
    """Scores of parts by weights of their own, by shared ones, or by the sum of both.

    Weights, in this order: shared ones, one per feature; then those of the parts, a table of shape
    (n_features + intercept, n_parts), row by row.

    Parameters
    ----------
    weights : {"own", "shared", "both"}, default="own"
        Whose weights there are. With "shared" alone, the intercept is shared, too.
    per_instance : bool, default=True
        Whether a sample is one row of features, which all of its parts have, so that X is a matrix;
        otherwise it is a matrix with one row per part.
    intercept : bool, default=True
        Whether to add a feature that is 1.
    """

    def __init__(
        self,
        weights: Literal["own", "shared", "both"] = "own",
        per_instance: bool = True,
        intercept: bool = True,
    ):
        self.weights = weights
        self.per_instance = per_instance
        self.intercept = intercept

    def check(self, X: Any) -> Rows:
        check_options(self)
        if self.per_instance:
            return check_matrix(X)
        return check_rows(X, lambda _, part, column: f"feature {column} of part {part}")

    def n_columns(self, X: Rows) -> int:
        return X.n_columns

    def dim(self, n_columns: int, n_labels: int) -> int:
        table = (n_columns + bool(self.intercept)) * n_labels
        if self.weights == "shared":
            return n_columns + bool(self.intercept)
        return table + (n_columns if self.weights == "both" else 0)

    def constant_weights(self, X: Rows, n_labels: int) -> range:
        dim = self.dim(X.n_columns, n_labels)
        width = 1 if self.weights == "shared" else n_labels
        return range(dim - width * bool(self.intercept), dim)

    def groups(self, X: Rows, n_labels: int, n_parts: np.ndarray) -> list[Group]:
        # n_labels is the number of parts where these have weights of their own
        matrix = X.matrix
        if self.intercept:
            matrix = append_ones(matrix, np.arange(matrix.shape[0]))
        if self.weights != "shared" and (n_parts != n_labels).any():
            i = int(np.flatnonzero(n_parts != n_labels)[0])
            raise SampleError.of(
                i,
                f": it has {n_parts[i]} parts, others {n_labels}; where parts have weights of their"
                ' own, all samples must have the same ones. Use weights="shared".',
            )
        if self.per_instance:
            return [Group(matrix, np.ones(len(n_parts), dtype=np.int64), n_labels, 0)]
        if self.weights == "shared":
            return [Group(matrix, X.lengths, 1, 0)]
        own = _spread(matrix, n_labels)
        if self.weights == "both":
            own = sparse.csr_array(sparse.hstack([X.matrix, own]))
        return [Group(own, X.lengths, 1, 0)]


def _spread(matrix: sparse.csr_array, n_parts: int) -> sparse.csr_array:
    """Rows of parts in turn, each with columns of its own: k n_parts + part for column k."""
    part = np.repeat(np.arange(matrix.shape[0]) % n_parts, np.diff(matrix.indptr))
    columns = matrix.indices.astype(np.int64) * n_parts + part
    shape = matrix.shape[0], matrix.shape[1] * n_parts
    return sparse.csr_array((matrix.data, columns, matrix.indptr), shape=shape)
