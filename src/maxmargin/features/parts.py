"""One feature row per part: features that depend on the output in any way."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.features.base import FeatureMap, Group, PackedFeatures, append_ones, share_rows
from maxmargin.validation.options import Count
from maxmargin.validation.samples import Rows, check_rows


class PartFeatures(FeatureMap):
    """One row of features for each part: a sample is a matrix (n_parts, n_features), dense or CSR.

    Part p scores `row p . w`. The features may depend on input and output alike; the rows are in
    the order of the structure's parts. With several labels a row describes as many parts side by
    side, which have weights of their own: W of shape (n_features + bias, labels), row by row.

    Parameters
    ----------
    bias : bool, default=False
        Whether to add a feature that is 1 for every part; its weight is the last one.
    labels : int, default=1
        Number of parts that each row describes.
    """

    def __init__(self, bias: bool = False, labels: Count = 1):
        self.bias = bias
        self.labels = labels

    def check(self, X: Any) -> Rows:
        return check_rows(X)

    def n_columns(self, X: Rows) -> int:
        return X.n_columns

    def dim(self, n_columns: int, n_labels: int) -> int:
        return (n_columns + bool(self.bias)) * self.labels

    def constant_weights(self, X: Rows, n_labels: int) -> range:
        return range(X.n_columns * self.labels, self.dim(X.n_columns, n_labels))

    def groups(self, X: Rows, n_labels: int, n_parts: np.ndarray) -> list[Group]:
        matrix = X.matrix
        if self.bias:
            matrix = append_ones(matrix, np.arange(matrix.shape[0]))
        return [Group(matrix, X.lengths, self.labels, 0)]

    def _share(self, X: Any, n_parts: np.ndarray, dim: int) -> PackedFeatures | None:
        # rows that are not yet in one matrix are copied anyway, and then better by parts
        known = isinstance(X, Rows) and self.labels == 1
        return share_rows(self.groups(X, 1, n_parts)[0], dim) if known else None
