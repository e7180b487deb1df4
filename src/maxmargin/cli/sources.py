"""What RUN names on the command line: a run folder or a model file, and the task it is of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli.commands import Command, Option
from maxmargin.cli.errors import UsageError
from maxmargin.cli.options import given_task_options, task_options
from maxmargin.cli.types import Whole

if TYPE_CHECKING:
    from maxmargin.tasks.registry import TaskCommand

_SOURCE = "maxmargin.cli.source"
THREADS = Option(
    "--threads",
    type=Whole(1),
    metavar="N",
    help="Threads; results do not depend on their number.  [default: as in training]",
)


class Source:
    """A trained model with its task, from a run folder or a model file."""

    def __init__(self, path: Path):
        self.path = path
        if not path.exists():
            from maxmargin.cli.runs.places import finish

            finish(path)
        if not path.exists():
            raise UsageError(f"{str(path)!r} does not exist; name a run folder or a model file")
        self.is_folder = path.is_dir()

    @cached_property
    def config(self) -> dict[str, Any]:
        """The configuration that the run recorded; empty for a model file."""
        if not self.is_folder:
            return {}
        from maxmargin.cli.runs import RunFolder

        return dict(RunFolder(self.path).open().config)

    @cached_property
    def command(self) -> TaskCommand:
        """The command of the task, by the configuration or by the class of the model."""
        from maxmargin.tasks.registry import find_task_command

        return (
            find_task_command(self.config["task"])
            if self.is_folder
            else _command_of_folder(self.model, self.path)
        )

    @cached_property
    def model(self) -> Any:
        """The model itself."""
        if not self.is_folder:
            from maxmargin import load

            return load(self.path)
        from maxmargin.cli.runs import RunFolder

        return RunFolder(self.path).open().model()

    def use_threads(self, number: int | None) -> None:
        """Let the model work in this many threads, if that is said."""
        models: list[Any] = [self.model, getattr(self.model, "model_", None)] if number else []
        for own in models:
            if hasattr(own, "n_jobs"):
                own.n_jobs = number

    def options(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The task's options: the command line's, else the run's, else the defaults."""
        from maxmargin.cli.runs.evaluating import options_of_files

        return options_of_files(self.config, self.command, given_task_options(self.command, values))


def _command_of_folder(model: Any, path: Path) -> TaskCommand:
    """The one task whose estimator is of the model's class."""
    from maxmargin.tasks.registry import TASK_COMMANDS, find_task_command

    found = [command for command in map(find_task_command, TASK_COMMANDS) if command.knows(model)]
    if len(found) != 1:
        kind = type(model).__name__
        raise UsageError(
            f"{str(path)!r} is a {kind}, of which the task cannot be told; name a run folder,"
            " or use maxmargin.load in Python"
        )
    return found[0]


class SourceCommand(Command):
    """A command whose first argument is RUN, and which has the options of that run's task."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = self._first_argument(args)
        if named is not None:
            try:
                source = Source(Path(named))
                source.command  # noqa: B018 - a error must come up now, before options are unknown
                ctx.meta[_SOURCE] = source
            except Exception:
                if not ctx.resilient_parsing and not {"-h", "--help"} & set(args):
                    raise
        return super().parse_args(ctx, args)

    def _first_argument(self, args: Sequence[str]) -> str | None:
        takes = {
            name
            for param in self.params
            if isinstance(param, click.Option) and not param.is_flag and not param.count
            for name in param.opts
        }
        skip = False
        for i, arg in enumerate(args):
            if skip:
                skip = False
            elif arg == "--":
                return args[i + 1] if i + 1 < len(args) else None
            elif not arg.startswith("-"):
                return arg
            else:
                skip = arg in takes
        return None

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """With those of the task, once that is known."""
        source = ctx.meta.get(_SOURCE)
        if source is None:
            return super().get_params(ctx)
        if "maxmargin.cli.task_params" not in ctx.meta:
            ctx.meta["maxmargin.cli.task_params"] = task_options(source.command, of_data=True)
        own = super().get_params(ctx)
        return [
            *own[: len(self.params)],
            *ctx.meta["maxmargin.cli.task_params"],
            *own[len(self.params) :],
        ]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        source = ctx.meta.get(_SOURCE)
        with formatter.section("Files"):
            if source is None:
                formatter.write_text(
                    f"What files are read, and how, depends on the task: see"
                    f" `maxmargin {self.name} RUN --help`."
                )
            else:
                formatter.write_text(self.files_help(source.command))
        super().format_epilog(ctx, formatter)

    def files_help(self, command: TaskCommand) -> str:
        """What the command reads and writes for this task."""
        return command.data_help


def source() -> Source:
    """The source of the command at work."""
    return click.get_current_context().meta[_SOURCE]
