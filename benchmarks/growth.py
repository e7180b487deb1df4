"""Time of a pass and size of the state, as samples, length, labels and features grow.

Exponents near 1 mean linear growth; labels may grow as their square.
"""

from __future__ import annotations

import numpy as np

from benchmarks.measure import best_time, exponent
from maxmargin.datasets import make_sequences
from maxmargin.estimators import ChainSVM
from maxmargin.solvers import BCFW

BASE = {"n_samples": 400, "length": 20, "n_labels": 8, "n_features": 50}
GROWTH = {
    "n_samples": [400, 800, 1600, 3200],
    "length": [20, 40, 80, 160],
    "n_labels": [8, 16, 32, 64],
    "n_features": [50, 100, 200, 400],
}


def pass_time(solver: BCFW, **sizes: int) -> tuple[float, int]:
    """Seconds of a pass after two, and bytes of what the solver keeps per sample."""
    data = make_sequences(**{**BASE, **sizes}, random_state=0)
    problem = ChainSVM(alpha=0.01)._problem(data.X, data.y, None, None)
    state = solver.init(problem)
    for _ in range(2):
        solver.epoch(problem, state)
    seconds = best_time(lambda: solver.epoch(problem, state), repeats=3)
    return seconds, _bytes(state.z) + _bytes(state.vertex_cache or ())


def _bytes(arrays: object) -> int:
    return (
        sum(a.nbytes for a in np.atleast_1d(arrays))
        if isinstance(arrays, np.ndarray)
        else sum(
            a.nbytes
            for a in arrays  # type: ignore[attr-defined]
        )
    )


def main() -> None:
    for solver in (BCFW(step="frank-wolfe"), BCFW()):
        print(f"\nBCFW(step={solver.step!r})")
        for name, values in GROWTH.items():
            pairs = [pass_time(solver, **{name: value}) for value in values]
            times, sizes = zip(*pairs, strict=True)
            print(
                f"  {name:10s} {values}: {[round(1e3 * t, 1) for t in times]} ms,"
                f" exponent {exponent(values, times):.2f};"
                f" state {[round(s / 1e6, 1) for s in sizes]} MB,"
                f" exponent {exponent(values, sizes):.2f}",
                flush=True,
            )
