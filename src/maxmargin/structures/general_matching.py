"""Matchings of any graph: each node has one partner at most, or a few."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from maxmargin.exceptions import InfeasibleError
from maxmargin.oracles.base import Oracle, check_k, check_scores
from maxmargin.oracles.compiled import CompiledOracle
from maxmargin.oracles.constraints import part_score
from maxmargin.structures.base import Constraints, PerLayout, Structure
from maxmargin.structures.matching.candidates import as_integers
from maxmargin.structures.network.network import Network

#: nodes up to which constraints are listed: there is one for each odd set of nodes
MOST_NODES = 15
#: capacities of cuts are integers, in this unit; by how much a violated constraint is exceeded
_UNIT, _EXCESS = 2.0**-30, 1e-8


class GeneralMatching(Structure):
    """Edges of a graph, one or a few at each node at most. layout = Network, or (n_nodes, edges).

    Parts: one per edge, in the order of `edges`. An output y is an array of shape (m, 2), the
    matched pairs of nodes in any order.

    Z is the hull of all matchings: `z_e >= 0`, the edges of a node sum to 1 at most (exactly, if
    matchings are perfect), and those inside an odd set S of nodes to (\\|S\\| - 1) / 2 at most
    (Edmonds 1965).

    Parameters
    ----------
    perfect : bool, default=False
        Whether every node must have a partner, or as many as its cap. Graphs without such a
        matching are refused.
    cap : int or array_like of shape (n_nodes,), default=1
        Maximum number of partners of all nodes, or of each one where all graphs have the same
        nodes. With other caps than 1, a matching of a larger graph is found, with two more nodes
        for each edge, and there are no `constraints`.
    """

    binary = True

    def __init__(self, perfect: bool = False, cap: Any = 1):
        self.perfect = perfect
        self.cap = cap

    def _make_oracle(self) -> Oracle:
        is_capped = (_check_caps(self.cap) != 1).any()
        return CappedMatchingOracle(self) if is_capped else GeneralMatchingOracle(self)

    def _caps(self, layout: Any) -> np.ndarray:
        """How many partners each node may have."""
        graph, caps = _graph_of(layout), _check_caps(self.cap)
        if caps.ndim and len(caps) != graph.n_nodes:
            raise ValueError(f"cap has {len(caps)} numbers, the graph {graph.n_nodes} nodes.")
        return np.full(graph.n_nodes, caps)

    def n_parts(self, layout: Any) -> int:
        return _graph_of(layout).n_edges

    def vertex_size(self, layout: Any) -> int:
        most = int(np.minimum(self._caps(layout), _graph_of(layout).n_nodes).sum()) // 2
        return min(most, _graph_of(layout).n_edges)

    def radius(self, layout: Any) -> float:
        return float(np.sqrt(2 * self.vertex_size(layout)))  # none in common

    # -- outputs -----------------------------------------------------------------------------------
    def encode(self, y: Any, layout: Any) -> np.ndarray:
        graph, pairs = _graph_of(layout), as_integers("y", y)
        if pairs.size == 0:
            pairs = pairs.reshape(0, 2)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise ValueError(f"y has shape {pairs.shape}, expected (m, 2), pairs of nodes.")
        places = {frozenset(edge): e for e, edge in enumerate(graph.edges.tolist())}
        z = np.zeros(graph.n_edges)
        for pair in pairs.tolist():
            if frozenset(pair) not in places:
                raise ValueError(f"y: {tuple(pair)} is not an edge of the graph.")
            if z[places[frozenset(pair)]]:
                raise ValueError(f"y: {tuple(pair)} is there twice.")
            z[places[frozenset(pair)]] = 1.0
        counts, caps = np.bincount(pairs.ravel(), minlength=graph.n_nodes), self._caps(layout)
        if (counts > caps).any():
            v = int(np.argmax(counts > caps))
            found, most = int(counts[v]), int(caps[v])
            raise ValueError(f"y: node {v} has {found} partners, at most cap={most} allowed.")
        if self.perfect and (counts < caps).any():
            v = int(np.argmax(counts < caps))
            raise ValueError(
                f"y: node {v} has {counts[v]} partners, and perfect=True asks for {caps[v]}."
            )
        return z

    def decode(self, z: np.ndarray, layout: Any) -> np.ndarray:
        return _graph_of(layout).edges[np.asarray(z) > 0.5]

    # -- descriptions ------------------------------------------------------------------------------
    def constraints(self, layout: Any) -> Constraints:
        if not self.oracle().has("constraints"):
            raise self.oracle().missing("constraints")
        graph = _graph_of(layout)
        n = graph.n_nodes
        if n > MOST_NODES:
            raise ValueError(
                f"{n} nodes have {2 ** (n - 1)} odd sets, each with a constraint; they are listed"
                f" up to {MOST_NODES} nodes."
            )
        sets = [s for size in range(3, n + 1, 2) for s in combinations(range(n), size)]
        inside = np.zeros((len(sets), n), dtype=bool)
        for row, members in zip(inside, sets, strict=True):
            row[list(members)] = True
        both = _degree_rows(graph, self.perfect), _odd_rows(graph, inside)
        matrix, lower, upper = zip(*both, strict=True)
        return Constraints(
            sparse.csr_array(sparse.vstack(matrix)), np.concatenate(lower), np.concatenate(upper)
        )

    def vertices(self, layout: Any) -> Iterator[np.ndarray]:
        ends, left = _graph_of(layout).edges.tolist(), self._caps(layout)

        def extend(edge: int, z: tuple[int, ...]) -> Iterator[np.ndarray]:
            if edge == len(ends):
                if not self.perfect or not left.any():
                    yield np.array(z, dtype=float)
                return
            yield from extend(edge + 1, (*z, 0))
            if left[ends[edge]].all():
                left[ends[edge]] -= 1
                yield from extend(edge + 1, (*z, 1))
                left[ends[edge]] += 1

        return extend(0, ())


class GeneralMatchingOracle(CompiledOracle):
    """Edmonds' algorithm for matchings of largest weight."""

    compiled: ClassVar[dict[str, str]] = {"maximize": "general_matching.maximize"}
    structure: GeneralMatching
    when_none = (
        "the graph has no perfect matching of allowed edges, nor has any graph of an odd number of"
        " nodes; allow more edges, add a node that stands for none, or say perfect=False."
    )

    def layout_as_ints(self, layout: Any) -> Any:
        found = np.array(_graph_of(layout).as_ints)
        found[2] = int(self.structure.perfect)
        return found

    def scratch(self, layout: Any) -> tuple[int, int]:
        graph = _graph_of(layout)
        blossoms = graph.n_nodes // 2 + 1
        return graph.n_nodes, graph.n_edges + 16 * graph.n_nodes + 13 * blossoms + 4

    def check_layout(self, layout: Any) -> None:
        if self.structure.perfect:
            self.maximize(np.zeros(self.structure.n_parts(layout)), layout)

    def memory_size(self, layout: Any) -> int:
        # the prices of the nodes, from which the next call starts
        return _graph_of(layout).n_nodes

    def k_best(self, theta: np.ndarray, layout: Any, k: int) -> list[tuple[np.ndarray, float]]:
        # Each matching found divides what it was the best of: those without its first edge, those
        # with it but without the second one, ..., and those that have more edges than it (Lawler
        # 1972, Murty 1968).
        k, theta = check_k(k), check_scores(self.structure, theta, layout)
        ends = _graph_of(layout).edges
        z = self.maximize(theta, layout)[0]
        found: list[tuple[np.ndarray, float]] = []
        empty = np.zeros(len(theta), dtype=bool)
        waiting = [(-part_score(theta, z), 0, z, empty, theta == -np.inf)]
        count = 0
        while waiting and len(found) < k:
            minus, _, z, on, off = heappop(waiting)
            found.append((z, -minus))
            more = ~np.isin(ends, ends[z > 0]).any(axis=1) & ~off
            for edge in [*np.flatnonzero((z > 0) & ~on), *np.flatnonzero(more)]:
                # without an edge of z, or with one that z could have beside its own
                on, off = on.copy(), off.copy()
                (on if more[edge] else off)[edge] = True
                other = self._best_with(theta, layout, on, off)
                if other is not None:
                    count += 1
                    heappush(waiting, (-part_score(theta, other), count, other, on, off))
                on, off = on.copy(), off.copy()
                on[edge], off[edge] = not more[edge], bool(more[edge])
        return found

    def separate(self, layout: Any, z: np.ndarray | None = None) -> Constraints:
        graph = _graph_of(layout)
        n, known = graph.n_nodes, _degree_rows(graph, self.structure.perfect)
        if z is None:
            return known
        # The edges that leave a set, and what its nodes lack to have a partner, are a cut between
        # it and a further node; below 1 if it is odd and violated (Padberg and Rao 1982).
        ends = np.vstack([graph.edges, np.transpose([np.arange(n), np.full(n, n)])])
        capacity = np.clip(np.concatenate([z, 1.0 - known.matrix @ z]), 0.0, 1.0)
        sides = _cut_tree(ends, np.rint(capacity / _UNIT).astype(np.int32), n + 1)
        rows = _odd_rows(graph, np.unique(sides[sides.sum(axis=1) % 2 == 1, :n], axis=0))
        violated = rows.matrix @ z > rows.upper + _EXCESS
        return Constraints(*(own[violated] for own in rows))

    def _best_with(
        self, theta: np.ndarray, layout: Any, on: np.ndarray, off: np.ndarray
    ) -> np.ndarray | None:
        """The best matching with some edges and without others, if there is one."""
        ends, scores = _graph_of(layout).edges, np.where(off, -np.inf, theta)
        scores[np.isin(ends, ends[on]).any(axis=1)] = -np.inf
        scores[on] = 0.0  # their nodes have no other edge
        try:
            found = self.maximize(scores, layout)[0]
        except InfeasibleError:
            return None
        found[on] = 1.0
        return found


