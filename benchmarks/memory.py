"""Peak memory of training, in bytes per token and per possible link, and how it grows.

Each case runs in a process of its own, one thread, three epochs; the peak is the system's (VmHWM)
and counts the program itself (its modules and compiled code, the first line), the data as Python
objects and all that training needs.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import data_folder, exponent, peak_memory
from maxmargin import MatchingSVM
from maxmargin.datasets import load_conll2000, load_hansards
from maxmargin.tasks import SequenceTagger, WordAligner, WordStatistics, intersected_links

EPOCHS = 3
#: case: data it needs, sizes (the growth exponent is of these), unit
CASES: dict[str, tuple[str | None, tuple[int, ...], str]] = {
    "chunks": ("conll2000", (2234, 8936, 142976), "token"),
    "morphology": ("ud_english_ewt", (1000, 4078), "token"),
    "alignment": ("hansards", (500, 1000, 5000), "possible link"),
    "matching": (None, (50, 200), "possible link"),
}


def main() -> None:
    start = _measure("nothing", 0)
    print(f"  the program itself: {start['peak']:.0f} MB")
    for name, (folder, sizes, unit) in CASES.items():
        if folder is not None and data_folder(folder) is None:
            continue
        found = [_measure(name, size) for size in sizes]
        for size, own in zip(sizes, found, strict=True):
            each = (own["peak"] - start["peak"]) * 2**20 / own["units"]
            print(
                f"  {name:12s} {size:7d} samples, {own['units']:9d} {unit}s: {own['peak']:7.0f} MB,"
                f" {each:6.0f} bytes per {unit}; {own['seconds']:.1f} s",
                flush=True,
            )
        units = [float(own["units"]) for own in found]
        grown = [own["peak"] - start["peak"] for own in found]
        print(f"  {name:12s} memory beyond the program ~ {unit}s^{exponent(units, grown):.2f}")


def _measure(name: str, size: int) -> dict[str, Any]:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.memory", name, str(size)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def tag_chunks(size: int) -> tuple[Any, int]:
    """CoNLL-2000 text, repeated if there is less; its chunks."""
    data = load_conll2000("train", data_folder("conll2000"))
    whole, rest = divmod(size, len(data.sentences))
    sentences = data.sentences * whole + data.sentences[:rest]
    tags = data.tags * whole + data.tags[:rest]
    tagger = SequenceTagger(max_epochs=EPOCHS, tol=0).fit(sentences, tags)
    return tagger.result_, sum(map(len, sentences))


def tag_morphology(size: int) -> tuple[Any, int]:
    """English web text, the FEATS column of its words as tags: 169 of them."""
    sentences, tags = _read_morphology(data_folder("ud_english_ewt"))
    sentences, tags = sentences[:size], tags[:size]
    tagger = SequenceTagger(max_epochs=EPOCHS, tol=0).fit(sentences, tags)
    return tagger.result_, sum(map(len, sentences))


def _read_morphology(folder: Path | None) -> tuple[list[list[str]], list[list[str]]]:
    sentences: list[list[str]] = []
    tags: list[list[str]] = []
    for subset in ("dev", "test"):
        with gzip.open(f"{folder}/en_ewt-ud-{subset}.conllu.gz", "rt", encoding="utf-8") as file:
            for block in file.read().split("\n\n"):
                rows = [line.split("\t") for line in block.splitlines() if line[:1] != "#"]
                words = [row for row in rows if row[0].isdecimal()]
                if words:
                    sentences.append([row[1] for row in words])
                    tags.append([row[5] for row in words])
    return sentences, tags


def align_words(size: int) -> tuple[Any, int]:
    """Sentence pairs of the Hansards, linked where two directed models agree."""
    os.environ.setdefault("MAXMARGIN_DATA", str((data_folder("hansards") or Path()).parent))
    pairs = [p for p in load_hansards("parallel", n_pairs=size + 50).pairs if all(p)][:size]
    statistics = WordStatistics().fit(pairs)
    links = intersected_links(statistics, pairs)
    aligner = WordAligner(max_epochs=EPOCHS, tol=0).fit(pairs, links, statistics)
    return aligner.result_, sum(len(a) * len(b) for a, b in pairs)


def match_days(size: int) -> tuple[Any, int]:
    """Days of 100 x 300 pairs with 10 dense features, the best links of some weights as truth."""
    rng = np.random.default_rng(0)
    shape = (100, 300)
    X = [rng.normal(size=(*shape, 10)) for _ in range(size)]
    y = [np.argwhere(np.eye(*shape)) for _ in X]
    model = MatchingSVM(max_epochs=EPOCHS, tol=0).fit(X, y)
    return model.result_, size * shape[0] * shape[1]


RUNS: dict[str, Callable[[int], tuple[Any, int]]] = {
    "chunks": tag_chunks,
    "morphology": tag_morphology,
    "alignment": align_words,
    "matching": match_days,
}


def run(name: str, size: int) -> None:
    """One case; a line of JSON."""
    warnings.simplefilter("ignore")
    numbers: dict[str, Any] = {"seconds": 0.0, "units": 1}
    if name in RUNS:
        result, numbers["units"] = RUNS[name](size)
        numbers["seconds"] = result.state.seconds
        numbers["primal"], numbers["dual"] = result.primal, result.dual
    print(json.dumps(numbers | {"peak": peak_memory()}))


if __name__ == "__main__":
    run(sys.argv[1], int(sys.argv[2]))
