"""Word alignments as text, for terminals: a matrix of source words by target words."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from maxmargin.metrics.links import ComparedLinks, Link, check_range, compare_links

__all__ = ["render_alignment"]

LABEL, HEAD = 18, 14  # longest names of rows and of columns, in cells
GAP = 2  # between the names and the matrix


class _Marks(NamedTuple):
    """Filled = predicted, large = sure."""

    right: str
    possible: str
    wrong: str
    missed: str
    left: str
    nothing: str
    cut: str


UNICODE = _Marks("■", "▪", "✗", "□", "▫", "·", "…")
ASCII = _Marks("#", "+", "x", "o", "-", ".", "~")
MEANINGS = {
    "right": "right",
    "possible": "possible",
    "wrong": "wrong",
    "missed": "missed",
    "left": "possible, not predicted",
}


def render_alignment(
    source: Sequence[str],
    target: Sequence[str],
    predicted: Iterable[Any],
    sure: Iterable[Any] | None = None,
    possible: Iterable[Any] | None = None,
    *,
    unicode: bool = True,
    width: int | None = None,
) -> str:
    """Render the links of a sentence pair as lines of text, a row for each source word.

    Parameters
    ----------
    source, target : sequence of str
        Tokens of the two sentences.
    predicted : iterable of (i, j)
        Predicted links, counted from 0.
    sure, possible : iterable of (i, j) or None, default=None
        Annotated links to compare with; sure links are possible, too.
    unicode : bool, default=True
        Use squares as marks; if False, everything, words included, is ASCII.
    width : int or None, default=None
        Width of the terminal in characters, for a matrix in several bands; None means one band.

    Returns
    -------
    str
        The lines.
    """
    compared = compare_links(predicted, sure, possible)
    check_range(compared.all(), len(source), len(target))
    marks = UNICODE if unicode else ASCII
    rows = [_cut(_letters(word, unicode), LABEL, marks.cut) for word in source]
    columns = [_cut(_letters(word, unicode), HEAD, marks.cut) for word in target]
    margin = max((_width(letters) for letters in rows), default=0)
    names = [" " * (margin - _width(letters)) + "".join(letters) for letters in rows]
    cell = 1 + max((_cells(c) for letters in columns for c in letters), default=1)
    signs = _signs(compared, marks)
    lines: list[str] = []
    for first, last in _bands(len(columns), cell, margin, width):
        heads = _heads(columns[first:last], cell)
        lines += [" " * (margin + GAP) + head for head in heads]
        for i, name in enumerate(names):
            row = (signs.get((i, j), marks.nothing).ljust(cell) for j in range(first, last))
            lines.append(name + " " * GAP + "".join(row))
        lines.append("")
    given = sure is not None or possible is not None
    lines += (
        _legend(compared, marks, width) if given else [f"{marks.right} link {len(compared.right)}"]
    )
    return "\n".join(line.rstrip() for line in lines)


def _signs(compared: ComparedLinks, marks: _Marks) -> dict[Link, str]:
    return {link: getattr(marks, kind) for kind in MEANINGS for link in getattr(compared, kind)}


def _bands(n: int, cell: int, margin: int, width: int | None) -> list[tuple[int, int]]:
    """Return first and last (not included) column of each band, of about equal sizes."""
    fit = n if width is None else max(1, (width - margin - GAP + 1) // cell)
    count = max(1, -(-n // max(fit, 1)))
    size = max(1, -(-n // count))
    return [(k, min(k + size, n)) for k in range(0, max(n, 1), size)]


def _heads(columns: list[list[str]], cell: int) -> list[str]:
    """Return the lines of words written downwards, all ending on the last line."""
    upwards = zip_longest(*(reversed(letters) for letters in columns), fillvalue="")
    return ["".join(c + " " * (cell - _cells(c)) for c in line) for line in upwards][::-1]


def _legend(compared: ComparedLinks, marks: _Marks, width: int | None) -> list[str]:
    lines = [""]
    for kind, meaning in MEANINGS.items():
        count = len(getattr(compared, kind))
        if not count and "possible" in meaning:
            continue  # most annotations have none
        item = f"{getattr(marks, kind)} {meaning} {count}"
        joined = f"{lines[-1]}   {item}" if lines[-1] else item
        if width is not None and lines[-1] and len(joined) > width:
            lines.append(item)
        else:
            lines[-1] = joined
    return lines


def _letters(word: str, unicode: bool) -> list[str]:
    """Return what is seen as one letter each: a character with what combines with it."""
    if not unicode:
        plain = (c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
        return [c if c.isascii() and c.isprintable() else "?" for c in plain]
    letters: list[str] = []
    for c in unicodedata.normalize("NFC", word):
        if letters and not _cells(c):
            letters[-1] += c
        else:
            letters.append(c if c.isprintable() and _cells(c) else "?")
    return letters


def _cells(letter: str) -> int:
    """Cells of a terminal that a letter (or nothing) takes."""
    if not letter:
        return 0
    if unicodedata.category(letter[0]) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter[0]) in "WF" else 1


def _width(letters: list[str]) -> int:
    return sum(map(_cells, letters))


def _cut(letters: list[str], most: int, mark: str) -> list[str]:
    if _width(letters) <= most:
        return letters
    kept = list(letters)
    while _width(kept) > most - 1:
        kept.pop()
    return [*kept, mark]
