"""Regularisation paths: every alpha by few models, and optima beside the dual extragradient path.

Letters: `eps_path` on fold 0 with eps = 0.1 from alpha 1 to 0.001: models, passes, the largest gap,
and about how many models the rule of Osokin et al. (2016) would need; a grid of as many alphas
beside it. Alignment: 80 sentence pairs aligned by hand to learn from, 20 to choose by, 37 to test
on; hinge loss and error of regularised optima and of the iterates of three methods without a
penalty, by the norm of the weights, as in figures 7 and 8 of the 2006 paper.

    python -m benchmarks paths                       tables
    python -m benchmarks paths --out FOLDER          pictures and csv files, too
    python -m benchmarks paths --words 200           fewer words; likewise --pairs of plain text
    python -m benchmarks paths --only alignment      one of the two
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import data_folder
from maxmargin import ChainSVM
from maxmargin.datasets import load_hansards, load_letters
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.paths import EpsPath, alpha_path, eps_path, iterates_path
from maxmargin.plotting import PathDisplay, PathsDisplay, has_matplotlib
from maxmargin.solvers import DualExtragradient, Perceptron, ProjectedGradient
from maxmargin.tasks import WordAligner, WordStatistics

EPS, TOP, END = 0.1, 1.0, 1e-3
RUNS = {"dual-ex": DualExtragradient(), "proj-grad": ProjectedGradient(), "ave-perc": Perceptron()}


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks paths")
    parser.add_argument("--out", type=Path, help="folder for pictures and csv files")
    parser.add_argument("--words", type=int, default=626, help="words of fold 0 at most")
    parser.add_argument(
        "--pairs", type=int, help="sentence pairs of unlabelled text, all by default"
    )
    parser.add_argument("--epochs", type=int, default=500, help="of runs without a penalty")
    parser.add_argument("--only", choices=("letters", "alignment"))
    chosen = parser.parse_args(list(arguments))
    if chosen.out is not None:
        chosen.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore", ConvergenceWarning)
    if chosen.only != "alignment" and data_folder("ocr_letters") is not None:
        letters(chosen)
    if chosen.only != "letters" and data_folder("hansards") is not None:
        alignment(chosen)


def letters(chosen: Any) -> None:
    data = load_letters(data_folder("ocr_letters"))

    def pick(fold: int) -> tuple[list, list]:
        where = np.flatnonzero(data.fold == fold)[: chosen.words]
        return [data.X[i] for i in where], [data.y[i] for i in where]

    train, held = pick(0), pick(1)
    ChainSVM(max_epochs=1).fit(train[0][:5], train[1][:5])  # compiles
    options = {"validation": held, "train_score": False}
    model = ChainSVM(max_epochs=1000)
    path, cost = timed(lambda: eps_path(model, *train, EPS, TOP, END, **options))
    print(f"letters, {len(train[0])} words, eps {EPS}: {told(path, cost)}")
    print(f"  breakpoints {', '.join(f'{b:.3g}' for b in path.breakpoints)}")
    print(f"  the rule of the paper would need about {paper_count(path):.0f} models")
    grid = np.geomspace(TOP, END, len(path))
    for tol in (EPS, EPS / 2):
        found, cost = timed(lambda tol=tol: alpha_path(model, *train, grid, tol=tol, **options))
        print(f"  grid of {len(grid)}, tol {tol}: {told(found, cost)}", flush=True)
    epochs = max(chosen.epochs // 10, 1)  # projections on chains are expensive
    run, cost = timed(lambda: iterates_path(ChainSVM(), *train, max_epochs=epochs, **options))
    print(f"  dual-ex: {told(run, cost)}", flush=True)
    keep(chosen.out, "letters", {"reg-path": path, "dual-ex": run})
    if chosen.out is not None and has_matplotlib():
        PathDisplay.from_path(path).figure_.savefig(chosen.out / "letters_eps_path.png", dpi=120)


def alignment(chosen: Any) -> None:
    os.environ.setdefault("MAXMARGIN_DATA", str(data_folder("hansards").parent))
    text = load_hansards("parallel", n_pairs=chosen.pairs).pairs
    statistics = WordStatistics().fit([pair for pair in text if all(pair)])
    gold, test = load_hansards("train"), load_hansards("dev")
    train = gold.pairs[:80], gold.links[:80]
    options = {
        "validation": (gold.pairs[80:], gold.links[80:]),
        "train_score": False,
        "fit_params": {"parallel": statistics},
    }
    model = WordAligner(tol=0.01, max_epochs=1000)
    alphas = np.geomspace(1.0, 1e-4, 13)
    found = {"reg-path": alpha_path(model, *train, alphas, **options)}
    found["eps-path"] = eps_path(model, *train, EPS, TOP, 1e-4, **options)
    for name, solver in RUNS.items():
        epochs = 50 if name == "ave-perc" else chosen.epochs
        found[name] = iterates_path(model, *train, solver=solver, max_epochs=epochs, **options)
    print(f"alignment, {len(train[0])} sentence pairs; error is the alignment error rate")
    for name, path in found.items():
        best = path.points[path.best_index_]
        errors = 1 - np.array(
            [path._model(k).score(test.pairs, test.links) for k in range(len(path))]
        )
        print(
            f"  {name:10s}{len(path):4d} models, chosen at |w| {best.norm_w:6.2f}, test error"
            f" {100 * errors[path.best_index_]:.2f} %; along the path"
            f" {100 * errors.min():.2f} to {100 * errors.max():.2f} %, hinge loss down to"
            f" {min(point.hinge for point in path.points):.4f}"
        )
    keep(chosen.out, "alignment", found)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    begun = time.process_time()
    return work(), time.process_time() - begun


def told(path: Any, seconds: float) -> str:
    passes = max(p.n_epochs for p in path.points)
    if path.parameter == "alpha":
        passes = sum(p.n_epochs for p in path.points)
    best = path.points[path.best_index_]
    text = f"{len(path)} models, {passes} passes, {seconds:.1f} s, "
    if isinstance(path, EpsPath):
        text += f"largest gap {100 * path.gaps.max():.4g} %, "
    return text + f"best letter error {100 * (1 - best.validation_score):.2f} %"


def paper_count(path: EpsPath) -> float:
    """Models by the paper's rule, from the lengths of its jumps at the alphas of this path.

    There the dual point shrinks with alpha, so that w = w(z) stays: with H the hinges, g the gap
    and q the penalty at alpha, it is within eps down to alpha (1 - eps) H / (H - g + eps q).
    """
    total = 0.0
    for point in path.points:
        penalty = point.alpha / 2 * point.norm_w**2
        jump = (1 - path.eps) * point.hinge / (point.hinge - point.gap + path.eps * penalty)
        total += np.log(point.high / point.low) / -np.log(jump)
    return total


def keep(folder: Path | None, name: str, paths: dict[str, Any]) -> None:
    if folder is None:
        return
    for kind, path in paths.items():
        path.to_frame().to_csv(folder / f"{name}_{kind}.csv", index=False)
    if has_matplotlib():
        PathsDisplay.from_paths(paths).figure_.savefig(folder / f"{name}_paths.png", dpi=120)


if __name__ == "__main__":
    main()
