"""Labels for the nodes of any network, with cycles or without."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from maxmargin.oracles.base import Oracle
from maxmargin.structures.base import Constraints
from maxmargin.structures.network.junction_tree import (
    check_tables,
    junction_constraints,
    tables_fit,
    widest_of,
)
from maxmargin.structures.network.layout import NetworkLayout
from maxmargin.structures.network.node_labels import NetworkLabels
from maxmargin.structures.network.oracles import (
    EitherOracle,
    JunctionTreeOracle,
    MessagePassingOracle,
    RelaxedOracle,
)
from maxmargin.validation.options import Count, Probability, check_options

_ORACLES: dict[str, type[Oracle]] = {
    "auto": EitherOracle,
    "exact": JunctionTreeOracle,
    "bounded": MessagePassingOracle,
    "relaxed": RelaxedOracle,
}


class MarkovNetwork(NetworkLabels):
    """A label at each node of any network, with scores for the pairs at the ends of edges.

    layout = NetworkLayout(network, K). Parts: V * K node-label parts, then pair parts in tables (K,
    K), row = label of the edge's first end. If `tied`, there is one table, whose parts count how
    often each pair occurs; else there is a table for each edge, in the order of the edges. `Tree`
    is the case without cycles, and faster.

    Parameters
    ----------
    tied : bool, default=True
        Whether one pair table is shared by all edges.
    forbidden_pairs : array_like of shape (n_labels, n_labels), default=None
        Boolean mask, True where label j at the first end of an edge must not go with label k at the
        second.
    method : {"auto", "exact", "bounded", "relaxed"}, default="auto"
        How the best labels are found.

        - "exact": by a junction tree, whose tables have K^(treewidth + 1) numbers.
        - "bounded": good labels by message passing, with a proven bound on their error.
        - "relaxed": the polytope is the local one, in which only neighbours need agree. Its
          vertices may be fractions of labels, which `decode` rounds; maxima are exact for the
          relaxation.
        - "auto": "exact" where the tables fit, else "bounded"; see `resolve`.
    max_table : int, default=4194304
        Maximum number of entries in the tables of a junction tree.
    max_rounds : int, default=100
        Maximum number of rounds of message passing.
    tol : float, default=1e-7
        Message passing stops when the bound is within this fraction of the magnitude of the scores.
    """

    def __init__(
        self,
        tied: bool = True,
        forbidden_pairs: Any = None,
        method: Literal["auto", "exact", "bounded", "relaxed"] = "auto",
        max_table: Count = 1 << 22,
        max_rounds: Count = 100,
        tol: Probability = 1e-7,
    ):
        self.tied = tied
        self.forbidden_pairs = forbidden_pairs
        self.method = method
        self.max_table = max_table
        self.max_rounds = max_rounds
        self.tol = tol

    # -- which method ------------------------------------------------------------------------------
    def _method(self) -> str:
        check_options(self)
        return self.method

    def _make_oracle(self) -> Oracle:
        return _ORACLES[self._method()](self)

    def resolve(self, layouts: Iterable[NetworkLayout]) -> MarkovNetwork:
        """Return a copy with the method that "auto" stands for.

        Parameters
        ----------
        layouts : iterable of NetworkLayout
            All layouts that will be used.

        Returns
        -------
        MarkovNetwork
            The network with a fixed method.
        """
        if self._method() != "auto":
            return self
        most = int(self.max_table)
        method = "exact" if all(tables_fit(layout, most) for layout in set(layouts)) else "bounded"
        return MarkovNetwork(**{**self.get_params(deep=False), "method": method})

    def vertex_size(self, layout: NetworkLayout) -> int:
        if self._method() == "relaxed":
            return self.n_parts(layout)
        return super().vertex_size(layout)

    def integrality(self, z: np.ndarray, layout: NetworkLayout) -> float:
        """Return the fraction of the nodes that have exactly one label.

        Parameters
        ----------
        z : ndarray of shape (n_parts,)
            Vertex of the polytope.
        layout : NetworkLayout
            Layout of the sample's output.

        Returns
        -------
        float
            Between 0 and 1; 1 if z is an output.
        """
        count, labels = self.variables(layout)
        largest = np.asarray(z)[: count * labels].reshape(count, labels).max(axis=1)
        return float((largest > 1.0 - 1e-6).mean())

    # -- descriptions ------------------------------------------------------------------------------
    def constraints(self, layout: NetworkLayout) -> Constraints:
        # Of the hull of labellings, by the tables of the junction tree, where these are exact. Else
        # of the local polytope, which is larger: neighbours agree, but cycles need not.
        method, parts = self._method(), self.n_parts(layout)
        if method == "exact":
            check_tables(layout, int(self.max_table))
        elif method != "auto" or not tables_fit(layout, int(self.max_table)):
            return super().constraints(layout)
        widest = widest_of(layout.n_labels, int(self.max_table))
        return junction_constraints(layout, bool(self.tied), widest, parts, self.forbidden(layout))
