"""Labels of networks with cycles: junction trees by treewidth, message passing, mixed programs.

Milliseconds of processor time. Solved: the bound proves the labels best, to 1e-6 of the score.
Warm: with the messages of the last call, after scores have moved by 1 %, as in training. HiGHS
solves the same labelling as a mixed integer program, on a few. Pair scores are drawn by themselves
for each edge ("untied"), drawn once for all of them ("tied"), or reward equal labels ("alike").
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from scipy import optimize

from benchmarks.cuts import grid
from maxmargin.structures import MarkovNetwork, Network, NetworkLayout
from maxmargin.structures.network.junction_tree import buckets_of

KINDS = (("untied", 0.2), ("untied", 0.5), ("tied", 0.3), ("tied", 1.0), ("alike", 1.0))
LABELS = 11
PROGRAMS = 2  # of each kind, solved by HiGHS
SECONDS = 30.0  # that it may take for each


def main() -> None:
    junction_trees()
    print()
    messages()


def junction_trees() -> None:
    """Time and size by treewidth, beside listing all labels, where there are not too many."""
    print(
        "| grid, 4 labels | width | entries | maximize | marginals | listing |\n" + "|---" * 6 + "|"
    )
    for rows, columns in ((1, 10), (2, 3), (2, 4), (2, 10), (3, 10), (4, 10), (6, 10), (7, 10)):
        layout = NetworkLayout(Network(rows * columns, grid(rows, columns)), 4)
        structure = MarkovNetwork(tied=False, method="exact")
        theta = np.random.default_rng(0).standard_normal(structure.n_parts(layout))
        best = structure.maximize(theta, layout)
        times = [least(run, theta, layout) for run in (structure.maximize, structure.marginals)]
        found = buckets_of(layout.network, 4, 99)
        listed = "-"
        if 4**layout.n_nodes <= 70_000:
            begun = time.process_time()
            value = max(float(theta @ z) for z in structure.vertices(layout))
            listed = f"{1e3 * (time.process_time() - begun):,.0f}"
            if abs(value - theta @ best) > 1e-9:
                raise AssertionError(f"listing finds {value}, the junction tree {theta @ best}")
        cells = [f"{rows} x {columns}", found.width, f"{found.entries(4):,}"]
        cells += [*(f"{1e3 * t:.2f}" for t in times), listed]
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def least(call: Callable, theta: np.ndarray, layout: NetworkLayout, repeats: int = 5) -> float:
    """Seconds of the quickest of several calls."""
    times = []
    for _ in range(repeats):
        begun = time.process_time()
        call(theta, layout)
        times.append(time.process_time() - begun)
    return min(times)


def messages(count: int = 20) -> None:
    """Grids of 10 x 12 nodes and 11 labels: a junction tree would take 11^11 numbers."""
    titles = ["pairs", "strength", "solved", "mean gap", "cold", "warm", "warm solved", "HiGHS"]
    print("| " + " | ".join([*titles, "below its best"]) + " |\n" + "|---" * 9 + "|")
    layout = NetworkLayout(Network(120, grid(10, 12)), LABELS)
    for kind, strength in KINDS:
        structure = MarkovNetwork(tied=kind != "untied", method="bounded")
        gaps, cold, warm, later = [], [], [], []
        programs = []
        for i, theta in enumerate(drawn(structure, layout, kind, strength, count)):
            memory = np.zeros(structure.oracle().memory_size(layout))
            value, bound, seconds = asked(structure, layout, theta, memory)
            gaps.append((bound - value) / abs(bound))
            cold.append(seconds)
            moved = theta * (1 + 0.01 * np.random.default_rng(i).standard_normal(len(theta)))
            value_after, bound_after, seconds = asked(structure, layout, moved, memory)
            later.append((bound_after - value_after) / abs(bound_after))
            warm.append(seconds)
            if i < PROGRAMS:
                programs.append((*by_program(structure, layout, theta), value))
        cells = [kind, strength, share(gaps), f"{100 * np.mean(gaps):.3f} %"]
        cells += [f"{1e3 * np.mean(cold):.1f}", f"{1e3 * np.mean(warm):.1f}", share(later)]
        cells.append(", ".join(f"{1e3 * seconds:,.0f}" for seconds, _, _, _ in programs))
        below = [f"{best - ours:.3f}" if done else "?" for _, best, done, ours in programs]
        print("| " + " | ".join(map(str, [*cells, ", ".join(below)])) + " |", flush=True)


def share(gaps: list[float]) -> str:
    return f"{100 * np.mean(np.array(gaps) <= 1e-6):.0f} %"


def drawn(
    structure: MarkovNetwork, layout: NetworkLayout, kind: str, strength: float, count: int
) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(0)
    nodes = layout.n_nodes * layout.n_labels
    for _ in range(count):
        theta = rng.standard_normal(structure.n_parts(layout))
        theta[nodes:] *= strength
        if kind == "alike":
            theta[nodes:] = strength * np.eye(layout.n_labels).ravel()
        yield theta


def asked(
    structure: MarkovNetwork, layout: NetworkLayout, theta: np.ndarray, memory: np.ndarray
) -> tuple[float, float, float]:
    """Score, bound and seconds of a call; memory: of the last one, for the next."""
    function, layout_ints = (
        structure.oracle().compiled_function("maximize"),
        np.asarray(structure.oracle().layout_as_ints(layout), dtype=np.int64),
    )
    floats, ints = structure.oracle().scratch(layout)
    work, iwork, out = np.full(floats, 0.0), np.full(ints, 0), np.full(len(theta), 0.0)
    work[: len(memory)] = memory
    begun = time.thread_time()
    bound = function(theta, layout_ints, out, work, iwork)
    seconds = time.thread_time() - begun
    memory[:] = work[: len(memory)]
    return float(theta @ out), bound, seconds


def by_program(
    structure: MarkovNetwork, layout: NetworkLayout, theta: np.ndarray
) -> tuple[float, float, bool]:
    """Seconds, score, and whether HiGHS came to an end."""
    stated = structure.constraints(layout)
    costs = np.zeros(stated.matrix.shape[1])
    costs[: len(theta)] = -theta
    whole = np.zeros(len(costs))
    whole[: layout.n_nodes * layout.n_labels] = 1
    begun = time.process_time()
    answer = optimize.milp(
        costs,
        constraints=optimize.LinearConstraint(stated.matrix, stated.lower, stated.upper),
        bounds=optimize.Bounds(0.0, np.inf),
        integrality=whole,
        options={"time_limit": SECONDS, "mip_rel_gap": 1e-9},
    )
    seconds = time.process_time() - begun
    best = -answer.fun if answer.x is not None else np.nan
    return seconds, best, answer.status == 0
