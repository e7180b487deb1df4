"""Options of `maxmargin compare`, and what they become in the configuration of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli.commands import Option
from maxmargin.cli.options import FILE, config_option, setting_options
from maxmargin.cli.settings import OF_COMPARISONS, OWN, solver_names
from maxmargin.cli.types import parse_value

if TYPE_CHECKING:
    from maxmargin.tasks.registry import TaskCommand


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


class OwnSetting(click.ParamType):
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
        return label, key, parse_value(text.strip())


def compare_options(command: TaskCommand, sizes: str) -> list[click.Parameter]:
    """What `compare` takes for every task; sizes: an example."""
    return [
        *setting_options(OF_COMPARISONS, "Data"),
        *_comparison_options(command, sizes),
        *setting_options(OF_COMPARISONS, "Training"),
        config_option(),
        *_folder_options(),
    ]


def _comparison_options(command: TaskCommand, sizes: str) -> list[click.Parameter]:
    def option(name: str, kind: click.ParamType, metavar: str, text: str, **more: Any) -> Option:
        return Option(name, type=kind, metavar=metavar, section="Comparison", help=text, **more)

    return [
        option(
            "--solvers",
            Names(),
            "NAMES",
            f"Of {', '.join(solver_names())}, or labels of the configuration file."
            f"  [default: {','.join(command.compared)}]",
        ),
        option("--sizes", Sizes(), "SIZES", f"Training samples, such as {sizes}."),
        *setting_options(OF_COMPARISONS, "Comparison"),
        option(
            "--set",
            OwnSetting(),
            "SOLVER.NAME=VALUE",
            f"A setting of one solver alone: {', '.join(OWN[1:])}, or an option of its constructor;"
            " may be repeated.",
            multiple=True,
        ),
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
