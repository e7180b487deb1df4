"""Features of nodes and edges, of trees and others, conjoined with labels and pairs of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.exceptions import SampleError
from maxmargin.features.base import FeatureMap, Group, append_ones
from maxmargin.features.graph import GraphRows, check_graphs
from maxmargin.inputs import Graph
from maxmargin.validation.options import CountOrZero
from maxmargin.validation.samples import as_csr


class TreeFeatures(FeatureMap):
    """Node scores from features times labels, edge scores from features times pairs of labels.

    Label k at node v scores `x_v . W[:, k]`; an edge with features f scores `sum_q f_q T[q, j, k]`.
    Weights, in this order: W of shape (p + bias + 2 ends, K), row by row; then, with `transitions`,
    q tables (K, K), row = label of the edge's first end. Parts are those of `Tree` and
    `MarkovNetwork`: tied ones require edges with one feature that is 1, others take any. A path 0
    -> 1 -> 2 has the weights of a chain.

    Parameters
    ----------
    bias : bool, default=True
        Whether to add a feature that is 1 at every node.
    ends : bool, default=True
        Whether to add a feature that is 1 at nodes that no edge leads to (roots, if edges lead from
        parents to children), and one for nodes from which no edge starts (leaves).
    transitions : bool, default=True
        Whether to learn the tables; without them, pairs score 0.
    n_edge_features : int, default=1
        Number of edge features q.
    """

    def __init__(
        self,
        bias: bool = True,
        ends: bool = True,
        transitions: bool = True,
        n_edge_features: CountOrZero = 1,
    ):
        self.bias = bias
        self.ends = ends
        self.transitions = transitions
        self.n_edge_features = n_edge_features

    def check(self, X: Any) -> GraphRows:
        return check_graphs(X)

    def n_columns(self, X: GraphRows) -> int:
        return X.nodes.matrix.shape[1] + X.edges.matrix.shape[1]

    def dim(self, n_columns: int, n_labels: int) -> int:
        nodes = n_columns - self.n_edge_features + bool(self.bias) + 2 * bool(self.ends)
        pairs = self.n_edge_features * n_labels * n_labels if self.transitions else 0
        return nodes * n_labels + pairs

    def constant_weights(self, X: GraphRows, n_labels: int) -> range:
        first = X.nodes.n_columns * n_labels
        return range(first, first + n_labels * bool(self.bias))

    def groups(self, X: GraphRows, n_labels: int, n_parts: np.ndarray) -> list[Group]:
        nodes = Group(self._with_constants(X), X.lengths, n_labels, 0)
        square = n_labels * n_labels
        tables, rest = np.divmod(n_parts - X.lengths * n_labels, square)
        wrong = (rest != 0) | ((tables != X.edges.lengths) & (tables != 1))
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            raise SampleError.of(
                i,
                f": {X.lengths[i]} nodes and {X.edges.lengths[i]} edges with tables of"
                f" {square} label pairs do not make {n_parts[i]} parts.",
            )
        pairs = self._tables(X, tables)
        if not self.transitions:
            pairs = sparse.csr_array(pairs.shape)
        base = nodes.matrix.shape[1] * n_labels
        return [nodes, Group(pairs, tables, square, base)]

    def _tables(self, X: GraphRows, tables: np.ndarray) -> sparse.csr_array:
        """A row for each table: its edge's features, or 1 for one that all edges share."""
        edges, lengths = X.edges.matrix, X.edges.lengths
        tied = tables != lengths
        if not tied.any():
            return edges
        sample = np.repeat(np.arange(len(lengths)), lengths)
        if self.transitions and tied[sample].any():
            wrong = tied[sample] & ~_is_one(edges)
            if wrong.any():
                raise SampleError.of(
                    sample[np.flatnonzero(wrong)[0]],
                    ": its edges have features other than"
                    " one that is 1, and need tables of their own: tied=False.",
                )
        one = sparse.csr_array(([1.0], ([0], [0])), shape=(1, edges.shape[1]))
        starts = np.cumsum(lengths) - lengths
        which = np.where(tied, edges.shape[0], starts)
        rows = np.arange(tables.sum()) - np.repeat(np.cumsum(tables) - tables, tables)
        rows += np.repeat(which, tables)
        return sparse.csr_array(sparse.vstack([edges, one], format="csr")[rows])

    def _with_constants(self, X: GraphRows) -> sparse.csr_array:
        total = X.nodes.matrix.shape[0]
        rows = [np.arange(total)] if self.bias else []
        if self.ends:
            starts = np.repeat(np.cumsum(X.lengths) - X.lengths, X.edges.lengths)
            ends = np.concatenate([network.edges for network in X.networks]) + starts[:, None]
            rows += [np.setdiff1d(np.arange(total), ends[:, side]) for side in (1, 0)]
        return append_ones(X.nodes.matrix, *rows)


def has_constant_edges(x: Graph) -> bool:
    """Whether its edges have one feature, which is 1: then one pair table is enough."""
    features = x.edge_features
    if features.shape[0] == 0:
        return True
    if features.shape[1] != 1:
        return False
    if sparse.issparse(features):
        return bool((as_csr(features).toarray() == 1).all())
    return bool((features == 1).all())


def _is_one(matrix: sparse.csr_array) -> np.ndarray:
    """Which rows are a single 1, in a matrix of one column."""
    if matrix.shape[1] != 1:
        return np.zeros(matrix.shape[0], dtype=bool)
    return matrix.toarray()[:, 0] == 1.0
