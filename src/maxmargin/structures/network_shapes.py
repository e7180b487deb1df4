"""Which nodes of a labelled network are neighbours, and which labels they may have."""

from __future__ import annotations

from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from maxmargin.structures.networks import Network, network_of


class NetworkShape:
    """The shape of a labelled network: its nodes and edges, and K labels.

    Equal if all is equal. Which end of an edge comes first matters, where its tables are concerned.

    Parameters
    ----------
    network : Network or Graph.
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

    @property
    def n_nodes(self) -> int:
        return self.network.n_nodes

    @property
    def n_edges(self) -> int:
        return self.network.n_edges

    @cached_property
    def _hash(self) -> int:
        allowed = None if self.allowed is None else self.allowed.tobytes()
        return hash((self.network, self.n_labels, allowed))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, NetworkShape) or type(other) is not type(self):
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
            raise AttributeError(
                f"a {type(self).__name__} is frozen: make a new one to change {name}."
            )
        super().__setattr__(name, value)

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
    found.flags.writeable = False
    return found
