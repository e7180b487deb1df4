"""Cutting planes beside block-coordinate Frank-Wolfe on the letters, as in the 2013 paper's figure.

Relative gaps (best objective less best bound, by the best objective) and suboptimality against
oracle calls and seconds of processor time, certificates not counted, one thread. Fold 0 of the
letters, 626 words, alpha = 0.01 and 1/n.

    python -m benchmarks cutting_plane                 a table
    python -m benchmarks cutting_plane --out FOLDER    figures and cutting_plane.csv, too
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measure import data_folder
from maxmargin import ChainSVM
from maxmargin.datasets import load_letters
from maxmargin.problem import Problem
from maxmargin.solvers import BCFW, CuttingPlane, Solver

LEVELS = (1.0, 0.1, 1e-2, 1e-3)
METHODS = {
    "BCFW (default)": BCFW(),
    "BCFW (textbook)": BCFW("frank-wolfe"),
    "cutting plane, n-slack": CuttingPlane("n-slack"),
    "cutting plane, 1-slack": CuttingPlane(),
    "cutting plane, 1-slack, no cache": CuttingPlane(cache=None),
}


def trace(problem: Problem, method: str, limit: float) -> list[dict[str, Any]]:
    """What is known at some epochs, until the last level or this many seconds of processor time."""
    solver: Solver = METHODS[method].set_params(tol=LEVELS[-1], random_state=0)
    solver.prepare(problem)
    begun = time.process_time()
    state, rows = solver.init(problem), []
    seconds, primal, dual, due = time.process_time() - begun, np.inf, -np.inf, 1
    while True:
        begun = time.process_time()
        solver.epoch(problem, state)
        seconds += time.process_time() - begun
        state.epoch += 1
        late = seconds >= limit
        if state.epoch < due and not late:
            continue
        due = max(state.epoch + 1, int(1.15 * state.epoch))
        primal = min([primal, *(problem.primal(w) for w in solver.candidates(problem, state))])
        solver._certified(state)
        dual = max(dual, solver.bound(problem, state))
        metrics = {"primal": primal, "dual": dual, "relative_gap": (primal - dual) / primal}
        passes = state.n_oracle / problem.n
        rows.append({"method": method, "seed": 0, "passes": passes, "seconds": seconds} | metrics)
        if late or primal - dual <= LEVELS[-1] * primal:
            return rows


def measure(problems: dict[str, Problem], limit: float) -> list[dict[str, Any]]:
    """All methods at all penalties; suboptimality is against the best bound of any."""
    rows = []
    for alpha, problem in problems.items():
        own = [row for method in METHODS for row in trace(problem, method, limit)]
        best = max(row["dual"] for row in own)
        for row in own:
            row["alpha"], row["suboptimality"] = alpha, row["primal"] - best
        rows += own
    return rows


def reached(rows: list[dict[str, Any]], level: float) -> str:
    """Passes and seconds when the relative gap was first seen below the level."""
    found = next((row for row in rows if row["relative_gap"] <= level), None)
    return "-" if found is None else f"{found['passes']:.0f} ({found['seconds']:.2f})"


def table(rows: list[dict[str, Any]]) -> str:
    """A table for each alpha."""
    lines = []
    for alpha in dict.fromkeys(row["alpha"] for row in rows):
        lines.append(f"\n  alpha = {alpha}: oracle calls / n (seconds) to a relative gap of")
        lines.append(" " * 36 + "".join(f"{level:>14g}" for level in LEVELS) + "   gap at the end")
        for method in METHODS:
            own = [row for row in rows if (row["alpha"], row["method"]) == (alpha, method)]
            cells = "".join(f"{reached(own, level):>14s}" for level in LEVELS)
            lines.append(f"  {method:34s}{cells}   {100 * own[-1]['relative_gap']:.2g} %")
    return "\n".join(lines)


def write(rows: list[dict[str, Any]], folder: Path, kind: str = "png") -> list[Path]:
    """cutting_plane.csv, and a figure of all penalties."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from maxmargin.plotting import CurvesDisplay

    folder.mkdir(parents=True, exist_ok=True)
    made = [folder / "cutting_plane.csv", folder / f"cutting_plane.{kind}"]
    with made[0].open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    alphas = list(dict.fromkeys(row["alpha"] for row in rows))
    figure, axes = plt.subplots(
        len(alphas), 2, figsize=(9, 3.2 * len(alphas)), layout="constrained", squeeze=False
    )
    for line, alpha in zip(axes, alphas, strict=True):
        own = [row for row in rows if row["alpha"] == alpha]
        for ax, x in zip(line, ("passes", "seconds"), strict=True):
            shown = CurvesDisplay(own).plot(x=x, y="relative_gap", ax=ax)
            ax.set_title(f"alpha = {alpha}", loc="left", fontsize="small")
    handles = list(shown.lines_.values())
    figure.legend(handles=handles, loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(made[1], dpi=80)
    plt.close(figure)
    return made


def parse(options: Sequence[str]) -> argparse.Namespace:
    """The command's options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks cutting_plane")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write a figure and the numbers")
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="for each method and alpha (20)"
    )
    parser.add_argument("--format", choices=["png", "svg"], default="png")
    found = parser.parse_args(options)
    if not found.seconds > 0:
        parser.error("--seconds must be positive")
    return found


def main(options: Sequence[str] = ()) -> None:
    chosen, folder = parse(options), data_folder("ocr_letters")
    if folder is None:
        return
    data = load_letters(folder)
    train = np.flatnonzero(data.fold == 0)
    X, y = [data.X[i] for i in train], [data.y[i] for i in train]
    alphas = {"0.01": 0.01, "1/n": 1 / len(X)}
    with threadpool_limits(1):
        made = {
            a: ChainSVM(alpha=v, n_jobs=1)._problem(X, y, None, None) for a, v in alphas.items()
        }
        rows = measure(made, chosen.seconds)
    print(table(rows))
    if chosen.out is not None:
        for path in write(rows, chosen.out, chosen.format):
            print(f"  wrote {path}")
