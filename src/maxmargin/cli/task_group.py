"""A command with a subcommand for each task of the registry, as `train` and `compare` are."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli.commands import Command, Group, Option, write_examples
from maxmargin.cli.errors import UsageError
from maxmargin.cli.options import FILE
from maxmargin.cli.text import as_list_entry
from maxmargin.tasks.registry import TASK_COMMANDS, find_task_command

if TYPE_CHECKING:
    from maxmargin.tasks.registry import TaskCommand

_SWITCH = re.compile(r"-[qv]+|--quiet|--verbose|--json")


class TaskSubcommand(Command):
    """What is done for one task; files : the heading and the text about the files it takes."""

    def __init__(self, command: TaskCommand, *, files: str, **settings: Any):
        super().__init__(command.name, with_json=True, **settings)
        self.files = files, command.data_help

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        heading, text = self.files
        with formatter.section(heading):
            formatter.write_text(text)
        super().format_epilog(ctx, formatter)


class TaskGroup(Group):
    """The group of such commands.

    make : the subcommand of a task command. read : the contents of a configuration file. recorded :
    what is in a folder made before, or in its replacement if that is asked for. folder : what such
    a folder is called, RUN or COMPARISON. examples : called when they are shown.
    """

    noun = "task"

    def __init__(
        self,
        name: str,
        *,
        make: Callable[[TaskCommand], Command],
        read: Callable[[Path], Mapping[str, Any]],
        recorded: Callable[[Path, bool], Mapping[str, Any]],
        folder: str,
        examples: Callable[[], Sequence[str]],
        help: str,
    ):
        super().__init__(
            name,
            callback=self._start,
            help=help,
            with_json=True,
            invoke_without_command=True,
            no_args_is_help=False,
            subcommand_metavar="TASK [OPTIONS]...",
            params=[
                Option(
                    "--resume",
                    type=FILE,
                    metavar=folder,
                    help=f"Go on with a {folder.lower()} that was stopped.",
                ),
                Option(
                    "--config",
                    type=FILE,
                    metavar="FILE",
                    help="Take the task, too, from a TOML file.",
                ),
            ],
        )
        self.make, self.read, self.recorded = make, read, recorded
        self.folder, self.examples = folder, examples

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(TASK_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return self.make(find_task_command(cmd_name)) if cmd_name in TASK_COMMANDS else None

    def summaries(self, ctx: click.Context) -> list[tuple[str, str]]:
        return [
            (name, as_list_entry(find_task_command(name).summary))
            for name in self.list_commands(ctx)
        ]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Where a configuration or a folder names the task, put that where it belongs."""
        switches = list(takewhile(_SWITCH.fullmatch, args))
        rest = args[len(switches) :]
        first = rest[0].partition("=")[0] if rest else ""
        if first.startswith("-") and first not in ("-h", "--help"):
            with suppress(Exception) if ctx.resilient_parsing else nullcontext():
                named = self._resumed if first == "--resume" else self._configured
                args = [*switches, *named(ctx, rest)]
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        formatter.write_text(f"Each task has its own help: maxmargin {self.name} TASK --help.")
        write_examples(formatter, self.examples())

    def _resumed(self, ctx: click.Context, args: Sequence[str]) -> list[str]:
        """`--resume FOLDER ...` as the command of the task that the folder is of."""
        _, sign, path = args[0].partition("=")
        if not sign and len(args) == 1:
            raise click.BadOptionUsage(args[0], "Option '--resume' requires an argument.", ctx)
        path = path if sign else args[1]
        task = self.recorded(Path(path), "--force" in args)["task"]
        return [task, *args[1 if sign else 2 :], "--resume", "--out", path]

    def _configured(self, ctx: click.Context, args: Sequence[str]) -> list[str]:
        """`--config FILE ...` as the command of the task that the file names."""
        for i, arg in enumerate(args):
            name, sign, value = arg.partition("=")
            if name == "--config" and not sign and i + 1 == len(args):
                raise click.BadOptionUsage(arg, "Option '--config' requires an argument.", ctx)
            if name == "--config":
                file = value if sign else args[i + 1]
                task = self.read(Path(file)).get("task")
                if not isinstance(task, str):
                    raise UsageError(
                        f'{file}: names no task; add `task = "..."`, or give it: {self.name} TASK'
                    )
                return [task, *args]
        ctx.fail(self._needed(ctx, " before the options"))

    def _needed(self, ctx: click.Context, where: str = "") -> str:
        tasks = ", ".join(self.list_commands(ctx))
        return f"name a task ({tasks}){where}, or --config FILE, or --resume {self.folder}"

    def _start(self, resume: Path | None, config: Path | None) -> None:
        context = click.get_current_context()
        if context.invoked_subcommand is None:
            context.fail(self._needed(context))
