"""Labels for the nodes of trees and forests."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from maxmargin._numba import min_norm_sizes
from maxmargin.exceptions import InfeasibleError
from maxmargin.oracles.base import check_k, check_scores
from maxmargin.oracles.compiled import HullOracle
from maxmargin.structures.network.node_labels import NetworkLabels
from maxmargin.structures.tree.k_best import best_labels
from maxmargin.structures.tree.layout import TreeLayout


class Tree(NetworkLabels):
    """A label at each node of a tree or forest, with scores for the pairs at the ends of edges.

    layout = TreeLayout(network, K). Parts: V * K node-label parts, then pair parts in tables (K,
    K), row = label of the edge's first end. If `tied`, there is one table, whose parts count how
    often each pair occurs, which is sufficient for a model with the same pair scores at all edges.
    Otherwise there is a table for each edge, in the order of the edges. `Chain` is the case of a
    path, and faster.

    Parameters
    ----------
    tied : bool, default=True
        Whether one pair table is shared by all edges.
    forbidden_pairs : array_like of shape (n_labels, n_labels), default=None
        Boolean mask, True where label j at the first end of an edge must not go with label k at the
        second.
    """

    layouts = TreeLayout

    def __init__(self, tied: bool = True, forbidden_pairs: Any = None):
        self.tied = tied
        self.forbidden_pairs = forbidden_pairs

    def _make_oracle(self) -> TreeOracle:
        return TreeOracle(self)


class TreeOracle(HullOracle):
    """Dynamic programs from the leaves to the roots."""

    structure: Tree
    compiled: ClassVar[dict[str, str]] = {
        "maximize": "tree.maximize",
        "max_marginals": "tree.maximize",
        "project": "tree.project",
        "marginals": "tree.marginals",
    }

    def layout_as_ints(self, layout: TreeLayout) -> Any:
        nodes, labels = self.structure.variables(layout)
        head = [nodes, labels, 0 if self.structure.tied else labels * labels, layout.n_edges]
        return np.concatenate([head, layout.order.ravel()])

    def scratch(self, layout: TreeLayout) -> tuple[int, int]:
        nodes, labels = self.structure.variables(layout)
        parts = self.structure.n_parts(layout)
        floats = min_norm_sizes.float_size(parts, nodes) + 3 * nodes * labels + 2 * labels * labels
        return floats, min_norm_sizes.int_size(parts, nodes) + 3 * nodes

    def k_best(
        self, theta: np.ndarray, layout: TreeLayout, k: int
    ) -> list[tuple[np.ndarray, float]]:
        # max-product with lists of the k best, O(V K (K + k log K k))
        k, theta = check_k(k), check_scores(self.structure, theta, layout)
        found = best_labels(theta, self._ints(layout), k)
        if not found:
            raise InfeasibleError("every output is forbidden (all scores are -inf).")
        return [(self.structure.encode(labels, layout), score) for labels, score in found]
