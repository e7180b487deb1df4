"""Word alignment on the Hansards: accuracy of the solvers, and growth with the training sentences.

Statistics come from the unlabelled text. Accuracy: trained on 100 sentence pairs aligned by hand,
error on 37 others; the number of epochs of solvers without a penalty is chosen on 20 of the 100.
Growth: labels are the links in which our own two directed aligners agree; one thread, compiled code
compiled before, each run in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone

from benchmarks.measure import data_folder, exponent, peak_memory
from maxmargin import StructuredSVM, metrics
from maxmargin.callbacks import Callback, EarlyStopping
from maxmargin.datasets import load_hansards
from maxmargin.domains import L2Ball
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.persistence import load, save
from maxmargin.solvers import BCFW, DualExtragradient, Extragradient, Perceptron, ProjectedGradient
from maxmargin.structures import Matching
from maxmargin.tasks import AlignmentFeatures, WordAligner, WordStatistics, intersected_links

SIZES = (500, 1000, 5000)
EPOCHS = 500
ACCURACY = {
    "bcfw": {"solver": BCFW()},
    "dual extragradient, same penalty": {"solver": DualExtragradient(max_epochs=EPOCHS)},
    "extragradient, same penalty": {"solver": Extragradient(max_epochs=EPOCHS)},
    "dual extragradient, l2 ball": {
        "solver": DualExtragradient(max_epochs=EPOCHS),
        "alpha": 0,
        "domain": L2Ball(3.0),
    },
    "dual extragradient": {
        "solver": DualExtragradient(max_epochs=EPOCHS, check_every=20),
        "alpha": 0,
    },
    "projected gradient": {
        "solver": ProjectedGradient(max_epochs=EPOCHS, check_every=20),
        "alpha": 0,
    },
    "averaged perceptron": {"solver": Perceptron(max_epochs=50), "alpha": 0},
}
GROWTH = {
    "dual extragradient": {"solver": DualExtragradient(max_epochs=EPOCHS, tol=0), "alpha": 0},
    "dual extragradient, low memory": {
        "solver": DualExtragradient(memory="low", max_epochs=EPOCHS, tol=0),
        "alpha": 0,
    },
    "bcfw": {"solver": BCFW(tol=0.01)},
}
OPTIONS = {
    "dual extragradient": DualExtragradient(),
    "dual extragradient, ratio n": DualExtragradient(ratio=300.0),
    "dual extragradient, adaptive": DualExtragradient(step="adaptive"),
    "dual extragradient, past": DualExtragradient(past=True),
    "dual extragradient, restarts": DualExtragradient(restarts=True),
    "dual extragradient, adaptive, restarts": DualExtragradient(step="adaptive", restarts=True),
    "extragradient": Extragradient(),
    "extragradient, norm": Extragradient(step="norm"),
    "projected gradient": ProjectedGradient(),
}


def main() -> None:
    folder = data_folder("hansards")
    if folder is None:
        return
    os.environ.setdefault("MAXMARGIN_DATA", str(folder.parent))
    warnings.simplefilter("ignore", ConvergenceWarning)
    with tempfile.TemporaryDirectory() as place:
        statistics = read_text(Path(place))
        accuracy(statistics)
        options(statistics)
        oracles(statistics)
        growth(Path(place))


def read_text(place: Path) -> WordStatistics:
    pairs = load_hansards("parallel").pairs
    WordStatistics().fit(pairs[:100])  # compiles
    start = time.perf_counter()
    statistics = WordStatistics().fit(pairs)
    print(f"statistics of {len(pairs)} pairs: {time.perf_counter() - start:.1f} s")
    save(statistics, place / "statistics")
    print(f"saved: {(place / 'statistics').stat().st_size / 1e6:.1f} MB")
    return statistics


def accuracy(statistics: WordStatistics) -> None:
    train, dev = load_hansards("train"), load_hansards("dev")
    alone = intersected_links(statistics, dev.pairs)
    print(f"{'intersected directed aligners, no gold':40s} {rates(alone, dev)}")
    for name, options in ACCURACY.items():
        chosen = []
        pairs, links = train.pairs, train.links
        if options.get("alpha") == 0 and "domain" not in options:
            held_out = pairs[80:], links[80:]
            pairs, links = pairs[:80], links[:80]
            chosen = [EarlyStopping(*held_out, patience=1000)]
        model = WordAligner(**options, callbacks=chosen).fit(pairs, links, statistics)
        result = model.result_
        text = f"{name:40s} {rates(model.predict(dev.pairs), dev)}"
        calls = result.state.n_oracle + result.state.n_project
        print(f"{text}  {result.state.seconds:6.2f} s, {calls / len(pairs):.0f} calls per sentence")


def rates(predicted, gold) -> str:
    sure, possible = zip(*gold.links, strict=True)
    aer = metrics.alignment_error_rate(predicted, sure, possible)
    precision = metrics.alignment_precision(predicted, sure, possible)
    recall = metrics.alignment_recall(predicted, sure)
    return f"AER {aer:.4f}, precision {precision:.4f}, recall {recall:.4f}"


def options(statistics: WordStatistics) -> None:
    """What the options of the saddle-point solvers bring, 300 sentences, 300 epochs."""
    pairs = [p for p in load_hansards("parallel", n_pairs=350).pairs if all(p)][:300]
    links = intersected_links(statistics, pairs)
    places = {"ball of radius 3": (0.0, L2Ball(3.0)), "penalty 0.01": (0.01, None)}
    for place, (alpha, domain) in places.items():
        for name, solver in OPTIONS.items():
            solver = clone(solver).set_params(max_epochs=300, tol=0.0)
            model = WordAligner(alpha=alpha, domain=domain, solver=solver)
            result = model.fit(pairs, links, statistics).result_
            text = f"{place}, {name:36s} {result.state.seconds:5.1f} s"
            print(f"{text}, gap {100 * result.relative_gap:8.3f} %", flush=True)


def oracles(statistics: WordStatistics) -> None:
    """Our assignment or scipy's, by whole training runs on 500 sentences."""
    pairs = [p for p in load_hansards("parallel", n_pairs=550).pairs if all(p)][:500]
    links = [sorted(own) for own in intersected_links(statistics, pairs)]
    rows = AlignmentFeatures().fit(statistics).transform(pairs)
    stops = np.cumsum([0, *rows.lengths])
    layouts = [(len(a), len(b)) for a, b in pairs]
    X = [(rows.matrix[stops[i] : stops[i + 1]], layout) for i, layout in enumerate(layouts)]
    runs = {"bcfw, 20 epochs": BCFW(max_epochs=20), "perceptron": Perceptron(max_epochs=20)}
    for name, solver in runs.items():
        seconds = []
        for structure in (Matching(), WithScipy()):
            model = StructuredSVM(structure, solver=clone(solver).set_params(tol=0), alpha=0.1)
            seconds.append(model.fit(X, links).result_.state.seconds)
        ours, scipys = seconds
        print(f"{name}: {ours:.2f} s, with scipy's assignment {scipys:.2f} s: {scipys / ours:.1f}")


