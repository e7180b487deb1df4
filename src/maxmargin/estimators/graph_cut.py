"""Labels for the nodes of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from maxmargin.callbacks import Callback
from maxmargin.domains import Domain, NonNegative, SubmodularCone
from maxmargin.domains.base import check_domain
from maxmargin.domains.combine import intersect_domains
from maxmargin.estimators.base import StructuredSVM
from maxmargin.estimators.probabilities import label_numbers
from maxmargin.estimators.restrictions import Restriction, restrict_labels
from maxmargin.features import FeatureMap, GraphFeatures
from maxmargin.features.graph import TABLES, GraphRows
from maxmargin.features.potts import PottsFeatures
from maxmargin.inputs import Graph
from maxmargin.losses import Loss, resolve_loss
from maxmargin.solvers import Solver
from maxmargin.structures import GraphCut, Network, Potts, Structure
from maxmargin.validation.feature_names import check_known_names, check_names, learn_names
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
from maxmargin.validation.samples import (
    as_dense,
    check_labels,
    check_lengths,
    is_list,
    learn_classes,
)

#: numbers in the features of a graph that is scored as it is, and in a part of them
LARGE, BAND = 2**22, 2**20


class GraphCutSVM(StructuredSVM):
    """Structural SVM for binary labels of graph nodes with attractive edges, by graph cuts.

    Node j scores w_n . x_j + bias for the second label; an edge whose ends have different labels
    costs w_e . f_e, with w_e >= 0. The best labels are found exactly, by a minimum cut. A sample x
    is a ``Graph(nodes, edges, edge_features)`` with non-negative edge features; its target y has
    one label per node, of any two values, or more with `multiclass`.

    Parameters
    ----------
    loss : {"hamming", "hamming-sum"} or Loss, default="hamming"
        "hamming" is the fraction of wrong nodes; scores are divided by the number of nodes
        likewise, so that alpha has the same meaning for graphs of all sizes. "hamming-sum" is the
        number of wrong nodes. ``Hamming(class_weight={label: cost})`` sets costs by true label.
    solver : str or Solver, default="bcfw"
        Name of a solver, such as "bcfw" or "cutting-plane", or a `Solver`; see `StructuredSVM`.
    tables : bool, default=False
        Learn four weights for each edge feature, for labels 00, 01, 10, 11 of its first and second
        end, with w_00 + w_11 >= w_01 + w_10, instead of the cost of a cut.
    bias : bool, default=True
        Learn a constant that every node adds to the score of the second label.
    multiclass : bool, default=False
        Allow any number of labels, each with node weights of its own; edges cost w_e . f_e if their
        ends differ. The best labels are then approximated by alpha-expansion, so that certificates
        are estimates. Not with tables.
    domain : Domain or None, default=None
        Further constraints on the weights: `L2Ball`, signs, a `Product`, and without tables
        `L1Ball`. Edge weights are always constrained such that no cut is rewarded.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        Labels, sorted.
    n_features_in_ : int
        Number of node features.
    n_edge_features_in_ : int
        Number of edge features.
    edge_feature_names_in_ : ndarray of shape (n_edge_features,)
        Names of the edge features; only if those of all training samples were data frames.
    node_coef_ : ndarray
        Weights of the node features, a part of ``coef_``.
    edge_coef_ : ndarray
        Weights of the edge features, a part of ``coef_``.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import Graph
    >>> chain = [(0, 1), (1, 2), (2, 3), (3, 4)]
    >>> x = Graph(np.array([[1.0], [0.8], [-0.1], [0.9], [-2.0]]), chain)
    >>> model = GraphCutSVM(alpha=0.01).fit([x], [["tree", "tree", "tree", "tree", "road"]])
    >>> model.predict([x])[0].tolist()
    ['tree', 'tree', 'tree', 'tree', 'road']
    """

    classes_: np.ndarray
    n_edge_features_in_: CountOrZero
    edge_feature_names_in_: np.ndarray

    def __init__(
        self,
        alpha: Penalty = 1e-2,
        loss: str | Loss = "hamming",
        solver: str | Solver = "bcfw",
        tol: NonNegativeOrInf = 1e-3,
        max_epochs: CountOrZero = 100,
        random_state: Seed = 0,
        verbose: Verbosity = 0,
        *,
        tables: bool = False,
        bias: bool = True,
        intercept_scaling: Positive = 1.0,
        multiclass: bool = False,
        n_jobs: NJobs = None,
        engine: Any = None,
        warm_start: bool = False,
        time_limit: PositiveOrInf | None = None,
        callbacks: Sequence[Callback] = (),
        domain: Domain | None = None,
    ):
        self._store_shared(locals())
        self.tables = tables
        self.bias = bias
        self.multiclass = multiclass

    def _make_structure(self) -> Structure:
        if not self.multiclass:
            return GraphCut()
        if self.tables:
            raise ValueError("tables=True needs two labels; use multiclass=True without it.")
        return Potts()

    def _make_features(self) -> FeatureMap:
        return (
            PottsFeatures(self.bias) if self.multiclass else GraphFeatures(self.bias, self.tables)
        )

    def _n_labels(self) -> int:
        return len(self.classes_) if self.multiclass else 0

    def _n_packed(self) -> int:
        return self.n_features_in_ + (4 if self.tables else 1) * self.n_edge_features_in_

    def validate(self) -> None:
        super().validate()
        if not hasattr(self, "coef_"):
            return
        if not self.multiclass and len(self.classes_) != 2:
            raise ValueError("classes_ are not two labels")
        found = self.feature_map_.get_params().get("n_edge_features", self.n_edge_features_in_)
        if found != self.n_edge_features_in_ or self.feature_map_.bias != self.bias:
            raise ValueError("feature_map_ is of other features")
        if hasattr(self, "edge_feature_names_in_"):
            names, count = self.edge_feature_names_in_, self.n_edge_features_in_
            check_known_names("edge_feature_names_in_", names, count)

    def _n_node_weights(self) -> int:
        return (self.n_features_in_ + int(self.bias)) * max(self._n_labels(), 1)

    def _make_domain(self, dim: int) -> Domain | None:
        edges = np.arange(self._n_node_weights(), dim)
        own = SubmodularCone(edges) if self.tables else NonNegative(edges)
        return intersect_domains(check_domain(self.domain, dim), own, dim)

    def _scales(self, layouts: list[Any]) -> np.ndarray:
        share = getattr(resolve_loss(self.loss), "normalize", False)
        counts = [self.structure_.variables(layout)[0] for layout in layouts]
        return 1.0 / np.array(counts) if share else np.ones(len(layouts))

    def _resolved_loss(self) -> Loss:
        loss = resolve_loss(self.loss)
        if not getattr(loss, "normalize", False):
            return loss
        return clone(loss).set_params(normalize=False)

    def _check_X(self, X: Any) -> tuple[GraphRows, None]:
        return self.feature_map_.check(X), None

    def _layouts(self, rows: GraphRows, given: Any) -> list[Any]:
        if self.multiclass:
            return [(network, len(self.classes_)) for network in rows.networks]
        return rows.networks

    def _learn_names(self, X: Any) -> None:
        super()._learn_names(X)
        self._set_names("edge_feature_names_in_", learn_names(X, of_edges=True))

    def _check_names(self, X: Any) -> None:
        super()._check_names(X)
        check_names(X, getattr(self, "edge_feature_names_in_", None), of_edges=True)

    def _learn_width(self, rows: GraphRows) -> None:
        self.n_features_in_ = rows.nodes.matrix.shape[1]
        self.n_edge_features_in_ = rows.edges.matrix.shape[1]
        if self.multiclass:
            self.feature_map_.set_params(n_edge_features=self.n_edge_features_in_)

    def _check_width(self, rows: GraphRows) -> None:
        nodes, edges = rows.nodes.matrix, rows.edges.matrix
        found = [("node", nodes.shape[1], self.n_features_in_)]
        if edges.shape[0]:
            found.append(("edge", edges.shape[1], self.n_edge_features_in_))
        for kind, own, known in found:
            if own != known:
                raise ValueError(
                    f"X has {own} {kind} features, but GraphCutSVM is expecting {known}: those it"
                    " was fitted on."
                )

    def _pack(self, rows: GraphRows, layouts: list[Any]) -> Any:
        return super()._pack(rows.with_edge_features(self.n_edge_features_in_), layouts)

    def decision_function(self, X: Any) -> Any:
        """Compute the score w . F z of the best output of each sample; it is not a probability.

        With tables, it is the sum of all node scores and of the table entries that the labels
        select.

        Returns
        -------
        ndarray of shape (n_samples,)
            One score per sample.
        """
        scores = super().decision_function(X)
        if self.tables and len(scores):
            edges = self.feature_map_.check(X).with_edge_features(self.n_edge_features_in_).edges
            both = edges.matrix @ self.edge_coef_[:, 0]
            sample = np.repeat(np.arange(len(scores)), edges.lengths)
            scores += np.bincount(sample, both, len(scores))
        return scores

    def _learn_labels(self, y: Any, rows: GraphRows) -> Any:
        check_lengths(y, rows.lengths)
        labels = check_labels(y)
        self.classes_ = learn_classes(np.concatenate(labels))[0]
        found = len(self.classes_)
        if found < 2 or (found > 2 and not self.multiclass):
            wanted = "two or more" if self.multiclass else "two"
            hint = "multiclass=True takes any number" if found > 2 else "give samples with both"
            count = "one label only" if found == 1 else f"{found} different labels"
            raise ValueError(
                f"y has {count} ({self.classes_[:5].tolist()}), expected {wanted}: {hint}."
            )
        return [np.searchsorted(self.classes_, own) for own in labels]

    def _known_targets(self, y: Any, rows: GraphRows) -> list[np.ndarray]:
        return label_numbers(y, rows.lengths, self.classes_)

    def _restrict(self, restriction: Restriction, layout: Any) -> Any:
        return restrict_labels(restriction, self.structure_, layout, self.classes_)

    def _as_marginals(self, p: np.ndarray, layout: Any) -> np.ndarray:
        return p if self.multiclass else np.hstack([1.0 - p, p])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the fraction of nodes that are predicted correctly.

        Parameters
        ----------
        y : sequence of outputs
            True labels, one per node; unknown labels raise an error, with `multiclass` they count
            as wrong.

        Returns
        -------
        float
            Score from 0 to 1.
        """
        return super().score(X, y, sample_weight)

    def predict(self, X: Any) -> Any:
        """Predict the best labels of the nodes of each graph.

        A large graph, without `multiclass`, takes little memory in addition to its own.

        Parameters
        ----------
        X : list of Graph
            Graphs, as for `fit`.

        Returns
        -------
        list of ndarray of shape (n_nodes,)
            Labels, one array per graph.
        """
        check_is_fitted(self, "coef_")
        if self.multiclass or not is_list(X) or not any(_is_large(x) for x in X):
            return super().predict(X)
        outputs = []
        for x in X:
            theta = self._scores_of(x) if isinstance(x, Graph) else None
            if theta is None:
                return super().predict(X)  # which says what is wrong
            outputs.append(self._best(theta, x.network))
        return outputs

    def _best(self, theta: np.ndarray, network: Network) -> Any:
        return self._output(self.structure_.maximize(theta, network), network)

    def _predict_projected(self, x: Graph) -> Any:
        """The best labels of a graph whose features were multiplied by those of `_projection`."""
        return self._best(self._sums_of(x.nodes, x.edge_features, x.network), x.network)

    def _projection(self) -> tuple[np.ndarray, np.ndarray]:
        """(p, 1) and (q, 1), or (q, 3) with tables: all that scores need of features."""
        nodes = self.node_coef_[: self.n_features_in_, None]
        return nodes, self.edge_coef_ @ TABLES.T if self.tables else -self.edge_coef_[:, None]

    def _sums_of(self, nodes: np.ndarray, edges: np.ndarray, network: Network) -> np.ndarray:
        """Scores of all parts, from features times `_projection`."""
        theta = np.empty(network.n_nodes + network.n_edges)
        own = theta[: network.n_nodes]
        own[:] = nodes[:, 0]
        if self.bias:
            own += self.node_coef_[-1] * self._constant()
        for side in range(2 if self.tables else 0):
            own += np.bincount(network.edges[:, side], edges[:, side], minlength=len(own))
        theta[network.n_nodes :] = edges[:, -1]
        return theta

    def _scores_of(self, x: Graph) -> np.ndarray | None:
        """Scores of the nodes and edges of one graph, if its features are as they should be."""
        found = x.nodes.shape[1], x.edge_features.shape[1]
        if x.labels is not None or found != (self.n_features_in_, self.n_edge_features_in_):
            return None
        if not _has_rows(x.nodes) or not _has_rows(x.edge_features):
            return None
        if x.edge_features.size and not x.edge_features.min() >= 0:
            return None
        nodes, edges = map(_times, (x.nodes, x.edge_features), self._projection())
        theta = self._sums_of(nodes, edges, x.network)
        return theta if np.isfinite(theta).all() else None

    def _output(self, z: np.ndarray, layout: Any) -> Any:
        return self.classes_[self.structure_.decode(z, layout)]

    def _right(self, truth: Any, output: Any, layout: Any) -> np.ndarray:
        labels = np.asarray(truth)
        if labels.shape != output.shape:
            raise ValueError(f"y has {labels.size} labels but x has {len(output)} rows.")
        odd = np.setdiff1d(labels, self.classes_)
        if len(odd) and not self.multiclass:
            raise ValueError(
                f"y has {odd[0].item()!r}, but the labels learned are {self.classes_.tolist()}."
            )
        return labels == output

    @property
    def node_coef_(self) -> np.ndarray:
        """Weights of node features, then of the constant, if any; with multiclass a row each."""
        own = as_dense(self.coef_)[: self._n_node_weights()]
        return own.reshape(-1, self._n_labels()) if self.multiclass else own

    @property
    def edge_coef_(self) -> np.ndarray:
        """Cost of a cut per edge feature, (n_edge_features,); with tables (n_edge_features, 4)."""
        own = as_dense(self.coef_)[self._n_node_weights() :]
        return own.reshape(-1, 4) if self.tables else own


def _is_large(x: Any) -> bool:
    return isinstance(x, Graph) and bool(x.nodes.size > LARGE)


def _has_rows(features: Any) -> bool:
    """Whether it is made of numbers, and some rows can be taken at little cost."""
    return features.dtype.kind in "fiub" and getattr(features, "format", "csr") == "csr"


def _times(features: Any, coef: np.ndarray) -> np.ndarray:
    """The product in double precision, some rows at a time, since that takes a copy."""
    found = np.empty((features.shape[0], coef.shape[1]))
    rows = max(1, BAND // max(features.shape[1], 1))
    for row in range(0, len(found), rows):
        found[row : row + rows] = features[row : row + rows] @ coef
    return found
