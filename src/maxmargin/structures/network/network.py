"""Which nodes of a Markov network are neighbours."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from maxmargin.structures.frozen import Frozen, read_only
from maxmargin.structures.matching.candidates import as_integers
from maxmargin.validation.options import Size, check_option


class Network(Frozen):
    """Nodes and the edges between them, as the layout of a graph cut or of a set of labels.

    Immutable; networks are equal if all their values are. Parts of edges are in the order of the
    edges.

    Parameters
    ----------
    n_nodes : int
        Number of nodes V, at least 1.
    edges : array_like of shape (n_edges, 2)
        Pairs of different nodes, numbered from 0, in any order; none twice in either direction.
    """

    fields = ("n_nodes", "edges")
    n_nodes: int
    edges: np.ndarray

    def __init__(self, n_nodes: Any, edges: Any):
        check_option("Network: n_nodes", n_nodes, Size)
        self.n_nodes = int(n_nodes)
        self.edges = _check_edges(edges, self.n_nodes)

    @property
    def n_edges(self) -> int:
        return len(self.edges)

    @cached_property
    def as_ints(self) -> np.ndarray:
        """What compiled code reads, see `_numba.graph_cut.maximize`."""
        n, m = self.n_nodes, self.n_edges
        found = np.empty(3 + n + 10 * m, dtype=np.int64)
        found[:3] = n, m, 0
        heads, sisters, edges, ends, arcs = found[3 + n :].reshape(5, 2 * m)
        tails = self.edges.T.ravel()
        np.cumsum(np.bincount(tails, minlength=n), out=found[3 : 3 + n])
        order = np.argsort(tails, kind="stable")
        place = np.empty(2 * m, dtype=np.int64)
        place[order] = np.arange(2 * m)
        heads[:] = np.roll(tails, m)[order]
        sisters[:] = np.roll(place, m)[order]
        edges[:] = order % max(m, 1)
        ends[:] = self.edges.ravel()
        arcs[:] = place.reshape(2, m).T.ravel()
        return read_only(found)

    def __repr__(self) -> str:
        return f"Network({self.n_nodes} nodes, {self.n_edges} edges)"


def network_of(layout: Any) -> Network:
    """The network of a layout: itself, or that of a Graph."""
    found = getattr(layout, "network", layout)
    if not isinstance(found, Network):
        raise TypeError(f"layout={layout!r} must be a Network or a Graph.")
    return found


def check_bits(y: Any, network: Network) -> np.ndarray:
    """Labels 0 or 1 of all nodes, as floats."""
    labels = np.asarray(y)
    if labels.shape != (network.n_nodes,):
        raise ValueError(f"labels have shape {labels.shape}, expected ({network.n_nodes},).")
    wrong = (labels != 0) & (labels != 1)
    if wrong.any():
        raise ValueError(f"labels must be 0 or 1, found {labels[wrong][0]!r}.")
    return labels.astype(np.float64)


def _check_edges(edges: Any, n_nodes: int) -> np.ndarray:
    found = as_integers("edges", edges)
    if found.size == 0:
        found = found.reshape(0, 2)
    if found.ndim != 2 or found.shape[1] != 2:
        raise ValueError(f"edges have shape {found.shape}, expected (E, 2), pairs of nodes.")
    _refuse(found, ((found < 0) | (found >= n_nodes)).any(axis=1), f"is outside {n_nodes} nodes.")
    _refuse(found, found[:, 0] == found[:, 1], "joins a node with itself; leave it out.")
    pairs = np.minimum(*found.T) * n_nodes + np.maximum(*found.T)
    rising = np.sort(pairs)
    if (rising[1:] == rising[:-1]).any():
        again = np.ones(len(found), dtype=bool)
        again[np.unique(pairs, return_index=True)[1]] = False
        _refuse(found, again, "is there already; np.unique(np.sort(edges), axis=0) has each once.")
    return found


def _refuse(edges: np.ndarray, wrong: Any, why: str) -> None:
    if wrong.any():
        n = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"edges: {tuple(edges[n].tolist())} at place {n} {why}")
