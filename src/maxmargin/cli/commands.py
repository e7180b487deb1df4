"""Click, with options of several values, options in sections, and commands loaded when needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby
from typing import Any

import click
from click.shell_completion import CompletionItem

from maxmargin.cli.console import Console, listen_to_log

_GIVEN = "maxmargin.cli.given"


def at_place(place: str) -> Any:
    """What "module:attribute" names, imported now."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


def import_later(place: str) -> Callable[..., Any]:
    """The function of a place, imported when it is called: a help does not wait for that."""

    def call(*args: Any, **values: Any) -> Any:
        return at_place(place)(*args, **values)

    return call


class Option(click.Option):
    """An option with the section of the help that it is in.

    many : takes one value or more, up to the next option: `--data a b c`; may be repeated too.
    """

    def __init__(self, *names: str, section: str = "", many: bool = False, **settings: Any):
        super().__init__(list(names), multiple=settings.pop("multiple", many), **settings)
        self.section, self.many = section, many

    def make_metavar(self, ctx: click.Context) -> str:
        """As click's, with dots where several values may follow."""
        return super().make_metavar(ctx) + ("..." if self.many else "")


def spread_lists(arguments: Sequence[str], names: Collection[str]) -> list[str]:
    """`--data a b` as `--data a --data b` for the options named, which is what click can read."""
    result: list[str] = []
    current, first = "", False
    for i, argument in enumerate(arguments):
        if argument == "--":
            return [*result, *arguments[i:]]
        if _is_option(argument):
            current, first = (argument if argument in names else ""), True
            result.append(argument)
            continue
        if current and not first:
            result.append(current)
        result.append(argument)
        first = False
    return result


def _is_option(argument: str) -> bool:
    """Not so `-`, which is stdin, and negative numbers."""
    return argument.startswith("-") and not re.fullmatch(r"-(\d+(\.\d*)?)?", argument)


class _Shared:
    """What commands and groups have in common."""

    params: list[click.Parameter]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Those of the command, then those that all have."""
        own = super().get_params(ctx)  # type: ignore[misc]
        ends = [param for param in own if "--help" in param.opts]
        common = [_JSON, *_VOLUME] if getattr(self, "with_json", False) else _VOLUME
        return [*(param for param in own if param not in ends), *common, *ends]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Options under the titles of their sections, in the order in which these come up."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        sections = {getattr(option, "section", "") for option in options}
        rest = "Other options" if len(sections) > 1 else "Options"
        listed = [
            (getattr(option, "section", "") or rest, record)
            for option in options
            if (record := option.get_help_record(ctx)) is not None
        ]
        order = list(dict.fromkeys(section for section, _ in listed))
        listed.sort(key=lambda pair: (pair[0] == rest, order.index(pair[0])))
        for section, pairs in groupby(listed, key=lambda pair: pair[0]):
            with formatter.section(section):
                formatter.write_dl([record for _, record in pairs])
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)


class Command(_Shared, click.Command):
    """A command whose options may take several values.

    examples : command lines without the leading "maxmargin". with_json : has --json.
    """

    def __init__(
        self,
        name: str | None,
        *,
        examples: Sequence[str] = (),
        with_json: bool = False,
        **settings: Any,
    ):
        super().__init__(name, **settings)
        self.examples, self.with_json = tuple(examples), with_json

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        many = [p for p in self.get_params(ctx) if isinstance(p, Option) and p.many]
        names = {name for param in many for name in param.opts}
        ctx.meta[_GIVEN] = list(args)
        return super().parse_args(ctx, spread_lists(args, names))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """As click's, and further values of an option that takes several."""
        last = [arg for arg in ctx.meta.get(_GIVEN, ()) if _is_option(arg)][-1:]
        for param in [] if incomplete.startswith("-") else self.get_params(ctx):
            if isinstance(param, Option) and param.many and set(last) & set(param.opts):
                return param.shell_complete(ctx, incomplete)
        return super().shell_complete(ctx, incomplete)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        write_examples(formatter, self.examples)


def write_examples(formatter: click.HelpFormatter, examples: Sequence[str]) -> None:
    """Command lines to copy; never wrapped."""
    if examples:
        with formatter.section("Examples"):
            for line in examples:
                formatter.write(f"{' ' * formatter.current_indent}maxmargin {line}\n")


class Group(_Shared, click.Group):
    """Commands by name; where they are is said by `places`, and they are imported when needed.

    A place is "module:attribute" with a help line beside it, so that a list of commands imports
    none of them; a place whose module does not exist is left out.
    """

    def __init__(
        self,
        name: str | None,
        places: dict[str, tuple[str, str]] | None = None,
        *,
        with_json: bool = False,
        **settings: Any,
    ):
        super().__init__(name, **settings)
        self.places, self.with_json = places or {}, with_json

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name, (place, _) in self.places.items() if _exists(place)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        return at_place(self.places[cmd_name][0])

    def summaries(self, ctx: click.Context) -> list[tuple[str, str]]:
        """The lines of the list of commands."""
        return [(name, self.places[name][1]) for name in self.list_commands(ctx)]

    #: what a command of the group is called in messages
    noun = "command"

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        names = self.list_commands(ctx)
        if args and args[0] not in names and not ctx.resilient_parsing:
            near = get_close_matches(args[0], names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(names)}"
            ctx.fail(f"there is no {self.noun} {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section(f"{self.noun.capitalize()}s"):
            formatter.write_dl(self.summaries(ctx))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """From the list, so that no command is imported while the user waits."""
        items = [
            CompletionItem(name, help=self.places[name][1] if name in self.places else None)
            for name in self.list_commands(ctx)
            if name.startswith(incomplete)
        ]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]


def _exists(place: str) -> bool:
    return find_spec(place.partition(":")[0]) is not None


def _set_quiet(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    console = ctx.ensure_object(Console)
    console.quiet |= value
    listen_to_log(console)


def _set_verbose(ctx: click.Context, param: click.Parameter, value: int) -> None:
    console = ctx.ensure_object(Console)
    console.verbose += value
    listen_to_log(console)


def _set_json(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    ctx.ensure_object(Console).json |= value


#: -q and -v, which every command has
_VOLUME = [
    Option(
        "-q",
        "--quiet",
        is_flag=True,
        expose_value=False,
        callback=_set_quiet,
        help="No progress, no summary; only what was asked for, and errors.",
    ),
    Option(
        "-v",
        "--verbose",
        count=True,
        expose_value=False,
        callback=_set_verbose,
        help="Say more on stderr; -vv also where an error comes from.",
    ),
]
_JSON = Option(
    "--json",
    is_flag=True,
    expose_value=False,
    callback=_set_json,
    help="Print one JSON document on stdout, for programs.",
)
