"""Features of the nodes and edges of graphs whose nodes have one of K labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.features.base import FeatureMap, Group, append_ones
from maxmargin.features.graph import GraphFeatures, GraphRows
from maxmargin.validation.options import CountOrZero


class PottsFeatures(FeatureMap):
    """Node scores x_j . W + bias for K labels; an edge whose ends differ costs w_e . f_e, w_e >= 0.

    Weights, in this order: K for each node feature and for the bias, then one for each edge feature
    f_e >= 0. Parts are those of `Potts`.

    Parameters
    ----------
    bias : add a feature that is 1 at every node.
    n_edge_features : how many of the features are of edges.
    """

    def __init__(self, bias: bool = True, n_edge_features: CountOrZero = 1):
        self.bias = bias
        self.n_edge_features = n_edge_features

    def check(self, X: Any) -> GraphRows:
        return GraphFeatures(self.bias).check(X)

    def n_columns(self, X: GraphRows) -> int:
        return X.nodes.matrix.shape[1] + X.edges.matrix.shape[1]

    def dim(self, n_columns: int, n_labels: int) -> int:
        nodes = n_columns - self.n_edge_features + bool(self.bias)
        return nodes * n_labels + self.n_edge_features

    def constant_weights(self, X: GraphRows, n_labels: int) -> range:
        first = X.nodes.n_columns * n_labels
        return range(first, first + n_labels * bool(self.bias))

    def groups(self, X: GraphRows, n_labels: int, n_parts: np.ndarray) -> list[Group]:
        nodes = X.nodes.matrix
        if self.bias:
            nodes = append_ones(nodes, np.arange(nodes.shape[0]))
        base = nodes.shape[1] * n_labels
        return [
            Group(nodes, X.lengths, n_labels, 0),
            Group(-X.edges.matrix, X.edges.lengths, 1, base),
        ]
