"""Labels for the nodes of any network, with cycles or without."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from maxmargin._numba import min_norm_sizes
from maxmargin.exceptions import InfeasibleError, MissingAbilityError
from maxmargin.structures.base import Constraints, Structure
from maxmargin.structures.frozen import read_only
from maxmargin.structures.network.junction_tree import (
    Buckets,
    buckets_of,
    junction_constraints,
    junction_tree_ints,
    widest_of,
)
from maxmargin.structures.network.layout import NetworkLayout
from maxmargin.structures.network.network import Network
from maxmargin.structures.network.node_labels import NetworkLabels
from maxmargin.validation.options import Count, Probability, check_options

_COMPILED: dict[str, dict[str, str]] = {
    "auto": {"maximize": "markov_network.either"},
    "exact": {
        "maximize": "markov_network.junction_tree",
        "max_marginals": "markov_network.junction_tree",
        "project": "markov_network.project",
        "marginals": "markov_network.marginals",
    },
    "bounded": {"maximize": "markov_network.message_passing"},
    "relaxed": {},
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

    @property
    def compiled(self) -> dict[str, str]:  # type: ignore[override]
        return _COMPILED[self._method()]

    @property
    def is_exact(self) -> bool:  # type: ignore[override]
        """Whether `maximize` finds the maximum over Z; if relaxed, over the relaxed one."""
        return self._method() in ("exact", "relaxed")

    def is_exact_for(self, layout: NetworkLayout) -> bool:
        return self.is_exact or self._goes_exactly(layout)

    @property
    def is_bounded(self) -> bool:
        return not self.is_exact

    @property
    def is_tight(self) -> bool:  # type: ignore[override]
        """Rows are those of the local polytope, which is Z only if that is asked for."""
        return self._method() == "relaxed"

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
        method = "exact" if all(self._fits(layout) for layout in set(layouts)) else "bounded"
        return MarkovNetwork(**{**self.get_params(deep=False), "method": method})

    def has(self, ability: str) -> bool:
        # projections need exact maxima; vertices of the relaxation are too many to list
        if ability == "project":
            return self.is_exact
        if ability in ("vertices", "k_best") and self._method() == "relaxed":
            return False
        return super().has(ability)

    def _missing(self, ability: str) -> MissingAbilityError:
        if self.method == "exact":
            return super()._missing(ability)
        return MissingAbilityError(
            f"MarkovNetwork has no `{ability}` with method={self.method!r}."
            f" {self.hint_for(ability)},"
            ' or a solver that needs `maximize` only, such as "bcfw".'
        )

    def hint_for(self, ability: str) -> str:
        if self.method == "exact":
            return super().hint_for(ability)
        return (
            "Use method='exact', if a junction tree fits max_table (the graphs are too wide for it"
            " if method='auto' was given)"
        )

    # -- sizes -------------------------------------------------------------------------------------
    def _buckets(self, layout: NetworkLayout) -> Buckets:
        return buckets_of(self._known(layout).network, layout.n_labels, self._widest(layout))

    def _widest(self, layout: NetworkLayout) -> int:
        return widest_of(self._known(layout).n_labels, int(self.max_table))

    def _fits(self, layout: NetworkLayout) -> bool:
        """Whether the tables of a junction tree are small enough."""
        found = self._buckets(layout)
        return found.complete and found.entries(layout.n_labels) <= self.max_table

    def _goes_exactly(self, layout: NetworkLayout) -> bool:
        method = self._method()
        if method != "exact":
            return method == "auto" and self._fits(layout)
        if not self._fits(layout):
            found = self._buckets(layout)
            more = "" if found.complete else "at least "
            raise ValueError(
                f"layout {layout}: a treewidth of {more}{found.width} with {layout.n_labels} labels"
                f" needs {more}{found.entries(layout.n_labels):,} entries in the tables of the"
                f" junction tree, more than max_table={self.max_table:,}; use method='bounded'."
            )
        return True

    def layout_as_ints(self, layout: NetworkLayout) -> Any:
        # what compiled code reads, see `junction_tree`, `message_passing` there
        labels = self._known(layout).n_labels
        exactly = self._goes_exactly(layout)
        head = [layout.n_nodes, labels, 0 if self.tied else labels * labels, layout.n_edges]
        rules = [0 if exactly else 1, int(self.max_rounds), round(self.tol * 1e18)]
        if exactly:
            rest = junction_tree_ints(layout, bool(self.tied), self._widest(layout))
        else:
            rest = arcs_as_ints(layout.network)
        return np.concatenate([head, rules, layout.network.edges.ravel(), rest])

    def scratch(self, layout: NetworkLayout) -> tuple[int, int]:
        parts, nodes = self.n_parts(layout), self._known(layout).n_nodes
        if self._method() == "relaxed":
            return parts, parts
        if not self._goes_exactly(layout):
            pairs = parts - nodes * layout.n_labels
            return self.memory_size(layout) + pairs + 2 * layout.n_labels, 2 * nodes
        found, labels = self._buckets(layout), layout.n_labels
        messages = sum(labels ** len(scope) for scope in found.scopes)
        floats = min_norm_sizes.float_size(parts, nodes) + found.entries(labels) + 2 * messages
        return floats, min_norm_sizes.int_size(parts, nodes) + 2 * nodes + 1

    def memory_size(self, layout: NetworkLayout) -> int:
        # the messages, if they are what finds the labels
        if self._method() == "relaxed" or self._goes_exactly(layout):
            return 0
        return 2 * layout.n_edges * layout.n_labels

    def vertex_size(self, layout: NetworkLayout) -> int:
        if self._method() == "relaxed":
            return self.n_parts(layout)
        return super().vertex_size(layout)

    # -- abilities ---------------------------------------------------------------------------------
    def project(self, point: np.ndarray, layout: NetworkLayout) -> np.ndarray:
        if not self.has("project"):
            raise self._missing("project")
        return super().project(point, layout)

    def _overridden(self, ability: str) -> bool:
        """By a subclass: the check above is not another way to project."""
        known = MarkovNetwork if ability == "project" else Structure
        return getattr(type(self), ability) is not getattr(known, ability)

    def _run(
        self, ability: str, theta: np.ndarray, layout: NetworkLayout
    ) -> tuple[np.ndarray, float]:
        try:
            return super()._run(ability, theta, layout)
        except FloatingPointError as error:
            if ability != "maximize" or not np.isneginf(self._allowed(theta, layout)).any():
                raise
            raise InfeasibleError(
                "message passing found no labels that are allowed, and no proof that there are"
                " none. Forbid less, or use method='exact' or a low score in place of -inf."
            ) from error

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
        if not self._goes_exactly(layout):
            return super().constraints(layout)
        parts, banned = self.n_parts(layout), self.forbidden(layout)
        return junction_constraints(layout, bool(self.tied), self._widest(layout), parts, banned)


@lru_cache(maxsize=1024)
def arcs_as_ints(network: Network) -> np.ndarray:
    """The neighbours of all nodes, see `_numba.markov_network.message_passing`."""
    n, m = network.n_nodes, network.n_edges
    into = network.edges.T.ravel()  # arcs 0 to m - 1 enter first ends, the others second ends
    other = np.roll(into, m)
    order = np.lexsort((other, into))
    place = np.empty(2 * m, dtype=np.int64)
    place[order] = np.arange(2 * m)
    starts = np.concatenate([[0], np.cumsum(np.bincount(into, minlength=n))])
    before = np.bincount(into[other < into], minlength=n)
    lists = [other[order], order < m, order % max(m, 1), np.roll(place, m)[order]]
    return read_only(np.concatenate([starts, before, *lists]).astype(np.int64))
