"""Figure and ground on the Weizmann horses: cuts by four solvers, and classifiers without edges.

The 164 images are split at random, 80 to train on, 30 to choose the penalty on, 54 to test on, once
for each seed. MAXMARGIN_SEEDS changes how many seeds there are.
"""

from __future__ import annotations

import os
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.measure import data_folder, peak_memory
from maxmargin import Graph
from maxmargin.callbacks import EarlyStopping
from maxmargin.datasets import load_horses
from maxmargin.metrics import segmentation_scores
from maxmargin.solvers import DualExtragradient, Perceptron, ProjectedGradient
from maxmargin.tasks import Segmenter
from maxmargin.tasks.segmentation.graph_makers import GraphMaker, Made
from maxmargin.tasks.segmentation.images.graphs import ImageGraphs

ALPHAS = (3e-3, 1e-3, 3e-4, 1e-4)
EPOCHS = (10, 20, 40)
PENALTIES = (1e-2, 1e-1, 1.0)
MADE: dict[bool, dict[int, Made]] = {}


class Known(GraphMaker):
    """Graphs that were made before, by number: each is made once for all methods."""

    noun = "image"

    def __init__(self, edges: bool = True):
        self.edges = edges

    def check(self, i: int, x: Any) -> int:
        return int(x)

    def fit(self, samples: Any) -> Known:
        return self

    def make(self, x: int) -> Made:
        return MADE[self.edges][x]

    def names(self) -> tuple[list[str], list[str]]:
        graph = next(iter(MADE[self.edges].values())).graph
        sizes = graph.nodes.shape[1], graph.edge_features.shape[1]
        return tuple([str(k) for k in range(size)] for size in sizes)


class Alone:
    """scikit-learn's logistic regression on the features of single nodes."""

    def __init__(self, penalty: float):
        self.model = LogisticRegression(C=penalty, max_iter=300, tol=1e-3)

    def fit(self, images: list[int], masks: list[np.ndarray]) -> Alone:
        made = [MADE[True][i] for i in images]
        shares = [own.gather(mask) for own, mask in zip(made, masks, strict=True)]
        weight = np.concatenate([own.weight / own.weight.mean() for own in made])
        nodes = np.concatenate([own.graph.nodes for own in made])
        self.model.fit(nodes, np.concatenate(shares) > 0.5, sample_weight=weight)
        return self

    def predict(self, images: list[int]) -> list[np.ndarray]:
        made = [MADE[True][i] for i in images]
        return [own.spread(self.model.predict(own.graph.nodes).astype(np.uint8)) for own in made]


def segmenter(solver: Any = "bcfw", edges: bool = True, **options: Any) -> Segmenter:
    return Segmenter(solver=solver, graphs=Known(edges), **options)


def methods(
    alpha: float, images: list[int], masks: list[np.ndarray]
) -> dict[str, dict[Any, Callable[[], Any]]]:
    """Candidates of each method; alpha was chosen with BCFW, whose objective others share.

    Saddle solvers take their weights from the look at the held-out part, one in 20 epochs, that
    was best.
    """

    def saddle(solver: Any) -> Segmenter:
        stopping = EarlyStopping(images, masks, patience=1000)
        return segmenter(solver, alpha=alpha, max_epochs=300, callbacks=[stopping])

    return {
        "averaged perceptron": {
            n: lambda n=n: segmenter(Perceptron(max_epochs=n), alpha=0.0) for n in EPOCHS
        },
        "no edges, our SVM": {a: lambda a=a: segmenter(edges=False, alpha=a) for a in ALPHAS},
        "no edges, logistic regression": {c: lambda c=c: Alone(c) for c in PENALTIES},
        "dual extragradient": {alpha: lambda: saddle(DualExtragradient(check_every=20))},
        "projected gradient": {alpha: lambda: saddle(ProjectedGradient(check_every=20))},
    }


