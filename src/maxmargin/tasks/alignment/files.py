"""Sentence pairs and links from files and pipes, read line by line, with errors that name the line.

A pair is (source tokens, target tokens). Files are as `maxmargin.formats.alignment` reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from maxmargin.formats.alignment import Pair, numbered_sentence, read_naacl, read_pharaoh
from maxmargin.formats.text_lines import Readable, fields_of, name_of, text_lines
from maxmargin.metrics.links import Links

#: how a file of links may be written; "auto" looks at its first link
FORMATS = ("auto", "naacl", "naacl-null", "pharaoh", "pharaoh-1")
SEPARATOR = "|||"
BATCH_EDGES, BATCH_PAIRS = 20_000, 256


class Numbered(NamedTuple):
    """A pair, its line, and the number that the files give it; the line's if they give none."""

    line: int
    number: int
    pair: Pair


@dataclass(frozen=True)
class Text:
    """Parallel text in files, read anew each time that it is gone through.

    files : (source, target). skip : lines of the first two files that are left out, from 1.
    """

    files: tuple[tuple[Path, Path], ...]
    encoding: str = "utf-8"
    skip: frozenset[int] = field(default=frozenset())

    def __iter__(self) -> Iterator[Pair]:
        for k, (source, target) in enumerate(self.files):
            for line, _, pair in pairs_of(source, target, self.encoding):
                if k or line not in self.skip:
                    yield pair


def pairs_of(
    source: Readable, target: Readable, encoding: str = "utf-8", first: int = 1
) -> Iterator[Numbered]:
    """The pairs of two files that go line by line.

    first : the number of the first sentence, where the files give none.
    """
    names = name_of(source), name_of(target)
    both = zip_longest(text_lines(source, encoding), text_lines(target, encoding))
    for left, right in both:
        if left is None or right is None:
            ended, longer = names if left is None else names[::-1]
            line = (left or right)[0]
            raise ValueError(
                f"{longer}, line {line}: {ended} has only {line - 1} lines; line k of one file must"
                " be the translation of line k of the other."
            )
        (one, text), (two, other) = numbered_sentence(left[1]), numbered_sentence(right[1])
        if one is not None and two is not None and one != two:
            raise ValueError(
                f"{names[0]}, line {left[0]} is sentence {one}, but {names[1]} has sentence {two}"
                " there; the files must have the same sentences in the same order."
            )
        number = one if one is not None else left[0] - 1 + first if two is None else two
        yield Numbered(left[0], number, (fields_of(text), fields_of(other)))


def joined_pairs(lines: Readable, encoding: str = "utf-8", first: int = 1) -> Iterator[Numbered]:
    """The pairs of one file with lines `source ||| target`; an empty line is an empty pair."""
    name = name_of(lines)
    for line, text in text_lines(lines, encoding):
        tokens = fields_of(text)
        if tokens and tokens.count(SEPARATOR) != 1:
            found = "no" if SEPARATOR not in tokens else "more than one"
            raise ValueError(
                f"{name}, line {line}: found {found} {SEPARATOR}; write `source words {SEPARATOR}"
                " target words`, or give the two languages as two files."
            )
        cut = tokens.index(SEPARATOR) if tokens else 0
        yield Numbered(line, line - 1 + first, (tokens[:cut], tokens[cut + 1 :]))


def stream_pairs(sources: Sequence[BinaryIO], encoding: str, first: int = 1) -> Iterator[Numbered]:
    """The pairs of two streams, source and target, or of one with lines `source ||| target`."""
    if len(sources) == 1:
        return joined_pairs(sources[0], encoding, first)
    if len(sources) == 2:
        return pairs_of(sources[0], sources[1], encoding, first)
    raise ValueError(
        "alignment predicts from two files, SOURCE TARGET, or from one with lines"
        f" `source {SEPARATOR} target`; found {len(sources)} files."
    )


def split_batches(pairs: Iterable[Numbered]) -> Iterator[list[Numbered]]:
    """The pairs, as many at a time as have features that take little memory."""
    batch: list[Numbered] = []
    edges = 0
    for own in pairs:
        size = len(own.pair[0]) * len(own.pair[1])
        if batch and (edges + size > BATCH_EDGES or len(batch) == BATCH_PAIRS):
            yield batch
            batch, edges = [], 0
        batch.append(own)
        edges += size
    if batch:
        yield batch


def read_numbered(source: Path, target: Path, encoding: str, first: int = 1) -> list[Numbered]:
    """All pairs of two files; words are stored once each."""
    known: dict[str, str] = {}

    def kept(tokens: list[str]) -> list[str]:
        return [known.setdefault(token, token) for token in tokens]

    return [
        Numbered(line, number, (kept(left), kept(right)))
        for line, number, (left, right) in pairs_of(source, target, encoding, first)
    ]


