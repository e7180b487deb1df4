"""Files of columns: a token a line, its columns side by side, a blank line after a sentence.

This is the format of the CoNLL shared tasks, of CRF++ and of CoNLL-U. Lines are kept as bytes
beside their fields, so that what reads a file can write it back with one column more. Files are
plain or gzip (told by their first bytes), and pipes will do.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from maxmargin.formats.text_lines import (
    Readable,
    check_encoding,
    decoding_error,
    name_of,
    open_unpacked,
)

__all__ = ["ColumnFormat", "Sentence", "column_at", "read_columns", "sentence_batches"]

#: names of the columns of CoNLL-U
CONLL_U = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
#: bytes read at a time, of which a batch is made
PIECE = 1 << 18
#: bytes of a line; more than that is not a text of columns
MAX_LINE = 1 << 20
#: lines that are not tokens, held back before they are passed on
MAX_HELD = 10_000
#: tokens of a sentence; a file without blank lines must not fill the memory
MAX_TOKENS = 1_000_000

# What makes a sentence one to be read line by line: comments, -DOCSTART-, uneven white space, lines
# that begin with white space and may hold nothing else.
_UNUSUAL_TABS = (b"\n#", b"\n-DOCSTART-", b"\r", b"\n\t", b"\n ", b"\n\x0b", b"\n\x0c")
_UNUSUAL_SPACES = (*_UNUSUAL_TABS, b"  ", b" \n", b"\t", b"\x0b", b"\x0c")
_SPAN_OR_EMPTY = re.compile(rb"\d+[-.]\d+\t")


@dataclass(frozen=True)
class ColumnFormat:
    """How a file of columns is to be read.

    Parameters
    ----------
    separator : "tab", "space" (any ASCII white space), or "auto": tab if the first token has one.
    comments : "yes": lines that begin with # are comments; "no": they are tokens; "auto": in files
        with tabs, if they have none; in others, before a sentence and if their number of columns
        is not that of the tokens, because # is a word in some corpora.
    encoding : one in which spaces, tabs and line ends are those of ASCII.
    """

    separator: str = "auto"
    comments: str = "auto"
    encoding: str = "utf-8"

    def check(self) -> ColumnFormat:
        """Itself, if all is well."""
        for name, known in (
            ("separator", ("auto", "tab", "space")),
            ("comments", ("auto", "yes", "no")),
        ):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is {getattr(self, name)!r}, use {', '.join(known)}")
        check_encoding(self.encoding)
        return self


class Sentence(NamedTuple):
    """A sentence and all lines of it, with the blank lines and comments around.

    lines : as in the file, without \\n. rows : which of them are tokens. fields : the columns
    of each token. first : the number of lines[0] in the file, from 1. tabs : whether tabs separate.
    A sentence without tokens holds lines only, e.g. comments at the end of a file.
    """

    lines: list[bytes]
    rows: Sequence[int]
    fields: list[tuple[str, ...]]
    first: int
    tabs: bool

    def line_of(self, token: int) -> int:
        """The number of a token's line in the file."""
        return self.first + self.rows[token]


def read_columns(path: Readable, form: ColumnFormat | None = None) -> Iterator[Sentence]:
    """Yield the sentences of a file; a ValueError names the file, the line and the remedy."""
    return chain.from_iterable(sentence_batches(path, form))


def sentence_batches(path: Readable, form: ColumnFormat | None = None) -> Iterator[list[Sentence]]:
    """Yield lists of the sentences that are whole after each piece read.

    A piece is what a pipe has to give, 256 KiB at most: batches are large where text comes fast,
    and a sentence typed by hand is a batch of its own as soon as its blank line is there.
    """
    reader = _Reader(name_of(path), (form or ColumnFormat()).check())
    with open_unpacked(path) as file:
        read, rest, begun = getattr(file, "read1", file.read), b"", False
        while piece := read(PIECE):
            if not begun:
                while len(piece) < 3 and (more := read(PIECE)):
                    piece += more
                piece, begun = piece.removeprefix(codecs.BOM_UTF8), True
            *lines, rest = (rest + piece).split(b"\n")
            yield from _batch(reader, lines)
            if len(rest) > MAX_LINE:
                raise reader.too_long(1)
        yield from _batch(reader, [rest] if rest else [])
        if batch := reader.finish():
            yield batch


