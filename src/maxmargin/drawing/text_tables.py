"""Tables as text: columns that stay aligned whatever the script."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from maxmargin.drawing.numbers import format_fixed

_NO_WIDTH = {"Mn", "Me", "Cf"}


def text_width(text: str) -> int:
    """Columns that the text takes in a terminal; characters of East Asia and emoji take two."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.category(character) in _NO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def pad_text(text: str, columns: int, right: bool = False) -> str:
    """The text, filled up with blanks; `right` puts them before it."""
    blanks = " " * max(0, columns - text_width(text))
    return blanks + text if right else text + blanks


def align_cells(
    lines: Sequence[Sequence[str]], right: Sequence[bool] | None = None, indent: str = ""
) -> list[str]:
    """Lines of padded cells; right : which columns stand there, by default all but the first."""
    right = [i > 0 for i in range(len(lines[0]))] if right is None else right
    widths = [max(text_width(line[i]) for line in lines) for i in range(len(right))]
    return [indent + "  ".join(map(pad_text, line, widths, right)).rstrip() for line in lines]


def score_lines(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """A table of scores: a line of names, which say how wide columns are at least, and the rows."""
    return align_cells([columns, *([format_fixed(value) for value in row] for row in rows)])
