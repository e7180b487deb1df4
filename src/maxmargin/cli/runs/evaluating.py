"""Models of runs beside labelled files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin.cli.runs.config import task_options
from maxmargin.cli.runs.folder import RunFolder

if TYPE_CHECKING:
    from maxmargin.tasks.documents import Evaluation
    from maxmargin.tasks.registry import Data, TaskCommand

__all__ = [
    "OF_THE_RUN",
    "WORST",
    "evaluate",
    "evaluation_name",
    "evaluate_on",
    "options_of_files",
    "annotate_errors",
]

#: names of the evaluations that training makes
OF_THE_RUN = ("train", "validation")
#: samples with the most errors that an evaluation keeps to be drawn
WORST = 12


def evaluate(
    folder: RunFolder | str | os.PathLike,
    paths: Sequence[str | os.PathLike],
    options: Mapping[str, Any] | None = None,
    save: bool = True,
    worst: int = WORST,
) -> Evaluation:
    """Compare the run's model with labelled files; kept in the folder under the first one's name.

    options : of the task, where they differ from those of the run.
    worst : how many samples to keep drawings of, those with the most errors.
    """
    folder = folder if isinstance(folder, RunFolder) else RunFolder(folder)
    command, files = folder.open().command(), [Path(path) for path in paths]
    data = command.read(files, options_of_files(folder.config, command, options or {}))
    evaluation = evaluate_on(command, folder.model(), data, files, worst)
    if save:
        folder.write_json(f"evaluations/{evaluation_name(files[0])}.json", evaluation)
    return evaluation


def evaluation_name(file: Path) -> str:
    """The file's name without its endings; those that a run gives its own evaluations are taken."""
    stem = Path(file.name.removesuffix(".gz")).stem
    name = re.sub(r"[^\w.+-]+", "-", stem).strip("-.") or "data"
    return f"{name}-file" if name in OF_THE_RUN else name


def options_of_files(
    config: Mapping[str, Any], command: TaskCommand, given: Mapping[str, Any]
) -> dict[str, Any]:
    """Options with which to read other files than those of training: given, kept, or defaults."""
    kept = {option.name for option in command.options if option.kept}
    recorded = {k: v for k, v in config.get("task-options", {}).items() if k in kept}
    return task_options({"task-options": recorded | dict(given)}, command)


@contextmanager
def annotate_errors(files: Sequence[Path]) -> Iterator[None]:
    """Within, a ValueError that names none of the files gets a note that does."""
    try:
        yield
    except ValueError as error:
        names = [path.name for path in files]
        if names and not any(name in str(error) for name in names):
            error.add_note(f"(in {' '.join(names)})")
        raise


def evaluate_on(
    command: TaskCommand, model: Any, data: Data, files: Sequence[Path], worst: int = WORST
) -> Evaluation:
    """What the command finds, with the names of the files."""
    with annotate_errors(files):
        evaluation = command.evaluate(model, data, worst)
    names = {"files": " ".join(path.name for path in files)}  # first, and not how many there are
    evaluation["data"] = names | evaluation["data"] | names
    return evaluation
