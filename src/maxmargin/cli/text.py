"""Text for terminals: strings from data made harmless, columns that stay aligned."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

# What turns the direction of the text around it, or hides: a reader would see another text.
_UNSEEN = {
    *range(0x200E, 0x2010),
    *range(0x202A, 0x202F),
    *range(0x2060, 0x2070),
    *range(0xFFF9, 0xFFFC),
    *range(0xE0000, 0xE0080),
    0x061C,
    0x200B,
    0xFEFF,
}
_UNSEEN_KINDS = {"Cc", "Cs", "Zl", "Zp"}
_NO_WIDTH = {"Mn", "Me", "Cf"}


def shown(text: Any) -> str:
    """The text with control characters, escape sequences and changes of direction made visible.

    They come out as in Python's source (`\\x1b`), so that no string of the data can move the
    cursor, colour the terminal, retitle it, or show in another order than it is in.
    """
    return "".join(_visible(c) if _is_unseen(c) else c for c in str(text))


def _is_unseen(character: str) -> bool:
    if " " <= character <= "~":
        return False
    return ord(character) in _UNSEEN or unicodedata.category(character) in _UNSEEN_KINDS


def _visible(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def width(text: str) -> int:
    """Columns that the text takes in a terminal; characters of East Asia and emoji take two."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.category(character) in _NO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut(text: str, most: int) -> str:
    """The text, shortened to this many columns by an ellipsis."""
    if width(text) <= most:
        return text
    kept, used = "", 0
    for character in text:
        used += _columns(character)
        if used > most - 3:
            break
        kept += character
    return kept + "..."


def pad(text: str, columns: int, right: bool = False) -> str:
    """The text, filled up with blanks; `right` puts them before it."""
    blanks = " " * max(0, columns - width(text))
    return blanks + text if right else text + blanks


def cell(value: Any) -> str:
    """A value of a document in a table."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else cut(shown(value), 40)


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], indent: str = "  ") -> str:
    """Aligned columns under their names, numbers to the right."""
    head = [shown(name) for name in columns]
    body = [[cell(value) for value in row] for row in rows]
    numeric = [
        bool(rows) and all(row[i] is None or isinstance(row[i], int | float) for row in rows)
        for i in range(len(head))
    ]
    return _aligned([head, *body], numeric, indent)


def rows(cells: Sequence[Sequence[str]], indent: str = "  ") -> str:
    """Aligned columns without names."""
    body = [[shown(text) for text in row] for row in cells]
    return _aligned(body, [False] * len(body[0]), indent) if body else ""


def _aligned(lines: Sequence[Sequence[str]], numeric: Sequence[bool], indent: str) -> str:
    widths = [max(width(line[i]) for line in lines) for i in range(len(numeric))]
    return "\n".join(indent + "  ".join(map(pad, line, widths, numeric)).rstrip() for line in lines)


def format_pairs(named: dict[str, Any], indent: str = "") -> str:
    """A name and its value on each line."""
    size = max((width(name) for name in named), default=0)
    return "\n".join(f"{indent}{pad(name, size)}  {shown(named[name])}" for name in named)


def counted(number: int, noun: str) -> str:
    """`1 word`, `2,000 words`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def quantity(number: int, plural: str) -> str:
    """`2 scans`, `1 scan`, `1 pair without links`: the first plural loses its s."""
    name = re.sub(r"s\b", "", plural, count=1) if number == 1 else plural
    return f"{number:,} {name}"


def phrase(sentence: str) -> str:
    """A sentence as an entry of a list: no capital, no full stop."""
    return sentence[:1].lower() + sentence[1:].rstrip(".")
