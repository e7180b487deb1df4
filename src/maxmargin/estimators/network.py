"""Labels for the nodes of any graph, with cycles or without."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from maxmargin.callbacks import Callback
from maxmargin.domains import Domain
from maxmargin.estimators.graph_labels import GraphLabels
from maxmargin.features.kernels.kernel_map import KernelMap
from maxmargin.losses import Loss
from maxmargin.oracles.constraints import part_score
from maxmargin.solvers import Solver
from maxmargin.structures import MarkovNetwork, Network, Structure
from maxmargin.structures.base import Layout
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

#: a labelling is called best if no other can be better by more than this share of its score
EQUAL = 1e-6


class Labelling(NamedTuple):
    """The labels found for a sample, their score, and what no other labels can score more than."""

    labels: np.ndarray
    score: float
    bound: float

    @property
    def is_best(self) -> bool:
        """Whether the bound proves that no other labels are better, up to rounding."""
        return self.bound - self.score <= EQUAL * max(1.0, abs(self.bound))


class NetworkSVM(GraphLabels):
    """Structural SVM for labels of graph nodes with weights of label pairs, with or without cycles.

    Minimises over w the objective ::

        alpha/2 |w|^2 + sum_i omega_i max_y [w . (f(x_i, y) - f(x_i, y_i)) + loss(y_i, y)]

    where f counts node features with each label and edge features with each pair of labels. For
    graphs without cycles `TreeSVM` is faster; for large graphs with two labels and attractive edges
    use `GraphCutSVM`.

    A sample x is a ``Graph(nodes, edges, edge_features, labels)``; edges are directed in that their
    first and second ends are distinguished. With `labels`, each node may only have its own. Its
    target y has one label per node, of any one type.

    Parameters
    ----------
    objective : {"margin", "likelihood", "slack"}, default="margin"
        As for `StructuredSVM`; "likelihood" requires exact inference.
    method : {"auto", "exact", "bounded", "relaxed"}, default="auto"
        Inference method. "exact" uses a junction tree, for graphs that are small or of low
        treewidth. "bounded" finds good labels and an upper bound on the best score, so that
        certificates remain valid. "relaxed" solves linear programs over fractional labels, which
        are rounded at the end: slow, for small graphs. "auto" is exact if the tables fit into
        memory, else bounded.
    ends : bool, default=False
        Learn weights for the labels of nodes without incoming edges, and of nodes without outgoing
        edges; see `TreeSVM`.
    transitions : bool, default=True
        Learn a weight for each pair of labels at the ends of an edge, times each edge feature.
        Without transitions, nodes are independent.
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
    structure_ : MarkovNetwork
        The fitted structure, with the inference method in use.
    root_ : ndarray of shape (n_labels,) or None
        Weights of the labels at nodes without incoming edges.
    leaf_ : ndarray of shape (n_labels,) or None
        Weights of the labels at nodes without outgoing edges.
    pair_coef_ : ndarray of shape (n_edge_features, n_labels, n_labels) or None
        Weights of label pairs, the first label in the rows; without the first axis if edges have no
        features.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import Graph
    >>> ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    >>> x = Graph(np.array([[1.0], [-1.0], [0.1], [-0.9]]), ring)
    >>> model = NetworkSVM(alpha=0.01).fit([x], [["red", "blue", "red", "blue"]])
    >>> model.predict([x])[0].tolist()
    ['red', 'blue', 'red', 'blue']
    >>> model.predict_within([x])[0].is_best
    True
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
        objective: Literal["margin", "likelihood", "slack"] = "margin",
        method: Literal["auto", "exact", "bounded", "relaxed"] = "auto",
        bias: bool = True,
        intercept_scaling: Positive = 1.0,
        ends: bool = False,
        transitions: bool = True,
        forbidden_pairs: Collection[Any] = (),
        kernel: str | Callable[[Any, Any], Any] | KernelMap | None = None,
    ):
        self._store_shared(locals())
        self.method = method
        self.bias = bias
        self.ends = ends
        self.transitions = transitions
        self.forbidden_pairs = forbidden_pairs
        self.kernel = kernel

    def _make_structure(self) -> Structure:
        return MarkovNetwork(method=self.method)

    def _network(self, network: Network) -> Network:
        """Without edges where no pair matters: then every graph is simple."""
        if self.transitions or self.structure_.forbidden_pairs is not None:
            return network
        return Network(network.n_nodes, [])

    def _learn_layouts(self, layouts: list[Layout]) -> None:
        self.structure_ = self.structure_.resolve(layouts)

    def _structure_for(self, layouts: list[Layout]) -> Structure:
        """With "auto", exact where all can be, else each as it can be: new graphs may be wider."""
        own = clone(self.structure_).set_params(method=self.method)
        resolved = own.resolve(layouts)
        return resolved if resolved.oracle().is_exact else own

    # -- predicting --------------------------------------------------------------------------------
    def predict_within(self, X: Any) -> list[Labelling]:
        """Predict the labels of each sample with their score and an upper bound on all scores.

        Returns
        -------
        list of Labelling
            Tuples (labels, score, bound), whose `is_best` is whether the bound proves the labels
            best. The bound is the score where inference is exact. With method="relaxed", the score
            is -inf if rounding results in forbidden labels.
        """
        check_is_fitted(self, "coef_")
        found = []
        for samples in self._in_chunks(X):
            z = np.empty(int(samples.part_ptr[-1]))
            bounds = samples.apply("maximize", self._weights(), out=z)
            for i, layout in enumerate(samples.layouts):
                structure = samples.structure
                labels = structure.decode(z[samples.parts(i)], layout)
                own = part_score(
                    samples.scores(self._weights(), i), structure.encode(labels, layout)
                )
                found.append(Labelling(self.classes_[labels], own, max(own, float(bounds[i]))))
        return found

    def decision_function(self, X: Any) -> Any:
        """Compute the score w . F z of the labels found for each sample; it is not a probability.

        `margins` gives the confidence of single labels, where inference is exact.

        Returns
        -------
        ndarray of shape (n_samples,)
            One score per sample.
        """
        return np.array([own.score for own in self.predict_within(X)])
