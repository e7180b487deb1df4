"""Features of a sample conjoined with labels, and weights for pairs of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.exceptions import SampleError
from maxmargin.features.base import FeatureMap, Group, append_ones
from maxmargin.validation.options import CountOrZero
from maxmargin.validation.samples import Rows, check_rows


class MultiLabelFeatures(FeatureMap):
    """Scores of labels from features, and one weight, or one weight per feature, for each pair.

    Label k scores `x . W[:, k]`, pair e of labels `v_e`, or `x . V[:, e]` with `pair_features`.
    Weights, in this order: W of shape (n_features + bias, L), row by row; then one for each of the
    E pairs, or, with `pair_features`, V of shape (n_features + 1, E), row by row, the last row
    being that of a constant. Parts are those of `MultiLabel`; a sample is one row.

    Parameters
    ----------
    bias : bool, default=True
        Whether to add a feature that is 1.
    pair_features : bool, default=False
        Whether the scores of pairs depend on x.
    n_pairs : int, default=0
        Number of pairs E.
    """

    def __init__(self, bias: bool = True, pair_features: bool = False, n_pairs: CountOrZero = 0):
        self.bias = bias
        self.pair_features = pair_features
        self.n_pairs = n_pairs

    def check(self, X: Any) -> Rows:
        return check_rows(X)

    def n_columns(self, X: Rows) -> int:
        return X.n_columns

    def dim(self, n_columns: int, n_labels: int) -> int:
        pairs = n_columns + 1 if self.pair_features else 1
        return (n_columns + bool(self.bias)) * n_labels + pairs * self.n_pairs

    def constant_weights(self, X: Rows, n_labels: int) -> range:
        first = X.n_columns * n_labels
        return range(first, first + n_labels * bool(self.bias))

    def groups(self, X: Rows, n_labels: int, n_parts: np.ndarray) -> list[Group]:
        wrong = (X.lengths != 1) | (n_parts != n_labels + self.n_pairs)
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            raise SampleError.of(
                i,
                f": {X.lengths[i]} rows, {n_labels} labels and {self.n_pairs} pairs do"
                f" not make {n_parts[i]} parts; a sample is one row.",
            )
        one = sparse.csr_array(np.ones((X.matrix.shape[0], 1)))
        wide = append_ones(X.matrix, np.arange(X.matrix.shape[0]))
        own = wide if self.bias else X.matrix
        groups = [Group(sparse.csr_array(own), X.lengths, n_labels, 0)]
        if self.n_pairs:
            pairs = sparse.csr_array(wide if self.pair_features else one)
            groups.append(Group(pairs, X.lengths, self.n_pairs, own.shape[1] * n_labels))
        return groups
