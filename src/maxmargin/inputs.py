"""Samples that are graphs, as users give them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.structures.matching.candidates import Candidates, as_integers
from maxmargin.structures.network.network import Network
from maxmargin.validation.feature_names import column_names
from maxmargin.validation.samples import describe_ragged


class Bipartite:
    """Candidate links between J rows and K columns, with features.

    Parameters
    ----------
    shape : tuple of int
        Numbers of rows and columns (J, K).
    edges : array_like of shape (n_edges, 2) or None
        Pairs (row, column) that may be linked, in any order, none twice. None means all pairs, row
        by row.
    features : {array_like, sparse matrix} of shape (n_edges, n_features)
        Features of each edge.
    row_caps, column_caps : array_like of shape (J,) and (K,), default=None
        Maximum number of links of each node; None means the estimator's values.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        edges: Any,
        features: Any,
        row_caps: Any = None,
        column_caps: Any = None,
    ):
        self.candidates = Candidates(shape, edges, row_caps, column_caps)
        self.feature_names = column_names(features)
        self.features = features if sparse.issparse(features) else _as_array(features)
        if self.features.ndim != 2 or self.features.shape[0] != self.candidates.n_edges:
            raise ValueError(
                f"features have shape {self.features.shape}, expected"
                f" ({self.candidates.n_edges}, n_features): one row for each edge."
            )

    @property
    def shape(self) -> tuple[int, int]:
        return self.candidates.shape

    @property
    def edges(self) -> np.ndarray:
        return self.candidates.links

    def __repr__(self) -> str:
        return (
            f"Bipartite({self.shape}, {len(self.edges)} edges, {self.features.shape[1]} features)"
        )


class Graph:
    """Nodes with features, and edges between them.

    Parameters
    ----------
    nodes : {array_like, sparse matrix} of shape (n_nodes, n_features)
        Features of each node.
    edges : array_like of shape (n_edges, 2)
        Pairs of different nodes, numbered from 0, in any order; none twice in either direction.
    edge_features : {array_like, sparse matrix} of shape (n_edges, n_edge_features), default=None
        Features of each edge, of shape (n_edges,) if there is one; None means one feature that is 1
        for every edge. Graphs without edges can be combined with any number of edge features.
    labels : list, default=None
        Labels that each node may have, such as ["noun", "name"], or None for all; for `TreeSVM` and
        `NetworkSVM`.
    """

    def __init__(self, nodes: Any, edges: Any, edge_features: Any = None, labels: Any = None):
        self.feature_names = column_names(nodes)
        self.edge_feature_names = column_names(edge_features)
        self.nodes = nodes if sparse.issparse(nodes) else _as_array(nodes, "nodes")
        if self.nodes.ndim != 2:
            raise ValueError(f"nodes have shape {self.nodes.shape}, expected (V, n_features).")
        if self.nodes.shape[0] == 0:
            raise ValueError("nodes: a graph has one node at least; leave this one out.")
        self.network = Network(self.nodes.shape[0], edges)
        if edge_features is None:
            edge_features = np.ones((self.network.n_edges, 1))
        if not sparse.issparse(edge_features):
            edge_features = _as_array(edge_features, "edge_features")
            if edge_features.ndim == 1 and len(edge_features):
                edge_features = edge_features[:, None]
            if edge_features.size == 0 and self.network.n_edges == 0:
                edge_features = edge_features.reshape(0, edge_features.shape[-1])
        self.edge_features = edge_features
        if self.edge_features.ndim != 2 or self.edge_features.shape[0] != self.network.n_edges:
            raise ValueError(
                f"edge_features have shape {self.edge_features.shape}, expected"
                f" ({self.network.n_edges}, n_features): one row for each edge."
            )
        self.labels = _check_allowed(labels, self.network.n_nodes)

    @classmethod
    def from_parents(
        cls,
        nodes: Any,
        parents: Any,
        edge_features: Any = None,
        forest: bool = False,
        labels: Any = None,
    ) -> Graph:
        """Build the tree in which edges lead from each node's parent to the node.

        Parameters
        ----------
        nodes : {array_like, sparse matrix} of shape (n_nodes, n_features)
            Features of each node.
        parents : array_like of shape (n_nodes,)
            Parent of each node, numbered from 0, -1 for the root: one less than the heads of
            CoNLL-U, which count from 1 and have 0 for the root.
        edge_features : {array_like, sparse matrix}, default=None
            As for `Graph`, one row for each node that has a parent, in the order of the nodes.
        forest : bool, default=False
            Whether several roots are allowed.
        labels : list, default=None
            As for `Graph`.

        Returns
        -------
        Graph
            The tree.
        """
        found = as_integers("parents", parents)
        count = (nodes if sparse.issparse(nodes) else _as_array(nodes, "nodes")).shape[0]
        if found.shape != (count,):
            raise ValueError(
                f"parents have shape {found.shape}, expected ({count},): one per node."
            )
        _check_parents(found, forest)
        children = np.flatnonzero(found >= 0)
        edges = np.column_stack([found[children], children])
        return cls(nodes, edges, edge_features, labels)

    @property
    def edges(self) -> np.ndarray:
        return self.network.edges

    def __repr__(self) -> str:
        nodes, edges = self.nodes.shape, self.edge_features.shape
        return f"Graph({nodes[0]} nodes with {nodes[1]} features, {edges[0]} edges with {edges[1]})"