def main() -> None:
    folder = data_folder("weizmann_horses")
    if folder is None:
        return
    warnings.simplefilter("ignore")
    data = load_horses(folder)
    rows: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for seed in range(int(os.environ.get("MAXMARGIN_SEEDS", "3"))):
        parts = np.split(np.random.default_rng(seed).permutation(len(data.images)), [80, 110])
        train, held, test = ([int(i) for i in part] for part in parts)
        begun = time.process_time()
        make(data, train)
        print(f"  seed {seed}: graphs made in {time.process_time() - begun:.0f} s", flush=True)
        alphas = {a: lambda a=a: segmenter(alpha=a) for a in ALPHAS}
        kept, alpha = choose("BCFW", data, train, held, alphas)
        rows["BCFW"].append(measured(data, kept, test))
        held_out = held, [data.masks[i] for i in held]
        for name, candidates in methods(alpha, *held_out).items():
            kept, _ = choose(name, data, train, held, candidates)
            rows[name].append(measured(data, kept, test))
        show(rows)
    MADE.clear()
    for graph in ("superpixels", "pixels"):
        large(data, graph)


def make(data: Any, train: list[int]) -> None:
    maker = ImageGraphs()
    checked = [maker.check(i, x) for i, x in enumerate(data.images)]
    maker.fit([checked[i] for i in train])
    made = {i: maker.make(x) for i, x in enumerate(checked)}
    none = np.zeros((0, 2), dtype=np.int64)
    MADE[True], MADE[False] = made, {}
    for i, own in made.items():
        empty = np.zeros((0, own.graph.edge_features.shape[1]))
        MADE[False][i] = Made(Graph(own.graph.nodes, none, empty), own.shape, own.node_of)


def choose(
    label: str,
    data: Any,
    train: list[int],
    held: list[int],
    candidates: dict[Any, Callable[[], Any]],
) -> tuple[tuple[Any, float], Any]:
    """The candidate with the least error on the held-out part, its seconds, and its key."""
    best, least, seconds, key = None, np.inf, 0.0, None
    for name, candidate in candidates.items():
        begun = time.process_time()
        model = candidate().fit(train, [data.masks[i] for i in train])
        spent = time.process_time() - begun
        error, _ = scores(data, model, held)
        print(f"    {label} {name}: {100 * error:.2f} % held out, {spent:.1f} s", flush=True)
        if error < least:
            best, least, seconds, key = model, error, spent, name
    return (best, seconds), key


def scores(data: Any, model: Any, images: list[int]) -> tuple[float, float]:
    found = model.predict(images)
    report = segmentation_scores([data.masks[i] for i in images], found, labels=[0, 1])
    return report.error, report[1].iou


def measured(data: Any, kept: tuple[Any, float], test: list[int]) -> tuple[float, float, float]:
    return *scores(data, kept[0], test), kept[1]


def show(rows: dict[str, list[tuple[float, float, float]]]) -> None:
    width = max(map(len, rows))
    print(f"  {'':{width}}  error per pixel   IoU of horses    less error than alone   CPU s")
    alone = np.array(rows["no edges, our SVM"])[:, 0]
    for name, found in rows.items():
        error, iou, seconds = np.array(found).T
        less = alone - error
        print(
            f"  {name:{width}}  {100 * error.mean():5.2f} +- {100 * error.std():4.2f} %"
            f"   {iou.mean():.3f} +- {iou.std():.3f}"
            f"   {100 * less.mean():5.2f} (least {100 * less.min():5.2f}) %"
            f"   {seconds.mean():6.1f}",
            flush=True,
        )


def large(data: Any, graph: str) -> None:
    """An image of a million pixels by a model of small ones: its time, and the memory it adds."""
    model = Segmenter(graphs=ImageGraphs(graph), tol=0.1).fit(data.images[:12], data.masks[:12])
    image, mask = data.images[20], data.masks[20]
    rows, columns = (np.arange(1000) * size // 1000 for size in mask.shape)
    before, begun = peak_memory(), time.process_time()
    [found] = model.predict([image[np.ix_(rows, columns)]])
    wrong = float(np.mean(found != mask[np.ix_(rows, columns)]))
    print(
        f"  1,000 x 1,000 pixels, {graph}: {time.process_time() - begun:.1f} CPU s, peak memory"
        f" {peak_memory():.0f} MB (before: {before:.0f} MB), {100 * wrong:.1f} % wrong"
    )
