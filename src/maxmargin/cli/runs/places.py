"""Where a run is while it is made, how it takes an older one's place, and what is nobody else's."""

from __future__ import annotations

import logging
import os
import shutil
from contextlib import suppress
from pathlib import Path

from maxmargin.cli.runs.errors import RunError

log = logging.getLogger("maxmargin")

CONFIG, DATA, SUMMARY = "config.toml", "data.json", "summary.json"
HISTORY, CHECKPOINT, MODEL = "history.jsonl", "checkpoint.maxmargin", "model.maxmargin"
ENVIRONMENT, REPORT, LOCK = "environment.json", "report.html", ".lock"
#: what a run makes, in the order in which it is made
FILES = (CONFIG, ENVIRONMENT, DATA, HISTORY, CHECKPOINT, MODEL, SUMMARY, REPORT)
FOLDERS = ("evaluations", "prepared")
_OF_COMPARISONS = ("comparison.toml", "comparison.json", "runs", "common")


def replacement_of(home: Path) -> Path:
    """Where a run is made that is to take the place of the one in `home`."""
    return _beside(home, ".replacement")


def _beside(home: Path, ending: str) -> Path:
    real = home.resolve()
    if Path.cwd().is_relative_to(real):
        raise RunError(
            f"{str(real)!r} is the current folder or around it, so its run cannot be replaced from"
            " here. Change to another folder first."
        )
    found = real.with_name(f".{real.name}{ending}")  # hidden: no folder that people make
    _refuse_link(found)
    return found


def take_place(home: Path) -> None:
    """Put the replacement of a run where that is; whoever calls holds the locks of both.

    At every moment the one or the other is whole: `finish_replacement` ends what a crash has cut
    short.
    """
    aside, new = _beside(home, ".replaced"), replacement_of(home)
    _drop(aside, home)  # all but removed when a process was killed
    with suppress(FileNotFoundError):
        os.rename(home.resolve(), aside)
    try:
        os.rename(new, home.resolve())
    except OSError:
        with suppress(FileNotFoundError):
            os.rename(aside, home.resolve())
        raise
    _drop(aside, home)


def finish_replacement(home: Path) -> None:
    """Replace a run that a process had just moved aside when it was killed."""
    if home.exists():
        return
    aside, new = _beside(home, ".replaced"), replacement_of(home)
    if aside.is_dir() and new.is_dir():
        os.rename(new, home.resolve())
        _drop(aside, home)


def _drop(aside: Path, home: Path) -> None:
    """Remove an older run; people's own files in its folder come along to the new one."""
    if not aside.exists():
        return
    remove_run(aside)
    (aside / LOCK).unlink(missing_ok=True)
    for path in [own for own in aside.rglob("*") if not own.is_dir()]:
        target = home / path.relative_to(aside)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.rename(path, target)
    for folder in sorted((own for own in aside.rglob("*") if own.is_dir()), reverse=True):
        with suppress(OSError):
            folder.rmdir()
    try:
        aside.rmdir()
    except OSError:
        log.warning("%r has files that are not of the run; they are kept there", str(aside))


def remove_run(path: Path) -> None:
    """Remove what a run has made; the configuration last: until then, it is known as a run's."""
    refuse_links(path)
    shutil.rmtree(path / "prepared", ignore_errors=True)
    for own in (path / "evaluations").glob("*.json"):
        own.unlink()
    with suppress(OSError):  # there is none, or it has somebody's files
        (path / "evaluations").rmdir()
    for name in reversed(FILES):
        (path / name).unlink(missing_ok=True)


def refuse_links(folder: Path) -> None:
    """That the folder of a run or a comparison has no links, which could lead out of it."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            _refuse_link(Path(place, name))


def _refuse_link(path: Path) -> None:
    if path.is_symlink():
        raise RunError(
            f"{str(path)!r} is a link, to {os.readlink(path)!r}, and could lead reading and"
            " writing out of the folder. Put the file itself there, or remove the link."
        )


def check_output(path: Path, report_of: Path | None = None) -> None:
    """That a file to be written is none that a run or a comparison has made, nor a link beside
    those.

    report_of : a folder whose own report it may be.
    """
    named, real = Path(os.path.abspath(path)), Path(os.path.realpath(path))
    if report_of is not None and real == report_of.resolve() / REPORT and not path.is_symlink():
        return
    for own in (named, real):
        for folder in own.parents:
            first = own.relative_to(folder).parts[0]
            taken = first in (LOCK, *FILES, *FOLDERS, *_OF_COMPARISONS) or path.is_symlink()
            if taken and _is_ours(folder):
                raise RunError(
                    f"{str(path)!r} is among the files of the run or comparison in"
                    f" {str(folder)!r}, so"
                    " it is not written over. Name another file."
                )


def _is_ours(folder: Path) -> bool:
    kinds = (CONFIG, "comparison.toml")
    return (folder / ENVIRONMENT).is_file() and any((folder / own).is_file() for own in kinds)
