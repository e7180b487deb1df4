"""Spanning trees of an undirected graph."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from maxmargin.exceptions import InfeasibleError
from maxmargin.oracles.compiled import CompiledOracle
from maxmargin.structures.base import Constraints, Layout
from maxmargin.structures.decisions.selection import Selection, check_edges

#: nodes whose subsets are listed as constraints, at most
_MOST_LISTED = 12


class SpanningTree(Selection):
    """A spanning tree of an undirected graph: edges that join all nodes without a cycle.

    layout = (m,). Parts: one per edge. Scores are negative costs.

    Parameters
    ----------
    edges : array_like of shape (m, 2)
        Ends of each edge, nodes numbered from 0; every node must be an end.
    """

    listed_in = "edges"

    def __init__(self, edges: Any):
        self.edges = edges

    def _make_oracle(self) -> SpanningTreeOracle:
        return SpanningTreeOracle(self)

    def _graph(self) -> np.ndarray:
        edges = check_edges(self.edges)
        missing = np.setdiff1d(np.arange(edges.max()), edges)
        if len(missing):
            raise ValueError(f"node {missing[0]} is in no edge; number the nodes without gaps.")
        return edges

    def size(self) -> int:
        return np.size(self.edges) // 2

    def vertex_size(self, layout: Layout) -> int:
        return int(self._graph().max())

    def constraints(self, layout: Layout) -> Constraints:
        # no set of nodes has as many edges inside as nodes, and all have one fewer
        edges, count = self._graph(), self.n_parts(layout)
        nodes = int(edges.max()) + 1
        if nodes > _MOST_LISTED:
            raise self._missing("constraints")
        inside = (np.arange(1, 2**nodes)[:, None] >> np.arange(nodes)) & 1
        inside = inside[inside.sum(axis=1) > 1]
        rows = inside[:, edges[:, 0]] * inside[:, edges[:, 1]]
        upper = inside.sum(axis=1) - 1.0
        lower = np.where(upper == nodes - 1, upper, -np.inf)
        return Constraints(sparse.csr_array(rows.reshape(-1, count).astype(float)), lower, upper)

    def why_infeasible(self, z: np.ndarray, layout: Layout) -> str:
        edges = self._graph()
        nodes, chosen = int(edges.max()) + 1, edges[np.asarray(z) > 0.5]
        graph = sparse.coo_array((np.ones(len(chosen)), chosen.T), shape=(nodes, nodes))
        parts = sparse.csgraph.connected_components(graph, directed=False)[0]
        if parts > 1:
            return f"edges leave the nodes in {parts} pieces that are not joined"
        return f"{len(chosen)} edges have a cycle" if len(chosen) > nodes - 1 else ""

    def vertices(self, layout: Layout) -> Iterator[np.ndarray]:
        parts = np.arange(self.n_parts(layout))
        for chosen in combinations(parts, self.vertex_size(layout)):
            z = np.isin(parts, chosen).astype(float)
            if not self.why_infeasible(z, layout):
                yield z


class SpanningTreeOracle(CompiledOracle):
    """Kruskal's algorithm."""

    structure: SpanningTree
    compiled: ClassVar[dict[str, str]] = {"maximize": "decisions.spanning_tree"}
    when_none = "the allowed edges do not join all nodes."
    projects_by_maximize = True

    def __init__(self, structure: SpanningTree):
        super().__init__(structure)
        edges = structure._graph()
        self.n_nodes = int(edges.max()) + 1
        self.ints = np.concatenate([[self.n_nodes, len(edges)], edges[:, 0], edges[:, 1]])

    def has(self, ability: str) -> bool:
        if ability == "constraints":
            return self.n_nodes <= _MOST_LISTED
        return super().has(ability)

    def hint_for(self, ability: str) -> str:
        if ability == "constraints":
            return f"They are listed for {_MOST_LISTED} nodes at most: use what `maximize` serves"
        return super().hint_for(ability)

    def layout_as_ints(self, layout: Layout) -> Any:
        return self.ints

    def scratch(self, layout: Layout) -> tuple[int, int]:
        return 0, self.n_nodes + len(self.structure.edges)

    def check_layout(self, layout: Layout) -> None:
        why = self.structure.why_infeasible(np.ones(len(self.structure.edges)), layout)
        if "pieces" in why:
            raise InfeasibleError(f"{why}: there is no spanning tree.")
