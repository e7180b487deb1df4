"""What a domain of the weights costs: passes in bounds and in a ball beside passes without either.

On handwritten letters, and on cuts of synthetic images. The last column is the ratio to the pass of
the same solver without a domain, in the same run.
"""

from __future__ import annotations

import time

import numpy as np

from benchmarks.measure import data_folder
from maxmargin import domains
from maxmargin.datasets import load_letters
from maxmargin.domains.base import Domain, check_domain
from maxmargin.estimators import ChainSVM, GraphCutSVM
from maxmargin.inputs import Graph
from maxmargin.problem import Problem
from maxmargin.solvers import BCFW, ExponentiatedGradient, Solver, Subgradient

PASSES, TIMES = 5, 3


def main() -> None:
    folder = data_folder("ocr_letters")
    if folder is not None:
        data = load_letters(folder)
        some = np.flatnonzero(data.fold < 3)
        X, y = [data.X[i] for i in some], [data.y[i] for i in some]
        problem = ChainSVM(alpha=0.01)._problem(X, y, None, None)
        solvers = [BCFW(), BCFW("frank-wolfe"), Subgradient(), ExponentiatedGradient()]
        compare(f"letters, {len(X)} words", problem, solvers)
    compare("cuts, 40 images of 60 x 60", cuts(), [BCFW(), BCFW("frank-wolfe"), Subgradient()])


def cuts() -> Problem:
    """Noisy images of a disc; prices of cuts are not bound to be positive here."""
    rng, side = np.random.default_rng(0), 60
    ids = np.arange(side * side).reshape(side, side)
    edges = np.concatenate(
        [np.c_[ids[:, :-1].ravel(), ids[:, 1:].ravel()], np.c_[ids[:-1].ravel(), ids[1:].ravel()]]
    )
    X, y = [], []
    for _ in range(40):
        place = rng.uniform(20, 40, size=2)
        labels = (np.hypot(*(np.indices((side, side)) - place[:, None, None])) < 15).ravel()
        rows = rng.normal(size=(side * side, 6)) + labels[:, None]
        X.append(Graph(rows, edges, rng.random((len(edges), 3))))
        y.append(labels.astype(int))
    return GraphCutSVM(alpha=1e-3)._problem(X, y, None, None)


def compare(name: str, problem: Problem, solvers: list[Solver]) -> None:
    print(f"{name}, {problem.dim} weights; ms per pass, one thread, compiled code warm")
    tasks: dict[str, Domain | None] = {
        "no domain": None,
        "signs": domains.Signs(positive=np.arange(0, problem.dim, 2)),
        "box": domains.Box(-0.05, 0.05),
        "l2 ball": domains.L2Ball(1.0),
        "l2 ball and signs": domains.L2Ball(1.0, domains.NonNegative()),
    }
    for solver in solvers:
        first = 0.0
        for task, domain in tasks.items():
            problem.domain = check_domain(domain, problem.dim)
            problem.__dict__.pop("weight_limits", None)
            seconds = min(seconds_per_pass(problem, solver) for _ in range(TIMES))
            first = first or seconds
            label = f"{type(solver).__name__}({getattr(solver, 'step', '')}), {task}"
            print(f"  {label:45s} {1e3 * seconds:8.2f}  {seconds / first:5.2f}", flush=True)


def seconds_per_pass(problem: Problem, solver: Solver) -> float:
    solver._load(problem)
    state = solver.init(problem)
    times = []
    for _ in range(PASSES):
        start = time.process_time()
        solver.epoch(problem, state)
        state.epoch += 1
        times.append(time.process_time() - start)
    return float(np.median(times))


if __name__ == "__main__":
    main()
