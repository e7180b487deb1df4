"""Paths from one node of a directed graph to another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from maxmargin.exceptions import InfeasibleError
from maxmargin.oracles.compiled import CompiledOracle
from maxmargin.structures.base import Constraints, Layout
from maxmargin.structures.decisions.selection import Selection, check_edges
from maxmargin.validation.options import CountOrZero, check_options

_NO_PATH = "no path of allowed edges leads from the source to the target."


class ShortestPath(Selection):
    """A path from one node of a directed graph to another. layout = (m,).

    Parts: one per edge, 1 on the edges of the path. Scores are negative costs: the path of highest
    score is the shortest.

    Parameters
    ----------
    edges : array_like of shape (m, 2)
        Tail and head of each edge, nodes numbered from 0. Two edges may join the same nodes.
    source, target : int
        First and last node of all paths.

    Notes
    -----
    In a graph without cycles, paths are found by dynamic programming. In any other, an output is
    one unit of flow, in which no edge is used twice: a path, and beside it all cycles whose scores
    sum to more than 0. With costs that are not negative there are none. Under loss-augmented
    scores there may be some, which makes training pessimistic, never wrong: the hull of flows has
    the paths among its vertices, and certificates are proofs for it. Flows are found by searches
    for shortest ways, the first of which is all that is needed where no score is positive. `decode`
    leaves the cycles out, so that what estimators predict are simple paths.
    """

    listed_in = "edges"

    def __init__(self, edges: Any, source: CountOrZero, target: CountOrZero):
        self.edges = edges
        self.source = source
        self.target = target

    def _make_oracle(self) -> CompiledOracle:
        graph = self._graph()
        order = _order_edges(graph, self._n_nodes(graph))
        return FlowOracle(self) if order is None else PathOracle(self, order)

    def _graph(self) -> np.ndarray:
        check_options(self)
        edges = check_edges(self.edges)
        if self.source == self.target:
            raise ValueError(f"source and target are both {self.source}: there is no way to go.")
        for name in ("source", "target"):
            node, column = getattr(self, name), int(name == "target")
            if node not in edges[:, column]:
                way = "into" if column else "out of"
                raise ValueError(f"{name}={node}: no edge leads {way} it.")
        return edges

    def _n_nodes(self, edges: np.ndarray) -> int:
        return int(edges.max()) + 1

    def size(self) -> int:
        return np.size(self.edges) // 2

    def constraints(self, layout: Layout) -> Constraints:
        # what leaves a node less what enters it: 1 at the source, -1 at the target, else 0
        edges, count = self._graph(), self.n_parts(layout)
        nodes, parts, ones = self._n_nodes(edges), np.arange(count), np.ones(count)
        out = sparse.csr_array((ones, (edges[:, 0], parts)), shape=(nodes, count))
        into = sparse.csr_array((ones, (edges[:, 1], parts)), shape=(nodes, count))
        supply = np.zeros(nodes)
        supply[self.source], supply[self.target] = 1.0, -1.0
        return Constraints(
            sparse.csr_array(sparse.vstack([out - into, sparse.eye_array(count)])),
            np.concatenate([supply, np.full(count, -np.inf)]),
            np.concatenate([supply, ones]),
        )

    def why_infeasible(self, z: np.ndarray, layout: Layout) -> str:
        edges = self._graph()
        nodes = self._n_nodes(edges)
        surplus = np.bincount(edges[:, 0], z, nodes) - np.bincount(edges[:, 1], z, nodes)
        surplus[self.source] -= 1.0
        surplus[self.target] += 1.0
        wrong = np.abs(surplus) > 1e-6
        if wrong.any():
            node = int(np.flatnonzero(wrong)[0])
            return f"edges do not form a path from {self.source} to {self.target}: see node {node}"
        return ""

    def why_no_decision(self, z: np.ndarray, layout: Layout) -> str:
        left = np.flatnonzero(np.rint(z) - self.decide(z, layout))
        return f"edge {left[0]} is on a cycle beside the path" if len(left) else ""

    def decide(self, z: np.ndarray, layout: Layout) -> np.ndarray:
        # the path alone: of the edges of a flow, those of a shortest way by their number
        edges, used = np.asarray(self.edges), np.flatnonzero(np.rint(z))
        after: dict[int, list[int]] = {}
        for e in used.tolist():
            after.setdefault(int(edges[e, 0]), []).append(e)
        by, queue = {int(self.source): -1}, [int(self.source)]
        for node in queue:  # which grows meanwhile
            for e in after.get(node, ()):
                head = int(edges[e, 1])
                if head not in by:
                    by[head] = e
                    queue.append(head)
        path, node = np.zeros(len(edges), dtype=np.int64), int(self.target)
        while by.get(node, -1) >= 0:
            path[by[node]] = 1
            node = int(edges[by[node], 0])
        return path

    def vertices(self, layout: Layout) -> Iterator[np.ndarray]:
        edges = self._graph()
        if _order_edges(edges, self._n_nodes(edges)) is None:
            raise self._missing("vertices")
        stack: list[tuple[int, tuple[int, ...]]] = [(self.source, ())]
        while stack:
            node, path = stack.pop()
            if node == self.target:
                yield np.isin(np.arange(len(edges)), path).astype(float)
            else:
                out = np.flatnonzero(edges[:, 0] == node).tolist()
                stack += [(int(edges[e, 1]), (*path, e)) for e in out]


class PathOracle(CompiledOracle):
    """Dynamic programs over the edges of a graph without cycles.

    Parameters
    ----------
    structure : ShortestPath
        Structure whose outputs are found.
    order : ndarray of int
        Numbers of the edges, those into a node before those out of it.
    """

    structure: ShortestPath
    compiled: ClassVar[dict[str, str]] = dict.fromkeys(
        ("maximize", "marginals"), "decisions.acyclic_path"
    )
    when_none = _NO_PATH

    def __init__(self, structure: ShortestPath, order: np.ndarray):
        super().__init__(structure)
        edges = structure._graph()
        self.n_nodes = structure._n_nodes(edges)
        head = [self.n_nodes, structure.source, structure.target, len(edges)]
        self.ints = np.concatenate([head, order, edges[order, 0], edges[order, 1]])

    def layout_as_ints(self, layout: Layout) -> Any:
        return self.ints

    def scratch(self, layout: Layout) -> tuple[int, int]:
        return 3 * self.n_nodes, self.n_nodes

    def check_layout(self, layout: Layout) -> None:
        _refuse_if_cut(self, layout)


class FlowOracle(CompiledOracle):
    """Flows of one unit through a graph with cycles, by shortest ways for what is too much."""

    structure: ShortestPath
    compiled: ClassVar[dict[str, str]] = {"maximize": "decisions.unit_flow"}
    projects_by_maximize = True
    when_none = _NO_PATH

    def __init__(self, structure: ShortestPath):
        super().__init__(structure)
        edges = structure._graph()
        self.n_nodes = structure._n_nodes(edges)
        ends = edges.ravel()  # 2 e is the tail of edge e, 2 e + 1 its head
        pointers = np.searchsorted(np.sort(ends), np.arange(self.n_nodes + 1))
        head = [self.n_nodes, structure.source, structure.target, len(edges)]
        links = np.argsort(ends, kind="stable")
        self.ints = np.concatenate([head, edges[:, 0], edges[:, 1], pointers, links])

    def has(self, ability: str) -> bool:
        return ability not in ("vertices", "k_best") and super().has(ability)

    def layout_as_ints(self, layout: Layout) -> Any:
        return self.ints

    def scratch(self, layout: Layout) -> tuple[int, int]:
        return 2 * self.n_nodes, 3 * self.n_nodes

    def check_layout(self, layout: Layout) -> None:
        _refuse_if_cut(self, layout)


def _refuse_if_cut(oracle: PathOracle | FlowOracle, layout: Layout) -> None:
    try:
        oracle.maximize(np.zeros(oracle.structure.n_parts(layout)), layout)
    except InfeasibleError:
        own = oracle.structure
        raise InfeasibleError(f"no path leads from node {own.source} to {own.target}.") from None


def _order_edges(edges: np.ndarray, n_nodes: int) -> np.ndarray | None:
    """Edges in the order of their tails from the sources on; None if there are cycles."""
    place, waiting = np.full(n_nodes, -1), np.bincount(edges[:, 1], minlength=n_nodes)
    after: list[list[int]] = [[] for _ in range(n_nodes)]
    for a, b in edges.tolist():
        after[a].append(b)
    ready = np.flatnonzero(waiting == 0).tolist()
    for count, node in enumerate(ready):  # which grows meanwhile
        place[node] = count
        for other in after[node]:
            waiting[other] -= 1
            if waiting[other] == 0:
                ready.append(other)
    return None if (place < 0).any() else np.argsort(place[edges[:, 0]], kind="stable")
