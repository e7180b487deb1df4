"""Which nodes of a tree are neighbours, which labels they may have, and in what order to go."""

from __future__ import annotations

from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from maxmargin.structures.networks import Network, network_of


class TreeShape:
    """The shape of a labelled tree, or of a forest: a network without cycles, and K labels.

    Equal if all is equal. Which end of an edge comes first matters, where its tables are concerned.

    Parameters
    ----------
    network : Network or Graph; without cycles.
    n_labels : K, the number of labels, 1 or more.
    allowed : (V, K) of bool, which labels each node may have, one at least; None means all.
    """

    network: Network
    n_labels: int
    allowed: np.ndarray | None

    def __init__(self, network: Any, n_labels: Any, allowed: Any = None):
        found = network_of(network)
        if not isinstance(n_labels, Integral) or n_labels < 1:
            raise ValueError(f"n_labels={n_labels!r} must be a whole number, 1 or more.")
        self.network = found
        self.n_labels = int(n_labels)
        self.allowed = _check_allowed(allowed, (found.n_nodes, self.n_labels))
        _ = self.order  # which finds the cycles

    @property
    def n_nodes(self) -> int:
        return self.network.n_nodes

    @property
    def n_edges(self) -> int:
        return self.network.n_edges

    @cached_property
    def order(self) -> np.ndarray:
        """(4, V), what the kernels read, see `kernels.tree`."""
        return _order(self.network)

    @cached_property
    def _hash(self) -> int:
        allowed = None if self.allowed is None else self.allowed.tobytes()
        return hash((self.network, self.n_labels, allowed))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TreeShape):
            return NotImplemented
        if self._hash != other._hash or self.n_labels != other.n_labels:
            return False
        if self.network != other.network:
            return False
        if self.allowed is None or other.allowed is None:
            return self.allowed is other.allowed
        return np.array_equal(self.allowed, other.allowed)

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be found again; hashes of bytes differ between processes."""
        return {"network": self.network, "n_labels": self.n_labels, "allowed": self.allowed}

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__:
            raise AttributeError(f"a TreeShape is frozen: make a new one to change {name}.")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        some = "" if self.allowed is None else ", some forbidden"
        return (
            f"TreeShape({self.n_nodes} nodes, {self.n_edges} edges, {self.n_labels} labels{some})"
        )


def _check_allowed(allowed: Any, expected: tuple[int, int]) -> np.ndarray | None:
    if allowed is None:
        return None
    found = np.array(allowed)
    if found.shape != expected:
        raise ValueError(f"allowed has shape {found.shape}, expected {expected}, (nodes, labels).")
    if found.dtype != bool:
        raise TypeError(f"allowed has dtype {found.dtype}, expected bool.")
    if not found.any(axis=1).all():
        v = int(np.flatnonzero(~found.any(axis=1))[0])
        raise ValueError(f"allowed: node {v} may have no label at all; allow one at least.")
    if found.all():
        return None
    found.flags.writeable = False
    return found


def _order(network: Network) -> np.ndarray:
    """Nodes by their distance from the roots, which are the last nodes of their trees.

    A path whose nodes are in order is then gone through as a chain is.
    """
    n = network.n_nodes
    ends = network.edges.tolist()
    near: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for e, (a, b) in enumerate(ends):
        near[a].append((b, e))
        near[b].append((a, e))
    above, edge = [-2] * n, [0] * n
    trees = []
    for root in range(n - 1, -1, -1):
        if above[root] == -2:
            above[root] = -1
            trees.append(_tree(root, near, above, edge))
    order = _by_level(trees, above)
    found = np.empty((4, n), dtype=np.int64)
    found[0], found[1], found[2] = order, np.array(above)[order], np.array(edge)[order]
    found[3] = 0
    inner = found[1] >= 0
    found[3, inner] = network.edges[found[2, inner], 0] == found[1, inner]
    return found


def _tree(root: int, near: Any, above: list[int], edge: list[int]) -> list[int]:
    """The nodes of one tree, breadth first, so that siblings are side by side."""
    found = [root]
    for v in found:
        for other, e in near[v]:
            if above[other] == -2:
                above[other], edge[other] = v, e
                found.append(other)
            elif e != edge[v] or above[v] != other:
                raise ValueError(_cycle(v, other, above))
    return found


def _by_level(trees: list[list[int]], above: list[int]) -> np.ndarray:
    roots = [nodes[0] for nodes in trees]
    return np.array(roots + [v for nodes in trees for v in nodes[1:]], dtype=np.int64)


def _cycle(a: int, b: int, above: list[int]) -> str:
    """The complaint, which names the nodes of the cycle that the edge between a and b closes."""
    left, right = [a], [b]
    for way in (left, right):
        while above[way[-1]] >= 0:
            way.append(above[way[-1]])
    met = set(left) & set(right)
    way = [v for v in left if v not in met]
    top = next(v for v in left if v in met)
    nodes = [*way, top, *[v for v in right if v not in met][::-1]]
    names = ", ".join(map(str, nodes[:12])) + (", ..." if len(nodes) > 12 else "")
    return (
        f"edges: nodes {names} are a cycle of {len(nodes)}, and a tree has none. Drop one of its"
        " edges, or use GraphCutSVM, which takes graphs with cycles."
    )
