"""Labels for the nodes of any network, with cycles or without."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np

from maxmargin.exceptions import InfeasibleError, MissingAbilityError
from maxmargin.structures.base import score
from maxmargin.structures.network_labels import NetworkLabels
from maxmargin.structures.network_shapes import NetworkShape

METHODS = ("auto", "exact", "bounded", "relaxed")


class MarkovNetwork(NetworkLabels):
    """A label at each node of any network, with scores for the pairs at the ends of edges.

    shape = NetworkShape(network, K). Parts: V * K node-label parts, then pair parts in tables
    (K, K), row = label of the edge's first end. If `tied`, there is one table, whose parts count
    how often each pair occurs; else there is a table for each edge, in the order of the edges.
    `Tree` is the case without cycles, and faster.

    Parameters
    ----------
    tied : one pair table for all edges.
    forbidden_pairs : (K, K) of bool, True where label j at an edge's first end must not go with
        label k at its second.
    method : how the best labels are found.
        "exact" : by a junction tree, whose tables have K^(treewidth + 1) numbers.
        "bounded" : good labels by message passing, with a proof of how far off they may be.
        "relaxed" : the polytope is the local one, in which only neighbours need agree. Its corners
        may be fractions of labels, which `decode` rounds; maxima are exact for the relaxation.
        "auto" : "exact" where the tables fit, else "bounded"; see `resolve`.
    max_table : the most numbers that the tables of a junction tree may have.
    max_rounds : the most rounds of message passing.
    tol : message passing stops when the bound is within this share of the scores' size.
    """

    def __init__(
        self,
        tied: bool = True,
        forbidden_pairs: Any = None,
        method: str = "auto",
        max_table: int = 1 << 22,
        max_rounds: int = 100,
        tol: float = 1e-7,
    ):
        self.tied = tied
        self.forbidden_pairs = forbidden_pairs
        self.method = method
        self.max_table = max_table
        self.max_rounds = max_rounds
        self.tol = tol

    # -- which method ------------------------------------------------------------------------------
    def _method(self) -> str:
        if self.method not in METHODS:
            raise ValueError(f"method={self.method!r} must be one of {', '.join(METHODS)}.")
        return self.method

    @property
    def is_exact(self) -> bool:  # type: ignore[override]
        """Whether `maximize` finds the maximum over Z; if relaxed, over the relaxed one."""
        return self._method() in ("exact", "relaxed")

    @property
    def is_bounded(self) -> bool:  # type: ignore[override]
        return not self.is_exact

    def resolve(self, shapes: Iterable[NetworkShape]) -> MarkovNetwork:
        """The same with the method that "auto" stands for, where these are all shapes."""
        if self._method() != "auto":
            return self
        method = "exact" if all(self._fits(shape) for shape in set(shapes)) else "bounded"
        return MarkovNetwork(**{**self.get_params(deep=False), "method": method})

    def _fits(self, shape: NetworkShape) -> bool:
        return float(self._known(shape).n_labels) ** shape.n_nodes <= self.max_table

    def has(self, ability: str) -> bool:
        if ability in ("vertices", "k_best") and self._method() == "relaxed":
            return False
        return super().has(ability)

    # -- sizes -------------------------------------------------------------------------------------
    def code(self, shape: NetworkShape) -> Any:
        labels = self._known(shape).n_labels
        head = [shape.n_nodes, labels, 0 if self.tied else labels * labels, shape.n_edges]
        return np.concatenate([head, shape.network.edges.ravel()])

    def vertex_size(self, shape: NetworkShape) -> int:
        if self._method() == "relaxed":
            return self.n_parts(shape)
        return super().vertex_size(shape)

    def integrality(self, z: np.ndarray, shape: NetworkShape) -> float:
        """The share of the nodes that have one label, and no fractions of several."""
        count, labels = self.variables(shape)
        largest = np.asarray(z)[: count * labels].reshape(count, labels).max(axis=1)
        return float((largest > 1.0 - 1e-6).mean())

    # -- abilities ---------------------------------------------------------------------------------
    def maximize(self, theta: np.ndarray, shape: NetworkShape) -> np.ndarray:
        if self._method() == "relaxed":
            from maxmargin.structures.linear import maximize_linear

            return maximize_linear(self.constraints(shape), self._allowed(theta, shape))
        theta, best, high = self._allowed(theta, shape), None, -np.inf
        most = 1_000_000
        for n, z in enumerate(islice(self.vertices(shape), most + 1)):
            if n == most:
                raise MissingAbilityError(f"shape {shape} has too many labelings to list.")
            value = score(theta, z)
            if value > high:
                best, high = z, value
        if best is None:
            raise InfeasibleError("every output is forbidden (all scores are -inf).")
        return best
