"""One feature row per part: features that depend on the output in any way."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.features.base import FeatureMap, Group, append_ones
from maxmargin.validation.samples import Rows, check_rows


class PartFeatures(FeatureMap):
    """One row of features for each part: a sample is a matrix (n_parts, n_features), dense or CSR.

    Part p scores `row p . w`. The features may depend on input and output alike; the rows are in
    the order of the structure's parts.

    Parameters
    ----------
    bias : bool, default=False
        Whether to add a feature that is 1 for every part; its weight is the last one.
    """

    def __init__(self, bias: bool = False):
        self.bias = bias

    def check(self, X: Any) -> Rows:
        return check_rows(X)

    def n_columns(self, X: Rows) -> int:
        return X.n_columns

    def dim(self, n_columns: int, n_labels: int) -> int:
        return n_columns + bool(self.bias)

    def groups(self, X: Rows, n_labels: int, n_parts: np.ndarray) -> list[Group]:
        matrix = X.matrix
        if self.bias:
            matrix = append_ones(matrix, np.arange(matrix.shape[0]))
        return [Group(matrix, X.lengths, 1, 0)]
