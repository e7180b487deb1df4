"""In what order to go through the nodes of a tree."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from maxmargin.structures.frozen import read_only
from maxmargin.structures.network.layout import NetworkLayout
from maxmargin.structures.network.network import Network


class TreeLayout(NetworkLayout):
    """Layout of a labelled tree or forest: a network without cycles, and K labels.

    Immutable; layouts are equal if all their values are. The rows of a pair table are the labels of
    the edge's first end.

    Parameters
    ----------
    network : Network or Graph
        Nodes and edges, without cycles.
    """

    def __init__(self, network: Any, n_labels: Any, allowed: Any = None):
        super().__init__(network, n_labels, allowed)
        _ = self.order  # which finds the cycles

    @cached_property
    def order(self) -> np.ndarray:
        """(4, V), what compiled code reads, see `_numba.tree.maximize`."""
        return _order(self.network)


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
    return read_only(found)


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
        " edges, or use NetworkSVM, which takes graphs with cycles."
    )
