"""What TreeSVM and NetworkSVM share: labels for the nodes of graphs, with scores of label pairs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from copy import copy
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from maxmargin.estimators.base import StructuredSVM
from maxmargin.estimators.node_labels import NodeLabels
from maxmargin.estimators.restrictions import some_labels
from maxmargin.exceptions import SampleError
from maxmargin.features import FeatureMap, TreeFeatures
from maxmargin.features.graph import GraphRows
from maxmargin.features.tree import has_constant_edges
from maxmargin.inputs import Graph
from maxmargin.samples import Samples
from maxmargin.structures import Network
from maxmargin.structures.network.layout import NetworkLayout
from maxmargin.validation.feature_names import check_known_names, check_names, learn_names
from maxmargin.validation.options import CountOrZero
from maxmargin.validation.samples import (
    as_dense,
    check_labels,
    check_lengths,
    is_list,
    learn_classes,
)


class GraphLabels(NodeLabels):
    """Labels of the nodes of graphs: weights of nodes, then a table of label pairs a feature.

    The structure is one of `NetworkLabels`.
    """

    transitions: bool
    forbidden_pairs: Collection[Any]
    n_edge_features_in_: CountOrZero
    edge_feature_names_in_: np.ndarray
    unlearned_: list[Any]

    def _make_features(self) -> FeatureMap:
        return TreeFeatures(self.bias, self.ends, self.transitions)

    def _network(self, network: Network) -> Network:
        """The nodes that are neighbours where the best labels are looked for."""
        return network

    # -- samples -----------------------------------------------------------------------------------
    def _check_X(self, X: Any) -> tuple[GraphRows, None]:
        return self.feature_map_.check(X), None

    def _learn_names(self, X: Any) -> None:
        super()._learn_names(X)
        self._set_names("edge_feature_names_in_", learn_names(X, of_edges=True))

    def _check_names(self, X: Any) -> None:
        super()._check_names(X)
        check_names(X, getattr(self, "edge_feature_names_in_", None), of_edges=True)

    def _learn_width(self, rows: GraphRows) -> None:
        self.n_features_in_ = rows.nodes.matrix.shape[1]
        self.n_edge_features_in_ = rows.edges.matrix.shape[1]
        self.feature_map_.set_params(n_edge_features=self.n_edge_features_in_)

    def _check_width(self, rows: GraphRows) -> None:
        found = [("node", rows.nodes.matrix.shape[1], self.n_features_in_)]
        if rows.edges.matrix.shape[0] and self.transitions:
            found.append(("edge", rows.edges.matrix.shape[1], self.n_edge_features_in_))
        for kind, own, known in found:
            if own != known:
                raise ValueError(
                    f"X has {own} {kind} features, but {type(self).__name__} is expecting {known}:"
                    " those it was fitted on."
                    + (" A Graph without edge_features has one." if kind == "edge" else "")
                )

    def _n_packed(self) -> int:
        return self._n_columns() + self.n_edge_features_in_

    def validate(self) -> None:
        super().validate()
        if hasattr(self, "coef_") and self.feature_map_.n_edge_features != self.n_edge_features_in_:
            raise ValueError("feature_map_ is of another number of edge features")
        if hasattr(self, "edge_feature_names_in_"):
            names, count = self.edge_feature_names_in_, self.n_edge_features_in_
            check_known_names("edge_feature_names_in_", names, count)

    def _layouts(self, rows: GraphRows, given: Any) -> list[NetworkLayout]:
        number = {label: k for k, label in enumerate(self.classes_.tolist())}
        known: dict[tuple[Network, Any], NetworkLayout] = {}
        layouts = []
        for i, key in enumerate(zip(rows.networks, rows.labels, strict=True)):
            if key not in known:
                try:
                    allowed = None if key[1] is None else self._mask(key[1], number)
                    known[key] = self.structure_.layouts(
                        self._network(key[0]), len(number), allowed
                    )
                except ValueError as error:
                    raise SampleError.of(i, f": {error}") from error
            layouts.append(known[key])
        return layouts

    def _mask(self, labels: tuple[Any, ...], number: dict[Any, int]) -> np.ndarray:
        """(V, K), which labels each node may have."""
        rows: dict[Any, np.ndarray] = {}
        for v, own in enumerate(labels):
            if own not in rows:
                rows[own] = np.full(len(number), own is None)
                for label in own or ():
                    if label in number:
                        rows[own][number[label]] = True
                    elif label not in self.unlearned_:
                        raise ValueError(
                            f"labels[{v}] has {label!r}, but the labels learned are"
                            f" {some_labels(self.classes_)}."
                        )
                if not rows[own].any():
                    raise ValueError(
                        f"labels[{v}]: y had none of {list(own)} in training, where the labels were"
                        f" {some_labels(self.classes_)}. Allow one of these."
                    )
        return np.array([rows[own] for own in labels])

    def _pack(self, rows: GraphRows, layouts: list[Any]) -> Any:
        """Without transitions, features of edges do not count, however many there are."""
        q = self.n_edge_features_in_
        if not self.transitions:
            nothing = sparse.csr_array((rows.edges.matrix.shape[0], q))
            rows = rows._replace(edges=rows.edges._replace(matrix=nothing))
        return super()._pack(rows.with_edge_features(q), layouts)

    def _in_chunks(self, X: Any) -> Iterator[Samples]:
        """With tables of their own for edges that have features, even if none had in training."""
        own = self.structure_
        if own.tied and self.transitions and is_list(X) and not _all_constant(X):
            model = copy(self)
            model.structure_ = clone(own).set_params(tied=False)
            return StructuredSVM._in_chunks(model, X)
        return super()._in_chunks(X)

    # -- labels ------------------------------------------------------------------------------------
    def _learn_labels(self, y: Any, rows: GraphRows) -> list[np.ndarray]:
        check_lengths(y, rows.lengths)
        labels = check_labels(y)
        self.classes_, numbers = learn_classes(np.concatenate(labels))
        named = {label for own in rows.labels if own for some in own if some for label in some}
        self.unlearned_ = sorted(named - set(self.classes_.tolist()), key=str)
        _check_allowed(labels, rows.labels)
        tied = not self.transitions or _is_constant(rows.edges.matrix)
        pairs = self._pairs("forbidden_pairs", self.forbidden_pairs)
        self._warn_of_unseen(forbidden_pairs=chain.from_iterable(self.forbidden_pairs))
        self.structure_.set_params(tied=tied, forbidden_pairs=pairs)
        return np.split(numbers, np.cumsum(rows.lengths)[:-1])

    def _where_forbidden(self, y: Any, layout: NetworkLayout) -> str:
        return self._forbidden_pair(y, layout.network.edges, self.structure_.forbidden_pairs)

    # -- weights -----------------------------------------------------------------------------------
    @property
    def root_(self) -> np.ndarray | None:
        return self._rows()[-2] if self.ends else None

    @property
    def leaf_(self) -> np.ndarray | None:
        return self._rows()[-1] if self.ends else None

    @property
    def pair_coef_(self) -> np.ndarray | None:
        check_is_fitted(self, "coef_")
        if not self.transitions:
            return None
        labels = len(self.classes_)
        tables = as_dense(self.coef_)[self._rows().size :].reshape(-1, labels, labels)
        return tables[0] if self.structure_.tied else tables


def _is_constant(edges: Any) -> bool:
    """Whether all edges have one feature, which is 1."""
    return edges.shape[0] == 0 or (edges.shape[1] == 1 and bool((edges.toarray() == 1).all()))


def _all_constant(X: Any) -> bool:
    return all(has_constant_edges(x) for x in X if isinstance(x, Graph))


def _check_allowed(y: list[np.ndarray], labels: list[Any]) -> None:
    """Fail if a node has a label that its graph does not allow."""
    for i, allowed in enumerate(labels):
        for v, own in enumerate(allowed or ()):
            if own is not None and y[i][v] not in own:
                raise SampleError.of(
                    i,
                    f": y[{v}] is {y[i][v].item()!r}, but its graph allows node {v}"
                    f" {list(own)} only. Correct the label, or allow it.",
                )
