"""CoNLL-2000 chunking beside python-crfsuite on the same features, a tenth held out.

The first line is the tagger as it is, with its default features, which are others.

Seconds count from sentences in memory to a trained model, features included; one thread, compiled
code warm. The peak memory is that of a process which does nothing else.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measure import CHUNK_TEMPLATES, data_folder, peak_memory
from maxmargin.datasets import load_conll2000
from maxmargin.metrics import chunk_f1
from maxmargin.solvers import BCFW
from maxmargin.tasks import SequenceTagger
from maxmargin.tasks.tagging.token_features import TokenFeatures

SAME = {"templates": CHUNK_TEMPLATES}
OURS = {
    "SequenceTagger, default features": {},
    "SequenceTagger": SAME,
    "textbook steps, 10 passes": SAME | {"solver": BCFW(step="frank-wolfe"), "max_epochs": 10},
    "averaged perceptron, 10 passes": SAME | {"solver": "perceptron", "max_epochs": 10},
}
THEIRS = {
    "crfsuite lbfgs": ("lbfgs", {"c2": 1.0, "max_iterations": 100}),
    "crfsuite averaged perceptron, 10 passes": ("averaged-perceptron", {"max_iterations": 10}),
}


def main() -> None:
    """Each program in a process of its own, so that memory is its own."""
    if data_folder("conll2000") is None:
        return
    measured = {}
    for name in (*OURS, *THEIRS):
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.chunking", name]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        *shown, numbers = done.stdout.splitlines()
        print("\n".join(shown), flush=True)
        measured[name] = json.loads(numbers)
    compare(measured)


def compare(measured: dict[str, dict[str, float]]) -> None:
    """Each of ours beside each of theirs."""
    for ours in OURS:
        for theirs in THEIRS:
            a, b = measured[ours], measured[theirs]
            print(
                f"  {ours} to {theirs}: {a['seconds'] / b['seconds']:.2f} x its time,"
                f" F1 {100 * (a['f1'] - b['f1']):+.2f}"
            )


def run(name: str) -> None:
    """Train, tag the held-out tenth, print one line to read and one of JSON."""
    data = load_conll2000("train", data_folder("conll2000"))
    cut = len(data.sentences) * 9 // 10
    train, tags = data.sentences[:cut], data.tags[:cut]
    test, truth = data.sentences[cut:], data.tags[cut:]
    passes = train_ours if name in OURS else train_theirs
    seconds, tagging, predicted, metrics = passes(name, train, tags, test)
    f1 = chunk_f1(truth, predicted)
    print(
        f"  {name:40s} fit {seconds:6.1f} s, tagging {tagging:.2f} s,"
        f" F1 {100 * f1:.2f}, peak {peak_memory():.0f} MB; {metrics}",
        flush=True,
    )
    print(json.dumps({"seconds": seconds, "f1": f1}))


def train_ours(name: str, train: list, tags: list, test: list) -> tuple[float, float, list, str]:
    SequenceTagger(max_epochs=1).fit(train[:20], tags[:20]).predict(
        train[:5]
    )  # loads compiled code
    begun = time.perf_counter()
    tagger = SequenceTagger(**OURS[name]).fit(train, tags)
    trained = time.perf_counter()
    predicted = tagger.predict(test)
    result = tagger.result_
    each = result.history[-1].seconds / result.n_epochs
    metrics = f"{len(tagger.coef_)} weights, {each:.2f} s a pass, {result.certificate()}"
    return trained - begun, time.perf_counter() - trained, predicted, metrics


def train_theirs(name: str, train: list, tags: list, test: list) -> tuple[float, float, list, str]:
    import pycrfsuite

    algorithm, options = THEIRS[name]
    begun = time.perf_counter()
    trainer = pycrfsuite.Trainer(algorithm=algorithm, params=options, verbose=False)
    for items, labels in zip(attributes(train), tags, strict=True):
        trainer.append(pycrfsuite.ItemSequence(items), labels)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        made = time.perf_counter()
        trainer.train(path)
        trained = time.perf_counter()
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        predicted = [tagger.tag(pycrfsuite.ItemSequence(items)) for items in attributes(test)]
        tagger.close()
    metrics = f"{made - begun:.1f} s of it making features"
    return trained - begun, time.perf_counter() - trained, predicted, metrics


def attributes(sentences: list) -> list[list[list[str]]]:
    """The names of each token's features, by the tagger's own templates."""
    features = TokenFeatures(CHUNK_TEMPLATES)
    rows = features.fit_transform(sentences)
    names = features.feature_names_out()
    tokens = [
        [names[c] for c in rows.matrix.indices[a:b]]
        for a, b in zip(rows.matrix.indptr[:-1], rows.matrix.indptr[1:], strict=True)
    ]
    out, start = [], 0
    for length in rows.lengths:
        out.append(tokens[start : start + length])
        start += length
    return out


if __name__ == "__main__":
    run(sys.argv[1])
