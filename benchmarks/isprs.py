"""Airborne laser scans (ISPRS filter test): with and without structure, five times three left out.

Every method learns from the same 12 scans and is measured on the other 3: each training scan gives
a square of neighbouring points around a place drawn by the seed, each test scan is labelled whole.
alpha is chosen by training on 9 of the 12 and measuring on the other 3, with the first seed, for
"no edges" and for "edges" each by itself. Nothing is chosen on scans left out.

python -m benchmarks.isprs --million: features and prediction for a scan of 1,000,000 points.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.measure import data_folder, peak_memory
from maxmargin import Graph, GraphCutSVM
from maxmargin.datasets import load_isprs
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.tasks import PointGraphs, Segmenter

SEEDS = (0, 1, 2)
CROP = 4000  # points of a training scan
FOLDS = [list(range(first, 15, 5)) for first in range(5)]
ALPHAS = (1e-2, 1e-3)
#: solver, and its passes over the scans
SOLVERS = {
    "averaged perceptron": ("perceptron", 30),
    "projected gradient": ("projected-gradient", 30),
    "dual extragradient": ("dual-extragradient", 30),
}
#: total error in percent of Axelsson's filter, the best of eight in Sithole and Vosselman (2004);
#: it learns from no labels, but was tuned by its author
AXELSSON = [
    *(10.76, 3.25, 4.25, 3.63, 4.00, 4.42, 4.78, 13.91, 1.62),
    *(2.72, 3.07, 8.91, 3.23, 2.08, 1.63),
]


def main() -> None:
    folder = data_folder("isprs_filter")
    if folder is None:
        return
    warnings.simplefilter("ignore", ConvergenceWarning)
    scans = load_isprs(folder)
    found: dict[str, np.ndarray] = {}
    for held_out in FOLDS:
        one_fold(scans, held_out, found)
    show(scans, found)


def one_fold(scans: Any, held_out: list[int], found: dict[str, np.ndarray]) -> None:
    """Add to `found`, of each method (seeds, 15, 4): see `counts`."""
    kept = [i for i in range(15) if i not in held_out]
    maker = PointGraphs()
    checked = [maker.check(i, x) for i, x in enumerate(scans.clouds)]
    maker.fit([checked[i] for i in kept])
    graphs = [maker.make(x).graph for x in checked]
    alphas: dict[str, float] = {}
    for number, seed in enumerate(SEEDS):
        train = [crop(graphs[i], scans, i, seed) for i in kept]
        for name, predict in methods(train, seed, alphas).items():
            cells = found.setdefault(name, np.zeros((len(SEEDS), 15, 4)))
            for i in held_out:
                cells[number, i] = counts(scans.labels[i], predict(graphs[i]))
    print(f"  left out {', '.join(scans.names[i] for i in held_out)}; alpha {alphas}", flush=True)


def crop(graph: Graph, scans: Any, i: int, seed: int) -> tuple[Graph, np.ndarray]:
    """The points nearest to one of them, in a square."""
    flat = scans.clouds[i][:, :2]
    centre = flat[np.random.default_rng([seed, i]).integers(len(flat))]
    chosen = np.sort(np.argsort(np.abs(flat - centre).max(axis=1), kind="stable")[:CROP])
    number = np.full(len(flat), -1)
    number[chosen] = np.arange(len(chosen))
    edges = number[graph.edges]
    inside = (edges >= 0).all(axis=1)
    part = Graph(graph.nodes[chosen], edges[inside], graph.edge_features[inside])
    return part, scans.labels[i][chosen]


def methods(train: list, seed: int, alphas: dict) -> dict[str, Callable[[Graph], np.ndarray]]:
    """Trained models as functions of a graph; alphas are chosen when there are none yet."""
    bare = [(alone(x), y) for x, y in train]
    options = {"tol": 0.05, "max_epochs": 100, "random_state": seed}
    if not alphas:
        alphas |= {"no edges": choose(bare, options), "edges": choose(train, options)}
    unstructured = options | {"alpha": alphas["no edges"]}
    structured = options | {"alpha": alphas["edges"]}
    models = {
        "no edges, bcfw": trained(bare, unstructured),
        "edges, bcfw": trained(train, structured),
        "edges with tables, bcfw": trained(train, structured | {"tables": True}),
    }
    for name, (solver, passes) in SOLVERS.items():
        own = structured | {"solver": solver, "max_epochs": passes}
        models[f"edges, {name}"] = trained(train, own)
    found = {"no edges, logistic regression": logistic(train)}
    return found | {name: labels_of(model, name) for name, model in models.items()}


def labels_of(model: GraphCutSVM, name: str) -> Callable[[Graph], np.ndarray]:
    bare = name.startswith("no edges")
    return lambda x: model.predict([alone(x) if bare else x])[0]


def alone(x: Graph) -> Graph:
    """The graph without its edges."""
    return Graph(x.nodes, np.empty((0, 2), np.int64), np.empty((0, x.edge_features.shape[1])))


def trained(train: list, options: dict) -> GraphCutSVM:
    return GraphCutSVM(**options).fit(*zip(*train, strict=True))


def choose(train: list, options: dict) -> float:
    """The alpha that is best for every fourth of the training scans, learned from the others."""
    inner = [own for k, own in enumerate(train) if k % 4]
    held_out = [own for k, own in enumerate(train) if not k % 4]
    scores = []
    for alpha in ALPHAS:
        model = trained(inner, options | {"alpha": alpha})
        scores.append(model.score(*zip(*held_out, strict=True)))
    return ALPHAS[int(np.argmax(scores))]


def logistic(train: list) -> Callable[[Graph], np.ndarray]:
    """An outside check of the features and of the models without edges."""
    from sklearn.linear_model import LogisticRegression

    rows = sparse.vstack([x.nodes for x, _ in train])
    model = LogisticRegression(max_iter=300).fit(rows, np.concatenate([y for _, y in train]))
    return lambda x: model.predict(x.nodes)


def counts(truth: np.ndarray, found: np.ndarray) -> list[int]:
    """Points, errors, points that are or are called object, points that are both."""
    both, either = ((truth == 1) & (found == 1)).sum(), ((truth == 1) | (found == 1)).sum()
    return [len(truth), (truth != found).sum(), either, both]


def show(scans: Any, found: dict[str, np.ndarray]) -> None:
    """Errors in percent: a row for each method, mean and spread over the seeds."""
    print(f"  {len(SEEDS)} seeds; error of all points, mean of the scans' errors, IoU of objects")
    for name, table in found.items():
        total = 100 * table[:, :, 1].sum(axis=1) / table[:, :, 0].sum(axis=1)
        each = 100 * table[:, :, 1] / table[:, :, 0]
        iou = 100 * table[:, :, 3].sum(axis=1) / table[:, :, 2].sum(axis=1)
        print(
            f"  {name:30s} {spread(total)} %  {spread(each.mean(axis=1))} %  {spread(iou)} %",
            flush=True,
        )
    print("  error of each scan, mean over the seeds, %:")
    print(f"  {'':30s} {' '.join(name[4:].rjust(5) for name in scans.names)}")
    rows = {
        n: (100 * np.array(r)[:, :, 1] / np.array(r)[:, :, 0]).mean(axis=0)
        for n, r in found.items()
    }
    rows["Axelsson's filter, published"] = np.array(AXELSSON)
    for name, row in rows.items():
        print(f"  {name:30s} {' '.join(f'{own:5.1f}' for own in row)}  mean {row.mean():.2f}")


def spread(values: np.ndarray) -> str:
    return f"{values.mean():5.2f} +- {values.std(ddof=1):.2f}"


def landscape(n_points: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Hills with boxes on them, one point a square metre, at map coordinates."""
    rng = np.random.default_rng(seed)
    side = np.sqrt(n_points)
    flat = rng.uniform(0, side, (n_points, 2))
    ground = 10 * np.sin(flat[:, 0] / 97) + 7 * np.cos(flat[:, 1] / 61)
    block = (flat // 30).astype(np.int64)
    built = np.random.default_rng([seed, 1]).uniform(size=(block.max() + 1,) * 2)
    inside = ((flat % 30 > 8) & (flat % 30 < 22)).all(axis=1)
    height = np.where(inside, 12 * np.maximum(built[block[:, 0], block[:, 1]] - 0.5, 0), 0.0)
    z = ground + height + 0.3 * rng.standard_normal(n_points)
    return np.column_stack([flat + np.array([5e5, 5e6]), z]), (height > 0).astype(np.int64)


def million(n_points: int = 1_000_000) -> None:
    """A trained model on one large scan."""
    clouds, labels = zip(*(landscape(20_000, seed) for seed in range(4)), strict=True)
    for features in (("height", "shape"), ("height", "shape", "spin")):
        graphs = PointGraphs(features=features)
        model = Segmenter("points", graphs=graphs, tol=0.05).fit(clouds, labels)
        cloud, truth = landscape(n_points, 99)
        before = peak_memory()
        begun = time.process_time()
        made = model.graphs_.make(model.graphs_.check(0, cloud))
        middle, between = time.process_time(), peak_memory()
        error = np.mean(made.spread(model.model_.predict([made.graph])[0]) != truth)
        print(
            f"  {', '.join(features)}: {made.graph}; made in {middle - begun:.0f} s of processor"
            f" time, peak {between:.0f} MB ({before:.0f} before); labelled in"
            f" {time.process_time() - middle:.0f} s, peak {peak_memory():.0f} MB,"
            f" error {100 * error:.2f} %",
            flush=True,
        )


if __name__ == "__main__":
    million() if "--million" in sys.argv else main()
