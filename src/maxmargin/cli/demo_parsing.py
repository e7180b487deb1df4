"""`maxmargin demo parsing`: learn the trees of synthetic sentences."""

from __future__ import annotations

from pathlib import Path

from maxmargin.cli import text
from maxmargin.cli.console import current_console
from maxmargin.cli.progress import make_callbacks
from maxmargin.cli.report.write import write_report
from maxmargin.cli.runs import RunFolder, evaluate, train
from maxmargin.datasets import make_treebank
from maxmargin.formats.conllu import make_conllu, write_conllu
from maxmargin.persistence.files import write_whole

RUN, REPORT = "run", "report.html"
TREEBANK, TEST = "train.conllu", "test.conllu"
#: about how many words a sentence has
LENGTH = 8


def demo_parsing(out: Path, words: int, seed: int) -> None:
    """Learn dependency trees; print the scores, save the run and a report with drawn trees."""
    say = current_console().say
    n = words // LENGTH
    say(f"Learning to parse: trees of synthetic sentences ({n} of them, seed {seed}).\n")
    sentences, trees = make_treebank(n, random_state=seed)
    for name, part in ((TEST, slice(0, n // 5)), (TREEBANK, slice(n // 5, n))):
        _write_treebank(out / name, sentences[part], trees[part])
    config = {"task": "parsing", "data": [str(out / TREEBANK)], "seed": seed}
    folder = RunFolder(out / RUN).create(config, force=True)
    summary = train(folder, callbacks=make_callbacks(current_console(), "training the parser"))
    if summary["status"] == "interrupted":
        raise KeyboardInterrupt
    say(f"Trained on {n - n // 5} sentences in {summary['seconds']:.1f} s.")
    say(f"Certificate: the parser is {summary['certificate']}.\n")
    found = evaluate(folder, [out / TEST])
    rows = [[own["name"], f"{own['value']:.1%}"] for own in found["metrics"]]
    title = f"Words with the right head (uas) and relation (las), on {n // 5} test sentences"
    say(f"{title}:\n{text.format_table(['score', ''], rows)}\n")
    say(f"Run:    {text.visible_text(out / RUN)}")
    say(f"Report: {text.visible_text(write_report(folder.path, out / REPORT))}")


def _write_treebank(file: Path, sentences: list, trees: list) -> None:
    pairs = zip(sentences, trees, strict=True)
    lines = "".join(write_conllu(make_conllu(*pair) for pair in pairs))
    write_whole(file, lambda sink: sink.write(lines.encode("utf-8")))
