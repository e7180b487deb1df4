"""Aligned pairs of strings: .psa files, and letters of two strings below a line with ">".

A .psa file has a title; then for each pair a line about it, two lines of a name and symbols
separated by tabs, a line that begins with "#", and an empty one. Otherwise a pair is a line that
begins with ">", and a line of letters for each string. "-" is a gap in both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["StringPair", "aligned_rows", "read_string_pairs", "write_string_pairs"]

GAP = "-"
#: characters of a line; more than that are not strings to be aligned
_MOST = 1 << 20


@dataclass(frozen=True)
class StringPair:
    """A pair of strings as a file has it.

    Parameters
    ----------
    title : str
        The line about it.
    names : tuple of str
        Names of the strings; empty if the file has none.
    rows : tuple of tuple of str
        Symbols of both strings, with gaps.
    where : str
        File and line, for errors.
    """

    title: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], tuple[str, ...]]
    where: str = ""

    @property
    def strings(self) -> tuple[Any, Any]:
        """Both strings without gaps: lists of symbols, or letters in upper case as one text."""
        a, b = ([symbol for symbol in row if symbol != GAP] for row in self.rows)
        return (a, b) if self.names else ("".join(a).upper(), "".join(b).upper())

    @property
    def columns(self) -> list[tuple[int, int]]:
        """Positions in both strings, -1 for a gap; an error unless the rows are aligned."""
        a, b = self.rows
        if len(a) != len(b):
            raise ValueError(
                f"{self.where}: rows of {len(a)} and {len(b)} columns are not aligned."
            )
        found: list[tuple[int, int]] = []
        i = j = 0
        for x, y in zip(a, b, strict=True):
            if x == y == GAP:
                raise ValueError(f"{self.where}: column {len(found) + 1} has two gaps: drop it.")
            found.append((-1 if x == GAP else i, -1 if y == GAP else j))
            i, j = i + (x != GAP), j + (y != GAP)
        return found

    @property
    def alignment(self) -> list[tuple[int, int]]:
        """Matched positions, from 0."""
        return [column for column in self.columns if min(column) >= 0]

    @property
    def core(self) -> list[tuple[int, int]]:
        """Matched positions of letters in upper case, where these mark what is reliable."""
        a, b = ([symbol for symbol in row if symbol != GAP] for row in self.rows)
        return [(i, j) for i, j in self.alignment if a[i].isupper() and b[j].isupper()]

    def with_alignment(self, matches: Sequence[tuple[int, int]]) -> StringPair:
        """The same strings aligned in another way."""
        a, b = (tuple(symbol for symbol in row if symbol != GAP) for row in self.rows)
        first, second = aligned_rows(a, b, matches)
        return StringPair(self.title, self.names, (tuple(first), tuple(second)), self.where)


def aligned_rows(
    a: Sequence[Any], b: Sequence[Any], matches: Sequence[tuple[int, int]], gap: Any = GAP
) -> tuple[list[Any], list[Any]]:
    """Both strings with gaps, so that matches stand below each other."""
    first: list[Any] = []
    second: list[Any] = []
    i = j = 0
    for p, q in [*matches, (len(a), len(b))]:
        first += [*a[i:p], *[gap] * (q - j), *a[p : p + 1]]
        second += [*[gap] * (p - i), *b[j:q], *b[q : q + 1]]
        i, j = p + 1, q + 1
    return first, second


def read_string_pairs(lines: Iterable[str], name: str = "pairs") -> Iterator[StringPair]:
    """Read pairs, one after the other.

    lines : of text. name : of the file, for errors, which also name the line.
    """
    kept = (
        (number, line.rstrip("\r\n").removeprefix("\ufeff"))
        for number, line in enumerate(lines, start=1)
    )
    filled = ((number, line) for number, line in kept if line.strip())
    first = next(filled, None)
    if first is None:
        return
    letters = first[1].startswith(">")
    starts = [first] if letters else []  # else a title
    while True:
        number, title = starts.pop() if starts else next(filled, (0, ""))
        if not number:
            return
        where = f"{name}, line {number}"
        if not letters and title.startswith("#"):
            continue
        if letters and not title.startswith(">"):
            raise ValueError(f"{where}: expected a line that begins with '>', found {title!r:.60}.")
        rows = [next(filled, (0, ""))[1] for _ in "ab"]
        if not all(rows) or max(map(len, rows)) > _MOST:
            why = "" if letters else "; the file is .psa, as its first line does not begin with '>'"
            raise ValueError(f"{where}: expected two lines of strings after it{why}.")
        yield _letters(title, rows, where) if letters else _symbols(title, rows, where)


def _letters(title: str, rows: list[str], where: str) -> StringPair:
    for row in rows:
        if row.startswith(">"):
            raise ValueError(f"{where}: expected two lines of strings after it, found {row!r:.60}.")
    first, second = (tuple(row.replace(".", GAP).strip()) for row in rows)
    return StringPair(title[1:], (), (first, second), where)


def _symbols(title: str, rows: list[str], where: str) -> StringPair:
    fields = [row.split("\t") for row in rows]
    for own in fields:
        if len(own) < 2 or own[0].startswith("#"):
            raise ValueError(f"{where}: expected two lines of a name and symbols, split by tabs.")
    (name, *first), (other, *second) = fields
    symbols = (tuple(own for own in row if own) for row in (first, second))
    return StringPair(title, (name, other), tuple(symbols), where)  # type: ignore[arg-type]


def write_string_pairs(pairs: Iterable[StringPair]) -> Iterator[str]:
    """The text of pairs, one after the other, as they were read."""
    started = False
    for pair in pairs:
        if not pair.names:
            yield "\n".join([f">{pair.title}", *map("".join, pair.rows), ""])
            continue
        title = [] if started else ["Aligned pairs"]
        started = True
        rows = ["\t".join([name, *row]) for name, row in zip(pair.names, pair.rows, strict=True)]
        yield "\n".join([*title, pair.title, *rows, "# 0.00", "", ""])
