"""Checks of the keys and values of a configuration."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


def check_names(given: Iterable[Any], known: Iterable[str], where: str) -> None:
    """That all names are known, else what may have been meant."""
    known = list(known)
    for name in given:
        if name in known:
            continue
        near = difflib.get_close_matches(str(name).replace("_", "-").lower(), known, 1)
        near = near or difflib.get_close_matches(str(name).replace("-", "_").lower(), known, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(known) or 'none'}."
        raise ValueError(f"{where}{str(name)[:80]!r} is not a key of a configuration; {hint}")


def shown_value(value: Any) -> str:
    """A value for messages, cut short."""
    if isinstance(value, int) and value.bit_length() > 256:
        return "a number too long to show"  # nor would Python convert it
    return repr(value)[:80]


def check_integer(key: str, value: Any) -> int:
    """An integer."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 2**63:
        raise ValueError(f"{key} must be an integer, found {shown_value(value)}.")
    return value


def check_number(key: str, value: Any) -> float:
    """A number, neither infinite nor nan."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{key} must be a number, found {shown_value(value)}.")
    if not -1e300 <= value <= 1e300:
        raise ValueError(f"{key} must be a finite number, found {shown_value(value)}.")
    return float(value)
