"""`maxmargin report`: one HTML file about a run or a study."""

from __future__ import annotations

from pathlib import Path

import click

from maxmargin.cli.commands import Option, command
from maxmargin.cli.console import console
from maxmargin.cli.errors import UsageError
from maxmargin.cli.options import FILE
from maxmargin.cli.text import shown


@command(
    "report",
    click.Argument(["folder"], type=FILE, metavar="RUN|STUDY"),
    Option("--out", type=FILE, metavar="FILE", help="Write there; by default RUN/report.html."),
    Option("--open", "show", is_flag=True, help="Show it in the web browser."),
    with_json=True,
    examples=("report run", "report study --out study.html --open"),
)
def report(folder: Path, out: Path | None, show: bool) -> None:
    """Write one HTML file about a run or a study: certificate, curves, tables, predictions.

    The file needs no network and nothing beside it.
    """
    from maxmargin.report import write_report

    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise UsageError(f"{str(folder)!r} {what}; name the folder of a run or of a study")
    path = write_report(folder, out)
    console().facts({"report": str(path), "bytes": path.stat().st_size})
    console().chat(f"Report: {shown(path)}")
    if show:
        import webbrowser

        if not webbrowser.open(path.resolve().as_uri()):
            console().warn(f"found no web browser; open {path} yourself")