class CappedMatchingOracle(Oracle):
    """Edmonds' algorithm on a graph in which nodes are there as many times as they have partners.

    Two nodes more stand for the ends of each edge (Tutte 1954). They are matched with each other if
    the edge is not used, and else with a copy of a node each; all of these score what the edge
    does. If only one is matched with a copy, the edge is not used, and the score is the same.

    Parameters
    ----------
    structure : GeneralMatching
        Structure whose outputs are found.
    """

    structure: GeneralMatching

    def __init__(self, structure: GeneralMatching):
        super().__init__(structure)
        self.inner = GeneralMatchingOracle(GeneralMatching(structure.perfect))
        self._copied = PerLayout(self._copy_nodes)

    def has(self, ability: str) -> bool:
        return ability != "constraints" and super().has(ability)

    def hint_for(self, ability: str) -> str:
        return 'Use caps of 1, or a solver that needs `maximize` only, such as "bcfw"'

    def layout_as_ints(self, layout: Any) -> Any:
        return np.append(_graph_of(layout).as_ints, self.structure._caps(layout))

    def check_layout(self, layout: Any) -> None:
        self.structure._caps(layout)
        if self.structure.perfect:
            self.maximize(np.zeros(self.structure.n_parts(layout)), layout)

    def maximize(self, theta: np.ndarray, layout: Any) -> tuple[np.ndarray, float]:
        theta = check_scores(self.structure, theta, layout)
        graph, edge, end = self._copied[_graph_of(layout)]
        if not self.structure._caps(layout).any():
            return np.zeros(len(theta)), 0.0
        scores = np.maximum(theta[edge], 0.0)
        if self.structure.perfect:  # which has both nodes of each edge, so that one may score alone
            scores = np.where(end == 0, theta[edge], 0.0)
        used = self.inner.maximize(scores, graph)[0] > 0
        z = np.ones(len(theta))
        for side in (0, 1):
            z *= np.bincount(edge[used & (end == side)], minlength=len(theta))
        return z, part_score(theta, z)

    def _copy_nodes(self, graph: Network) -> tuple[Network, np.ndarray, np.ndarray]:
        """The larger graph, and of its edges the edge they stand for and its end, 2 for both."""
        m, caps = graph.n_edges, self.structure._caps(graph)
        degrees = np.bincount(graph.edges.ravel(), minlength=graph.n_nodes)
        if self.structure.perfect and (caps > degrees).any():
            v = int(np.argmax(caps > degrees))
            raise InfeasibleError(f"node {v} has {degrees[v]} edges, fewer than its cap {caps[v]}.")
        caps = np.minimum(caps, degrees)
        first, n = np.cumsum(caps) - caps, int(caps.sum())
        rows, edges, ends = [], [], []
        # scores of edges that no output has would cost the others' digits
        is_possible = (caps[graph.edges] > 0).all(axis=1)
        first_end = n + 2 * (np.cumsum(is_possible) - 1)
        for side in (0, 1):
            counts = caps[graph.edges[:, side]] * is_possible
            edge = np.repeat(np.arange(m), counts)
            place = np.arange(len(edge)) - np.repeat(np.cumsum(counts) - counts, counts)
            rows.append(np.stack([first[graph.edges[edge, side]] + place, first_end[edge] + side]))
            edges.append(edge)
            ends.append(np.full(len(edge), side))
        edges.append(np.flatnonzero(is_possible))
        rows.append(first_end[edges[-1]] + [[0], [1]])
        ends.append(np.full(len(edges[-1]), 2))
        larger = Network(max(n + 2 * int(is_possible.sum()), 1), np.concatenate(rows, axis=1).T)
        return larger, np.concatenate(edges), np.concatenate(ends)


