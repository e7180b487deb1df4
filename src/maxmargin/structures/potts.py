"""Markov networks of any number of labels, neighbours alike if possible."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from maxmargin.exceptions import MissingAbilityError
from maxmargin.oracles.base import check_scores
from maxmargin.oracles.compiled import CompiledOracle
from maxmargin.structures.base import Constraints, Structure
from maxmargin.structures.graph_cut import refuse_rewards
from maxmargin.structures.network.network import Network, network_of
from maxmargin.validation.options import Size, check_option


class Potts(Structure):
    """One of K labels for each node of a network. layout = (Network, K).

    Parts: V K of "node j has label k", node by node, then E of "the ends of edge e differ", whose
    scores must not be positive. An output y is V integers from 0 to K - 1.

    The best labels are hard to find for K > 2. `maximize` applies alpha-expansions by minimum cuts
    until none increases the score: the loss relative to all nodes having their own best label at no
    edge cost is at most twice the least possible one. For K = 2 the labels are optimal.
    `constraints` describe the usual relaxation, z_e >= sum_k max(z_jk - z_lk, 0), with auxiliary
    variables; for K > 2 it has fractional vertices.
    """

    def _make_oracle(self) -> ExpansionOracle:
        return ExpansionOracle(self)

    def n_parts(self, layout: Any) -> int:
        network, labels = _split(layout)
        return network.n_nodes * labels + network.n_edges

    def variables(self, layout: Any) -> tuple[int, int]:
        network, labels = _split(layout)
        return network.n_nodes, labels

    def vertex_size(self, layout: Any) -> int:
        network, _ = _split(layout)
        return network.n_nodes + network.n_edges

    def radius(self, layout: Any) -> float:
        network, _ = _split(layout)
        return float(np.sqrt(2 * network.n_nodes + network.n_edges))

    # -- outputs -----------------------------------------------------------------------------------
    def encode(self, y: Any, layout: Any) -> np.ndarray:
        network, labels = _split(layout)
        found = np.asarray(y)
        if found.shape != (network.n_nodes,):
            raise ValueError(f"labels have shape {found.shape}, expected ({network.n_nodes},).")
        wrong = ~np.isin(found, np.arange(labels))
        if wrong.any():
            raise ValueError(f"labels must be 0 to {labels - 1}, found {found[wrong][0]!r}.")
        return _vertex(found.astype(np.int64), network, labels)

    def decode(self, z: np.ndarray, layout: Any) -> np.ndarray:
        count, labels = self.variables(layout)
        return np.asarray(z)[: count * labels].reshape(count, labels).argmax(axis=1)

    # -- descriptions ------------------------------------------------------------------------------
    def constraints(self, layout: Any) -> Constraints:
        # one label per node; z_e >= sum_k s_ek, s_ek >= z_jk - z_lk with auxiliary s >= 0
        network, labels = _split(layout)
        n, m = network.n_nodes, network.n_edges
        each = sparse.kron(sparse.eye_array(n), np.ones((1, labels)))
        rows, ones = np.arange(m), np.ones(m)
        ends = sparse.csr_array((ones, (rows, network.edges[:, 0])), shape=(m, n))
        ends = ends - sparse.csr_array((ones, (rows, network.edges[:, 1])), shape=(m, n))
        apart = sparse.kron(ends, sparse.eye_array(labels))
        sums = sparse.kron(sparse.eye_array(m), np.ones((1, labels)))
        blocks = [[each, None, None], [apart, None, -sparse.eye_array(m * labels)]]
        if m:
            blocks.append([None, -sparse.eye_array(m), sums])
        matrix = sparse.csr_array(sparse.block_array(blocks)) if m else sparse.csr_array(each)
        upper = np.concatenate([np.ones(n), np.zeros(m * labels + m)])
        lower = np.concatenate([np.ones(n), np.full(m * labels + m, -np.inf)])
        return Constraints(matrix, lower, upper)

    def vertices(self, layout: Any) -> Iterator[np.ndarray]:
        network, labels = _split(layout)
        for own in product(range(labels), repeat=network.n_nodes):
            yield _vertex(np.array(own), network, labels)


class ExpansionOracle(CompiledOracle):
    """Alpha-expansions, each by a minimum cut."""

    compiled: ClassVar[dict[str, str]] = {"maximize": "potts"}
    is_exact = False
    is_tight = False
    any_scores = False

    def has(self, ability: str) -> bool:
        # no projection: points between labels are not what expansions can tell apart
        return ability != "project" and super().has(ability)

    def missing(self, ability: str) -> MissingAbilityError:
        if ability != "project":
            return super().missing(ability)
        return MissingAbilityError(
            "Potts has no `project`: its oracle is not exact. Use a solver that needs `maximize`"
            ' only, such as "bcfw", or GraphCut for two labels.'
        )

    def layout_as_ints(self, layout: Any) -> Any:
        network, labels = _split(layout)
        return np.concatenate([[labels], network.as_ints])

    def scratch(self, layout: Any) -> tuple[int, int]:
        network, _ = _split(layout)
        n, m = network.n_nodes, network.n_edges
        return 3 * n + 5 * m, 8 * n + 4

    def _run(self, ability: str, theta: np.ndarray, layout: Any) -> tuple[np.ndarray, float]:
        scores, (network, _) = check_scores(self.structure, theta, layout), _split(layout)
        refuse_rewards(scores, network)
        own = scores[len(scores) - network.n_edges :]
        if np.isneginf(own).any():
            e = int(np.flatnonzero(np.isneginf(own))[0])
            raise ValueError(
                f"edge {e}, {tuple(network.edges[e].tolist())}, scores -inf; ends that must be"
                " alike are one node, or give a large finite score."
            )
        return super()._run(ability, theta, layout)


def _split(layout: Any) -> tuple[Network, int]:
    if not (isinstance(layout, tuple) and len(layout) == 2):
        raise TypeError(f"layout={layout!r} must be a pair (Network, number of labels).")
    check_option("number of labels", layout[1], Size)
    return network_of(layout[0]), int(layout[1])


def _vertex(labels: np.ndarray, network: Network, count: int) -> np.ndarray:
    ends = labels[network.edges]
    differ = (ends[:, 0] != ends[:, 1]).astype(np.float64)
    return np.concatenate([np.eye(count)[labels].ravel(), differ])