def sample_pairs(
    pairs: Iterable[Numbered], n: int, longest: int, seed: int
) -> tuple[list[Pair], int]:
    """Return n of the pairs, drawn evenly, in their order; and how many there are to draw from.

    Pairs with an empty side, or more than `longest` words on a side, are not drawn.
    """
    rng = np.random.default_rng(seed)
    drawn: list[tuple[int, Pair]] = []
    seen = 0
    for line, _, pair in pairs:
        if not all(0 < len(side) <= longest for side in pair):
            continue
        seen += 1
        if len(drawn) < n:
            drawn.append((line, pair))
            continue
        place = int(rng.random() * seen)
        if place < n:
            drawn[place] = line, pair
    drawn.sort(key=lambda own: own[0])
    return [pair for _, pair in drawn], seen


def read_links(
    path: Path, pairs: Sequence[Numbered], form: str, encoding: str
) -> tuple[list[Links | None], str]:
    """The links of each pair, None where the file says nothing of it; and the file's format."""
    if form == "auto":
        form = _told_format(path, encoding)
    if form.startswith("naacl"):
        found = _read_naacl(path, pairs, form == "naacl-null", encoding)
    else:
        found = _read_pharaoh(path, pairs, form == "pharaoh-1", encoding)
    base = int(form != "pharaoh")
    for numbered, links in zip(pairs, found, strict=True):
        if links is not None:
            _check_range(path, numbered, links, form, base)
    return found, form


def _told_format(path: Path, encoding: str) -> str:
    for line, text in text_lines(path, encoding):
        if not text:
            continue
        first = fields_of(text)[0]
        if first.isascii() and first.lstrip("+-").isdigit():
            return "naacl"
        if first[0].isdigit() and any(mark in first for mark in "-?p"):
            return "pharaoh"
        raise ValueError(
            f"{path}, line {line}: found {text[:40]!r}, expected links: lines `sentence i j S` that"
            " count from 1 (NAACL), or a line of `i-j` that count from 0 for each pair (Pharaoh)."
        )
    return "pharaoh"


def _read_naacl(
    path: Path, pairs: Sequence[Numbered], skip_null: bool, encoding: str
) -> list[Links | None]:
    numbers = [own.number for own in pairs]
    first = next((text for _, text in text_lines(path, encoding) if text), "0")
    if _whole(fields_of(first)[0]) not in set(numbers):
        numbers = [own.line for own in pairs]  # by line, though the text is numbered otherwise
    if len(set(numbers)) < len(numbers):
        seen: set[int] = set()
        twice = next(k for k in numbers if k in seen or seen.add(k))  # type: ignore[func-returns-value]
        raise ValueError(
            f"the text has sentence {twice} twice (snum={twice}), so that {path} cannot be told"
            " apart; number the sentences anew, or leave the numbers out."
        )
    try:
        found = read_naacl(path, numbers=numbers, skip_null=skip_null, encoding=encoding)
    except ValueError as error:
        text = str(error).replace("skip_null=True leaves", "format naacl-null leaves")
        hint = (
            f"among the {len(numbers)} sentences of the text; do the files belong together? If the"
            " text begins with a later sentence, --first-sentence names its number"
        )
        text = text.replace(f"among the {len(numbers)} numbers given", hint)
        raise ValueError(text) from error
    return [links if links[1] else None for links in found]


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None


def _read_pharaoh(
    path: Path, pairs: Sequence[Numbered], one_based: bool, encoding: str
) -> list[Links | None]:
    found = read_pharaoh(path, one_based=one_based, encoding=encoding)
    if len(found) != len(pairs):
        raise ValueError(
            f"{path} has links of {len(found)} lines, but there are {len(pairs)} sentence pairs;"
            " line k must hold the links of pair k (an empty line, if it has none)."
        )
    return list(found)


def _check_range(path: Path, own: Numbered, links: Links, form: str, base: int) -> None:
    n_source, n_target = map(len, own.pair)
    for i, j in sorted(links[1]):
        if i < n_source and j < n_target:
            continue
        where = f"sentence {own.number}" if form.startswith("naacl") else f"line {own.line}"
        hint = "do the files belong together?"
        if i < n_target and j < n_source:
            hint = "are source and target swapped?"
        elif base == 0:
            hint += " If it counts from 1, its format is pharaoh-1."
        raise ValueError(
            f"{path}, {where}: found a link of words {i + base} and {j + base}, counted from"
            f" {base}, but the sentences have {n_source} and {n_target} words; {hint}"
        )
