"""RNA sequences and structures: FASTA with or without dot-brackets, bpseq and ct."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

__all__ = [
    "RNARecord",
    "parse_dot_bracket",
    "read_rna",
    "read_rna_by_line",
    "write_dot_bracket",
    "write_rna",
]

#: kinds of brackets, each nested by itself; letters come after these
_OPEN, _CLOSE = "([{<" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ", ")]}>" + "abcdefghijklmnopqrstuvwxyz"
_UNPAIRED = ".:,-_~"

Pairs = list[tuple[int, int]]


class RNARecord(NamedTuple):
    """A sequence, and its structure if it is known.

    Parameters
    ----------
    name : str
        Name of the sequence.
    sequence : str
        Bases.
    structure : str or None
        Dot-brackets; None if the file has none.
    """

    name: str
    sequence: str
    structure: str | None


def parse_dot_bracket(text: str) -> Pairs:
    """The pairs (i, j), i < j, from 0, of a dot-bracket string, in order."""
    waiting: dict[int, list[int]] = {}
    found: Pairs = []
    for place, character in enumerate(text):
        if character in _OPEN:
            waiting.setdefault(_OPEN.index(character), []).append(place)
        elif character in _CLOSE:
            kind = _CLOSE.index(character)
            if not waiting.get(kind):
                raise ValueError(f"{character!r} at place {place + 1} closes nothing")
            found.append((waiting[kind].pop(), place))
        elif character not in _UNPAIRED:
            raise ValueError(f"{character!r} at place {place + 1} is neither a dot nor a bracket")
    left = [(places[-1], _OPEN[kind]) for kind, places in waiting.items() if places]
    if left:
        place, character = min(left)
        raise ValueError(f"{character!r} at place {place + 1} is not closed")
    return sorted(found)


def write_dot_bracket(pairs: Iterable[Sequence[int]], n: int) -> str:
    """The dot-bracket string of pairs of n positions; those that cross get other brackets."""
    text = ["."] * n
    levels: list[Pairs] = []
    for i, j in sorted((min(pair), max(pair)) for pair in pairs):
        crossed = [any(p < i < q < j for p, q in level) for level in levels]
        kind = crossed.index(False) if False in crossed else len(levels)
        if kind == len(_OPEN):
            raise ValueError(f"the pairs need more than {kind} kinds of brackets")
        if kind == len(levels):
            levels.append([])
        levels[kind].append((i, j))
        text[i], text[j] = _OPEN[kind], _CLOSE[kind]
    return "".join(text)


def read_rna(lines: Iterable[str], name: str = "the file") -> Iterator[RNARecord]:
    """Read records, one after the other; the format is told by the first line.

    FASTA (">name", then bases, and dot-brackets on a line of their own if any); bpseq (place, base
    and place of the partner, 0 for none; one record); ct (a line with the number of bases and a
    title, then six columns). name : of the file, for errors.
    """
    return (record for _, record in read_rna_by_line(lines, name))


def read_rna_by_line(lines: Iterable[str], name: str) -> Iterator[tuple[int, RNARecord]]:
    """The same, each record with the number of its first line."""
    kept = [(number, line.strip()) for number, line in enumerate(lines, start=1)]
    kept = [(number, line) for number, line in kept if line and not line.startswith(("#", ";"))]
    if not kept:
        return
    first = kept[0][1].split()
    if kept[0][1].startswith(">") or not _is_number(first[0]):
        yield from _read_fasta(kept, name)
    elif len(first) == 3 and len(first[1]) == 1 and _is_number(first[2]):
        rows = [(number, line.split()) for number, line in kept]
        yield kept[0][0], _from_columns(rows, 2, name, name)
    else:
        yield from _read_ct(kept, name)


def _is_number(text: str) -> bool:
    """Whether a text is a number of a place: of few digits, and no others than 0 to 9."""
    return text.isascii() and text.isdigit() and len(text) < 10


def _read_fasta(lines: list[tuple[int, str]], name: str) -> Iterator[tuple[int, RNARecord]]:
    if not lines[0][1].startswith(">"):
        raise ValueError(
            f"{name}, line {lines[0][0]}: found {lines[0][1][:20]!r}; expected '>' and a name"
            " (FASTA, dot-brackets), or the columns of bpseq or ct."
        )
    title, number, bases, brackets, where = "", 0, "", "", ""
    for at, line in [*lines, (0, ">")]:
        if line.startswith(">"):
            if number:
                yield number, _checked(title, bases, brackets, where)
            title, number, bases, brackets = line[1:].strip(), at, "", ""
        elif brackets:
            raise ValueError(
                f"{name}, line {at}: more lines after the structure of {title!r}; a structure is"
                " one line, and the last one of its record."
            )
        elif bases and not _are_bases(line.split()[0]):
            brackets, where = line.split()[0], f"{name}, line {at}"  # an energy may follow
        else:
            bases += "".join(line.split())


def _are_bases(text: str) -> bool:
    """Whether a text is rather of bases than of brackets, among which letters are few."""
    return 2 * sum(map(str.isalpha, text)) > len(text)


def _checked(title: str, bases: str, brackets: str, where: str) -> RNARecord:
    if brackets and len(brackets) != len(bases):
        raise ValueError(
            f"{where}: {title!r} has {len(bases)} bases, but a structure of {len(brackets)} places;"
            " give a dot or a bracket for each base."
        )
    try:
        parse_dot_bracket(brackets)
    except ValueError as error:
        raise ValueError(
            f"{where}: the structure of {title!r}: {error}. Correct it, or leave the record out."
        ) from None
    return RNARecord(title, bases, brackets if brackets or not bases else None)


def _read_ct(lines: list[tuple[int, str]], name: str) -> Iterator[tuple[int, RNARecord]]:
    at = 0
    while at < len(lines):
        number, line = lines[at]
        size, *title = line.split(None, 1)
        if not _is_number(size) or at + int(size) >= len(lines) or int(size) < 1:
            raise ValueError(
                f"{name}, line {number}: expected the number of bases and as many lines."
            )
        rows = [(number, line.split()) for number, line in lines[at + 1 : at + 1 + int(size)]]
        yield number, _from_columns(rows, 4, title[0] if title else name, name)
        at += 1 + int(size)


def _from_columns(
    rows: list[tuple[int, list[str]]], partner: int, title: str, name: str
) -> RNARecord:
    """A record of rows with place, base, and the place of the partner in a column."""
    partners = []
    for place, (number, row) in enumerate(rows, start=1):
        good = len(row) > partner and row[0] == str(place) and len(row[1]) == 1
        if not good or not _is_number(row[partner]) or int(row[partner]) > len(rows):
            raise ValueError(
                f"{name}, line {number}: expected {place}, a base and the place of its partner, 0"
                f" to {len(rows)}; found {' '.join(row)[:40]!r}."
            )
        partners.append(int(row[partner]))
    for place, (other, (number, _)) in enumerate(zip(partners, rows, strict=True), start=1):
        if other and (other == place or partners[other - 1] != place):
            raise ValueError(
                f"{name}, line {number}: {place} is paired with {other}, but not {other} with it;"
                " correct the one or the other."
            )
    pairs = [(i, j - 1) for i, j in enumerate(partners) if i < j - 1]
    bases = "".join(row[1] for _, row in rows)
    return RNARecord(title, bases, write_dot_bracket(pairs, len(bases)))


def write_rna(records: Iterable[RNARecord], kind: str = "dbn") -> Iterator[str]:
    """Lines of a file. kind : "dbn" (FASTA with dot-brackets), "bpseq" or "ct"."""
    for record in records:
        structure = record.structure or ""
        if kind == "dbn":
            yield f">{record.name}\n{record.sequence}\n"
            yield f"{structure}\n" if structure else ""
            continue
        partner = [0] * len(record.sequence)
        for i, j in parse_dot_bracket(structure):
            partner[i], partner[j] = j + 1, i + 1
        if kind == "ct":
            yield f"{len(partner)} {record.name}\n"
        else:
            yield f"# {record.name}\n"
        for place, (base, other) in enumerate(zip(record.sequence, partner, strict=True), start=1):
            if kind == "ct":
                after = (place + 1) % (len(partner) + 1)
                yield f"{place} {base} {place - 1} {after} {other} {place}\n"
            else:
                yield f"{place} {base} {other}\n"
