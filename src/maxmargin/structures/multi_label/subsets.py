"""All subsets of a few labels, as vertices, as scores, and as the hull of their vertices."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from scipy import sparse

from maxmargin.structures.base import Constraints
from maxmargin.structures.network.network import Network


def encode_subset(labels: np.ndarray, network: Network) -> np.ndarray:
    """Zeros and ones of labels, then of pairs of which both labels are on."""
    return np.concatenate([labels, labels[network.edges].prod(axis=1)])


def subset_vertices(network: Network) -> Iterator[np.ndarray]:
    """All of them, one by one."""
    for labels in product([0.0, 1.0], repeat=network.n_nodes):
        yield encode_subset(np.array(labels), network)


def subset_hull(network: Network) -> Constraints:
    """Z = shares of all vertices, which sum to one; the shares are auxiliary variables."""
    corners = sparse.csr_array(np.array(list(subset_vertices(network))).T)
    parts, count = corners.shape
    rows = [
        [-sparse.eye_array(parts), corners],
        [sparse.csr_array((1, parts)), sparse.csr_array(np.ones((1, count)))],
    ]
    equal = np.append(np.zeros(parts), 1.0)
    return Constraints(sparse.csr_array(sparse.block_array(rows)), equal, equal)


def best_subsets(theta: np.ndarray, network: Network, k: int) -> list[tuple[np.ndarray, float]]:
    """(vertex, score) of the k best subsets, best first; theta is -inf on what is forbidden."""
    scores = _all_scores(theta, network)
    k = min(k, len(scores))
    best = np.argpartition(-scores, k - 1)[:k]
    best = best[np.lexsort((best, -scores[best]))]
    bits = np.arange(network.n_nodes)
    return [
        (encode_subset(((number >> bits) & 1).astype(np.float64), network), float(scores[number]))
        for number in best.tolist()
        if scores[number] > -np.inf
    ]


def _all_scores(theta: np.ndarray, network: Network) -> np.ndarray:
    """(2^L,), the score of each subset; label k is bit k of its number."""
    n = network.n_nodes
    pair = np.zeros((n, n))
    low, high = network.edges.min(axis=1), network.edges.max(axis=1)
    pair[high, low] = theta[n:]
    scores = np.zeros(1)
    for k in range(n):
        more = np.full(1, theta[k])
        for m in range(k):
            more = np.concatenate([more, more + pair[k, m]])
        scores = np.concatenate([scores, scores + more])
    return scores
