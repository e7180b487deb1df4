"""Text for terminals: strings from data made harmless, columns that stay aligned."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from maxmargin.drawing.numbers import format_plain
from maxmargin.drawing.text_tables import align_cells, pad_text, text_width

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


def visible_text(text: Any) -> str:
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


def cut_text(text: str, most: int) -> str:
    """The text, shortened to this many columns by an ellipsis."""
    if text_width(text) <= most:
        return text
    kept, used = "", 0
    for character in text:
        used += text_width(character)
        if used > most - 3:
            break
        kept += character
    return kept + "..."


def format_cell(value: Any) -> str:
    """A value of a document in a table."""
    return (
        format_plain(value)
        if isinstance(value, int | float | None)
        else cut_text(visible_text(value), 40)
    )


def format_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], indent: str = "  ") -> str:
    """Aligned columns under their names, numbers to the right."""
    head = [visible_text(name) for name in columns]
    body = [[format_cell(value) for value in row] for row in rows]
    numeric = [
        bool(rows) and all(row[i] is None or isinstance(row[i], int | float) for row in rows)
        for i in range(len(head))
    ]
    return "\n".join(align_cells([head, *body], numeric, indent))


def format_rows(cells: Sequence[Sequence[str]], indent: str = "  ") -> str:
    """Aligned columns without names."""
    body = [[visible_text(text) for text in row] for row in cells]
    return "\n".join(align_cells(body, [False] * len(body[0]), indent)) if body else ""


def format_pairs(named: dict[str, Any], indent: str = "") -> str:
    """A name and its value on each line."""
    size = max((text_width(name) for name in named), default=0)
    return "\n".join(
        f"{indent}{pad_text(name, size)}  {visible_text(named[name])}" for name in named
    )


def count_nouns(number: int, noun: str) -> str:
    """`1 word`, `2,000 words`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def count_plurals(number: int, plural: str) -> str:
    """`2 scans`, `1 scan`, `1 family`, `1 pair without links`: the first plural is singular."""
    found = re.sub(r"(ie)?s\b", lambda end: "y" if end[1] else "", plural, count=1)
    name = found if number == 1 else plural
    return f"{number:,} {name}"


def as_list_entry(sentence: str) -> str:
    """A sentence as an entry of a list: no capital, no full stop."""
    return sentence[:1].lower() + sentence[1:].rstrip(".")


def as_sentence(phrase: Any) -> str:
    """A phrase with a capital and one full stop."""
    words = str(phrase)
    return f"{words[:1].upper()}{words[1:].removesuffix('.')}."
