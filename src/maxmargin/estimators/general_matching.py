"""Pairs of nodes of any graph: who is matched with whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.callbacks import Callback
from maxmargin.domains import Domain
from maxmargin.estimators.base import StructuredSVM
from maxmargin.estimators.restrictions import Restriction, restrict_links
from maxmargin.exceptions import SampleError
from maxmargin.features import FeatureMap, PartFeatures
from maxmargin.inputs import Graph
from maxmargin.losses import Loss
from maxmargin.solvers import Solver
from maxmargin.structures import GeneralMatching, Network, Structure
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
from maxmargin.validation.samples import (
    Rows,
    as_array,
    check_is_list,
    check_rows,
    check_sample_weight,
    check_targets,
)


class GeneralMatchingSVM(StructuredSVM):
    """Structural SVM for matchings of any graph: learned scores of pairs.

    A pair (j, k) scores w . x[j, k]; the prediction is the best set of pairs in which no node
    occurs twice, or more often than its cap.

    A sample x is an array of shape (n_nodes, n_nodes, n_features), the features of every pair, of
    which those with j < k are read (a feature of x[k, j] must be the same, or 0 for all of them),
    or a `Graph` whose edges are the pairs that may be matched and whose `edge_features` describe
    them; its node features are not used. A target y is an array of shape (m, 2), the matched pairs.
    `score` is the F1 score of the pairs, over all samples; `predict_marginals` gives symmetric
    matrices (n_nodes, n_nodes) of the probabilities of pairs.

    Parameters
    ----------
    loss : {"hamming", "hamming-sum"} or Loss, default="hamming-sum"
        Cost of an output: the number of pairs that are wrong or missing, or their mean over all
        pairs.
    perfect : bool, default=False
        Whether every node must have a partner, or as many as its cap.
    cap : int or array_like of shape (n_nodes,), default=1
        Maximum number of partners of all nodes, or of each one where all samples have the same
        nodes.
    bias : bool, default=True
        Whether pairs have a constant feature.
    """

    def __init__(
        self,
        alpha: Penalty = 1e-2,
        loss: str | Loss = "hamming-sum",
        solver: str | Solver = "auto",
        tol: NonNegativeOrInf = 1e-3,
        max_epochs: CountOrZero = 100,
        random_state: Seed = 0,
        verbose: Verbosity = 0,
        *,
        perfect: bool = False,
        cap: Any = 1,
        bias: bool = True,
        intercept_scaling: Positive = 1.0,
        n_jobs: NJobs = None,
        engine: Any = None,
        warm_start: bool = False,
        time_limit: PositiveOrInf | None = None,
        callbacks: Sequence[Callback] = (),
        domain: Domain | None = None,
    ):
        self._store_shared(locals())
        self.perfect = perfect
        self.cap = cap
        self.bias = bias

    def _make_structure(self) -> Structure:
        return GeneralMatching(self.perfect, self.cap)

    def _make_features(self) -> FeatureMap:
        return PartFeatures(self.bias)

    def _check_X(self, X: Any) -> tuple[Rows, list[Layout]]:
        check_is_list(X)
        samples = [_pairs(i, x) for i, x in enumerate(X)]
        layouts: list[Any] = [layout for _, layout in samples]
        for i, layout in enumerate(layouts):
            try:
                count = int(GeneralMatching(cap=self.cap)._caps(layout).sum())
            except ValueError as error:
                raise SampleError.of(i, f": {error}") from error
            if self.perfect and count % 2 == 1:
                raise SampleError.of(
                    i,
                    f": x has {layout.n_nodes} nodes that need {count} partners, an odd number, so"
                    " that one lacks a partner; add a node that stands for none, or use"
                    " perfect=False.",
                )

        def name(i: int, edge: int, column: int) -> str:
            j, k = layouts[i].edges[edge].tolist()
            return f"x[{j}, {k}, {column}]"

        return check_rows([features for features, _ in samples], name), layouts

    def _restrict(self, restriction: Restriction, layout: Layout) -> Layout:
        # what is known need not be perfect
        return restrict_links(restriction, GeneralMatching(cap=self.cap), layout)

    def _as_marginals(self, p: np.ndarray, layout: Any) -> np.ndarray:
        """P(pair), a symmetric matrix of all nodes."""
        found = np.zeros((layout.n_nodes, layout.n_nodes))
        found[tuple(layout.edges.T)] = p[:, 0]
        return found + found.T

    def _agreement(
        self, y: Any, outputs: list[Any], layouts: list[Layout], sample_weight: Any = None
    ) -> float:
        check_targets(y, len(outputs))
        weight = check_sample_weight(sample_weight, len(outputs)) if outputs else np.empty(0)
        truth = self._truth(y, layouts)
        both, pairs = 0.0, 0.0
        for i, (output, layout) in enumerate(zip(outputs, layouts, strict=True)):
            true = truth.part[truth.ptr[i] : truth.ptr[i + 1]]
            found = self.structure_.encode(output, layout)
            both += weight[i] * found[true].sum()
            pairs += weight[i] * (found.sum() + len(true))
        return float(2 * both / pairs) if pairs else 1.0


def _pairs(i: int, x: Any) -> tuple[Any, Network]:
    """A feature row for each pair, and the layout."""
    if isinstance(x, Graph):
        if x.network.n_edges == 0:
            raise SampleError.of(i, ": x has no edges: nothing to match. Leave it out.")
        return x.edge_features, x.network
    array = as_array(i, x)
    if array.ndim != 3 or array.shape[0] != array.shape[1] or len(array) < 2:
        raise SampleError.of(
            i,
            f": x has shape {array.shape}, expected (n_nodes, n_nodes, n_features), two nodes or"
            " more; a single feature is x[:, :, None], one sample alone [x]. Where only some pairs"
            " may be matched, give Graph(nodes, edges, edge_features).",
        )
    edges = np.transpose(np.triu_indices(len(array), 1))
    above, below = array[edges[:, 0], edges[:, 1]], array[edges[:, 1], edges[:, 0]]
    # a feature is that of a pair, but for rounding, or left out below the diagonal
    size = np.abs(above[np.isfinite(above)]).max(initial=0.0)
    differ = ~np.isclose(above, below, rtol=1e-6, atol=1e-9 * size, equal_nan=True)
    differ &= below.any(axis=0)
    if differ.any():
        odd = differ & (below != 0)  # rather than pairs that are left out there
        edge, column = np.argwhere(odd if odd.any() else differ)[0].tolist()
        j, k = edges[edge].tolist()
        one, other = (own[edge, column] + 0.0 for own in (above, below))  # not -0
        raise SampleError.of(
            i,
            f": x[{j}, {k}, {column}] is {one:g}, but x[{k}, {j}, {column}] is {other:g}. Pairs"
            " have no order: give both the same features, or zeros to all x[k, j] with j < k.",
        )
    return above, Network(len(array), edges)