def _batch(reader: _Reader, lines: list[bytes]) -> Iterator[list[Sentence]]:
    """The sentences that are whole after these lines, those before an error too."""
    try:
        batch = reader.feed(lines)
    except ValueError:
        if reader.done:
            yield reader.done
        raise
    if batch:
        yield batch


def column_at(text: str | int, width: int, what: str = "column") -> int:
    """The place, from 0, of a column named by number (from 1; -1 is the last) or by name."""
    names = _names(width)
    text = str(text).strip()
    if re.fullmatch(r"-?\d{1,9}", text, re.ASCII):
        number = int(text)
        if 1 <= abs(number) <= width:
            return number - 1 if number > 0 else width + number
        raise ValueError(
            f"{what} {number}: the file has {width} columns; give 1 to {width}, or -1 for the last"
        )
    if text.lower() not in names:
        raise ValueError(
            f"{what} {text[:40]!r} is unknown in a file of {width} columns; give a number from 1 "
            f"to {width}, -1 for the last, or one of {', '.join(names)}"
        )
    return names[text.lower()]


def _names(width: int) -> dict[str, int]:
    if width == len(CONLL_U):
        return {name: k for k, name in enumerate(CONLL_U)} | {"word": 1}
    names = {"word": 0, "tag": width - 1}
    return names | {"pos": 1} if width > 2 else names


def _index(lines: list[bytes], line: bytes, start: int) -> int:
    """The place of the line from the start on; the end if it is not there."""
    try:
        return lines.index(line, start)
    except ValueError:
        return len(lines)


