"""One optimum: the same max-margin problem, letters fold 0, by solvers of all families.

Each proves an interval that holds the optimum, [dual bound, primal]; all must have a point in
common. The saddle-point solvers project on the hull of labellings or compute marginals at every
step, so their epochs, of two such passes, are more expensive than one of block-coordinate
Frank-Wolfe.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from benchmarks.measure import data_folder
from maxmargin.datasets import load_letters
from maxmargin.estimators import ChainSVM
from maxmargin.solvers import (
    BCFW,
    DualExtragradient,
    ExponentiatedGradient,
    Extragradient,
    FrankWolfe,
)

ALPHA, TOL = 1e-2, 1e-3
LIMIT = 240.0  # seconds for each
SOLVERS: dict[str, Any] = {
    "bcfw": BCFW(),
    "bcfw, pairwise": BCFW(step="pairwise"),
    "fw": FrankWolfe(),
    "eg": ExponentiatedGradient(),
    "extragradient": Extragradient(),
    "dual extragradient": DualExtragradient(restarts=True),
    "dual extragradient, entropic z": DualExtragradient(z_geometry="entropic"),
}


def main() -> None:
    folder = data_folder("ocr_letters")
    if folder is None:
        return
    data = load_letters(folder)
    chosen = np.flatnonzero(data.fold == 0)
    X, y = [data.X[i] for i in chosen], [data.y[i] for i in chosen]
    warnings.simplefilter("ignore")
    low, high = -np.inf, np.inf
    print("  solver                           primal    dual bound    gap  epochs  CPU s  s/epoch")
    for name, solver in SOLVERS.items():
        _model(solver, max_epochs=1).fit(X[:5], y[:5])  # compiles
        begun = time.process_time()
        result = _model(solver, max_epochs=3000, time_limit=LIMIT).fit(X, y).result_
        seconds = time.process_time() - begun
        low, high = max(low, result.dual), min(high, result.primal)
        print(
            f"  {name:30} {result.primal:9.6f} {result.dual:11.6f}"
            f" {100 * result.gap / result.primal:7.2f} % {result.n_epochs:5} {seconds:6.1f}"
            f" {seconds / max(result.n_epochs, 1):8.3f}",
            flush=True,
        )
    agree = "agree" if low <= high else "DISAGREE"
    print(f"  all {agree}: the optimum is between {low:.6f} and {high:.6f}")


def _model(solver: Any, **options: Any) -> ChainSVM:
    return ChainSVM(alpha=ALPHA, solver=solver, tol=TOL, **options)
