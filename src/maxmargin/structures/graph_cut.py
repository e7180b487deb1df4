"""Binary Markov networks with submodular potentials, by minimum cuts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from maxmargin.oracles.base import check_scores
from maxmargin.oracles.compiled import CompiledOracle
from maxmargin.structures.base import Constraints, Structure
from maxmargin.structures.network.network import Network, check_bits, network_of

#: of the largest score, what a positive score of an edge may be: compiled code takes it for 0
_ROUNDING = 1e-9


class GraphCut(Structure):
    """Two labels for the nodes of a network, neighbours alike if possible. layout = Network.

    Parts: V nodes, "node j has label 1", then E edges, "the ends of edge e differ". Scores of edges
    must not be positive: differing ends cost something or nothing. An output y is V zeros and ones.

    Z is the convex hull without upper bounds on edges: `0 <= z_j <= 1` and `|z_j - z_k| <= z_jk`.
    The missing upper bound on `z_jk` does not matter as long as its score is not positive.
    """

    binary = True

    def _make_oracle(self) -> CutOracle:
        return CutOracle(self)

    def n_parts(self, layout: Any) -> int:
        network = network_of(layout)
        return network.n_nodes + network.n_edges

    def variables(self, layout: Any) -> tuple[int, int]:
        return network_of(layout).n_nodes, 1

    def radius(self, layout: Any) -> float:
        return float(np.sqrt(self.n_parts(layout)))

    # -- outputs -----------------------------------------------------------------------------------
    def encode(self, y: Any, layout: Any) -> np.ndarray:
        network = network_of(layout)
        return _vertex(check_bits(y, network), network)

    def decode(self, z: np.ndarray, layout: Any) -> np.ndarray:
        return (np.asarray(z)[: network_of(layout).n_nodes] > 0.5).astype(np.int64)

    # -- descriptions ------------------------------------------------------------------------------
    def constraints(self, layout: Any) -> Constraints:
        # z_j <= 1, and neighbours differ by the z of their edge at most
        network = network_of(layout)
        n, m = network.n_nodes, network.n_edges
        rows, ones = np.arange(m), np.ones(m)
        ends = sparse.csr_array((ones, (rows, network.edges[:, 0])), shape=(m, n))
        ends -= sparse.csr_array((ones, (rows, network.edges[:, 1])), shape=(m, n))
        own = sparse.eye_array(m)
        blocks = [[sparse.eye_array(n), sparse.csr_array((n, m))], [ends, -own], [-ends, -own]]
        matrix = sparse.csr_array(sparse.block_array(blocks))
        upper = np.concatenate([np.ones(n), np.zeros(2 * m)])
        return Constraints(matrix, np.full(len(upper), -np.inf), upper)

    def vertices(self, layout: Any) -> Iterator[np.ndarray]:
        # all labelings; Z is their convex hull and all that has more of the edges
        network = network_of(layout)
        for labels in product([0.0, 1.0], repeat=network.n_nodes):
            yield _vertex(np.array(labels), network)


class CutOracle(CompiledOracle):
    """Minimum cuts, which start from the flow of the last one."""

    compiled: ClassVar[dict[str, str]] = {
        "maximize": "graph_cut.maximize",
        "project": "graph_cut.project",
    }
    any_scores = False

    def layout_as_ints(self, layout: Any) -> Any:
        return network_of(layout).as_ints

    def scratch(self, layout: Any) -> tuple[int, int]:
        n, m = network_of(layout).n_nodes, network_of(layout).n_edges
        return 12 * n + 4 * m, 9 * n + 5 * m + 4

    def memory_size(self, layout: Any) -> int:
        # the flow over each edge, from which the next cut starts
        return network_of(layout).n_edges

    def warm_size(self, layout: Any) -> int:
        # the flows over the edges
        return network_of(layout).n_edges

    def _run(self, ability: str, theta: np.ndarray, layout: Any) -> tuple[np.ndarray, float]:
        if ability == "maximize":
            refuse_rewards(check_scores(self.structure, theta, layout), network_of(layout))
        return super()._run(ability, theta, layout)


def refuse_rewards(theta: np.ndarray, network: Network) -> None:
    """A ValueError if an edge scores more than rounding would explain; the last parts are edges."""
    finite = np.isfinite(theta)
    own = theta[len(theta) - network.n_edges :]
    wrong = own > _ROUNDING * np.abs(theta[finite]).max(initial=0.0)
    if wrong.any():
        e = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"edge {e}, {tuple(network.edges[e].tolist())}, scores {own[e]:g} if its ends differ;"
            " scores of edges must be 0 or less, or no cut finds the best labels. Keep the weights"
            " of edges where they cost something: domain=NonNegative(their numbers)."
        )


def _vertex(labels: np.ndarray, network: Network) -> np.ndarray:
    ends = labels[network.edges]
    return np.concatenate([labels, np.abs(ends[:, 0] - ends[:, 1])])
