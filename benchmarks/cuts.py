"""Minimum cuts: ours, cold and warm, beside PyMaxflow and OR-tools.

Milliseconds of processor time, the least of several calls, taken in turns. Ours takes scores and
gives labels; for the others, setting up a graph is in brackets. Warm: after scores have moved by
1 %. OR-tools knows integers only: capacities are scaled to 2**40. PyMaxflow is under the GPL
and so in no extra: `pip install PyMaxflow` by hand brings it in here, and nowhere else.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measure import peak_memory
from maxmargin.structures import GraphCut, Network

STRENGTHS = (0.1, 0.5, 1.0, 2.0)


class Task(NamedTuple):
    """A network, and node and edge scores."""

    network: Network
    theta: np.ndarray


def main() -> None:
    others = {"PyMaxflow": (by_pymaxflow, "maxflow"), "OR-tools": (by_ortools, "ortools")}
    rivals = {name: call for name, (call, module) in others.items() if find_spec(module)}
    for name in others.keys() - rivals.keys():
        print(f"{name} is left out: it is not installed.")
    begun = time.perf_counter()
    GraphCut().maximize(np.zeros(1), Network(1, []))
    print(f"compiling or loading our code: {time.perf_counter() - begun:.2f} s\n")
    titles = ["graph", "strength", "ours", "warm", *rivals, *(f"ours / {r}" for r in rivals)]
    print("| " + " | ".join([*titles, *(f"warm / {r}" for r in rivals)]) + " |")
    print("|---" * (len(titles) + len(rivals)) + "|")
    for name, network, repeats in graphs():
        for strength in STRENGTHS:
            # OR-tools takes a minute for a million nodes
            met = {k: v for k, v in rivals.items() if repeats > 3 or k != "OR-tools"}
            row(name, scored(network, strength), strength, repeats, met, list(rivals))
    print(f"\npeak memory, all of the above: {peak_memory():.0f} MB")


def graphs() -> list[tuple[str, Network, int]]:
    return [
        ("grid 100 x 100", Network(10_000, grid(100, 100)), 20),
        ("mesh 7,000 / 17,600", Network(7000, mesh(7000, 17_600)), 20),
        ("grid 1000 x 1000", Network(1_000_000, grid(1000, 1000)), 2),
    ]


def grid(height: int, width: int) -> np.ndarray:
    ids = np.arange(height * width).reshape(height, width)
    across = np.column_stack([ids[:, :-1].ravel(), ids[:, 1:].ravel()])
    return np.concatenate([across, np.column_stack([ids[:-1].ravel(), ids[1:].ravel()])])


def mesh(n_nodes: int, n_edges: int) -> np.ndarray:
    """Some of the edges of a Delaunay triangulation of random points."""
    from scipy.spatial import Delaunay

    rng = np.random.default_rng(0)
    corners = Delaunay(rng.random((n_nodes, 2))).simplices
    sides = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]])
    edges = np.unique(np.sort(sides, axis=1), axis=0)
    return edges[np.sort(rng.permutation(len(edges))[:n_edges])]


def scored(network: Network, strength: float) -> Task:
    rng = np.random.default_rng(1)
    prices = -strength * rng.random(network.n_edges)
    return Task(network, np.concatenate([rng.normal(size=network.n_nodes), prices]))


def row(
    name: str,
    task: Task,
    strength: float,
    repeats: int,
    rivals: dict[str, Callable],
    columns: list[str],
) -> None:
    cold, others = [], {rival: [] for rival in rivals}
    for _ in range(repeats):
        cold.append(ours(task))
        for rival, call in rivals.items():
            others[rival].append(call(task))
    least, value = min(cold)
    warm = min(walk(task, repeats))
    for rival, found in others.items():
        slack = 1e-6 * len(task.theta) if rival == "OR-tools" else 1e-9 * abs(value)
        if abs(found[0][2] - value) > slack:
            raise AssertionError(f"{rival} finds {found[0][2]}, ours {value}")
    bare = {rival: min(f[0] for f in found) for rival, found in others.items()}
    full = {rival: min(f[0] + f[1] for f in found) for rival, found in others.items()}
    cells = [name, f"{strength:g}", f"{1e3 * least:.2f}", f"{1e3 * warm:.2f}"]
    cells += [f"{1e3 * bare[c]:.2f} ({1e3 * full[c]:.2f})" if c in bare else "-" for c in columns]
    for own in (least, warm):
        cells += [f"{own / bare[c]:.2f}" if c in bare else "-" for c in columns]
    print("| " + " | ".join(cells) + " |", flush=True)


def ours(task: Task, work: np.ndarray | None = None) -> tuple[float, float]:
    """Seconds and the score; work: with the memory of the last call, or None."""
    structure = GraphCut()
    function = structure.oracle().compiled_function("maximize")
    layout_ints = np.array(task.network.as_ints)
    floats, ints = structure.oracle().scratch(task.network)
    work = np.full(floats, 0.0) if work is None else work
    iwork, out = np.full(ints, 0), np.full(len(task.theta), 0.0)
    begun = time.thread_time()
    value = function(task.theta, layout_ints, out, work, iwork)
    return time.thread_time() - begun, value


def walk(task: Task, repeats: int) -> list[float]:
    """Seconds of calls on scores that move a little each time."""
    rng = np.random.default_rng(2)
    work = np.full(GraphCut().oracle().scratch(task.network)[0], 0.0)
    ours(task, work)
    times = []
    for _ in range(repeats):
        moved = task.theta * (1 + 0.01 * rng.normal(size=len(task.theta)))
        times.append(ours(Task(task.network, moved), work)[0])
    return times


def by_pymaxflow(task: Task) -> tuple[float, float, float]:
    """Seconds of the flow, of setting up, and the score."""
    import maxflow

    n, edges = task.network.n_nodes, task.network.edges
    begun = time.thread_time()
    graph = maxflow.GraphFloat(n, len(edges))
    ids = graph.add_nodes(n)
    graph.add_edges(edges[:, 0], edges[:, 1], -task.theta[n:], -task.theta[n:])
    graph.add_grid_tedges(ids, np.maximum(task.theta[:n], 0), np.maximum(-task.theta[:n], 0))
    ready = time.thread_time()
    graph.maxflow()
    done = time.thread_time()
    return done - ready, ready - begun, score(task, ~graph.get_grid_segments(ids))


def by_ortools(task: Task) -> tuple[float, float, float]:
    """The same, with whole capacities."""
    from ortools.graph.python import max_flow

    n, (j, k) = task.network.n_nodes, task.network.edges.T
    begun = time.thread_time()
    scale = 2.0**40 / np.abs(task.theta).max()
    whole = np.rint(scale * task.theta).astype(np.int64)
    plus, minus = np.flatnonzero(whole[:n] > 0), np.flatnonzero(whole[:n] < 0)
    tails = np.concatenate([np.full(len(plus), n), minus, j, k])
    heads = np.concatenate([plus, np.full(len(minus), n + 1), k, j])
    room = np.concatenate([whole[plus], -whole[minus], -whole[n:], -whole[n:]])
    graph: Any = max_flow.SimpleMaxFlow()
    graph.add_arcs_with_capacity(tails.astype(np.int32), heads.astype(np.int32), room)
    ready = time.thread_time()
    graph.solve(n, n + 1)
    done = time.thread_time()
    on = np.zeros(n + 2, dtype=bool)
    on[graph.get_source_side_min_cut()] = True
    return done - ready, ready - begun, score(task, on[:n])


def score(task: Task, on: np.ndarray) -> float:
    n, ends = task.network.n_nodes, on[task.network.edges]
    return float(task.theta[:n] @ on + task.theta[n:] @ (ends[:, 0] != ends[:, 1]))
