"""Kinds of values on the command line."""

from __future__ import annotations

import math
import tomllib
from difflib import get_close_matches
from typing import Any

import click

SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Whole(click.ParamType):
    """An integer between two others."""

    name = "integer"

    def __init__(self, low: int, high: int | None = None):
        self.low, self.high = low, high

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = int(value)
        except ValueError:
            number = self.low - 1
        if number < self.low or (self.high is not None and number > self.high):
            limits = f"from {self.low} to {self.high}" if self.high else f"of {self.low} or more"
            self.fail(f"{value!r} is not an integer {limits}", param, ctx)
        return number


class Number(click.ParamType):
    """A finite number, 0 or more, or greater than 0; or a word in its place."""

    name = "number"

    def __init__(self, above_zero: bool = False, word: str | None = None):
        self.above_zero, self.word = above_zero, word

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | str:
        if self.word is not None and value == self.word:
            return self.word
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not (0 <= number < math.inf) or (self.above_zero and number == 0):
            limits = "greater than 0" if self.above_zero else "of 0 or more"
            other = f", and not {self.word!r}" if self.word else ""
            self.fail(f"{value!r} is not a number {limits}{other}", param, ctx)
        return number


class Known(click.Choice):
    """One of some names; a misspelt one is told the nearest."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value not in self.choices:
            near = get_close_matches(str(value), self.choices, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(self.choices)}"
            self.fail(f"{value!r} is unknown; {hint}", param, ctx)
        return value


class Duration(click.ParamType):
    """A time: `30` (seconds), `90s`, `5m`, `2h`."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, float):
            return value
        text = str(value).strip().lower()
        unit = text[-1:] if text[-1:].isalpha() else ""
        try:
            seconds = float(text.removesuffix(unit)) * SECONDS[unit]
        except (ValueError, KeyError):
            seconds = math.nan
        if not 0 < seconds < math.inf:
            self.fail(f"{value!r} is not a time; write 30, 90s, 5m or 2h", param, ctx)
        return seconds


class Assignment(click.ParamType):
    """`name=value`, the value as in TOML; a word without quotes is a string."""

    name = "name=value"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Any]:
        if isinstance(value, tuple):
            return value
        name, sign, text = str(value).partition("=")
        if not sign or not name.strip():
            self.fail(f"{value!r} is not name=value, such as check_every=5", param, ctx)
        return name.strip().replace("-", "_"), parse_value(text.strip())


def parse_value(text: str) -> Any:
    """A value as in TOML; what is none is a string."""
    try:
        found = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
    return found["value"] if len(found) == 1 else text