class WithScipy(Matching):
    """The same structure; unmatched nodes are zeros, so negative scores are as good as none."""

    def maximize(self, theta, layout):
        scores = np.maximum(theta, 0.0).reshape(layout)
        j, k = linear_sum_assignment(scores, maximize=True)
        chosen = scores[j, k] > 0
        z = np.zeros(layout)
        z[j[chosen], k[chosen]] = 1.0
        return z.ravel()


def growth(place: Path) -> None:
    measured: dict[str, list[dict]] = {}
    for name in GROWTH:
        for n in SIZES:
            command = [sys.executable, "-m", "benchmarks.alignment", str(place), name, str(n)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            metrics = json.loads(done.stdout.splitlines()[-1])
            measured.setdefault(name, []).append(metrics)
            print(
                f"{name:32s} {n:5d} sentences, {metrics['edges']:6d} edges:"
                f" {metrics['seconds']:6.1f} s, {metrics['calls']:8d} calls,"
                f" solver's own memory {metrics['memory']:6.1f} MB, process {metrics['peak']:5.0f}"
                " MB,"
                f" AER {metrics['aer']:.4f}; {metrics['words']}",
                flush=True,
            )
        edges = [metrics["edges"] for metrics in measured[name]]
        times = [metrics["seconds"] for metrics in measured[name]]
        print(f"{name:32s} time ~ edges^{exponent(edges, times):.2f}")
    ours, theirs = (measured[name][-1]["seconds"] for name in ("dual extragradient", "bcfw"))
    print(f"dual extragradient, {EPOCHS} epochs / bcfw to 1 %: {ours / theirs:.1f}")


def one(place: str, name: str, n: int) -> None:
    """One training run; metrics as a line of JSON. Time and memory of the solver in two runs."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    statistics, dev = load(Path(place) / "statistics"), load_hansards("dev")
    pairs = [p for p in load_hansards("parallel", n_pairs=n + 50).pairs if all(p)][:n]
    links = intersected_links(statistics, pairs)
    warm = WordAligner(**GROWTH[name], time_limit=1.0)
    warm.fit(pairs[:20], links[:20], statistics)
    keep = Keep()
    model = WordAligner(**GROWTH[name], callbacks=[keep]).fit(pairs, links, statistics)
    result = model.result_
    metrics = {
        "edges": sum(len(a) * len(b) for a, b in pairs),
        "seconds": result.state.seconds,
        "calls": result.state.n_oracle + result.state.n_project,
        "aer": 1.0 - model.score(dev.pairs, dev.links),
        "peak": peak_memory(),
        "memory": own_memory(GROWTH[name]["solver"], keep.problem) / 1e6,
        "words": f"objective {result.primal:.4f}, {result.status.value}",
    }
    print(json.dumps(metrics))


class Keep(Callback):
    """Hold on to the training problem."""

    def on_start(self, run):
        self.problem = run.problem


def own_memory(solver, problem) -> float:
    """Peak bytes that a few epochs allocate beyond the packed training data."""
    tracemalloc.start()
    state = solver.init(problem)
    for _ in range(3):
        solver.epoch(problem, state)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return float(peak)


if __name__ == "__main__":
    one(sys.argv[1], sys.argv[2], int(sys.argv[3]))
