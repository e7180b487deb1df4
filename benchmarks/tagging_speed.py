"""Tagging a million tokens of CoNLL-2000 text, beside python-crfsuite's tagger in the same run.

Both taggers know the same features (the 19 templates for word and part of speech) and 22 tags,
and are trained for a few passes only, which does not change the work of tagging. Rates are of CPU
seconds of one thread, compiled code warm, the best of several passes over the text. The peak
memory is that of a process which does nothing but `predict` on a file of that many tokens.
"""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.chunking import attributes
from benchmarks.measure import CHUNK_TEMPLATES, data_folder, peak_memory
from maxmargin import load
from maxmargin.memory import reset_peak, resident_bytes
from maxmargin.tasks.registry import find_task_command

TOKENS = 1_000_000
PIECE = 2000  # sentences of which attributes are in memory at a time
REPEATS = 3


def main() -> None:
    folder = data_folder("conll2000")
    if folder is None:
        return
    with tempfile.TemporaryDirectory() as place:
        ours, theirs = Path(place, "ours"), Path(place, "theirs")
        command = find_task_command("tagging")
        data = command.read([folder / "train.txt.gz"], {})
        train(command, data, ours, theirs)
        sentences = data.inputs
        print(f"  {len(sentences)} sentences, {data.counts['tokens']} tokens, {REPEATS} passes")
        rates = ours_rates(command, load(ours), sentences, folder) | crfsuite_rates(
            theirs, sentences
        )
        n = data.counts["tokens"]
        for name, seconds in rates.items():
            print(f"  {name:58s} {n / seconds:9.0f} tokens/s", flush=True)
        compare(rates)
        stream(ours, Path(place), folder)


def train(command: Any, data: Any, ours: Path, theirs: Path) -> None:
    import pycrfsuite

    warnings.simplefilter("ignore")
    model = command.estimator({}).set_params(max_epochs=3, templates=CHUNK_TEMPLATES)
    command.fit(model, data)
    model.save(ours)
    trainer = pycrfsuite.Trainer("lbfgs", {"max_iterations": 5}, verbose=False)
    for items, labels in zip(attributes(data.inputs), data.outputs, strict=True):
        trainer.append(pycrfsuite.ItemSequence(items), labels)
    trainer.train(str(theirs))


def best(work: Callable[[], Any]) -> float:
    """The least CPU seconds of several runs."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def ours_rates(command: Any, model: Any, sentences: list, folder: Path) -> dict[str, float]:
    text = gzip.decompress((folder / "train.txt.gz").read_bytes())
    rows = model.features_.transform(sentences)
    return {
        "ours, text to text (command.predict)": best(
            lambda: command.predict(model, [io.BytesIO(text)], io.BytesIO(), {})
        ),
        "ours, sentences to tags, features included": best(lambda: model.predict(sentences)),
        "ours, features made before": best(lambda: model.model_.predict(rows)),
    }


def crfsuite_rates(path: Path, sentences: list) -> dict[str, float]:
    """In pieces, for a million lists of names would fill the memory."""
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    names = ("templates in numpy", "as ItemSequence", "tagging")
    spent = dict.fromkeys((*names, "plain Python"), 0.0)
    for start in range(0, len(sentences), PIECE):
        piece = sentences[start : start + PIECE]
        spent["templates in numpy"] += best(lambda piece=piece: attributes(piece))
        spent["plain Python"] += best(lambda piece=piece: [named(one) for one in piece])
        lists = attributes(piece)
        spent["as ItemSequence"] += best(
            lambda lists=lists: [pycrfsuite.ItemSequence(x) for x in lists]
        )
        items = [pycrfsuite.ItemSequence(x) for x in lists]
        spent["tagging"] += best(lambda items=items: [tagger.tag(x) for x in items])
    tagger.close()
    tagging, lists = spent["tagging"], spent["as ItemSequence"]
    return {
        "crfsuite, features by our templates, then as its items": sum(spent[k] for k in names),
        "crfsuite, features in plain Python, then as its items": spent["plain Python"]
        + lists
        + tagging,
        "crfsuite, lists of names made before": lists + tagging,
        "crfsuite, its items made before": tagging,
    }


def named(sentence: list) -> list[list[str]]:
    """The 19 features of each token, as users of crfsuite write it."""
    words = [("BOS", "BOS")] * 2 + list(sentence) + [("EOS", "EOS")] * 2
    rows = []
    for t in range(2, len(words) - 2):
        w = [words[t + k][0] for k in range(-2, 3)]
        p = [words[t + k][1] for k in range(-2, 3)]
        rows.append(
            [f"w[{k - 2}]={w[k]}" for k in range(5)]
            + [f"w[{k - 2}]|w[{k - 1}]={w[k]}|{w[k + 1]}" for k in (1, 2)]
            + [f"p[{k - 2}]={p[k]}" for k in range(5)]
            + [f"p[{k - 2}]|p[{k - 1}]={p[k]}|{p[k + 1]}" for k in range(4)]
            + [f"p[{k - 2}]|..|p[{k}]={p[k]}|{p[k + 1]}|{p[k + 2]}" for k in range(3)]
        )
    return rows


def compare(seconds: dict[str, float]) -> None:
    pairs = (
        ("ours, sentences to tags, features included", "crfsuite, features in plain Python"),
        ("ours, sentences to tags, features included", "crfsuite, features by our templates"),
        ("ours, features made before", "crfsuite, lists of names made before"),
        ("ours, features made before", "crfsuite, its items made before"),
    )
    for ours, start in pairs:
        theirs = next(name for name in seconds if name.startswith(start))
        print(f"  {ours}: {seconds[theirs] / seconds[ours]:.2f} x the speed of {theirs}")


def stream(model: Path, place: Path, folder: Path) -> None:
    """Peak memory of a process that tags a short and a long file."""
    text = gzip.decompress((folder / "train.txt.gz").read_bytes())
    blocks = [block for block in text.split(b"\n\n") if block.strip()]
    for tokens in (10_000, TOKENS):
        path, written, at = place / f"{tokens}.txt", 0, 0
        with path.open("wb") as file:
            while written < tokens:
                block = blocks[at % len(blocks)]
                file.write(block.strip(b"\n") + b"\n\n")
                written, at = written + block.strip(b"\n").count(b"\n") + 1, at + 1
        command = [sys.executable, "-m", "benchmarks.tagging_speed", str(model), str(path)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        metrics = json.loads(done.stdout)
        print(
            f"  predict on a file of {written} tokens: {metrics['seconds']:.1f} s by the clock,"
            f" {written / metrics['cpu']:.0f} tokens/s of CPU, peak memory {metrics['peak']:.0f} MB"
            f" ({metrics['before']:.0f} MB of it the loaded model and the library)",
            flush=True,
        )


def tag_file(model_path: str, path: str) -> None:
    """Tag one file into nothing; print what it took."""
    command, model = find_task_command("tagging"), load(model_path)
    warm = io.BytesIO(b"a DT O\n\n")
    command.predict(model, [warm], io.BytesIO(), {})
    reset_peak()
    before = resident_bytes() / 2**20
    start, cpu = time.perf_counter(), time.process_time()
    with open(path, "rb") as source, tempfile.TemporaryFile() as sink:
        command.predict(model, [source], sink, {})
    metrics = {
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - cpu,
        "peak": peak_memory(),
        "before": before,
    }
    print(json.dumps(metrics))


if __name__ == "__main__":
    tag_file(*sys.argv[1:])
