"""Labels for the nodes of trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from maxmargin.callbacks import Callback
from maxmargin.domains import Domain
from maxmargin.estimators.base import StructuredSVM
from maxmargin.estimators.node_labels import NodeLabels
from maxmargin.features import FeatureMap, KernelMap, TreeFeatures
from maxmargin.features.graph import GraphRows
from maxmargin.features.tree import has_constant_edges
from maxmargin.graphs import Graph
from maxmargin.losses import Loss
from maxmargin.problem import Samples
from maxmargin.solvers import Solver
from maxmargin.structures import Network, Structure, Tree, TreeShape
from maxmargin.validation import as_dense, check_labels, check_lengths, is_list


class TreeSVM(NodeLabels):
    """Labels for the nodes of trees and forests, with a large margin.

    Minimise  alpha/2 |w|^2 + sum_i omega_i max_y [w . (f(x_i, y) - f(x_i, y_i)) + loss(y_i, y)],
    f counting node features with each label, edge features with each pair of labels, and labels of
    roots and leaves. The best labels are found exactly. A path is a sequence: `ChainSVM`, faster.

    x : `Graph(nodes, edges, edge_features, labels)` or `Graph.from_parents(nodes, parents)`,
    without cycles; the first end of an edge and its second are told apart. With `labels`, each node
    may have its own only. y : one label a node, of any one type.

    Parameters
    ----------
    bias, ends, transitions : learn a weight for each label; for each label at nodes that no edge
        leads to (roots) and at nodes from which no edge starts (leaves); for each pair of labels at
        the ends of an edge, times each edge feature.
    forbidden_pairs : pairs (label of the first end, label of the second) that no edge may have;
        pairs with labels that do not occur in y are left aside, because a fold may lack some.
    alpha, loss, solver, tol, max_epochs, random_state, verbose, n_jobs, warm_start, time_limit,
    callbacks, domain, objective : see `StructuredSVM`.
    kernel : compare the features of nodes by a kernel: "linear", "poly", "rbf", a function
        (A, B) -> matrix, or `features.KernelMap` with its options; None for the features as they
        are. coef_ then has weights of the kernel's coordinates in their place, and scores are
        k(x, support_vectors_) @ dual_coef_.

    Attributes
    ----------
    classes_ : labels, sorted. coef_, result_ : see `StructuredSVM`. n_features_in_ : features of
    nodes; n_edge_features_in_ : of edges, q.
    node_coef_ (n_features, n_labels), bias_ (n_labels,), root_, leaf_ (n_labels,), pair_coef_
    (q, n_labels, n_labels; row = label of the first end; without q if edges have no features) : the
    parts of coef_; None if absent.
    With a kernel: kernel_, the fitted KernelMap; support_vectors_ (n_support_, n_features),
    dual_coef_ (n_support_, n_labels); residual_, the share of the kernel left out; dropped_, what
    support vectors left out could change.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import Graph
    >>> x = Graph.from_parents(np.array([[1.0], [-1.0], [0.1], [-0.9]]), [-1, 0, 1, 0])
    >>> model = TreeSVM(alpha=0.01).fit([x], [["verb", "noun", "verb", "noun"]])
    >>> model.predict([x])[0].tolist()
    ['verb', 'noun', 'verb', 'noun']
    """

    def __init__(
        self,
        alpha: float = 1e-2,
        loss: str | Loss = "hamming",
        solver: str | Solver = "auto",
        tol: float = 1e-3,
        max_epochs: int = 100,
        random_state: Any = 0,
        verbose: int = 0,
        *,
        n_jobs: int | None = None,
        warm_start: bool = False,
        time_limit: float | None = None,
        callbacks: Sequence[Callback] = (),
        domain: Domain | None = None,
        kernel: str | Callable[[Any, Any], Any] | KernelMap | None = None,
        objective: Literal["margin", "likelihood"] = "margin",
        bias: bool = True,
        ends: bool = True,
        transitions: bool = True,
        forbidden_pairs: Sequence[tuple[Any, Any]] = (),
    ):
        self.alpha = alpha
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.max_epochs = max_epochs
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.callbacks = callbacks
        self.domain = domain
        self.kernel = kernel
        self.objective = objective
        self.bias = bias
        self.ends = ends
        self.transitions = transitions
        self.forbidden_pairs = forbidden_pairs

    def _make_structure(self) -> Structure:
        return Tree()  # what is forbidden is known once the labels are

    def _make_features(self) -> FeatureMap:
        return TreeFeatures(self.bias, self.ends, self.transitions)

    # -- samples -----------------------------------------------------------------------------------
    def _check_X(self, X: Any) -> tuple[GraphRows, None]:
        return self.feature_map_.check(X), None

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
                    f"X has {own} {kind} features, but TreeSVM is expecting {known}: those it was"
                    " fitted on."
                    + (" A Graph without edge_features has one." if kind == "edge" else "")
                )

    def _shapes(self, rows: GraphRows, given: Any) -> list[TreeShape]:
        number = {label: k for k, label in enumerate(self.classes_.tolist())}
        known: dict[tuple[Network, Any], TreeShape] = {}
        shapes = []
        for i, key in enumerate(zip(rows.networks, rows.labels, strict=True)):
            if key not in known:
                try:
                    allowed = None if key[1] is None else self._mask(key[1], number)
                    known[key] = TreeShape(key[0], len(number), allowed)
                except ValueError as error:
                    raise ValueError(f"sample {i}: {error}") from error
            shapes.append(known[key])
        return shapes

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
                            f" {_some(self.classes_)}."
                        )
                if not rows[own].any():
                    raise ValueError(
                        f"labels[{v}]: y had none of {list(own)} in training, where the labels were"
                        f" {_some(self.classes_)}. Allow one of these."
                    )
        return np.array([rows[own] for own in labels])

    def _pack(self, rows: GraphRows, shapes: list[Any]) -> Any:
        """Without transitions, features of edges do not count, however many there are."""
        q = self.n_edge_features_in_
        if not self.transitions:
            nothing = sparse.csr_array((rows.edges.matrix.shape[0], q))
            rows = rows._replace(edges=rows.edges._replace(matrix=nothing))
        return super()._pack(rows.with_edge_features(q), shapes)

    def _in_chunks(self, X: Any) -> Iterator[Samples]:
        """With tables of their own for edges that have features, even if none had in training."""
        own = self.structure_
        if own.tied and self.transitions and is_list(X) and not _all_constant(X):
            model = copy(self)
            model.structure_ = Tree(tied=False, forbidden_pairs=own.forbidden_pairs)
            return StructuredSVM._in_chunks(model, X)
        return super()._in_chunks(X)

    # -- labels ------------------------------------------------------------------------------------
    def _learn_labels(self, y: Any, rows: GraphRows) -> list[np.ndarray]:
        check_lengths(y, rows.lengths)
        labels = check_labels(y)
        self.classes_, numbers = np.unique(np.concatenate(labels), return_inverse=True)
        named = {label for own in rows.labels if own for some in own if some for label in some}
        self.unlearned_ = sorted(named - set(self.classes_.tolist()), key=str)
        _check_allowed(labels, rows.labels)
        tied = not self.transitions or _is_constant(rows.edges.matrix)
        pairs = self._pairs("forbidden_pairs", self.forbidden_pairs)
        self.structure_ = Tree(tied=tied, forbidden_pairs=pairs)
        return np.split(numbers, np.cumsum(rows.lengths)[:-1])

    def _where_forbidden(self, y: Any, shape: TreeShape) -> str:
        return self._forbidden_pair(y, shape.network.edges, self.structure_.forbidden_pairs)

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
                raise ValueError(
                    f"sample {i}: y[{v}] is {y[i][v].item()!r}, but its graph allows node {v}"
                    f" {list(own)} only. Correct the label, or allow it."
                )


def _some(labels: np.ndarray) -> str:
    names = ", ".join(map(repr, labels[:8].tolist()))
    return names + (f", ... ({len(labels)} in all)" if len(labels) > 8 else "")
