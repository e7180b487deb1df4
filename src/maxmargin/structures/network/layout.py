"""Which nodes of a labelled network are neighbours, and which labels they may have."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.structures.frozen import Frozen, read_only
from maxmargin.structures.network.network import Network, network_of
from maxmargin.validation.options import Size, check_option


class NetworkLayout(Frozen):
    """Layout of a labelled network: its nodes and edges, and K labels.

    Immutable; layouts are equal if all their values are. The rows of a pair table are the labels of
    the edge's first end.

    Parameters
    ----------
    network : Network or Graph
        Nodes and edges.
    n_labels : int
        Number of labels K, at least 1.
    allowed : array_like of shape (n_nodes, n_labels), default=None
        Boolean mask of the labels that each node may have, at least one; None means all.
    """

    fields = ("network", "n_labels", "allowed")
    network: Network
    n_labels: int
    allowed: np.ndarray | None

    def __init__(self, network: Any, n_labels: Any, allowed: Any = None):
        found = network_of(network)
        check_option(f"{type(self).__name__}: n_labels", n_labels, Size)
        self.network = found
        self.n_labels = int(n_labels)
        self.allowed = _check_allowed(allowed, (found.n_nodes, self.n_labels))

    @property
    def n_nodes(self) -> int:
        return self.network.n_nodes

    @property
    def n_edges(self) -> int:
        return self.network.n_edges

    def __repr__(self) -> str:
        some = "" if self.allowed is None else ", some forbidden"
        return (
            f"{type(self).__name__}({self.n_nodes} nodes, {self.n_edges} edges,"
            f" {self.n_labels} labels{some})"
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
    return read_only(found)
