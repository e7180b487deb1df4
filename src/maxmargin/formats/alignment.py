"""Files of word alignments: sentences, NAACL link files, Pharaoh link files.

In memory, positions count from 0, i in the source sentence and j in the target sentence, and the
links of a sentence pair are (sure, possible), two sets of (i, j) of which the second includes the
first. Files are plain or gzip text (told by their first bytes). Tokens are what ASCII white space
separates, so that a no-break space stays inside its token, as in the tools that made the files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from maxmargin.formats.text_lines import Readable, fields_of, is_number, name_of, text_lines
from maxmargin.metrics.links import Links, as_links, check_range

__all__ = [
    "check_links",
    "numbered_sentence",
    "read_naacl",
    "read_pairs",
    "read_pharaoh",
    "read_sentence_numbers",
    "read_sentences",
    "write_naacl",
    "write_pharaoh",
]

Pair = tuple[list[str], list[str]]

NUMBER = re.compile(r"[+-]?\d{1,18}", re.ASCII)
OPENING = re.compile(r'<s(?:\s+snum\s*=\s*"?(\d{1,18})"?)?\s*>', re.ASCII)
CLOSING = "</s>"
PHARAOH_LINK = re.compile(r"(\d{1,18})([-?p])(\d{1,18})", re.ASCII)


def read_sentences(
    path: Readable, *, n_sentences: int | None = None, encoding: str = "utf-8"
) -> list[list[str]]:
    """Read one tokenised sentence per line; an empty line is an empty sentence.

    Parameters
    ----------
    path : str, path or binary file
        File to read, plain or gzip. A wrapper ``<s snum=12> tokens </s>`` is removed.
    n_sentences : int or None, default=None
        Number of sentences to read; None means all.
    encoding : str, default="utf-8"
        Encoding of the text.

    Returns
    -------
    list of list of str
        Tokens of each line.
    """
    known: dict[str, str] = {}
    keep = known.setdefault  # one object a word type: a corpus then takes a fifth of the memory
    return [
        [keep(token, token) for token in fields_of(numbered_sentence(line)[1])]
        for _, line in islice(text_lines(path, encoding), n_sentences)
    ]


def read_sentence_numbers(path: Readable, *, encoding: str = "utf-8") -> list[int]:
    """Read the number of every line: that of its ``<s snum=...>`` wrapper, else the line number.

    Parameters
    ----------
    path : str, path or binary file
        File to read, plain or gzip.
    encoding : str, default="utf-8"
        Encoding of the text.

    Returns
    -------
    list of int
        One number per line.
    """
    numbers = []
    for line_number, line in text_lines(path, encoding):
        number = numbered_sentence(line)[0]
        numbers.append(line_number if number is None else number)
    return numbers


def numbered_sentence(line: str) -> tuple[int | None, str]:
    """Return the number and the tokens in `<s snum=number> tokens </s>`; else None and the line."""
    if not line.startswith("<s"):
        return None, line
    opening = OPENING.match(line)
    if opening is None or not line.endswith(CLOSING):
        return None, line
    number = None if opening[1] is None else int(opening[1])
    return number, line[opening.end() : -len(CLOSING)].strip(" ")


def read_pairs(
    source: Readable, target: Readable, *, n_pairs: int | None = None, encoding: str = "utf-8"
) -> list[Pair]:
    """Read sentence pairs from two files that correspond line by line.

    Parameters
    ----------
    source, target : str, path or binary file
        Files as for `read_sentences`.
    n_pairs : int or None, default=None
        Number of pairs to read; None means all, and then both files must have equally many lines.
    encoding : str, default="utf-8"
        Encoding of both files.

    Returns
    -------
    list of (source tokens, target tokens)
        One pair per line.
    """
    left = read_sentences(source, n_sentences=n_pairs, encoding=encoding)
    right = read_sentences(target, n_sentences=n_pairs, encoding=encoding)
    if len(left) != len(right):
        raise ValueError(
            f"{name_of(source)} has {len(left)} lines, {name_of(target)} has {len(right)}: "
            "line k of one must be the translation of line k of the other"
        )
    return list(zip(left, right, strict=True))


def read_naacl(
    path: Readable,
    n_sentences: int | None = None,
    *,
    numbers: Sequence[int] | None = None,
    skip_null: bool = False,
    encoding: str = "utf-8",
) -> list[Links]:
    """Read lines ``sentence i j [S|P] [confidence]``, all counted from 1, in any order.

    A link without a type is sure. Confidences must be numbers, and are ignored.

    Parameters
    ----------
    path : str, path or binary file
        File to read, plain or gzip.
    n_sentences : int or None, default=None
        Number of sentences; None means up to the last that has a link, which must then not be far
        beyond the number of lines.
    numbers : sequence of int or None, default=None
        The file's number of each sentence, where these are not 1 to n_sentences, such as
        ``read_sentence_numbers(text)`` or range(101, 448). Any other number is an error.
    skip_null : bool, default=False
        Ignore links to position 0, the NULL word of some files; otherwise they are an error.
    encoding : str, default="utf-8"
        Encoding of the text.

    Returns
    -------
    list of (sure, possible)
        Sets of links (i, j) from 0 of each sentence.
    """
    places = None if numbers is None else {int(k): place for place, k in enumerate(numbers)}
    if places is not None and len(places) != len(numbers or ()):
        raise ValueError("numbers has the same sentence number twice")
    if n_sentences is None and places is not None:
        n_sentences = len(places)
    found: dict[int, Links] = {}
    last, where_last, n_lines = -1, "", 0
    for line_number, line in text_lines(path, encoding):
        n_lines = line_number
        fields = fields_of(line)
        if not fields:
            continue
        where = f"{name_of(path)}, line {line_number}"
        number, i, j, is_sure = _naacl_link(fields, line, where)
        if skip_null and 0 in (i, j):
            continue
        if min(i, j) < 1:
            raise ValueError(
                f"{where}: found position {min(i, j)}, but this format counts from 1"
                + (" (links to NULL: skip_null=True leaves them out)" if min(i, j) == 0 else "")
            )
        place = number - 1 if places is None else places.get(number, -1)
        if place < 0 or (n_sentences is not None and place >= n_sentences):
            raise ValueError(f"{where}: found sentence {number}, {_expected(n_sentences, numbers)}")
        if place > last:
            last, where_last = place, where
        sure, possible = found.setdefault(place, (set(), set()))
        possible.add((i - 1, j - 1))
        if is_sure:
            sure.add((i - 1, j - 1))
    if n_sentences is None:
        n_sentences = last + 1
        _check_last(n_sentences, n_lines, where_last)
    return [found.get(place) or (set(), set()) for place in range(n_sentences)]


def write_naacl(
    path: str | os.PathLike, links: Iterable[Any], *, numbers: Sequence[int] | None = None
) -> None:
    """Write lines ``sentence i j S|P``, all counted from 1, as the shared tasks' scorers read them.

    A sentence without links has no line: give `read_naacl` the number of sentences.

    Parameters
    ----------
    path : str or path
        File to write.
    links : iterable
        Links of each sentence: (sure, possible), or a set, list or array of links (i, j) from 0,
        which are then sure.
    numbers : sequence of int or None, default=None
        The file's number of each sentence; None means 1, 2, 3, ...
    """
    items = list(links)
    if numbers is None:
        numbers = range(1, len(items) + 1)
    if len(numbers) != len(items):
        raise ValueError(f"numbers has {len(numbers)} sentences, links has {len(items)}")
    lines = []
    for place, (number, item) in enumerate(zip(numbers, items, strict=True)):
        sure, possible = as_links(item, f"sample {place}: ")
        for i, j in sorted(possible):
            lines.append(f"{number} {i + 1} {j + 1} {'S' if (i, j) in sure else 'P'}\n")
    _write(path, lines)


def read_pharaoh(
    path: Readable, *, one_based: bool = False, encoding: str = "utf-8"
) -> list[Links]:
    """Read lines of links ``i-j``, one line per sentence; ``i?j`` and ``ipj`` are possible links.

    Parameters
    ----------
    path : str, path or binary file
        File to read, plain or gzip.
    one_based : bool, default=False
        Whether positions in the file count from 1.
    encoding : str, default="utf-8"
        Encoding of the text.

    Returns
    -------
    list of (sure, possible)
        Sets of links (i, j) from 0 of each sentence.
    """
    base = int(one_based)
    found = []
    for line_number, line in text_lines(path, encoding):
        sure: set[tuple[int, int]] = set()
        possible: set[tuple[int, int]] = set()
        for field in fields_of(line):
            where = f"{name_of(path)}, line {line_number}"
            match = PHARAOH_LINK.fullmatch(field)
            if match is None:
                raise ValueError(
                    f"{where}: found {field[:40]!r}, expected a link such as 0-2 (sure), "
                    "0?2 or 0p2 (possible)"
                )
            link = int(match[1]) - base, int(match[3]) - base
            if min(link) < 0:
                raise ValueError(f"{where}: found {field!r}, but one_based=True counts from 1")
            possible.add(link)
            if match[2] == "-":
                sure.add(link)
        found.append((sure, possible))
    return found


def write_pharaoh(
    path: str | os.PathLike, links: Iterable[Any], *, one_based: bool = False, mark: str = "?"
) -> None:
    """Write one line of links ``i-j`` per sentence, sorted; possible links as ``i?j``.

    Parameters
    ----------
    path : str or path
        File to write.
    links : iterable
        Links of each sentence, as for `write_naacl`.
    one_based : bool, default=False
        Whether to count from 1.
    mark : {"?", "p"}, default="?"
        Character between the positions of a possible link.
    """
    if mark not in ("?", "p"):
        raise ValueError(f'mark={mark!r} must be "?" or "p".')
    base = int(one_based)
    lines = []
    for place, item in enumerate(links):
        sure, possible = as_links(item, f"sample {place}: ")
        fields = [
            f"{i + base}{'-' if (i, j) in sure else mark}{j + base}" for i, j in sorted(possible)
        ]
        lines.append(" ".join(fields) + "\n")
    _write(path, lines)


def check_links(pairs: Sequence[Any], links: Sequence[Any]) -> None:
    """Raise ValueError unless every pair has links, each between existing words.

    Parameters
    ----------
    pairs : sequence of (source tokens, target tokens)
        Sentence pairs.
    links : sequence
        Links of each pair: (sure, possible), or plain links (i, j) from 0.
    """
    if len(pairs) != len(links):
        raise ValueError(f"there are {len(pairs)} sentence pairs but links for {len(links)}")
    for place, ((source, target), item) in enumerate(zip(pairs, links, strict=True)):
        where = f"sample {place}: "
        check_range(as_links(item, where)[1], len(source), len(target), where)


def _naacl_link(fields: list[str], line: str, where: str) -> tuple[int, int, int, bool]:
    """Return sentence, i, j as in the file, and whether the link is sure."""
    is_whole = len(fields) >= 3 and all(NUMBER.fullmatch(field) for field in fields[:3])
    if not is_whole or len(fields) > 5:
        raise ValueError(
            f"{where}: found {line[:60]!r}, expected `sentence i j`, with or without "
            "a type (S or P) and a confidence"
        )
    number, i, j = map(int, fields[:3])
    rest = fields[3:]
    kind = "S"
    if rest and not is_number(rest[0]):
        kind = rest.pop(0).upper()
    if kind not in ("S", "P"):
        raise ValueError(f"{where}: found type {fields[3]!r}, expected S (sure) or P (possible)")
    if len(rest) > 1 or not all(map(is_number, rest)):
        raise ValueError(f"{where}: found {' '.join(rest)!r}, expected one number, a confidence")
    return number, i, j, kind == "S"


def _expected(n_sentences: int | None, numbers: Sequence[int] | None) -> str:
    if numbers is not None:
        return f"which is not among the {len(numbers)} numbers given"
    upper = "" if n_sentences is None else f" to {n_sentences}"
    return f"expected numbers from 1{upper}; where sentences are numbered otherwise, give numbers="


def _check_last(number: int, n_lines: int, where: str) -> None:
    """Of one wrong number, empty sentences up to it would fill the memory."""
    if number > 1000 + 10 * n_lines:
        raise ValueError(
            f"{where}: found sentence {number} in a file of only {n_lines} lines; if it is right, "
            "give n_sentences=, or numbers= where sentences are not numbered from 1"
        )


def _write(path: str | os.PathLike, lines: list[str]) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(lines)
