"""Options of `maxmargin compare`, and what they become in the configuration of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli.commands import Option
from maxmargin.cli.options import FILE, LOSS_HELP, LOSSES, SOLVERS
from maxmargin.cli.types import Duration, Known, Number, Whole, parsed

if TYPE_CHECKING:
    from maxmargin.tasks.registry import TaskCommand

#: parameter of the command -> key of the configuration
KEYS = {
    "data": "data",
    "test": "test",
    "test_size": "test-size",
    "sizes": "sizes",
    "seeds": "seeds",
    "seed": "seed",
    "alpha": "alpha",
    "loss": "loss",
    "tol": "tol",
    "max_epochs": "max-epochs",
    "time_limit": "time-limit",
    "kill_after": "kill-after",
    "certify_every": "certify-every",
    "threads": "threads",
}


class Names(click.ParamType):
    """Names, separated by commas."""

    name = "names"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        names = tuple(part.strip() for part in str(value).split(","))
        if not all(names):
            self.fail(f"{value!r} has an empty name; write a,b,c", param, ctx)
        return names


class Sizes(click.ParamType):
    """Integers, separated by commas."""

    name = "sizes"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[int]:
        if isinstance(value, list):
            return value
        try:
            return [int(part) for part in str(value).split(",")]
        except ValueError:
            self.fail(f"{value!r} is not a list of integers; write 500,1000", param, ctx)


class Setting(click.ParamType):
    """`solver.name=value`, the value as in TOML; a word without quotes is a string."""

    name = "setting"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str, Any]:
        if isinstance(value, tuple):
            return value
        place, sign, text = str(value).partition("=")
        label, dot, key = place.strip().rpartition(".")
        if not (sign and dot and label and key):
            self.fail(f"{value!r} is not SOLVER.NAME=VALUE, such as bcfw.alpha=0.1", param, ctx)
        return label, key, parsed(text.strip())


def compare_options(command: TaskCommand, sizes: str) -> list[click.Parameter]:
    """What `compare` takes for every task; sizes: an example."""
    return [
        *_data_options(),
        *_comparison_options(command, sizes),
        *_training_options(),
        *_folder_options(),
    ]


def _data_options() -> list[click.Parameter]:
    def option(name: str, text: str, **more: Any) -> Option:
        return Option(name, section="Data", help=text, **more)

    files = {"type": FILE, "many": True, "metavar": "FILE"}
    return [
        option("--data", "Files to take training samples from; see below.", **files),
        option("--test", "Files as for --data, for the test error.  [default: the rest]", **files),
        option(
            "--test-size",
            "Test on this many of the samples that no size trains on.  [default: all of them]",
            type=Whole(1),
            metavar="N",
        ),
    ]


def _comparison_options(command: TaskCommand, sizes: str) -> list[click.Parameter]:
    def option(name: str, kind: click.ParamType, metavar: str, text: str, **more: Any) -> Option:
        return Option(name, type=kind, metavar=metavar, section="Comparison", help=text, **more)

    return [
        option(
            "--solvers",
            Names(),
            "NAMES",
            f"Of {', '.join(SOLVERS)}, or labels of the configuration file."
            f"  [default: {','.join(command.compared)}]",
        ),
        option("--sizes", Sizes(), "SIZES", f"Training samples, such as {sizes}."),
        option("--seeds", Whole(1), "N", "Repeat with this many seeds.  [default: 1]"),
        option("--seed", Whole(0, 2**31), "S", "The first seed.  [default: 0]"),
        option(
            "--set",
            Setting(),
            "SOLVER.NAME=VALUE",
            "A setting of one solver alone: alpha, loss, tol, max-epochs, time-limit,"
            " certify-every, or an option of its constructor; may be repeated.",
            multiple=True,
        ),
    ]


def _training_options() -> list[click.Parameter]:
    def option(name: str, kind: click.ParamType, metavar: str, text: str) -> Option:
        return Option(name, type=kind, metavar=metavar, section="Training", help=text)

    return [
        option("--alpha", Number(), "X", "Strength of the penalty on the weights (lambda)."),
        option("--loss", Known(LOSSES), "NAME", f"What an error costs: {LOSS_HELP}."),
        option("--tol", Number(), "X", "Stop when the gap is at most X times the objective."),
        option("--max-epochs", Whole(1), "N", "Passes over the data at most."),
        option("--time-limit", Duration(), "TIME", "Stop training of a run after 30s, 5m, 2h ..."),
        option(
            "--kill-after",
            Duration(),
            "TIME",
            "Give a run up if its process is not done then.  [default: never; with --time-limit,"
            " ten minutes after twice that]",
        ),
        option("--certify-every", Whole(1), "N", "Epochs between the points of the curves."),
        option("--threads", Whole(1), "N", "Threads of each run.  [default: 1]"),
        option("--config", FILE, "FILE", "Take all that is not given here from a TOML file."),
    ]


def _folder_options() -> list[click.Parameter]:
    section = "Comparison folder"
    return [
        Option(
            "--out", type=FILE, metavar="COMPARISON", section=section, help="The folder to make."
        ),
        Option(
            "--resume",
            is_flag=True,
            section=section,
            help="Go on with the comparison in that folder, if there is one; it may get more sizes,"
            " seeds and solvers.",
        ),
    ]