def _check_caps(cap: Any) -> np.ndarray:
    """Caps as an integer or an array of some."""
    found = as_integers("cap", cap)
    if found.ndim > 1 or (found < 0).any():
        raise ValueError(f"cap={cap!r} must be an integer, or one for each node, 0 or more.")
    return found


def _graph_of(layout: Any) -> Network:
    """The graph of a layout: itself, that of a Graph, or of its number of nodes and edges."""
    found = getattr(layout, "network", layout)
    if isinstance(found, tuple | list) and len(found) == 2:
        found = Network(*found)
    if not isinstance(found, Network):
        raise TypeError(f"layout={layout!r} must be a Network, a Graph or (n_nodes, edges).")
    return found


def _degree_rows(graph: Network, perfect: bool) -> Constraints:
    """The constraints of single nodes."""
    n, m = graph.n_nodes, graph.n_edges
    places = graph.edges.T.ravel(), np.tile(np.arange(m), 2)
    degrees, upper = sparse.csr_array((np.ones(2 * m), places), shape=(n, m)), np.ones(n)
    return Constraints(degrees, upper if perfect else -np.inf * upper, upper)


def _odd_rows(graph: Network, inside: np.ndarray) -> Constraints:
    """The constraints of odd sets of nodes, a row of `inside` each."""
    both = inside[:, graph.edges[:, 0]] & inside[:, graph.edges[:, 1]]
    upper = (inside.sum(axis=1) - 1) / 2
    return Constraints(sparse.csr_array(both.astype(float)), np.full(len(upper), -np.inf), upper)


def _cut_tree(ends: np.ndarray, capacity: np.ndarray, n: int) -> np.ndarray:
    """The sides without the last node of n - 1 cuts, smallest ones of all pairs among them.

    They are those of a tree of Gomory and Hu, by n - 1 flows (Gusfield 1990).
    """
    a, b = np.vstack([ends, ends[:, ::-1]]).T
    graph = sparse.csr_array((np.tile(capacity, 2), (a, b)), shape=(n, n))
    parent = np.full(n, n - 1)
    for s in range(n - 1):
        t = parent[s]
        left = graph - maximum_flow(graph, s, t).flow
        left.eliminate_zeros()
        side = np.zeros(n, dtype=bool)
        side[breadth_first_order(left, s, return_predecessors=False)] = True
        side[s] = False
        parent[side & (parent == t)] = s
        if side[parent[t]]:
            parent[s], parent[t] = parent[t], s
    below = np.eye(n, dtype=bool)
    for s in range(n - 1):
        node = s
        while node != n - 1:
            node = parent[node]
            below[node, s] = True
    return below[:-1]
