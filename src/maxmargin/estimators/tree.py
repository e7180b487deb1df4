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
    NonNegative,
    NonNegativeOrInf,
    PositiveOrInf,
    Seed,
    TaskCommands,
    Verbosity,
)


class TreeSVM(GraphLabels):
    """Labels for the nodes of trees and forests, with a large margin.

    Minimise  alpha/2 |w|^2 + sum_i omega_i max_y [w . (f(x_i, y) - f(x_i, y_i)) + loss(y_i, y)],
    f counting node features with each label, edge features with each pair of labels, and labels of
    roots and leaves. The best labels are found exactly. A path is a sequence: `ChainSVM`, faster.

    x : `Graph(nodes, edges, edge_features, labels)` or `Graph.from_parents(nodes, parents)`,
    without cycles; the first end of an edge and its second are told apart. With `labels`, each node
    may have its own only. y : one label per node, of any one type.

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
        alpha: NonNegative = 1e-2,
        loss: str | Loss = "hamming",
        solver: str | Solver = "auto",
        tol: NonNegativeOrInf = 1e-3,
        max_epochs: CountOrZero = 100,
        random_state: Seed = 0,
        verbose: Verbosity = 0,
        *,
        n_jobs: TaskCommands = None,
        warm_start: bool = False,
        time_limit: PositiveOrInf | None = None,
        callbacks: Sequence[Callback] = (),
        domain: Domain | None = None,
        kernel: str | Callable[[Any, Any], Any] | KernelMap | None = None,
        objective: Literal["margin", "likelihood", "slack"] = "margin",
        bias: bool = True,
        ends: bool = True,
        transitions: bool = True,
        forbidden_pairs: Collection[Any] = (),
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
