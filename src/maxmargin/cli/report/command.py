"""`maxmargin report`: one HTML file about a run or a comparison."""

from __future__ import annotations

from pathlib import Path

import click

from maxmargin.cli.commands import Option, command
from maxmargin.cli.console import console
from maxmargin.cli.errors import UsageError
from maxmargin.cli.options import FILE
from maxmargin.cli.text import shown
from maxmargin.cli.types import Whole


@command(
    "report",
    click.Argument(["folder"], type=FILE, metavar="RUN|COMPARISON"),
    Option("--out", type=FILE, metavar="FILE", help="Write there; by default RUN/report.html."),
    Option(
        "--worst",
        type=Whole(0),
        metavar="N",
        help="Show the N samples with the most errors of those that the run keeps.",
    ),
    Option("--open", "show", is_flag=True, help="Show it in the web browser."),
    with_json=True,
    examples=("report run", "report comparison --out comparison.html --open"),
)
def report(folder: Path, out: Path | None, worst: int | None, show: bool) -> None:
    """Write one HTML file about a run or a comparison: errors, certificate, curves, predictions.

    The file needs no network and nothing beside it. How many samples a run keeps is said by
    --worst of `train` and `evaluate`.
    """
    from maxmargin.cli.report import write_report

    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise UsageError(f"{str(folder)!r} {what}; name the folder of a run or of a comparison")
    path = write_report(folder, out, worst)
    console().emit_json({"report": str(path), "bytes": path.stat().st_size})
    console().chat(f"Report: {shown(path)}")
    if show:
        import webbrowser

        if not webbrowser.open(path.resolve().as_uri()):
            console().warn(f"found no web browser; open {path} yourself")
