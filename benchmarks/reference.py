"""ReferenceQP as problems grow: seconds, memory and where it is refused, beside BCFW to 1e-4.

Word alignment on the Hansards (labels are the links in which our own two directed aligners agree)
and handwritten letters, each size in a process of its own, one thread. Memory is the peak of the
process above what it held before the solve; `estimate` is what the solver expects beforehand. A
row stops after LIMIT seconds, and no larger sizes of that task are tried.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.measure import data_folder
from maxmargin import ChainSVM
from maxmargin.callbacks import Callback
from maxmargin.datasets import load_hansards, load_letters
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.memory import peak_bytes, reset_peak, resident_bytes
from maxmargin.persistence import load, save
from maxmargin.problem import Problem
from maxmargin.solvers import BCFW, ReferenceQP
from maxmargin.solvers.qp.program_size import ProgramTooLargeError
from maxmargin.tasks import WordAligner, WordStatistics, intersected_links

SIZES = {
    "alignment": (25, 50, 100, 250, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000),
    "letters": (5, 10, 20, 40, 80, 160, 320, 626),
}
TEXT = 60_000  # sentence pairs from which the statistics of words come
LIMIT = 150.0  # seconds for a solve


def main(options: list[str]) -> None:
    """Options: the largest size, such as 100; else as far as the limit allows."""
    folder = data_folder("hansards")
    if folder is None or data_folder("ocr_letters") is None:
        return
    os.environ.setdefault("MAXMARGIN_DATA", str(folder.parent))
    most = int(options[0]) if options else 10**9
    print(
        "task       samples   parts weights |  qp: CPU s  memory MB estimate  rel. gap | bcfw CPU s"
    )
    with tempfile.TemporaryDirectory() as place:
        for task, sizes in SIZES.items():
            if task == "alignment":
                save(
                    WordStatistics().fit(_pairs(min(TEXT, 100 * most))), Path(place) / "statistics"
                )
            for n in sizes:
                if n > most or not _row(place, task, n):
                    break


def _row(place: str, task: str, n: int) -> bool:
    """One line of the table; False if larger sizes make no sense."""
    command = [sys.executable, "-m", "benchmarks.reference", place, task, str(n)]
    try:
        done = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, timeout=4 * LIMIT
        )
    except subprocess.TimeoutExpired:
        print(f"{task:10} {n:7}  stopped after {4 * LIMIT:.0f} s", flush=True)
        return False
    metrics = json.loads(done.stdout.splitlines()[-1])
    start = f"{task:10} {n:7} {metrics['parts']:7} {metrics['dim']:7} |"
    if "refused" in metrics:
        print(f"{start} refused: {metrics['refused']} | {metrics['bcfw']:8.2f}", flush=True)
        return False
    print(
        f"{start} {metrics['qp']:10.2f} {metrics['memory']:10.1f} {metrics['estimate']:8.1f}"
        f" {metrics['gap']:9.1e} | {metrics['bcfw']:8.2f}",
        flush=True,
    )
    return bool(metrics["qp"] <= LIMIT)


def _pairs(n: int) -> list:
    return [p for p in load_hansards("parallel", n_pairs=n + n // 10 + 50).pairs if all(p)][:n]


class Keep(Callback):
    """Hold on to the training problem."""

    def on_start(self, run):
        self.problem = run.problem


def _problem(place: str, task: str, n: int) -> Problem:
    if task == "letters":
        data = load_letters(data_folder("ocr_letters"))
        chosen = np.flatnonzero(data.fold == 0)[:n]
        X, y = [data.X[i] for i in chosen], [data.y[i] for i in chosen]
        return ChainSVM(alpha=1e-2)._problem(X, y, None, None)
    statistics, pairs, keep = load(Path(place) / "statistics"), _pairs(n), Keep()
    links = intersected_links(statistics, pairs)
    WordAligner(alpha=1e-2, solver=BCFW(max_epochs=0), callbacks=[keep]).fit(
        pairs, links, statistics
    )
    return keep.problem


def one(place: str, task: str, n: int) -> None:
    """Both solvers on one problem; metrics as a line of JSON."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    problem = _problem(place, task, n)
    metrics = {"parts": len(problem.truth), "dim": problem.dim}
    BCFW(max_epochs=1).run(problem)  # compiles
    start = time.process_time()
    BCFW(tol=1e-4, max_epochs=1000).run(problem)
    metrics["bcfw"] = time.process_time() - start
    reset_peak()
    before, start = resident_bytes(), time.process_time()
    solver = ReferenceQP()
    try:
        result = solver.run(problem)
    except ProgramTooLargeError as error:
        metrics["refused"] = str(error).split(". ")[0]
    else:
        metrics |= {
            "qp": time.process_time() - start,
            "memory": (peak_bytes() - before) / 1e6,
            "estimate": result.state.n_bytes / 1e6,
            "gap": result.relative_gap,
        }
    print(json.dumps(metrics))


if __name__ == "__main__":
    hansards = data_folder("hansards")
    if hansards is not None:
        os.environ.setdefault("MAXMARGIN_DATA", str(hansards.parent))
    one(sys.argv[1], sys.argv[2], int(sys.argv[3]))