def _check_allowed(labels: Any, count: int) -> tuple[Any, ...] | None:
    """The labels of each node as a tuple, None for all; None if that is so for all nodes."""
    if labels is None:
        return None
    if isinstance(labels, str) or not hasattr(labels, "__len__"):
        raise TypeError(f"labels={labels!r}: expected a list, one collection of labels per node.")
    if len(labels) != count:
        raise ValueError(f"labels are given for {len(labels)} nodes, but there are {count}.")
    found: list[tuple[Any, ...] | None] = []
    for v, own in enumerate(labels):
        if own is not None and (isinstance(own, str) or not hasattr(own, "__iter__")):
            raise TypeError(
                f"labels[{v}] is {own!r}, expected a collection of labels, such as [{own!r}]."
            )
        found.append(None if own is None else tuple(own))
        if found[-1] == ():
            raise ValueError(f"labels[{v}] is empty: a node has one label at least; None means all")
    return tuple(found) if any(own is not None for own in found) else None


def _check_parents(parents: np.ndarray, forest: bool) -> None:
    """Fail unless every node leads up to a root, one for all unless `forest`."""
    count = len(parents)
    wrong = (parents < -1) | (parents >= count)
    if wrong.any():
        v = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"parents[{v}] is {parents[v]}, outside {count} nodes; -1 is a root."
            f"{_from_one(parents)}"
        )
    seen, ways = [-1] * count, parents.tolist()
    for v in range(count):
        u, way = v, []
        while u >= 0 and seen[u] < 0:
            seen[u] = v
            way.append(u)
            u = ways[u]
        if u >= 0 and seen[u] == v:
            cycle = way[way.index(u) :]
            if len(cycle) == 1:
                raise ValueError(
                    f"parents: node {u} is its own parent; a root has -1.{_from_one(parents)}"
                )
            names = ", ".join(map(str, cycle[:12])) + (", ..." if len(cycle) > 12 else "")
            raise ValueError(
                f"parents: nodes {names} are a cycle of {len(cycle)}, and a tree has none; one of"
                f" them must be a root (-1), or have a parent outside.{_from_one(parents)}"
            )
    roots = np.flatnonzero(parents < 0)
    if len(roots) > 1 and not forest:
        names = ", ".join(map(str, roots[:12].tolist())) + (", ..." if len(roots) > 12 else "")
        raise ValueError(
            f"parents: nodes {names} are {len(roots)} roots, and a tree has one; forest=True"
            " allows several."
        )


def _from_one(parents: np.ndarray) -> str:
    """What to say of parents that would be a tree if they were counted from 1, 0 for a root."""
    if not (parents == 0).any() or (parents < 0).any():
        return ""
    try:
        _check_parents(parents - 1, forest=False)
    except ValueError:
        return ""
    return (
        " They look like heads counted from 1, with 0 for the root, as in CoNLL-U: count from 0,"
        " with -1 for the root, that is, subtract 1."
    )


def _as_array(features: Any, name: str = "features") -> np.ndarray:
    try:
        return np.asarray(features)
    except ValueError as error:
        why = describe_ragged(features) or error
        raise ValueError(f"{name}: not an array of two dimensions ({why})") from None
