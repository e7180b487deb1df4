"""Puppets: test errors of five learners, seconds to the validation optimum, growth with edges.

Five scans to train on, three to choose alpha and the epoch, three to test on; spin images reduced
to 45 components at the nodes, one constant at the surface links: the setting of Taskar,
Lacoste-Julien and Jordan (2006), whose training took about an hour. Times are of one thread, from
graphs to weights, all candidates for alpha and all looks at the validation scans included.
MAXMARGIN_SEEDS changes how many seeds of the generator there are.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Sequence

import numpy as np
from scipy.sparse import issparse
from sklearn.linear_model import LogisticRegression

from benchmarks.measure import exponent
from maxmargin import Graph, GraphCutSVM
from maxmargin.callbacks import EarlyStopping
from maxmargin.datasets import make_puppets
from maxmargin.solvers import BCFW, DualExtragradient, Perceptron, ProjectedGradient, Solver
from maxmargin.tasks import PointGraphs

SEEDS = range(int(os.environ.get("MAXMARGIN_SEEDS", "5")))
TRAIN, VALID, TEST = slice(0, 5), slice(5, 8), slice(8, 11)
#: name: (solver, candidates for alpha, epochs, certificates without improvement before it ends)
SOLVERS: dict[str, tuple[Solver, Sequence[float], int, int]] = {
    "bcfw": (BCFW(check_every=2), (1e-2, 1e-3, 1e-4), 60, 10),
    "dual extragradient": (DualExtragradient(check_every=3), (1e-3, 1e-4), 90, 8),
    "projected gradient": (ProjectedGradient(check_every=5), (1e-3, 1e-4), 250, 10),
    "averaged perceptron": (Perceptron(check_every=1), (1e-3,), 100, 20),
    "batch perceptron": (Perceptron(batch=True, check_every=1), (1e-3,), 200, 20),
}
#: whose growth is measured, and about how many points each scan has
GROWING = ("bcfw", "dual-extragradient")
GROWTH = (1500, 3000, 6000, 12000, 24000)

Found = tuple[float, float, float]  # validation error, test error, seconds


def graphs_of(scans) -> list[Graph]:
    """Spin images at the nodes, scaled on the training scans; a constant at the edges."""
    maker = PointGraphs(features=("spin",), up="y")
    samples = [maker.check(i, x) for i, x in enumerate(zip(scans.clouds, scans.edges, strict=True))]
    maker.fit(samples[TRAIN])
    made = [maker.make(x).graph for x in samples]
    dense = [own.nodes.toarray() if issparse(own.nodes) else own.nodes for own in made]
    return [Graph(nodes, own.edges) for nodes, own in zip(dense, made, strict=True)]


def error(predict: Callable, X: Sequence, y: Sequence[np.ndarray]) -> float:
    return float(np.mean(np.concatenate(predict(X)) != np.concatenate(y)))


def structured(name: str, X: Sequence[Graph], y: Sequence[np.ndarray]) -> Found:
    solver, alphas, epochs, patience = SOLVERS[name]
    best, start = (np.inf, np.inf), time.process_time()
    for alpha in alphas:
        stopping = EarlyStopping(X[VALID], y[VALID], patience=patience)
        model = GraphCutSVM(alpha, solver=solver, tol=0.02, max_epochs=epochs, callbacks=[stopping])
        model.fit(X[TRAIN], y[TRAIN])
        if 1.0 - stopping.best_ < best[0]:
            best, chosen = (1.0 - stopping.best_, alpha), model
    seconds = time.process_time() - start
    return best[0], error(chosen.predict, X[TEST], y[TEST]), seconds


def unstructured(X: Sequence[Graph], y: Sequence[np.ndarray]) -> Found:
    """Logistic regression on the same features of nodes."""
    start = time.process_time()
    rows = [np.asarray(x.nodes) for x in X]
    found = []
    for C in (1e-3, 1e-1, 10.0):
        model = LogisticRegression(C=C, max_iter=1000)
        model.fit(np.concatenate(rows[TRAIN]), np.concatenate(y[TRAIN]))
        wrong = [
            error(lambda X: [model.predict(x) for x in X], rows[part], y[part])  # noqa: B023
            for part in (VALID, TEST)
        ]
        found.append(wrong)
    valid, test = min(found)
    return valid, test, time.process_time() - start


def compare() -> None:
    table: dict[str, list[Found]] = {"no structure": [], **{name: [] for name in SOLVERS}}
    for seed in SEEDS:
        scans = make_puppets(random_state=seed)
        start = time.process_time()
        X, y = graphs_of(scans), scans.labels
        sizes = [(x.network.n_nodes, x.network.n_edges) for x in X[TRAIN]]
        nodes, edges = np.sum(sizes, axis=0)
        print(
            f"generator seed {seed}: {nodes} nodes and {edges} edges to train on, graphs of all"
            f" scans in {time.process_time() - start:.1f} s",
            flush=True,
        )
        table["no structure"].append(unstructured(X, y))
        for name in SOLVERS:
            table[name].append(structured(name, X, y))
            print(f"  {name}: {_shown(table[name][-1:])}", flush=True)
    print("\nmean and standard deviation over seeds of the generator")
    for name, rows in table.items():
        print(f"  {name:20s} {_shown(rows)}")


def _shown(rows: list[Found]) -> str:
    valid, test, seconds = np.array(rows).T
    spread = f" +- {100 * test.std(ddof=1):.2f}" if len(rows) > 1 else ""
    return (
        f"validation {100 * valid.mean():5.2f} %, test {100 * test.mean():5.2f}{spread} %,"
        f" {seconds.mean():5.1f} s (at most {seconds.max():.1f})"
    )


def growth() -> None:
    """Seconds of training to a gap of 5 % of the objective, as scans get finer."""
    rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in GROWING}
    for n_points in GROWTH:
        scans = make_puppets(3, n_points)
        X, y = graphs_of(scans), scans.labels
        edges = sum(x.network.n_edges for x in X)
        for name in GROWING:
            model = GraphCutSVM(1e-2, solver=name, tol=0.05, max_epochs=300)
            spent: list[float] = []
            while not spent or (len(spent) < 3 and sum(spent) < 5.0):
                start = time.process_time()
                model.fit(X, y)
                spent.append(time.process_time() - start)
            seconds, epochs = min(spent), model.result_.n_epochs
            rows[name].append((edges, seconds, seconds / epochs))
            print(f"  {name:18s} {edges:7d} edges: {seconds:6.2f} s, {epochs} epochs", flush=True)
    for name, found in rows.items():
        sizes, seconds, per_epoch = (list(own) for own in zip(*found, strict=True))
        print(
            f"  {name:18s} time of training ~ edges ^ {exponent(sizes, seconds):.2f},"
            f" of an epoch ~ edges ^ {exponent(sizes, per_epoch):.2f}",
            flush=True,
        )


def main() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # runs that end at their last epoch
        tiny = make_puppets(11, 200)
        X = graphs_of(tiny)
        print("compiling", flush=True)
        for name in SOLVERS:
            structured(name, X, tiny.labels)
        compare()
        print("\nalpha = 0.01, to a gap of 5 %, three scans of more and more points")
        growth()
