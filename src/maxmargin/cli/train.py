"""`maxmargin train`: learn a model from files into a run folder."""

from __future__ import annotations

import re
import shlex
import shutil
import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli.commands import Command, Group, Option, write_examples
from maxmargin.cli.console import console
from maxmargin.cli.errors import Interrupted, RunFailed, UsageError
from maxmargin.cli.options import (
    FILE,
    effective,
    given_config,
    joined,
    task_options,
    training_options,
)
from maxmargin.cli.text import phrase

if TYPE_CHECKING:
    from maxmargin.jobs import Job
    from maxmargin.runs import RunFolder

_SWITCH = re.compile(r"-[qv]+|--quiet|--verbose|--json")


class _Train(Group):
    """A command for each task of the registry."""

    noun = "task"

    def list_commands(self, ctx: click.Context) -> list[str]:
        from maxmargin.jobs import JOBS

        return list(JOBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from maxmargin.jobs import JOBS, job_named

        return _command_of(job_named(cmd_name)) if cmd_name in JOBS else None

    def summaries(self, ctx: click.Context) -> list[tuple[str, str]]:
        from maxmargin.jobs import job_named

        return [(name, phrase(job_named(name).summary)) for name in self.list_commands(ctx)]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Where the configuration names the task, put that where it belongs."""
        switches = list(takewhile(_SWITCH.fullmatch, args))
        rest = args[len(switches) :]
        first = rest[0].partition("=")[0] if rest else ""
        if first.startswith("-") and first not in ("-h", "--help", "--resume"):
            with suppress(Exception) if ctx.resilient_parsing else nullcontext():
                args = [*switches, _task_of(ctx, rest), *rest]
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from maxmargin.jobs import job_named

        formatter.write_paragraph()
        formatter.write_text("Each task has its own help: maxmargin train TASK --help.")
        examples = [job_named(name).examples[0] for name in self.list_commands(ctx)]
        write_examples(
            formatter, [*examples, "train --config run.toml --out run", "train --resume run"]
        )


def _task_of(ctx: click.Context, args: Sequence[str]) -> str:
    """The task that the configuration named on the command line is for."""
    from maxmargin.runs.config import read_config

    for i, arg in enumerate(args):
        name, sign, value = arg.partition("=")
        if name == "--config" and not sign and i + 1 == len(args):
            raise click.BadOptionUsage(arg, "Option '--config' requires an argument.", ctx)
        if name == "--config":
            file = value if sign else args[i + 1]
            task = read_config(Path(file)).get("task")
            if task is None:
                raise UsageError(
                    f'{file}: names no task; add `task = "..."`, or give it: train TASK'
                )
            return task
    tasks = ", ".join(_Train.list_commands(train, ctx))
    ctx.fail(f"name a task ({tasks}) before the options, or --config FILE, or --resume RUN")


class _TaskCommand(Command):
    """Training for one task; files : which ones --data takes."""

    def __init__(self, name: str, *, files: str, **settings: Any):
        super().__init__(name, **settings)
        self.files = files

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Files of --data and --validation"):
            formatter.write_text(self.files)
        super().format_epilog(ctx, formatter)


def _command_of(job: Job) -> Command:
    def callback(**values: Any) -> None:
        _train(job, values)

    return _TaskCommand(
        job.name,
        files=job.data_help,
        callback=callback,
        help=f"{job.title}: {phrase(job.summary)}.",
        params=[*training_options(), *task_options(job)],
        examples=job.examples,
        with_json=True,
    )


def _train(job: Job, values: Mapping[str, Any]) -> None:
    from maxmargin.runs import RunFolder

    if values["out"] is None:
        raise UsageError("--out RUN is missing: the folder to make for the run")
    folder, resume, force = RunFolder(values["out"]), values["resume"], values["force"]
    if resume and force:
        raise UsageError("--resume goes on with a run and --force replaces it; give one of them")
    config = _config(job, values)
    if resume and folder.has("config.toml"):
        _change_limits(folder, config)
        _go(folder, resume=True)
        return
    existed = folder.path.exists()
    _check_free(folder, force)
    _check_files(config)
    folder.create(effective(job, config), force=force)
    try:
        _go(folder, resume=False)
    except Interrupted:
        raise
    except Exception:
        if not (folder.has("history.jsonl") or folder.has("checkpoint.maxmargin")):
            _undo(folder.path, existed)
        raise


def _config(job: Job, values: Mapping[str, Any]) -> dict[str, Any]:
    """What the command line says, and what it leaves to the file."""
    from maxmargin.runs.config import absolute, check_config, read_config

    under = read_config(values["config"]) if values["config"] else {}
    return absolute(check_config(joined(given_config(job, values), under)), Path.cwd())


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
    for path in [*config["data"], *config.get("validation", ())]:
        if not Path(path).exists():
            raise UsageError(f"the file {path!r} does not exist")


def _change_limits(folder: RunFolder, config: Mapping[str, Any]) -> None:
    """A run goes on as it began, or its result would be of neither configuration; but further."""
    from maxmargin.runs.config import LIMITS

    recorded = folder.open().config
    for key, value in config.items():
        pairs = {key: (value, recorded.get(key))}
        if isinstance(value, dict):
            known = recorded.get(key, {})
            pairs = {f"{key}.{name}": (own, known.get(name)) for name, own in value.items()}
        for name, (new, old) in pairs.items():
            if new != old and key not in LIMITS:
                raise UsageError(
                    f"the run has {name} = {old!r}, not {new!r}; leave it out to resume,"
                    " or train into a new folder"
                )
    changes = {key: config[key] for key in LIMITS if config.get(key, None) is not None}
    if any(recorded.get(key) != value for key, value in changes.items()):
        folder.update(changes)


def _undo(path: Path, existed: bool) -> None:
    """Take away the folder of a run that has not begun, so that the next try finds its place."""
    with suppress(OSError):
        for name in ("config.toml", "environment.json", "data.json", ".lock"):
            (path / name).unlink(missing_ok=True)
        shutil.rmtree(path / "prepared", ignore_errors=True)
        if not existed:
            path.rmdir()


def _go(folder: RunFolder, resume: bool) -> None:
    from maxmargin.cli.progress import watchers
    from maxmargin.cli.summary import document, words
    from maxmargin.exceptions import ConvergenceWarning
    from maxmargin.runs import train as run

    stopped = f"interrupted; go on with: maxmargin train --resume {shlex.quote(str(folder.path))}"
    console().status(f"reading {' '.join(Path(file).name for file in folder.config['data'])}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the certificate says it
            summary = run(folder, resume=resume, callbacks=watchers(console()))
    except KeyboardInterrupt:
        raise Interrupted(stopped) from None
    console().facts(document(folder, summary))
    console().chat(words(folder, summary))
    if summary["status"] == "failed":
        raise RunFailed(f"training failed: {summary['message']}")
    if summary["message"].startswith("interrupted"):
        raise Interrupted(stopped)


def _start(resume: Path | None, config: Path | None) -> None:
    """Learn a model for TASK from files, into a run folder.

    The folder holds the configuration, the history, checkpoints, the model and what was measured.
    A run that was stopped goes on from its last checkpoint, to the same bits as one never stopped.
    """
    context = click.get_current_context()
    if context.invoked_subcommand is not None:
        if resume is not None:
            context.fail("--resume RUN goes without a task: the run knows it")
        return
    if resume is None:
        tasks = ", ".join(train.list_commands(context))
        context.fail(f"name a task ({tasks}), or --config FILE, or --resume RUN")
    from maxmargin.runs import RunFolder

    _go(RunFolder(resume).open(), resume=True)


train = _Train(
    "train",
    callback=_start,
    help=_start.__doc__,
    with_json=True,
    invoke_without_command=True,
    no_args_is_help=False,
    subcommand_metavar="TASK [OPTIONS]...",
    params=[
        Option("--resume", type=FILE, metavar="RUN", help="Go on with a run that was stopped."),
        Option("--config", type=FILE, metavar="FILE", help="Take the task, too, from a TOML file."),
    ],
)
