"""Treebanks in CoNLL-U: ten columns a word, comments, words written as one, words left out.

What is not a word's own line is kept, so that a file can be written again with other trees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from maxmargin.formats.columns import CONLL_U

__all__ = ["ParsedSentence", "read_conllu", "write_conllu"]

#: characters of a line; more than that is not a treebank
_MOST = 1 << 20


@dataclass(frozen=True)
class ParsedSentence:
    """A sentence of a treebank.

    Parameters
    ----------
    lines : tuple of str
        All its lines, without line ends.
    places : tuple of int
        Which of them are words.
    first : int, default=1
        Number of its first line in the file.
    """

    lines: tuple[str, ...]
    places: tuple[int, ...]
    first: int = 1

    @property
    def tokens(self) -> list[dict[str, str]]:
        """Words as dicts with the names of columns, without heads and relations."""
        rows = (self.lines[place].split("\t") for place in self.places)
        return [dict(zip(CONLL_U[1:6], row[1:6], strict=True)) for row in rows]

    @property
    def tree(self) -> list[tuple[int, str]]:
        """Heads, from 1, 0 for the root, and relations; head -1 where there is none."""
        rows = (self.lines[place].split("\t") for place in self.places)
        return [(-1 if row[6] == "_" else int(row[6]), row[7]) for row in rows]

    def with_tree(self, tree: Iterable[tuple[int, str]]) -> ParsedSentence:
        """The same sentence with other heads and relations."""
        lines = list(self.lines)
        for place, (head, relation) in zip(self.places, tree, strict=True):
            row = lines[place].split("\t")
            row[6:8] = str(head), relation
            lines[place] = "\t".join(row)
        return replace(self, lines=tuple(lines))


def read_conllu(lines: Iterable[str], name: str = "CoNLL-U") -> Iterator[ParsedSentence]:
    """Read sentences, one after the other.

    lines : of text. name : of the file, for errors, which also name the line.
    """
    own: list[str] = []
    places: list[int] = []
    number = 0
    for number, line in enumerate(lines, start=1):
        line = line.rstrip("\r\n")
        if number == 1:
            line = line.removeprefix("\ufeff")
        if not line.strip():
            if places:
                yield ParsedSentence(tuple(own), tuple(places), number - len(own))
            own, places = [], []
            continue
        if not line.startswith("#") and _is_word(line, len(places) + 1, f"{name}, line {number}"):
            places.append(len(own))
        own.append(line)
    if places:
        yield ParsedSentence(tuple(own), tuple(places), number + 1 - len(own))


def _is_word(line: str, expected: int, where: str) -> bool:
    """Whether a line is a word; an error unless it is a line of CoNLL-U."""
    row = line.split("\t") if len(line) <= _MOST else []
    if len(row) != len(CONLL_U):
        raise ValueError(f"{where}: found {len(row)} columns, expected 10, separated by tabs.")
    if "-" in row[0] or "." in row[0]:
        return False
    if row[0] != str(expected):
        raise ValueError(f"{where}: word number {row[0]!r}, expected {expected}.")
    if not row[1]:
        raise ValueError(f"{where}: the word has no form.")
    head = row[6]
    if head != "_" and not (head.isascii() and head.isdigit() and len(head) < 10):
        raise ValueError(f"{where}: head {head!r} is not an integer.")
    return True


def write_conllu(sentences: Iterable[ParsedSentence]) -> Iterator[str]:
    """The text of sentences, one after the other."""
    for sentence in sentences:
        yield "\n".join([*sentence.lines, "", ""])


def make_conllu(tokens: Iterable[Any], tree: Iterable[tuple[int, str]]) -> ParsedSentence:
    """A sentence of a file, from tokens as dicts and a tree."""
    lines = []
    for number, (token, (head, relation)) in enumerate(zip(tokens, tree, strict=True), start=1):
        columns = [token.get(name) or "_" for name in CONLL_U[1:6]]
        lines.append("\t".join([str(number), *columns, str(head), relation, "_", "_"]))
    return ParsedSentence(tuple(lines), tuple(range(len(lines))))
