"""Read the command line, call the command, turn its errors into one line and an exit code."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

import click
from click.shell_completion import get_completion_class, shell_complete

from maxmargin import __version__
from maxmargin.cli import errors
from maxmargin.cli.commands import Group, Option, write_examples
from maxmargin.cli.console import Console, at_work
from maxmargin.cli.text import visible_text

COMPLETE = "_MAXMARGIN_COMPLETE"
PLACES = {
    "train": ("maxmargin.cli.train:train", "learn a model from files into a run folder"),
    "predict": ("maxmargin.cli.declared:predict", "apply a model to files or to stdin"),
    "evaluate": ("maxmargin.cli.declared:evaluate", "compare a model with labelled files"),
    "compare": (
        "maxmargin.cli.comparison.command:compare",
        "time solvers beside each other as data grow",
    ),
    "shard": ("maxmargin.cli.declared:shard", "cut a large file into files that fit into memory"),
    "report": ("maxmargin.cli.declared:report", "one HTML file about a run or a comparison"),
    "demo": ("maxmargin.cli.declared:demo", "train and show a small model on synthetic words"),
    "info": (
        "maxmargin.cli.declared:info",
        "versions, threads, compile cache, tasks, data sets found",
    ),
}
EXAMPLES = (
    "demo",
    "train tagging --data train.txt --validation dev.txt --out run",
    "train segmentation --data photos --out masks-run",
    "predict run new.txt",
    "evaluate run test.txt",
    "report run",
)


class _Root(Group):
    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(formatter, [e for e in EXAMPLES if e.split()[0] in self.list_commands(ctx)])


def _print_completion(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value and not ctx.resilient_parsing:
        kind = get_completion_class(value)
        assert kind is not None
        print(kind(root, {}, "maxmargin", COMPLETE).source())
        ctx.exit()


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        print(f"maxmargin {__version__}")
        ctx.exit()


root = _Root(
    "maxmargin",
    PLACES,
    help="Learn to predict structured things (tags of a sentence, links between words, letters of"
    " a word, nodes of a tree, objects in images, points of laser scans), with a proof of how good"
    " the fit is.",
    params=[
        Option(
            "--version",
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="Show the version and exit.",
        ),
        Option(
            "--completion",
            type=click.Choice(["bash", "zsh", "fish"]),
            metavar="SHELL",
            is_eager=True,
            expose_value=False,
            callback=_print_completion,
            help="Print the script that completes commands in bash, zsh or fish, and exit:"
            ' eval "$(maxmargin --completion bash)".',
        ),
    ],
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run `maxmargin` with these arguments (None means the process's) and return its exit code."""
    if COMPLETE in os.environ:
        return shell_complete(root, {}, "maxmargin", COMPLETE, os.environ[COMPLETE])
    console = Console()
    with at_work(console):
        return _run(list(sys.argv[1:] if argv is None else argv), console)


def _run(arguments: list[str], console: Console) -> int:
    try:
        with root.make_context("maxmargin", arguments, obj=console) as context:
            root.invoke(context)
        if sys.stdout is not None:  # closed by the caller
            sys.stdout.flush()
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except BrokenPipeError:  # as in `maxmargin info | head -1`
        return _leave_pipe()
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            _drop_output()
        return _tell(error, console)
    except KeyboardInterrupt:
        print("maxmargin: interrupted", file=sys.stderr)
        return errors.INTERRUPTED
    return 0


def _tell(error: Exception, console: Console) -> int:
    if isinstance(error, errors.Interrupted):
        print(f"maxmargin: {visible_text(error)}", file=sys.stderr)
    else:
        console.error(errors.line_of(error))
    if console.verbose > (1 if errors.is_told(error) else 0):
        print(errors.trace_of(error), file=sys.stderr, end="")
    return errors.code_of(error)


def _leave_pipe() -> int:
    """Nobody reads on: say nothing."""
    _drop_output()
    return errors.BROKEN_PIPE


def _drop_output() -> None:
    """Let the interpreter's last flush, of what nobody can take, succeed."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
