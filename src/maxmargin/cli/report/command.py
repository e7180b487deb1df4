"""`maxmargin report`: one HTML file about a run or a comparison."""

from __future__ import annotations

import webbrowser
from pathlib import Path

from maxmargin.cli.console import current_console
from maxmargin.cli.errors import UsageError
from maxmargin.cli.report.write import write_report
from maxmargin.cli.text import visible_text


def report(folder: Path, out: Path | None, worst: int | None, show: bool) -> None:
    """Write one HTML file about a run or a comparison: errors, certificate, curves, predictions.

    The file needs no network and nothing beside it. How many samples a run keeps is said by
    --worst of `train` and `evaluate`.
    """
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise UsageError(f"{str(folder)!r} {what}; name the folder of a run or of a comparison")
    path = write_report(folder, out, worst)
    current_console().emit_json({"report": str(path), "bytes": path.stat().st_size})
    current_console().chat(f"Report: {visible_text(path)}")
    if show and not webbrowser.open(path.resolve().as_uri()):
        current_console().warn(f"found no web browser; open {path} yourself")
