"""Seconds and oracle calls to relative gaps of 10, 1 and 0.1 % on the letters, every variant.

Seconds are those of training, certificates excluded; `--` means not reached in the limit.
"""

from __future__ import annotations

import os
import warnings

import numpy as np

from benchmarks.measure import data_folder
from maxmargin.callbacks import Callback, TimeLimit
from maxmargin.datasets import load_letters
from maxmargin.estimators import ChainSVM
from maxmargin.solvers import BCFW, FrankWolfe, OracleCache, Subgradient

TARGETS = (0.1, 0.01, 0.001)
LIMIT = float(os.environ.get("MAXMARGIN_BENCH_SECONDS", "30"))
VARIANTS = {
    "bcfw (default: corrective, 5 cached passes)": BCFW(),
    "bcfw corrective, gap sampling": BCFW(sampling="gap"),
    "bcfw corrective, no over-relaxation": BCFW(relaxation=1.0),
    "bcfw corrective, no cached passes": BCFW(cache=OracleCache(passes=0)),
    "bcfw corrective, no averaging": BCFW(averaging=False),
    "bcfw pairwise, 5 cached passes": BCFW(step="pairwise"),
    "bcfw pairwise, no cached passes": BCFW(step="pairwise", cache=None),
    "bcfw pairwise, gap sampling": BCFW(step="pairwise", cache=None, sampling="gap"),
    "bcfw frank-wolfe, 5 cached passes": BCFW(step="frank-wolfe", cache=OracleCache()),
    "bcfw frank-wolfe (textbook)": BCFW(step="frank-wolfe"),
    "bcfw frank-wolfe, gap sampling": BCFW(step="frank-wolfe", sampling="gap"),
    "bcfw frank-wolfe, uniform sampling": BCFW(step="frank-wolfe", sampling="uniform"),
    "bcfw frank-wolfe, 2n/(k+2n)": BCFW(step="frank-wolfe", line_search=False),
    "fw, batch": FrankWolfe(),
    "ssg, weighted average": Subgradient(),
    "ssg, average of the second half": Subgradient(averaging="half"),
    "ssg, plain": Subgradient(averaging=None),
}


class Crossings(Callback):
    """When the best certified gap first fell below each target."""

    def __init__(self) -> None:
        self.found: dict[float, tuple[float, int]] = {}

    def on_record(self, run: object, record: object) -> None:
        for target in TARGETS:
            if target not in self.found and run.gap <= target * abs(run.primal):
                self.found[target] = (record.seconds, record.n_oracle)


def main() -> None:
    folder = data_folder("ocr_letters")
    if folder is None:
        return
    data = load_letters(folder)
    train = np.flatnonzero(data.fold == 0)
    X, y = [data.X[i] for i in train], [data.y[i] for i in train]
    ChainSVM(max_epochs=1, tol=1).fit(X[:5], y[:5])
    for alpha in (0.01, 1 / len(X)):
        print(
            f"\n{len(X)} words, alpha = {alpha:.5f}, limit {LIMIT:g} s; seconds (oracle calls / n)"
        )
        problem = ChainSVM(alpha=alpha)._problem(X, y, None, None)
        for name, solver in VARIANTS.items():
            crossings = Crossings()
            solver.set_params(max_epochs=1_000_000, tol=TARGETS[-1])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = solver.run(problem, callbacks=[crossings, TimeLimit(LIMIT)])
            cells = [cell(crossings.found.get(target), problem.n) for target in TARGETS]
            print(
                f"  {name:45s} {cells[0]:>16s} {cells[1]:>16s} {cells[2]:>16s}"
                f"   end {100 * result.relative_gap:.2g} %",
                flush=True,
            )


def cell(found: tuple[float, int] | None, n: int) -> str:
    return "--" if found is None else f"{found[0]:.2f} ({found[1] / n:.0f})"