class _Reader:
    """Lines in, whole sentences out."""

    def __init__(self, name: str, form: ColumnFormat):
        self.name, self.form = name, form
        self.held: list[bytes] | None = []  # None once it is known what separates columns
        self.tabs, self.width = False, 0
        self.is_conll_u = False
        self.number = 0  # of the last line seen
        self._begin(1)

    def feed(self, lines: list[bytes]) -> list[Sentence]:
        """Take lines without their \\n."""
        self.done: list[Sentence] = []
        if self.held is not None:
            lines = self._decide(lines)
        blank, k = -1, 0
        while k < len(lines):
            if blank < k:
                blank = _index(lines, b"", k)
            if not self.lines and self._take_sentence(lines, k, blank):
                k = blank + 1
                continue
            self.number += 1
            self._take(lines[k])
            k += 1
        return self.done

    def finish(self) -> list[Sentence]:
        """What is left at the end of the file."""
        self.done = []
        if self.held:
            held, self.held = self.held, None
            self.tabs = self._has_tabs(b"".join(held))
            self.feed(held)
        if self.lines:
            self._end()
        return self.done

    def _decide(self, lines: list[bytes]) -> list[bytes]:
        """Hold lines back until the first that is surely a token, which shows the separator."""
        assert self.held is not None
        for k, line in enumerate(lines):
            plain = line.strip()
            unsure = not plain or plain.startswith(b"-DOCSTART-")
            unsure = unsure or (plain[:1] == b"#" and self.form.comments != "no")
            if not unsure or len(self.held) + k >= MAX_HELD:
                lines, self.held = self.held + lines, None
                self.tabs = self._has_tabs(plain)
                if not unsure:
                    self.width = line.count(b"\t") + 1 if self.tabs else len(line.split())
                    self.is_conll_u = self.tabs and self.width == len(CONLL_U)
                return lines
        self.held += lines
        return []

    def _has_tabs(self, text: bytes) -> bool:
        if self.form.separator == "auto":
            return b"\t" in text
        return self.form.separator == "tab"

    def _begin(self, first: int) -> None:
        self.lines: list[bytes] = []
        self.rows: list[int] = []
        self.fields: list[tuple[str, ...]] = []
        self.first = first

    def _end(self) -> None:
        self.done.append(Sentence(self.lines, self.rows, self.fields, self.first, self.tabs))
        self._begin(self.first + len(self.lines))

    def _take_sentence(self, lines: list[bytes], start: int, blank: int) -> bool:
        """Take a sentence of plain tokens at once, for speed; False, nothing done, if it is not."""
        n, width = blank - start, self.width
        if not 0 < n < MAX_TOKENS or blank == len(lines) or width == 0:
            return False
        block = lines[start:blank]
        raw = b"\n".join(block)
        unusual = _UNUSUAL_TABS if self.tabs else _UNUSUAL_SPACES
        if (
            self.is_conll_u
            or len(raw) > MAX_LINE
            or raw[:1] in b"# -\t\x0b\x0c"
            or raw[-1:] == b" "
        ):
            return False
        if any(text in raw for text in unusual):
            return False
        try:
            text = raw.decode(self.form.encoding)
        except UnicodeDecodeError:
            return False
        mark = "\t" if self.tabs else " "
        flat = text.replace("\n", f"{mark}\n{mark}").split(mark)
        step = width + 1  # the columns of a line, and its end
        if len(flat) != n * step - 1 or flat[width::step] != ["\n"] * (n - 1):
            return False
        fields = list(zip(*[flat[column::step] for column in range(width)], strict=True))
        block.append(b"")
        self.done.append(Sentence(block, range(n), fields, self.first, self.tabs))
        self.number += n + 1
        self._begin(self.number + 1)
        return True

    def _take(self, line: bytes) -> None:
        if not line or line.isspace():
            self.lines.append(line)
            if self.rows or len(self.lines) > MAX_HELD:
                self._end()
            return
        if len(line) > MAX_LINE:
            raise self.too_long(0)
        if line.startswith(b"-DOCSTART-"):
            if self.rows:
                self._end()
            self.lines.append(line)
            return
        fields = self._fields(line)
        if line[:1] == b"#" and self._is_comment(len(fields)):
            self.lines.append(line)
            return
        if self.is_conll_u and _SPAN_OR_EMPTY.match(line):
            self.lines.append(line)
            return
        if len(fields) != self.width:
            self._check_width(fields, line)
        self.rows.append(len(self.lines))
        self.lines.append(line)
        self.fields.append(tuple(fields))
        if len(self.rows) > MAX_TOKENS:
            raise ValueError(
                f"{self.name}, line {self.number}: {MAX_TOKENS} tokens without a blank line; put "
                "one after each sentence"
            )

    def _fields(self, line: bytes) -> list[str]:
        try:
            if self.tabs:
                return line.removesuffix(b"\r").decode(self.form.encoding).split("\t")
            # as bytes, because str.split would also cut at U+00A0
            return b" ".join(line.split()).decode(self.form.encoding).split(" ")
        except UnicodeDecodeError as error:
            raise decoding_error(self.name, self.number, self.form.encoding) from error

    def _is_comment(self, n_fields: int) -> bool:
        if self.form.comments != "auto":
            return self.form.comments == "yes"
        if self.tabs:
            return n_fields == 1
        return not self.rows and n_fields != self.width

    def _check_width(self, fields: list[str], line: bytes) -> None:
        if self.width == 0:  # nothing but lines with # so far
            self.width, self.is_conll_u = len(fields), False
            return
        kind = "column" if len(fields) == 1 else "columns"
        kind += " separated by tabs" if self.tabs else ""
        shown = line[:60].decode(self.form.encoding, errors="replace")
        raise ValueError(
            f"{self.name}, line {self.number}: found {len(fields)} {kind} in {shown!r}, expected "
            f"{self.width} as in the first token of the file. Give every token as many columns, "
            "put a blank line between sentences, and separate columns by tabs if any holds spaces"
        )

    def too_long(self, ahead: int) -> ValueError:
        """A line beyond all measure, this many lines ahead."""
        return ValueError(
            f"{self.name}, line {self.number + ahead}: more than {MAX_LINE} bytes; this is not a"
            " text "
            "with a token a line"
        )
