"""Features of nodes conjoined with labels, and weights for pairs of neighbouring labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.exceptions import SampleError
from maxmargin.features.base import FeatureMap, Group, append_ones
from maxmargin.validation.samples import Rows, check_rows


class LabelConjoined(FeatureMap):
    """Node scores from features times labels, and one weight for each pair of neighbouring labels.

    Label k at node t scores `x_t . W[:, k]`. Weights, in this order: W of shape (n_features + bias
    + 2 ends, K), row by row; then, with `transitions`, a (K, K) table, row = left label, shared by
    all positions of the chain whether or not the structure ties their parts. Dense and CSR rows are
    packed alike: only non-zeros take time and memory.

    Parameters
    ----------
    bias : bool, default=True
        Whether to add a feature that is 1 at every node.
    ends : bool, default=True
        Whether to add a feature that is 1 at the first node of a sample, and one for the last.
    transitions : bool, default=True
        Whether to learn the pair table; without it, pairs score 0.
    """

    def __init__(self, bias: bool = True, ends: bool = True, transitions: bool = True):
        self.bias = bias
        self.ends = ends
        self.transitions = transitions

    def check(self, X: Any) -> Rows:
        return check_rows(X)

    def n_columns(self, X: Rows) -> int:
        return X.n_columns

    def _n_rows(self, n_columns: int) -> int:
        return n_columns + bool(self.bias) + 2 * bool(self.ends)

    def dim(self, n_columns: int, n_labels: int) -> int:
        pairs = n_labels * n_labels if self.transitions else 0
        return self._n_rows(n_columns) * n_labels + pairs

    def constant_weights(self, X: Rows, n_labels: int) -> range:
        first = X.n_columns * n_labels
        return range(first, first + n_labels * bool(self.bias))

    def groups(self, X: Rows, n_labels: int, n_parts: np.ndarray) -> list[Group]:
        nodes = Group(self._with_constants(X), X.lengths, n_labels, 0)
        square = n_labels * n_labels
        tables, rest = np.divmod(n_parts - X.lengths * n_labels, square)
        if rest.any() or (tables < 0).any():
            i = int(np.flatnonzero(rest + (tables < 0))[0])
            raise SampleError.of(
                i,
                f": {X.lengths[i]} rows and tables of {square} label pairs do not make "
                f"{n_parts[i]} parts. Use PartFeatures, with one row of features per part.",
            )
        if not tables.any():
            return [nodes]
        one = np.full((tables.sum(), 1), float(self.transitions))
        base = nodes.matrix.shape[1] * n_labels
        return [nodes, Group(sparse.csr_array(one), tables, square, base)]

    def _with_constants(self, X: Rows) -> sparse.csr_array:
        """The rows with 1 in further columns: the bias, and the first and the last of a sample."""
        rows = [np.arange(X.matrix.shape[0])] if self.bias else []
        if self.ends:
            stops = np.cumsum(X.lengths)
            rows += [stops - X.lengths, stops - 1]
        return append_ones(X.matrix, *rows)
