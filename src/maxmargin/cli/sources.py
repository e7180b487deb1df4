"""What RUN names on the command line: a run folder or a model file, and the task it is of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from maxmargin.cli.commands import Command, Option, at_place
from maxmargin.cli.options import task_options
from maxmargin.cli.types import Whole

if TYPE_CHECKING:
    from maxmargin.cli.run_source import Source
    from maxmargin.tasks.registry import TaskCommand

_SOURCE = "maxmargin.cli.source"
#: imported when there is a run to open
SOURCE = "maxmargin.cli.run_source:Source"
THREADS = Option(
    "--threads",
    type=Whole(1),
    metavar="N",
    help="Threads; results do not depend on their number.  [default: as in training]",
)


class SourceCommand(Command):
    """A command whose first argument is RUN, and which has the options of that run's task."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = self._first_argument(args)
        if named is not None:
            try:
                source = at_place(SOURCE)(Path(named))
                source.command  # noqa: B018 - an error must come up now, before options are unknown
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


def current_source() -> Source:
    """The source of the command at work."""
    return click.get_current_context().meta[_SOURCE]
