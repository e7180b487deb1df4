"""How the best labels of a network are found: exactly, with a bound, or over a relaxation."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from maxmargin._numba import min_norm_sizes
from maxmargin.exceptions import InfeasibleError, MissingAbilityError
from maxmargin.oracles.base import Layout, Oracle, check_scores
from maxmargin.oracles.compiled import CompiledOracle, HullOracle
from maxmargin.oracles.methods import LinearOracle
from maxmargin.structures.frozen import read_only
from maxmargin.structures.network.junction_tree import (
    check_tables,
    junction_tree_ints,
    tables_fit,
    tables_of,
    widest_of,
)
from maxmargin.structures.network.layout import NetworkLayout
from maxmargin.structures.network.network import Network

if TYPE_CHECKING:
    from maxmargin.structures.network.markov_network import MarkovNetwork


class JunctionTreeOracle(HullOracle):
    """Exact dynamic programs over the tables of a junction tree."""

    structure: MarkovNetwork
    compiled: ClassVar[dict[str, str]] = {
        "maximize": "markov_network.junction_tree",
        "max_marginals": "markov_network.junction_tree",
        "project": "markov_network.project",
        "marginals": "markov_network.marginals",
    }
    is_tight = False

    def layout_as_ints(self, layout: NetworkLayout) -> Any:
        head, most = _head(self.structure, layout, 0), int(self.structure.max_table)
        check_tables(layout, most)
        widest = widest_of(layout.n_labels, most)
        return np.concatenate([head, junction_tree_ints(layout, bool(self.structure.tied), widest)])

    def scratch(self, layout: NetworkLayout) -> tuple[int, int]:
        parts, (nodes, labels) = self.structure.n_parts(layout), self.structure.variables(layout)
        check_tables(layout, int(self.structure.max_table))
        found = tables_of(layout, int(self.structure.max_table))
        messages = sum(labels ** len(scope) for scope in found.scopes)
        floats = min_norm_sizes.float_size(parts, nodes) + found.entries(labels) + 2 * messages
        return floats, min_norm_sizes.int_size(parts, nodes) + 2 * nodes + 1


class _Method(Oracle):
    """What an oracle says that lacks what the junction tree has."""

    structure: MarkovNetwork

    def missing(self, ability: str) -> MissingAbilityError:
        return MissingAbilityError(
            f"MarkovNetwork has no `{ability}` with method={self.structure.method!r}."
            f" {self.hint_for(ability)},"
            ' or a solver that needs `maximize` only, such as "bcfw".'
        )

    def hint_for(self, ability: str) -> str:
        return (
            "Use method='exact', if a junction tree fits max_table (the graphs are too wide for it"
            " if method='auto' was given)"
        )


class MessagePassingOracle(_Method, CompiledOracle):
    """Good labels by message passing, with a proven bound on the best score."""

    compiled: ClassVar[dict[str, str]] = {"maximize": "markov_network.message_passing"}
    is_exact = False
    is_bounded = True
    is_tight = False

    def has(self, ability: str) -> bool:
        return ability != "project" and super().has(ability)  # which needs exact maxima

    def layout_as_ints(self, layout: NetworkLayout) -> Any:
        return np.concatenate([_head(self.structure, layout, 1), arcs_as_ints(layout.network)])

    def scratch(self, layout: NetworkLayout) -> tuple[int, int]:
        nodes, labels = self.structure.variables(layout)
        pairs = self.structure.n_parts(layout) - nodes * labels
        return self.memory_size(layout) + pairs + 2 * labels, 2 * nodes

    def memory_size(self, layout: NetworkLayout) -> int:
        # the messages
        return 2 * layout.n_edges * layout.n_labels

    def _run(self, ability: str, theta: np.ndarray, layout: Layout) -> tuple[np.ndarray, float]:
        try:
            return super()._run(ability, theta, layout)
        except FloatingPointError as error:
            if not np.isneginf(check_scores(self.structure, theta, layout)).any():
                raise
            raise InfeasibleError(
                "message passing found no labels that are allowed, and no proof that there are"
                " none. Forbid less, or use method='exact' or a low score in place of -inf."
            ) from error


class EitherOracle(MessagePassingOracle):
    """Junction trees where their tables fit, else message passing."""

    compiled: ClassVar[dict[str, str]] = {"maximize": "markov_network.either"}

    def is_exact_for(self, layout: NetworkLayout) -> bool:
        self.structure.variables(layout)  # which checks the type of the layout
        return tables_fit(layout, int(self.structure.max_table))

    def _by(self, layout: NetworkLayout) -> CompiledOracle:
        kind = JunctionTreeOracle if self.is_exact_for(layout) else MessagePassingOracle
        return kind(self.structure)

    def layout_as_ints(self, layout: NetworkLayout) -> Any:
        return self._by(layout).layout_as_ints(layout)

    def scratch(self, layout: NetworkLayout) -> tuple[int, int]:
        return self._by(layout).scratch(layout)

    def memory_size(self, layout: NetworkLayout) -> int:
        return self._by(layout).memory_size(layout)


class RelaxedOracle(_Method, LinearOracle):
    """Maxima over the local polytope, whose vertices may be fractions of labels."""

    is_bounded = False  # the maximum of the relaxation is exact

    def has(self, ability: str) -> bool:
        return ability not in ("vertices", "k_best") and super().has(ability)  # too many to list

    def layout_as_ints(self, layout: NetworkLayout) -> Any:
        return _head(self.structure, layout, 1)


def _head(structure: MarkovNetwork, layout: NetworkLayout, kind: int) -> np.ndarray:
    """What all compiled functions of networks read first; kind : 1 for message passing."""
    nodes, labels = structure.variables(layout)
    sizes = [nodes, labels, 0 if structure.tied else labels * labels, layout.n_edges]
    rules = [kind, int(structure.max_rounds), round(structure.tol * 1e18)]
    return np.concatenate([sizes, rules, layout.network.edges.ravel()])


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
