"""Best matchings of any graph: ours beside networkx, in milliseconds of one thread."""

from __future__ import annotations

import time

import networkx
import numpy as np

from maxmargin.structures import GeneralMatching, Network

COMPLETE = (20, 50, 100, 150)
SPARSE = (100, 200, 400)
MOST = 200  # nodes that networkx is asked for


def main() -> None:
    rng = np.random.default_rng(0)
    for n in COMPLETE:
        _compare(f"all pairs of {n}", n, np.transpose(np.triu_indices(n, 1)), rng)
    for n in SPARSE:
        _compare(f"pairs of {n} bases", n, _base_pairs(n, rng), rng)


def _base_pairs(n: int, rng: np.random.Generator) -> np.ndarray:
    """Pairs of complementary bases of a random RNA, three or more between them."""
    bases = rng.choice(list("ACGU"), size=n)
    fits = {"AU", "UA", "CG", "GC", "GU", "UG"}
    return np.array(
        [(i, j) for i in range(n) for j in range(i + 4, n) if bases[i] + bases[j] in fits]
    )


def _compare(name: str, n: int, edges: np.ndarray, rng: np.random.Generator) -> None:
    oracle, layout = GeneralMatching().oracle(), Network(n, edges)
    function, layout_ints = oracle.compiled_function("maximize"), oracle.layout_as_ints(layout)
    floats, ints = oracle.scratch(layout)
    work, iwork, out = np.zeros(floats), np.zeros(ints, dtype=np.int64), np.zeros(len(edges))
    for kind, theta in (
        ("normal", rng.normal(size=len(edges))),
        ("uniform", rng.random(len(edges))),
    ):
        times = []
        for _ in range(5):
            begun = time.thread_time()
            score = function(theta, layout_ints, out, work, iwork)
            times.append(time.thread_time() - begun)
        line = f"  {name:18s} {len(edges):6d} edges, {kind:7s}: ours {1e3 * min(times):8.2f}"
        if n <= MOST:
            theirs, value = _networkx(edges, theta)
            if abs(value - score) > 1e-9 * abs(score):
                raise AssertionError(f"networkx finds {value}, ours {score}")
            line += f", networkx {1e3 * theirs:8.1f}, {theirs / min(times):4.0f} times ours"
        print(line, flush=True)


def _networkx(edges: np.ndarray, theta: np.ndarray) -> tuple[float, float]:
    graph = networkx.Graph()
    graph.add_weighted_edges_from(
        (int(a), int(b), float(t)) for (a, b), t in zip(edges, theta, strict=True)
    )
    begun = time.thread_time()
    found = networkx.max_weight_matching(graph)
    return time.thread_time() - begun, sum(graph[a][b]["weight"] for a, b in found)
