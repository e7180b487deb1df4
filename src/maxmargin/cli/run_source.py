"""What RUN names on the command line: a run folder or a model file, and the task it is of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from maxmargin.cli.errors import UsageError
from maxmargin.cli.options import given_task_options
from maxmargin.cli.runs.evaluating import options_of_files
from maxmargin.cli.runs.folder import RunFolder
from maxmargin.cli.runs.places import DATA, finish_replacement
from maxmargin.persistence import load
from maxmargin.tasks.registry import TASK_COMMANDS, TaskCommand, find_task_command


class Source:
    """A trained model with its task, from a run folder or a model file."""

    def __init__(self, path: Path):
        self.path = path
        if not path.exists():
            finish_replacement(path)
        if not path.exists():
            raise UsageError(f"{str(path)!r} does not exist; name a run folder or a model file")
        self.is_folder = path.is_dir()

    @cached_property
    def config(self) -> dict[str, Any]:
        """The configuration that the run recorded; empty for a model file."""
        if not self.is_folder:
            return {}
        return dict(RunFolder(self.path).open().config)

    @cached_property
    def files(self) -> list[Path]:
        """Files and folders that the run was trained on; none are known of a model file."""
        if not (self.is_folder and RunFolder(self.path).has(DATA)):
            return []
        found = RunFolder(self.path).read_json(DATA).get("files")
        named = [own.get("path") for own in found or () if isinstance(own, dict)]
        return [Path(path).resolve() for path in named if isinstance(path, str)]

    @cached_property
    def command(self) -> TaskCommand:
        """The task's task command, by the configuration or by the class of the model."""
        return (
            find_task_command(self.config["task"])
            if self.is_folder
            else _command_of_folder(self.model, self.path)
        )

    @cached_property
    def model(self) -> Any:
        """The model itself."""
        if not self.is_folder:
            return load(self.path)
        return RunFolder(self.path).open().model()

    def use_threads(self, number: int | None) -> None:
        """Let the model work in this many threads, if that is said."""
        models: list[Any] = [self.model, getattr(self.model, "model_", None)] if number else []
        for own in models:
            if hasattr(own, "n_jobs"):
                own.n_jobs = number

    def options(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The task's options: the command line's, else the run's, else the defaults."""
        return options_of_files(self.config, self.command, given_task_options(self.command, values))


def _command_of_folder(model: Any, path: Path) -> TaskCommand:
    """The one task whose estimator is of the model's class."""
    found = [command for command in map(find_task_command, TASK_COMMANDS) if command.knows(model)]
    if len(found) != 1:
        kind = type(model).__name__
        raise UsageError(
            f"{str(path)!r} is a {kind}, of which the task cannot be told; name a run folder,"
            " or use maxmargin.load in Python"
        )
    return found[0]
