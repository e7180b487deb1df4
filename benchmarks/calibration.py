"""Whether probabilities are frequencies, before and after a temperature from held-out data.

Letters: trained on fold 0, calibrated on fold 1, tested on folds 2 to 9. CoNLL-2000: trained on the
first quarter of the training file, calibrated on its ninth tenth, tested on the last one. Hansards:
60, 40 and 37 aligned pairs; links that are possible but not sure do not count. The log loss of
perturbations takes 0.005 at least for a probability, half a draw.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from benchmarks.measure import CHUNK_TEMPLATES, data_folder
from maxmargin import ChainSVM
from maxmargin.datasets import load_conll2000, load_hansards, load_letters
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.metrics import brier_score, calibration_error, log_loss, reliability
from maxmargin.tasks import WordAligner, WordStatistics
from maxmargin.tasks.tagging.token_features import TokenFeatures

Part = tuple[Any, Any]
HEAD = (
    f"  {'trained by':30s} {'T':>8s} {'':>7s} {'ECE':>7s} {'by label':>8s} {'log loss':>8s}"
    f" {'Brier':>6s} {'wrong':>6s}"
)


def main() -> None:
    """Both data sets, as far as they are there."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    if data_folder("ocr_letters") is not None:
        letters()
    if data_folder("conll2000") is not None:
        chunks()
    if data_folder("hansards") is not None:
        links()


def letters() -> None:
    """One fold of words to learn from, the size of the usual experiment."""
    data = load_letters(data_folder("ocr_letters"))
    fold = np.asarray(data.fold)
    parts = [
        ([data.X[i] for i in chosen], [data.y[i] for i in chosen])
        for chosen in map(np.flatnonzero, (fold == 0, fold == 1, fold >= 2))
    ]
    print(f"  letters, {', '.join(str(len(x)) for x, _ in parts)} words\n{HEAD}")
    for alpha in (1e-2, 1e-3):
        model = ChainSVM(alpha=alpha, tol=0.01)
        show(f"margin, alpha {alpha:g}", model, *parts)
        if alpha == 1e-2:
            show("the same, by 100 perturbations", model, *parts, method="perturb")
    for alpha in (1e-2, 1e-1):
        options = {"alpha": alpha, "tol": 0.01, "max_epochs": 500}
        show(f"likelihood, alpha {alpha:g}", ChainSVM(objective="likelihood", **options), *parts)


def chunks() -> None:
    """Text: many features, so that models are sure of what they have seen."""
    data = load_conll2000("train", data_folder("conll2000"))
    bounds = [int(len(data.sentences) * share) for share in (0.25, 0.8, 0.9)]
    n, held_out, last = bounds
    known = set(np.concatenate(data.tags[:n]).tolist())
    ranges = (range(n), range(held_out, last), range(last, len(data.sentences)))
    kept = [[i for i in own if set(data.tags[i]) <= known] for own in ranges]
    features = TokenFeatures(CHUNK_TEMPLATES).fit([data.sentences[i] for i in kept[0]])
    parts = [
        (features.transform([data.sentences[i] for i in own]), [data.tags[i] for i in own])
        for own in kept
    ]
    print(f"  CoNLL-2000, {', '.join(str(len(y)) for _, y in parts)} sentences\n{HEAD}")
    margin = ChainSVM(alpha=10 / n, loss="hamming-sum", tol=0.05)
    show("margin, alpha 10 / n", margin, *parts)
    likelihood = ChainSVM(alpha=2 / n, objective="likelihood", tol=0.01, max_epochs=300)
    show("likelihood, alpha 2 / n", likelihood, *parts)


def links() -> None:
    """Matchings, whose probabilities are estimated by noise."""
    train, dev = load_hansards("train"), load_hansards("dev")
    statistics = WordStatistics().fit(load_hansards("parallel", n_pairs=20000).pairs)
    aligner = WordAligner().fit(train.pairs[:60], train.links[:60], statistics)
    print("  Hansards, 60, 40, 37 pairs: probability of a link, by 100 perturbations")
    for name in ("before", "after"):
        if name == "after":
            aligner.calibrate(train.pairs[60:], train.links[60:])
        y, p = [], []
        for (sure, possible), own in zip(
            dev.links, aligner.predict_marginals(dev.pairs), strict=True
        ):
            places = list(np.ndindex(own.shape))
            kept = [at for at in places if at in sure or at not in possible]
            y.append([int(at in sure) for at in kept])
            p.append([own[at] for at in kept])
        print(
            f"  {name:6s} T {aligner.temperature_:.4f},"
            f" ECE {reliability(y, p, label=1).error:.4f},"
            f" log loss {log_loss(y, p, eps=0.005):.4f}",
            flush=True,
        )


def show(
    name: str, model: ChainSVM, train: Part, held_out: Part, test: Part, method: Any = "exact"
) -> None:
    """A line before, and a line after."""
    begun = time.perf_counter()
    model.fit(*train)
    seconds = time.perf_counter() - begun
    line(name, model, test, method)
    begun = time.perf_counter()
    model.calibrate(*held_out, method=method)
    note = f"fit {seconds:.0f} s, calibrated {time.perf_counter() - begun:.1f} s"
    line("", model, test, method, note)


def line(name: str, model: ChainSVM, test: Part, method: Any, note: str = "") -> None:
    """One row of the table."""
    p, y, labels = model.predict_marginals(test[0], method), test[1], model.classes_
    found = (labels[own.argmax(axis=1)] for own in p)
    wrong = np.mean(np.concatenate([a != np.asarray(b) for a, b in zip(found, y, strict=True)]))
    print(
        f"  {name:30s} {model.temperature_:8.4f} {'after' if note else 'before':>7s}"
        f" {calibration_error(y, p, labels=labels):7.4f}"
        f" {calibration_error(y, p, labels=labels, classwise=True):8.4f}"
        f" {log_loss(y, p, labels=labels, eps=0.005 if method == 'perturb' else 1e-12):8.4f}"
        f" {brier_score(y, p, labels=labels):6.4f} {100 * wrong:5.2f}%  {note}",
        flush=True,
    )


if __name__ == "__main__":
    main()
