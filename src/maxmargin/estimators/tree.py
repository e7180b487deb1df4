"""Labels for the nodes of trees."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal

from maxmargin.callbacks import Callback
from maxmargin.domains import Domain
from maxmargin.estimators.graph_labels import GraphLabels
from maxmargin.features import KernelMap
from maxmargin.losses import Loss
from maxmargin.solvers import Solver
from maxmargin.structures import Structure, Tree
from maxmargin.validation.options import (
    CountOrZero,
    NJobs,
    NonNegativeOrInf,
    Penalty,
    Positive,
    PositiveOrInf,
    Seed,
    Verbosity,
)


class TreeSVM(GraphLabels):
    """Structural SVM for labels of the nodes of trees and forests.

    Minimises over w the objective ::

        alpha/2 |w|^2 + sum_i omega_i max_y [w . (f(x_i, y) - f(x_i, y_i)) + loss(y_i, y)]

    where f counts node features with each label, edge features with each pair of labels, and labels
    of roots and leaves. The best labels are found exactly. For sequences `ChainSVM` is faster.

    A sample x is a ``Graph(nodes, edges, edge_features, labels)`` or ``Graph.from_parents(nodes,
    parents)`` without cycles; the first and second ends of an edge are distinguished. With
    `labels`, each node may only have its own. Its target y has one label per node, of any one type.

    Parameters
    ----------
    ends : bool, default=True
        Learn weights for the labels of nodes without incoming edges (roots), and of nodes without
        outgoing edges (leaves).
    transitions : bool, default=True
        Learn a weight for each pair of labels at the ends of an edge, times each edge feature.
    forbidden_pairs : collection of (label, label), default=()
        Pairs (label of the first end, label of the second) that no edge may have. Pairs with labels
        that do not occur in y are ignored, because a fold may lack some labels.

    Attributes
    ----------
    n_features_in_ : int
        Number of node features.
    n_edge_features_in_ : int
        Number of edge features.
    edge_feature_names_in_ : ndarray of shape (n_edge_features,)
        Names of the edge features; only if those of all training samples were data frames.
    root_ : ndarray of shape (n_labels,) or None
        Weights of the labels at roots.
    leaf_ : ndarray of shape (n_labels,) or None
        Weights of the labels at leaves.
    pair_coef_ : ndarray of shape (n_edge_features, n_labels, n_labels) or None
        Weights of label pairs, the first label in the rows; without the first axis if edges have no
        features.

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
        alpha: Penalty = 1e-2,
        loss: str | Loss = "hamming",
        solver: str | Solver = "auto",
        tol: NonNegativeOrInf = 1e-3,
        max_epochs: CountOrZero = 100,
        random_state: Seed = 0,
        verbose: Verbosity = 0,
        *,
        n_jobs: NJobs = None,
        engine: Any = None,
        warm_start: bool = False,
        time_limit: PositiveOrInf | None = None,
        callbacks: Sequence[Callback] = (),
        domain: Domain | None = None,
        kernel: str | Callable[[Any, Any], Any] | KernelMap | None = None,
        objective: Literal["margin", "likelihood", "slack"] = "margin",
        bias: bool = True,
        intercept_scaling: Positive = 1.0,
        ends: bool = True,
        transitions: bool = True,
        forbidden_pairs: Collection[Any] = (),
    ):
        self._store_shared(locals())
        self.kernel = kernel
        self.bias = bias
        self.ends = ends
        self.transitions = transitions
        self.forbidden_pairs = forbidden_pairs

    def _make_structure(self) -> Structure:
        return Tree()  # what is forbidden is known once the labels are
