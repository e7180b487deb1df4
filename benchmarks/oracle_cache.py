"""What remembering the oracle's answers saves: on cuts of large scans, and on letters.

Five scans of 7,250 points with 45 components of spin images, the papers' size, and 626 words.
Seconds are the processor's, of training, certificates excluded; in brackets oracle calls / n; `--`
means not reached in the limit. MB are those of the memory.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from benchmarks.gaps import LIMIT, TARGETS, Crossings, cell
from benchmarks.measure import data_folder
from maxmargin.datasets import load_letters, make_puppets
from maxmargin.estimators import ChainSVM, GraphCutSVM
from maxmargin.problem import Problem
from maxmargin.result import State, Status
from maxmargin.solvers import BCFW, OracleCache
from maxmargin.tasks.segmentation.points.graphs import PointGraphs


class Metered(BCFW):
    """BCFW that knows how many seconds its passes took the processor."""

    spent = 0.0

    def epoch(self, problem: Problem, state: State) -> None:
        begun = time.process_time()
        super().epoch(problem, state)
        self.spent += time.process_time() - begun


class Spent(Crossings):
    """Gaps crossed, by the seconds of a `Metered` solver, which ends at the limit."""

    def on_record(self, run: Any, record: Any) -> None:
        for target in TARGETS:
            if target not in self.found and run.gap <= target * abs(run.primal):
                self.found[target] = (run.solver.spent, record.n_oracle)

    def on_epoch(self, run: Any) -> None:
        if run.solver.spent > LIMIT:
            run.stop(Status.TIME_LIMIT)


#: for cuts, where all variants can be compared
CUTS = {
    "no memory: frank-wolfe": Metered(step="frank-wolfe"),
    "vertices, no cached passes": Metered(cache=OracleCache(passes=0, store="vertices")),
    "vertices, 5 cached passes": Metered(cache=OracleCache(store="vertices")),
    "images, no cached passes": Metered(cache=OracleCache(passes=0, store="images")),
    "images, 5 cached passes": Metered(cache=OracleCache(passes=5, store="images")),
    "images, 20 cached passes": Metered(cache=OracleCache(passes=20, store="images")),
    "images, 100 cached passes": Metered(cache=OracleCache(passes=100, store="images")),
    "images, as many as pay": Metered(cache=OracleCache(store="images")),
    "default": Metered(),
}
#: for letters, where an image has 4,082 numbers and a vertex 15
LETTERS = {
    "no memory: frank-wolfe": Metered(step="frank-wolfe"),
    "vertices, 5 cached passes": Metered(cache=OracleCache(passes=5, store="vertices")),
    "default": Metered(),
}


def main() -> None:
    graphs, labels = scans()
    GraphCutSVM(max_epochs=1, tol=1).fit(graphs[:1], labels[:1])
    for alpha in (1e-2, 1e-3):
        problem = GraphCutSVM(alpha=alpha)._problem(graphs, labels, None, None)
        compare(f"{problem.n} scans, {problem.part_ptr[-1]} parts", problem, CUTS)
    folder = data_folder("ocr_letters")
    if folder is None:
        return
    data = load_letters(folder)
    train = np.flatnonzero(data.fold == 0)
    X, y = [data.X[i] for i in train], [data.y[i] for i in train]
    compare(f"{len(X)} words", ChainSVM(alpha=0.01)._problem(X, y, None, None), LETTERS)


def scans() -> tuple[list[Any], list[np.ndarray]]:
    """Graphs of five training scans, by their surface links."""
    data = make_puppets(5)
    maker = PointGraphs(features=("spin",), components=45)
    pairs = zip(data.clouds, data.edges, strict=True)
    checked = [maker.check(i, pair) for i, pair in enumerate(pairs)]
    maker.fit(checked)
    return [maker.make(cloud).graph for cloud in checked], data.labels


def compare(what: str, problem: Problem, variants: dict[str, Metered]) -> None:
    """A line for each variant."""
    print(f"\n{what}, {problem.dim} weights, alpha = {problem.alpha:g}, limit {LIMIT:g} s")
    for name, solver in variants.items():
        solver.set_params(max_epochs=1, tol=1.0, check_every=1).run(
            problem
        )  # loads its compiled code
        crossings, solver.spent = Spent(), 0.0
        solver.set_params(max_epochs=1_000_000, tol=TARGETS[-1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = solver.run(problem, callbacks=[crossings])
        cells = [f"{cell(crossings.found.get(target), problem.n):>15s}" for target in TARGETS]
        print(
            f"  {name:28s}{''.join(cells)}   end {100 * result.relative_gap:.2g} %,"
            f" {remembered(result.state):.1f} MB",
            flush=True,
        )


def remembered(state: Any) -> float:
    """Megabytes of what is remembered of the oracle's answers."""
    return sum(array.nbytes for array in state.vertex_cache or ()) / 1e6
