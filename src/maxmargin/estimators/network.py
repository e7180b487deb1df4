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
from maxmargin.solvers import Solver
from maxmargin.structures import MarkovNetwork, Network, Structure
from maxmargin.structures.base import Layout, score
from maxmargin.validation.options import (
    CountOrZero,
    NonNegative,
    NonNegativeOrInf,
    PositiveOrInf,
    Seed,
    TaskCommands,
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
    """Labels for the nodes of any graphs, with a large margin.

    Minimise  alpha/2 |w|^2 + sum_i omega_i max_y [w . (f(x_i, y) - f(x_i, y_i)) + loss(y_i, y)],
    f counting node features with each label and edge features with each pair of labels. Without
    cycles: `TreeSVM`, faster; two labels that like to be alike: `GraphCutSVM`, for large graphs.

    x : `Graph(nodes, edges, edge_features, labels)`; the first end of an edge and its second are
    told apart. With `labels`, each node may have its own only. y : one label per node, of any one
    type.

    Parameters
    ----------
    method : how the best labels are found. "exact", by a junction tree, for graphs that are small
        or narrow; "bounded", good labels and a proof of how far off they are at most, so that
        certificates stay proofs; "relaxed", by linear programs, over labels that may be mixed,
        rounded in the end: slow, for small graphs; "auto", exact if the tables fit, else bounded.
    bias, transitions : learn a weight for each label; for each pair of labels at the ends of an
        edge, times each edge feature. Without transitions, nodes are independent.
    ends : learn weights for labels at nodes that no edge leads to, and at those from which none
        starts, see `TreeSVM`.
    forbidden_pairs : pairs (label of the first end, label of the second) that no edge may have;
        pairs with labels that do not occur in y are left aside, because a fold may lack some.
    objective : "margin"; "likelihood" where labels are found exactly, see `StructuredSVM`.
    alpha, loss, solver, tol, max_epochs, random_state, verbose, n_jobs, warm_start, time_limit,
    callbacks, domain : see `StructuredSVM`. kernel : of node features, see `ChainSVM`.

    Attributes
    ----------
    classes_ : labels, sorted. coef_, result_ : see `StructuredSVM`. n_features_in_ : features of
    nodes; n_edge_features_in_ : of edges, q. structure_ : with the method that was used.
    node_coef_, bias_, root_, leaf_, pair_coef_ : the parts of coef_, see `TreeSVM`.

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
        objective: Literal["margin", "likelihood", "slack"] = "margin",
        method: Literal["auto", "exact", "bounded", "relaxed"] = "auto",
        bias: bool = True,
        ends: bool = False,
        transitions: bool = True,
        forbidden_pairs: Collection[Any] = (),
        kernel: str | Callable[[Any, Any], Any] | KernelMap | None = None,
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
        self.objective = objective
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
        return resolved if resolved.is_exact else own

    # -- predicting --------------------------------------------------------------------------------
    def predict_within(self, X: Any) -> list[Labelling]:
        """The labels of each sample as by `predict`, their score, and a bound on all scores.

        `is_best` tells whether the bound proves the labels best. Where they are found exactly, the
        bound is the score. Where they are rounded (method="relaxed"), the score is -inf if labels
        that do not go together came out.
        """
        check_is_fitted(self, "coef_")
        found = []
        for samples in self._in_chunks(X):
            z = np.empty(int(samples.part_ptr[-1]))
            bounds = samples.apply("maximize", self._weights(), out=z)
            for i, layout in enumerate(samples.layouts):
                structure = samples.structure
                labels = structure.decode(z[samples.parts(i)], layout)
                own = score(samples.scores(self._weights(), i), structure.encode(labels, layout))
                found.append(Labelling(self.classes_[labels], own, max(own, float(bounds[i]))))
        return found

    def decision_function(self, X: Any) -> Any:
        """The score w . F z of the labels found for each sample. Scores are not probabilities.

        `margins` tells how sure single labels are, where the best ones are found exactly.
        """
        return np.array([own.score for own in self.predict_within(X)])
