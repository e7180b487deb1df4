"""Write the report of a folder, whichever kind it is."""

from __future__ import annotations

import os
from pathlib import Path

from maxmargin.cli.report.comparison_page import comparison_report
from maxmargin.cli.report.run_page import run_report
from maxmargin.cli.runs.places import check_output, refuse_links
from maxmargin.persistence.files import write_whole


def write_report(
    folder: str | os.PathLike, out: str | os.PathLike | None = None, worst: int | None = None
) -> Path:
    """Write the report of a run folder or a comparison folder.

    folder : what `train` or `compare` made; which of them is told by its files.
    out : the file to write; None means `report.html` in the folder.
    worst : of each set of data at most this many samples are drawn, those with the most errors;
        None means all that the run keeps, but for the size of the page.

    Returns the path written. A folder that is neither is a ValueError.
    """
    folder = Path(folder)
    if worst is not None and worst < 0:
        raise ValueError(f"worst={worst} must be 0 or more.")
    if not folder.is_dir():
        raise FileNotFoundError(
            f"{folder}: no such folder; give the folder of a run or a comparison."
        )
    path = folder / "report.html" if out is None else Path(out)
    refuse_links(folder)
    check_output(path, report_of=folder)
    if any((folder / name).exists() for name in ("comparison.json", "comparison.toml", "runs")):
        content = comparison_report(folder)
    elif any((folder / name).exists() for name in ("summary.json", "history.jsonl")):
        content = run_report(folder, worst)
    else:
        raise ValueError(
            f"{folder}: neither a run (summary.json, history.jsonl) nor a comparison"
            " (comparison.json,"
            " runs/). Make a run with `maxmargin train`, a comparison with `maxmargin compare`."
        )
    raw = content.encode("utf-8")
    if path.exists() and not path.is_file() and not path.is_dir():  # a pipe or a device stays one
        path.write_bytes(raw)
    else:
        write_whole(path, lambda file: file.write(raw))
    return path
