"""`maxmargin train`: learn a model from files into a run folder."""

from __future__ import annotations

import os
import shlex
import shutil
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin.cli.commands import Command
from maxmargin.cli.console import current_console
from maxmargin.cli.errors import Interrupted, RunFailed, UsageError
from maxmargin.cli.options import (
    effective_config,
    given_config,
    join_configs,
    task_options,
    training_options,
)
from maxmargin.cli.progress import make_callbacks
from maxmargin.cli.runs import LockedError, RunFolder, train as run
from maxmargin.cli.runs.config import HELD_OUT, absolute_paths, check_config, read_config
from maxmargin.cli.settings import FILES, LIMITS
from maxmargin.cli.summary import describe_summary, summary_document
from maxmargin.cli.task_group import TaskGroup, TaskSubcommand
from maxmargin.cli.text import as_list_entry
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.tasks.registry import TASK_COMMANDS, find_task_command

if TYPE_CHECKING:
    from maxmargin.tasks.registry import TaskCommand


def _command_of(command: TaskCommand) -> Command:
    def callback(**values: Any) -> None:
        _train(command, values)

    return TaskSubcommand(
        command,
        files="Files of --data and --validation",
        callback=callback,
        help=f"{command.title}: {as_list_entry(command.summary)}.",
        params=[*training_options(command), *task_options(command)],
        examples=command.examples,
    )


def _train(command: TaskCommand, values: Mapping[str, Any]) -> None:
    if values["out"] is None:
        raise UsageError("--out RUN is missing: the folder to make for the run")
    folder, resume, force = RunFolder(values["out"]), values["resume"], values["force"]
    if resume and force:
        folder = _begun(folder)
    config = _config(command, values)
    if resume and folder.has("config.toml"):
        _change_limits(folder, config)
        _go(folder, resume=True)
        return
    existed = folder.path.exists()
    _check_free(folder, force)
    _check_files(config)
    folder.create(effective_config(command, config), force=force)
    try:
        _go(folder, resume=False)
    except Interrupted:
        raise
    except Exception as error:
        replacing = folder.path != folder.home
        _undo(folder, existed and not replacing)
        if replacing:
            rest = f" What was begun is in {folder.path}." if folder.path.exists() else ""
            error.add_note(f"The older run in {folder.home} is as it was.{rest}")
        raise


def _begun(folder: RunFolder) -> RunFolder:
    """The run that --force has begun and that was interrupted."""
    found = folder.replacement()
    if found is None:
        raise UsageError(
            "--resume goes on with a run and --force replaces it; give one of them (both go on"
            " with a replacement that was interrupted, and there is none)"
        )
    return found


def _config(command: TaskCommand, values: Mapping[str, Any]) -> dict[str, Any]:
    """What the command line says, and what it leaves to the file."""
    under = read_config(values["config"]) if values["config"] else {}
    return absolute_paths(
        check_config(join_configs(given_config(command, values), under)), Path.cwd()
    )


def _check_free(folder: RunFolder, force: bool) -> None:
    if folder.has("config.toml") and not force:
        raise UsageError(
            f"{str(folder.path)!r} has a run already; go on with it by --resume, replace it by"
            " --force, or name another folder"
        )


def _check_files(config: Mapping[str, Any]) -> None:
    """Fail before there is a run folder."""
    if not config.get("data"):
        raise UsageError(f"--data is missing: see maxmargin train {config['task']} --help")
    held_out = config.get("task-options", {}).get("calibrate", ())
    for path in [*config["data"], *config.get("validation", ()), *held_out]:
        if not Path(path).exists():
            raise UsageError(f"the file {path!r} does not exist")


def _change_limits(folder: RunFolder, config: Mapping[str, Any]) -> None:
    """A run goes on as it began, or its result would be of neither configuration; but further."""
    recorded = folder.open().config
    held_out = config.get("task-options", {}).get("calibrate")
    other = held_out is not None and held_out != recorded.get("task-options", {}).get("calibrate")
    free = (HELD_OUT,) if other and not folder.has("summary.json") else ()
    for key, value in config.items():
        pairs = {key: (value, recorded.get(key))}
        if isinstance(value, dict):
            known = recorded.get(key, {})
            pairs = {f"{key}.{name}": (own, known.get(name)) for name, own in value.items()}
        for name, (new, old) in pairs.items():
            if new != old and key not in (*LIMITS, *FILES) and name not in free:
                raise UsageError(
                    f"the run has {name} = {old!r}, not {new!r}; leave it out to resume,"
                    " or train into a new folder"
                )
    changes = {key: config[key] for key in (*LIMITS, *FILES) if config.get(key) is not None}
    _check_further(folder, recorded, changes.get("max-epochs"))
    if "checkpoints" in changes:
        changes["checkpoints"] = {**recorded.get("checkpoints", {}), **changes["checkpoints"]}
    if any(recorded.get(key) != value for key, value in changes.items()):
        folder.update(changes)
    if free:
        folder.hold_out(held_out)


def _check_further(folder: RunFolder, recorded: Mapping[str, Any], limit: int | None) -> None:
    """That a new limit is not behind what is done."""
    done = max((record.get("epoch", 0) for record in folder.history()), default=0)
    if limit is not None and limit < done and limit != recorded.get("max-epochs"):
        raise UsageError(
            f"the run has come to epoch {done} already, beyond --max-epochs {limit}; give a larger"
            " number, or train into a new folder"
        )


def _undo(folder: RunFolder, existed: bool) -> None:
    """Take away the folder of a run that has not begun, so that the next try finds its place."""
    with suppress(OSError, LockedError):  # somebody else may have gone on with it
        folder.discard()
        if not existed and os.listdir(folder.path) == [".lock"]:
            shutil.rmtree(folder.path)


def _go(folder: RunFolder, resume: bool) -> None:
    stopped = f"interrupted; go on with: maxmargin train --resume {shlex.quote(str(folder.home))}"
    if folder.path != folder.home:
        stopped = f"{stopped} --force (until that has ended, the older run stays in its place)"
    current_console().status(
        f"reading {' '.join(Path(file).name for file in folder.config['data'])}"
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the certificate says it
            summary = run(folder, resume=resume, callbacks=make_callbacks(current_console()))
    except KeyboardInterrupt:
        raise Interrupted(stopped) from None
    seconds = current_console().seconds()
    current_console().emit_json(summary_document(folder, summary, seconds))
    current_console().chat(describe_summary(folder, summary, seconds, resume))
    if summary["status"] == "failed":
        raise RunFailed(f"training failed: {summary['message']}")
    if summary["status"] == "interrupted":
        raise Interrupted(stopped)


def _recorded(path: Path, force: bool) -> dict[str, Any]:
    folder = RunFolder(path)
    begun = folder.replacement() if force else None
    return dict((begun or folder).open().config)


def _examples() -> list[str]:
    firsts = [find_task_command(name).examples[0] for name in TASK_COMMANDS]
    return [*firsts, "train --config run.toml --out run", "train --resume run"]


train = TaskGroup(
    "train",
    make=_command_of,
    read=read_config,
    recorded=_recorded,
    folder="RUN",
    examples=_examples,
    help="""Learn a model for TASK from files, into a run folder.

    The folder holds the configuration, the history, checkpoints, the model and what was measured.
    A run that was stopped goes on from its last checkpoint, and gives the same model bit by bit.
    """,
)
