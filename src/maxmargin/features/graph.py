"""Features of the nodes and edges of graphs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from maxmargin.exceptions import SampleError
from maxmargin.features.base import FeatureMap, Group, append_ones
from maxmargin.inputs import Graph
from maxmargin.structures.network.network import Network
from maxmargin.validation.samples import Rows, as_array, check_is_list, check_rows, stack_rows

#: how the four weights of an edge feature (labels 00, 01, 10, 11) add to the score of the first
#: end's label 1, of the second end's, and of a cut; what is left does not depend on the labels
TABLES = np.array([[-1.0, -1.0, 1.0, 1.0], [-1.0, 1.0, -1.0, 1.0], [-1.0, 1.0, 1.0, -1.0]]) / 2


class GraphRows(NamedTuple):
    """Rows of the nodes and of the edges of all samples, and which nodes are neighbours.

    labels : of each sample, what its Graph says of the labels that its nodes may have.
    """

    nodes: Rows
    edges: Rows
    networks: list[Network]
    labels: list[Any]

    @property
    def lengths(self) -> np.ndarray:
        return self.nodes.lengths

    def part(self, first: int, last: int) -> GraphRows:
        """Some of the samples."""
        nodes, edges = self.nodes.part(first, last), self.edges.part(first, last)
        return GraphRows(nodes, edges, self.networks[first:last], self.labels[first:last])

    def with_edge_features(self, count: int) -> GraphRows:
        """The same with this many edge features, if there are no edges to say how many."""
        if self.edges.matrix.shape[0]:
            return self
        nothing = Rows(sparse.csr_array((0, count)), self.edges.lengths)
        return self._replace(edges=nothing)


class GraphFeatures(FeatureMap):
    """Node scores from features of the nodes, edge scores from features f_e >= 0 of the edges.

    Node j scores x_j . w_n + bias. Weights, in this order: one for each node feature, the bias,
    then those of the edges. Parts are those of `GraphCut`. An edge costs w_e . f_e if its ends
    differ, w_e >= 0; or, with `tables`, its feature k scores `w[k, a, b] f_ek` if its ends have
    labels a and b, which is submodular if `w[k, 0, 0] + w[k, 1, 1] >= w[k, 0, 1] + w[k, 1, 0]`.
    Scores of parts are relative to `w[k, 0, 0]`: the output of zeros scores 0
    (`GraphCutSVM.decision_function` adds the rest).

    Parameters
    ----------
    bias : bool, default=True
        Whether to add a feature that is 1 at every node.
    tables : bool, default=False
        Whether to use four weights for each edge feature instead of one.
    """

    def __init__(self, bias: bool = True, tables: bool = False):
        self.bias = bias
        self.tables = tables

    def check(self, X: Any) -> GraphRows:
        rows = check_graphs(X)
        for i, labels in enumerate(rows.labels):
            if labels is not None:
                raise SampleError.of(
                    i,
                    ": a cut cannot restrict the labels of single nodes; use TreeSVM or"
                    " NetworkSVM, or leave Graph(labels=...) out.",
                )
        _refuse_negative(rows.edges)
        return rows

    def n_columns(self, X: GraphRows) -> int:
        return X.nodes.matrix.shape[1] + (4 if self.tables else 1) * X.edges.matrix.shape[1]

    def dim(self, n_columns: int, n_labels: int) -> int:
        return n_columns + bool(self.bias)

    def constant_weights(self, X: GraphRows, n_labels: int) -> range:
        return range(X.nodes.n_columns, X.nodes.n_columns + bool(self.bias))

    def groups(self, X: GraphRows, n_labels: int, n_parts: np.ndarray) -> list[Group]:
        nodes, edges = X.nodes.matrix, -X.edges.matrix
        if self.bias:
            nodes = append_ones(nodes, np.arange(nodes.shape[0]))
        base = nodes.shape[1]
        if self.tables:
            nodes = sparse.hstack([nodes, self._on_nodes(X)], format="csr")
            edges = sparse.csr_array(sparse.kron(X.edges.matrix, TABLES[2:]))
        return [Group(nodes, X.lengths, 1, 0), Group(edges, X.edges.lengths, 1, base)]

    def _on_nodes(self, X: GraphRows) -> sparse.csr_array:
        """What the tables add to the scores of the nodes."""
        first = np.repeat(np.cumsum(X.lengths) - X.lengths, X.edges.lengths)
        ends = np.concatenate([network.edges for network in X.networks]) + first[:, None]
        shape = (X.nodes.matrix.shape[0], len(ends))
        total = sparse.csr_array((shape[0], 4 * X.edges.matrix.shape[1]))
        for side in range(2):
            where = (ends[:, side], np.arange(len(ends)))
            incidence = sparse.csr_array((np.ones(len(ends)), where), shape=shape)
            total += incidence @ sparse.kron(X.edges.matrix, TABLES[side : side + 1], format="csr")
        return sparse.csr_array(total)


def check_graphs(X: Any) -> GraphRows:
    """Samples given as a list of Graphs; features of any sign, finite."""
    check_is_list(X)
    for i, x in enumerate(X):
        if not isinstance(x, Graph):
            raise TypeError(
                f"sample {i}: x is {type(x).__name__}, expected Graph(nodes, edges, edge_features)."
            )
    nodes = check_rows([x.nodes for x in X], lambda i, row, k: f"nodes[{row}, {k}]")
    edges = _check_edge_rows(X)
    return GraphRows(nodes, edges, [x.network for x in X], [x.labels for x in X])


def _check_edge_rows(X: list[Graph]) -> Rows:
    """Edge features of all samples; a sample may have no edges."""
    lengths = np.array([x.network.n_edges for x in X], dtype=np.int64)
    own = [as_array(i, x.edge_features) for i, x in enumerate(X)]
    for i, (x, features) in enumerate(zip(X, own, strict=True)):
        if features.shape[:1] != (x.network.n_edges,) or x.nodes.shape[0] != x.network.n_nodes:
            raise SampleError.of(
                i,
                f": its Graph was changed: {x.nodes.shape[0]} rows of node features and"
                f" {features.shape[0]} of edge features, but {x.network}.",
            )
    first = next((i for i, count in enumerate(lengths) if count), 0)
    width = own[first].shape[1]
    for i, features in enumerate(own):
        if lengths[i] and features.shape[1] != width:
            raise SampleError.of(
                i, f": {features.shape[1]} edge features, sample {first} has {width}."
            )
    own = [own[i] for i in np.flatnonzero(lengths)] or [np.zeros((0, width))]
    matrix = sparse.csr_array(stack_rows(own), dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    rows = Rows(matrix, lengths)
    _refuse(rows, ~np.isfinite(matrix.data), "must be finite. Impute or drop it before fitting.")
    return rows


def _refuse_negative(rows: Rows) -> None:
    why = (
        "must be finite and not negative, so that no weights that may be learned, tables included,"
        " reward a cut. Shift them, or give one column each to the positive and the negative part."
    )
    _refuse(rows, rows.matrix.data < 0, why)


def _refuse(rows: Rows, wrong: np.ndarray, why: str) -> None:
    if wrong.any():
        entry = int(np.flatnonzero(wrong)[0])
        row = int(np.searchsorted(rows.matrix.indptr, entry, side="right")) - 1
        i = int(np.searchsorted(np.cumsum(rows.lengths), row, side="right"))
        place = row - int(rows.lengths[:i].sum())
        raise SampleError.of(
            i,
            f": edge_features[{place}, {rows.matrix.indices[entry]}] is"
            f" {rows.matrix.data[entry]:g}; features of edges {why}",
        )
