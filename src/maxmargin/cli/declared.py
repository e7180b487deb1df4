"""Commands whose help is quick: their options are here, their work in modules imported later."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from maxmargin.cli.commands import Command, Option, import_later
from maxmargin.cli.options import FILE
from maxmargin.cli.sources import THREADS, SourceCommand
from maxmargin.cli.types import Whole

if TYPE_CHECKING:
    from maxmargin.tasks.registry import TaskCommand


#: words of the demo
FEWEST, MOST = 20, 20_000


class _Predict(SourceCommand):
    def files_help(self, command: TaskCommand) -> str:
        return command.predict_help


predict = _Predict(
    "predict",
    callback=import_later("maxmargin.cli.predict:predict"),
    help="""Apply the model of RUN, a run folder or a model file, to each INPUT.

    Without INPUT, or where it is -, stdin is read. Predictions go to stdout as they come, so that
    a pipe of any length takes little memory. Where a file is made of each file (images, scans),
    several INPUTs or folders need a folder --out.
    """,
    params=[
        click.Argument(["run"], type=FILE),
        click.Argument(["inputs"], type=FILE, nargs=-1, metavar="[INPUT]..."),
        Option(
            "--out",
            type=FILE,
            metavar="FILE",
            help="Write there; the file appears whole. A folder for images or scans, if several.",
        ),
        THREADS,
    ],
    examples=(
        "predict run new.txt",
        "predict run < new.txt > tagged.txt",
        "predict run new.txt --nbest 5 --threads 4",
        "predict masks-run photo.jpg --out mask.png",
        "predict scan-run a.txt b.ply --out labelled",
    ),
)

evaluate = SourceCommand(
    "evaluate",
    callback=import_later("maxmargin.cli.evaluate:evaluate"),
    help="""Compare what the model of RUN predicts with the labels in DATA.

    Prints metrics and tables, and saves them in the run folder, from where reports take them.
    """,
    with_json=True,
    params=[
        click.Argument(["run"], type=FILE),
        click.Argument(["data"], type=FILE, nargs=-1, required=True),
        Option("--name", metavar="NAME", help="Save as NAME; by default as the first file's name."),
        Option(
            "--worst",
            type=Whole(0),
            default=12,
            metavar="N",
            show_default=True,
            help="Keep the N samples with the most errors for reports.",
        ),
        Option("--no-save", is_flag=True, help="Leave the run folder as it is."),
        THREADS,
    ],
    examples=("evaluate run test.txt", "evaluate run test.txt --json --no-save"),
)

report = Command(
    "report",
    callback=import_later("maxmargin.cli.report.command:report"),
    help="""Write one HTML file about a run or a comparison: errors, certificate, curves,
    predictions.

    The file needs no network and nothing beside it. How many samples a run keeps is said by
    --worst of `train` and `evaluate`.
    """,
    params=[
        click.Argument(["folder"], type=FILE, metavar="RUN|COMPARISON"),
        Option("--out", type=FILE, metavar="FILE", help="Write there; by default RUN/report.html."),
        Option(
            "--worst",
            type=Whole(0),
            metavar="N",
            help="Show the N samples with the most errors of those that the run keeps.",
        ),
        Option("--open", "show", is_flag=True, help="Show it in the web browser."),
    ],
    with_json=True,
    examples=("report run", "report comparison --out comparison.html --open"),
)

shard = Command(
    "shard",
    callback=import_later("maxmargin.cli.shard:shard"),
    help="""Cut DATA, a large file of sentences in columns, into files that fit into memory.

    It is cut after blank lines. `SequenceTagger().fit(TextShards("shards"))` learns from such a
    folder, in memory that does not grow with the number of files.
    """,
    with_json=True,
    params=[
        click.Argument(["data"], type=FILE),
        Option(
            "--out", type=FILE, required=True, metavar="FOLDER", help="New folder of the files."
        ),
        Option(
            "--size",
            default="100MB",
            metavar="SIZE",
            show_default=True,
            help="Size of a file, such as 500KB, 100MB or 1GB.",
        ),
    ],
    examples=("shard train.conll --out shards --size 100MB",),
)

demo = Command(
    "demo",
    callback=import_later("maxmargin.cli.demo:demo"),
    help="""Train a small model on synthetic data; print what it reaches, save the run and a report.

    words: handwritten words as chains of letters, beside a classifier of single letters, with a
    figure. parsing: dependency trees of sentences.
    """,
    params=[
        click.Argument(["what"], type=click.Choice(["words", "parsing"]), default="words"),
        Option(
            "--out",
            type=click.Path(path_type=Path),
            default=Path("demo-output"),
            metavar="FOLDER",
            show_default=True,
            help="Where everything that is written goes.",
        ),
        Option(
            "--words",
            type=Whole(FEWEST, MOST),
            default=2000,
            metavar="N",
            show_default=True,
            help=f"Words to draw, {FEWEST} to {MOST}; a fifth is for testing.",
        ),
        Option(
            "--seed",
            type=Whole(0, 2**32 - 1),
            default=0,
            metavar="S",
            show_default=True,
            help="Seed of the data and of training.",
        ),
    ],
    examples=("demo", "demo --words 500 --seed 4 --out elsewhere", "demo parsing"),
)

info = Command(
    "info",
    callback=import_later("maxmargin.cli.info:info"),
    help="Show versions, threads, the compile cache, the tasks and solvers, and the data sets"
    " found.",
    params=[
        Option(
            "--compile",
            "compile_all",
            is_flag=True,
            help="Compile all functions that are not yet, so that no first fit waits for it.",
        )
    ],
    with_json=True,
    examples=("info", "info --json", "info --compile"),
)
