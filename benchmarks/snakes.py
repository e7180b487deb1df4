"""Pixels of snakes numbered from head to tail: nodes alone, with pairs, with features of edges.

The official 200 images for training, 100 for the test; 50 of the 200 are held out to choose the
penalty on, then all are learned from. Pixels of the ground are told by their colour, so the
accuracy on pixels of the snake is what matters. The gap is between the upper bound on the objective
and the dual: where labels are found within bounds, it holds what the bounds leave open.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from benchmarks.measure import data_folder
from maxmargin import NetworkSVM
from maxmargin.datasets import load_snakes, snake_graphs

ALPHAS = (0.1, 0.03, 0.01, 0.003)
FIT = {"tol": 0.02, "max_epochs": 50}
HELD_OUT = 50
#: name -> features of edges, whether pairs have scores
KINDS = {
    "nodes alone": ("plain", False),
    "plain edges": ("plain", True),
    "direction": ("direction", True),
    "colours": ("colours", True),
    "neighbourhood": ("neighbourhood", True),
}


def main() -> None:
    folder = data_folder("snakes")
    if folder is None:
        return
    warnings.simplefilter("ignore")
    data = load_snakes(folder)
    y, y_test = (
        [own.ravel() for own in labels] for labels in (data.labels_train, data.labels_test)
    )
    print(
        "  edges          alpha  held out  all     snake   middle  proven  gap      fit s  test s"
    )
    for name, (edges, joined) in KINDS.items():
        X, X_test = (snake_graphs(own, edges) for own in (data.images_train, data.images_test))
        _report(name, joined, X, y, X_test, y_test)


def _report(name: str, joined: bool, X: list, y: list, X_test: list, y_test: list) -> None:
    held, alpha = max((_held_out(alpha, joined, X, y), alpha) for alpha in ALPHAS)
    begun = time.process_time()
    model = _model(alpha, joined).fit(X, y)
    fitted = time.process_time()
    found = model.predict_within(X_test)
    done = time.process_time()
    right = np.concatenate([own.labels for own in found]) == np.concatenate(y_test)
    label = np.concatenate(y_test)
    middle = (label >= 4) & (label <= 7)
    shares = [held, right.mean(), right[label > 0].mean(), right[middle].mean()]
    shares.append(np.mean([own.is_best for own in found]))
    print(
        f"  {name:13}  {alpha:5g}  {100 * shares[0]:6.2f} %"
        f"  {'  '.join(f'{100 * own:5.1f}%' for own in shares[1:])}"
        f"  {100 * model.result_.relative_gap:5.1f} %  {fitted - begun:6.1f}  {done - fitted:6.2f}",
        flush=True,
    )


def _held_out(alpha: float, joined: bool, X: list, y: list) -> float:
    model = _model(alpha, joined).fit(X[:-HELD_OUT], y[:-HELD_OUT])
    return float(model.score(X[-HELD_OUT:], y[-HELD_OUT:]))


def _model(alpha: float, joined: bool) -> Any:
    return NetworkSVM(alpha=alpha, transitions=joined, **FIT)
