"""One feature row per part: features that depend on the output in any way."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.features.base import FeatureMap, Group
from maxmargin.validation import Rows, check_rows


class PartFeatures(FeatureMap):
    """Score of part p = row p . w: a sample is a matrix (n_parts, n_features), dense or CSR.

    The features may depend on input and output alike; the rows stand in the order of the
    structure's parts.
    """

    def check(self, X: Any) -> Rows:
        return check_rows(X)

    def n_columns(self, X: Rows) -> int:
        return X.matrix.shape[1]

    def dim(self, n_columns: int, n_labels: int) -> int:
        return n_columns

    def groups(self, X: Rows, n_labels: int, n_parts: np.ndarray) -> list[Group]:
        return [Group(X.matrix, X.lengths, 1, 0)]
