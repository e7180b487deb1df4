"""Predictions for many files, a file each, into a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from maxmargin.persistence.files import write_whole
from maxmargin.progress import open_watched
from maxmargin.tasks.command import TaskCommand


def predict_folder(
    command: TaskCommand,
    model: Any,
    paths: Sequence[Path],
    folder: Path,
    options: Mapping[str, Any],
) -> int:
    """Apply the model to one file after another; the folder is made if it is not there.

    Each file written appears whole. None that was read is replaced. Returns how many samples.
    """
    parts = command.parts(paths)
    _check(parts)
    check_apart(command, [path for path, _ in parts], [folder / name for _, name in parts])
    folder.mkdir(exist_ok=True)
    count = 0
    for path, name in parts:
        with open_watched(path, "predicting") as source:
            found: list[int] = []

            def write(sink: Any, source: Any = source, found: list[int] = found) -> None:
                found.append(command.predict(model, [source], sink, options))

            write_whole(folder / name, write)
        count += found[0]
    return count


def check_apart(command: TaskCommand, sources: Sequence[Path], targets: Sequence[Path]) -> None:
    """That no file is written over one that is read, nor over one with its truth."""
    read = {path.resolve() for path in sources}
    known = {path.resolve() for path in command.truths(sources)}
    for target in targets:
        if target.resolve() in read | known:
            what = "one of the files to read" if target.resolve() in read else "the truth of one"
            raise ValueError(
                f"{target} would be replaced, but is {what}; name another place with --out."
            )


def _check(parts: Sequence[tuple[Path, str]]) -> None:
    """That no file is written twice."""
    if not parts:
        raise ValueError("there are no files to predict.")
    known: dict[str, Path] = {}
    for path, name in parts:
        if name in known:
            raise ValueError(
                f"{known[name]} and {path} would both be written as {name}; give them one after the"
                " other, with two folders."
            )
        known[name] = path
