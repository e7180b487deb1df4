"""Scene and yeast: labels chosen together, along a tree and alone, beside independent classifiers.

How the duality gap of block-coordinate Frank-Wolfe falls over passes on scene, all pairs of labels
joined, as figure 3 of a 2019 report shows it (without saying its penalty: 0.01 is the one that it
names elsewhere). Then errors on the official splits; penalties, alpha and C, by the Hamming loss of
three folds of the training part.

    python -m benchmarks scene                  tables
    python -m benchmarks scene --out FOLDER     gaps.csv, scores.csv and scene_gap.png, too
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.svm import LinearSVC

from benchmarks.measure import data_folder
from maxmargin import MultiLabelSVM
from maxmargin.datasets import load_scene, load_yeast
from maxmargin.metrics import MultiLabelReport, multi_label_scores
from maxmargin.result import Result
from maxmargin.solvers import BCFW

LOADERS = {"scene": load_scene, "yeast": load_yeast}
ALPHAS = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003)
COSTS = (0.1, 1.0, 10.0, 100.0)
FIT = {"tol": 0.01, "max_epochs": 100}
#: to compare penalties, less is enough
TRIAL = {"tol": 0.05, "max_epochs": 40}
PAIRS = {"all pairs": "all", "tree": "tree", "no pairs": None}
#: passes after which gaps are printed, and the penalties
MOMENTS = (1, 2, 5, 10, 20, 50)
GAP_ALPHAS = (1e-2, 1e-3, 1e-4)
STEPS = {
    "plain": BCFW("frank-wolfe", "uniform", cache=None, averaging=False, check_every=1),
    "default": BCFW(check_every=1),
}


def independent(make: Callable[[float], Any]) -> Callable[[float], Any]:
    return lambda cost: OneVsRestClassifier(make(cost))


OTHERS: dict[str, Callable[[float], Any]] = {
    "linear SVMs": independent(lambda cost: LinearSVC(C=cost, random_state=0)),
    "logistic": independent(lambda cost: LogisticRegression(C=cost, max_iter=2000)),
    "logistic chain": lambda cost: ClassifierChain(LogisticRegression(C=cost, max_iter=2000)),
}


def main(options: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks scene")
    parser.add_argument("--out", type=Path, help="folder for tables and the picture")
    out = parser.parse_args(options).out
    warnings.simplefilter("ignore")
    folders = {name: data_folder(name) for name in LOADERS}
    if None in folders.values():
        return
    scene = load_scene("train", folders["scene"])
    results = _gaps(scene.X, scene.y)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        gaps = [
            [name, record.epoch, record.gap, record.primal]
            for name, own in results.items()
            for record in own.history
        ]
        _write(out / "gaps.csv", ["run", "pass", "gap", "objective"], gaps)
        draw(results, out / "scene_gap.png")
    rows = []
    for name, load in LOADERS.items():
        rows += _compare(name, load("train", folders[name]), load("test", folders[name]))
    if out is not None:
        _write(out / "scores.csv", ["data", "model", *_COLUMNS], rows)


# -- measures --------------------------------------------------------------------------------------
_COLUMNS = ["penalty", "Hamming", "exact", "micro F1", "macro F1", "example F1", "seconds"]


def _compare(name: str, train: Any, test: Any) -> list[list[Any]]:
    print(f"\n  {name:16}penalty   Hamming     exact  micro F1  macro F1  example F1  fit s")
    rows = []
    for label in (*PAIRS, *OTHERS):
        penalty, model = _chosen(label, train.X, train.y)
        begun = time.process_time()
        model.fit(train.X, train.y)
        seconds = time.process_time() - begun
        report = multi_label_scores(test.y, model.predict(test.X).astype(int))
        rows.append([name, label, penalty, *_measures(report), seconds])
        measures = [f"{100 * value:7.2f} %" for value in rows[-1][3:-1]]
        print(f"  {label:16}{penalty:7g} {' '.join(measures)} {seconds:7.1f}", flush=True)
    return rows


def _chosen(label: str, X: np.ndarray, y: np.ndarray) -> tuple[float, Any]:
    """A penalty and a model with it, not fitted."""
    if label in PAIRS:
        alpha = _best_alpha(PAIRS[label], X, y)
        return alpha, MultiLabelSVM(alpha=alpha, pairs=PAIRS[label], **FIT)
    cost = _best_cost(OTHERS[label], X, y)
    return cost, OTHERS[label](cost)


def _measures(report: MultiLabelReport) -> list[float]:
    return [
        report.hamming_loss,
        report.exact_match,
        report.micro_f1,
        report.macro_f1,
        report.example_f1,
    ]


def _best_alpha(pairs: Any, X: np.ndarray, y: np.ndarray) -> float:
    """By three folds, each gone through from the largest penalty to the smallest."""
    wrong = np.zeros(len(ALPHAS))
    for inner, held in KFold(3, shuffle=True, random_state=0).split(X):
        model = MultiLabelSVM(pairs=pairs, warm_start=True, **TRIAL)
        for k, alpha in enumerate(ALPHAS):
            model.set_params(alpha=alpha).fit(X[inner], y[inner])
            wrong[k] += (model.predict(X[held]) != y[held]).sum()
    return ALPHAS[int(wrong.argmin())]


def _best_cost(make: Callable[[float], Any], X: np.ndarray, y: np.ndarray) -> float:
    wrong = np.zeros(len(COSTS))
    for inner, held in KFold(3, shuffle=True, random_state=0).split(X):
        for k, cost in enumerate(COSTS):
            model = make(cost).fit(X[inner], y[inner])
            wrong[k] += (model.predict(X[held]) != y[held]).sum()
    return COSTS[int(wrong.argmin())]


# -- gaps ------------------------------------------------------------------------------------------
def _gaps(X: np.ndarray, y: np.ndarray) -> dict[str, Result]:
    """Runs of all penalties and steps; prints gaps relative to the objective."""
    print(f"\n  gap / objective after passes   {'  '.join(f'{m:7}' for m in MOMENTS)}")
    found = {}
    for alpha in GAP_ALPHAS:
        for name, solver in STEPS.items():
            model = MultiLabelSVM(alpha=alpha, solver=solver, tol=1e-4, max_epochs=MOMENTS[-1])
            result = found[f"{name}, alpha = {alpha:g}"] = model.fit(X, y).result_
            at = {record.epoch: record.gap / record.primal for record in result.history}
            cells = [f"{at[m]:7.1e}" if m in at else "      -" for m in MOMENTS]
            print(f"  {name:8} alpha = {alpha:<10g}     {'  '.join(cells)}", flush=True)
    return found


def draw(results: dict[str, Result], path: Path) -> None:
    """The gaps over passes."""
    import matplotlib

    matplotlib.use("Agg")
    from maxmargin.plotting import ConvergenceDisplay

    display = ConvergenceDisplay.from_result(results, x="epoch", y="gap")
    display.ax_.set_xlabel("passes over the photographs")
    display.ax_.set_ylabel("duality gap")
    lines = {name: next(iter(own.values())) for name, own in display.lines_.items()}
    display.ax_.legend(lines.values(), lines.keys(), loc="center left", bbox_to_anchor=(1.0, 0.5))
    display.figure_.set_size_inches(6.0, 3.6)
    display.figure_.savefig(path, dpi=100, bbox_inches="tight")


def _write(path: Path, columns: list[str], rows: list[list[Any]]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
