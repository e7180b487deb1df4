"""Best matchings of any graph, in milliseconds of one thread: ours beside networkx and rustworkx.

Ours is asked from nothing, and again after each score has changed by a hundredth of their spread,
with the prices of the first call. rustworkx takes integers: scores are rounded to a millionth.
"""

from __future__ import annotations

import time

import networkx
import numpy as np

try:
    import rustworkx
except ImportError:
    rustworkx = None

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
            changed = theta + 0.01 * theta.std() * rng.normal(size=len(edges))
            work[:] = 0.0
            scores = []
            for own in (theta, changed):
                begun = time.thread_time()
                scores.append(function(own, layout_ints, out, work, iwork))
                times.append(time.thread_time() - begun)
        cold, warm = min(times[::2]), min(times[1::2])
        line = f"  {name:18s} {len(edges):6d} edges, {kind:7s}: ours {1e3 * cold:7.2f}"
        line += f", warm {1e3 * warm:6.2f} ({cold / warm:4.1f} times as fast)"
        if rustworkx is not None:
            line += f", rustworkx {1e3 * _rustworkx(n, edges, theta):7.1f}"
        if n <= MOST:
            theirs, value = _networkx(edges, theta)
            if abs(value - scores[0]) > 1e-9 * abs(value):
                raise AssertionError(f"networkx finds {value}, ours {scores[0]}")
            line += f", networkx {1e3 * theirs:8.1f}, {theirs / cold:4.0f} times ours"
        print(line, flush=True)


def _rustworkx(n: int, edges: np.ndarray, theta: np.ndarray) -> float:
    graph = rustworkx.PyGraph()
    graph.add_nodes_from(range(n))
    weights = np.rint(1e6 * theta).astype(int)
    graph.add_edges_from([tuple(row) for row in np.column_stack([edges, weights]).tolist()])
    begun = time.thread_time()
    rustworkx.max_weight_matching(graph, weight_fn=int)
    return time.thread_time() - begun


def _networkx(edges: np.ndarray, theta: np.ndarray) -> tuple[float, float]:
    graph = networkx.Graph()
    graph.add_weighted_edges_from(
        (int(a), int(b), float(t)) for (a, b), t in zip(edges, theta, strict=True)
    )
    begun = time.thread_time()
    found = networkx.max_weight_matching(graph)
    return time.thread_time() - begun, sum(graph[a][b]["weight"] for a, b in found)
