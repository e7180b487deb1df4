"""Point clouds in text: x y z, further columns, a label; with or without a line of names."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, BinaryIO

import numpy as np

from maxmargin.formats.number_text import (
    is_plain,
    parse_numbers,
    read_blocks,
    rows_of_text,
    space_fields,
)
from maxmargin.formats.point_cloud import (
    Cloud,
    Wish,
    free_name,
    label_place,
    order_of,
    whole_if_can,
)

#: points written at a time
PIECE = 1 << 16
_FIELD = re.compile(rb"[^\s,;]")
_COMMAS = re.compile(rb"\s*,\s*")
#: bytes that no text has
_CONTROL = bytes([*range(9), *range(14, 27), *range(28, 32)])
LAYOUT = "give lines of x y z, further columns if there are any, and the label last"


@dataclass(frozen=True)
class TextLayout:
    """What separates the columns, and their names if there are any."""

    separator: str = " "
    names: tuple[str, ...] = ()

    def write(self, sink: BinaryIO, points: np.ndarray, labels: np.ndarray) -> None:
        """Lines of the columns and the label."""
        if self.names:
            sink.write((self.separator.join([*self.names, free_name(self.names)]) + "\n").encode())
        texts = [str(own) for own in labels.tolist()]
        for text in sorted({*texts}):
            if not text or text.split() != [text] or set(text) & {",", ";", "#"}:
                raise ValueError(f"the label {text!r} cannot stand in a table of points.")
        for start in range(0, len(points), PIECE):
            part = slice(start, start + PIECE)
            sink.write(rows_of_text(points[part], texts[part], self.separator))


class _Head:
    """What the first lines of a file tell. block : the lines that were read for it, from `first`
    on, a line of names blanked.
    """

    def __init__(self, found: Iterator[tuple[int, bytes]], name: str):
        self.name, self.block, self.first = name, b"", 1
        self.fields: list[bytes] = []
        self.names: list[str] = []
        for first, block in found:
            if first == 1:
                block = block.removeprefix(codecs.BOM_UTF8)
            if self._see(first, block):
                break
        if not self.fields:
            raise ValueError(f"{name}: there are no points; {LAYOUT}.")
        if len(self.fields) < 3:
            raise ValueError(f"{name}, line {self.line}: {len(self.fields)} column(s); {LAYOUT}.")
        if b"," in self.text and len(_COMMAS.sub(b",", self.text.strip()).split()) > 1:
            raise ValueError(
                f"{name}, line {self.line}: both commas and spaces or semicolons between numbers;"
                " write decimals with a point (1.5, not 1,5) and separate columns in one way."
            )

    def _see(self, first: int, block: bytes) -> bool:
        self.block, self.first = block, first
        begin, fields = _first_line(block, 0)
        if fields and not self.names:
            end = begin + len(block[begin:].split(b"\n", 1)[0])
            line = block[begin:end]
            if b"\r" in line.rstrip(b"\r"):
                raise ValueError(f"{self.name}: lines end in CR alone; save it with LF or CRLF.")
            self.separator = next((s for s in ",;\t" if s.encode() in line), " ")
            self.names = _names(fields)
            if self.names and line.translate(None, _CONTROL) != line:
                raise ValueError(f"{self.name}: is not text (nor PLY nor npz); {LAYOUT}.")
            if self.names:
                self.block = block[:begin] + b" " * (end - begin) + block[end:]
                begin, fields = _first_line(block, end + 1)
        self.fields = fields
        self.text = block[begin:].split(b"\n", 1)[0].replace(b";", b" ")
        self.line = first + block.count(b"\n", 0, begin)
        return bool(fields)


def read_text(stream: Any, name: str, wish: Wish, most: int) -> Cloud:
    """The points of one file; labels None if it has no column of them, or they are not wanted.

    most : how many bytes there may be.
    """
    found = read_blocks(stream, name, most=most)
    head = _Head(found, name)
    width, names = len(head.fields), head.names
    if names and len(names) != width:
        raise ValueError(
            f"{name}, line {head.line}: {width} columns, but {len(names)} names above them."
        )
    place = label_place(names, width, wish, name)
    table, labels = _read(chain([(head.first, head.block)], found), name, head, place)
    kept = [own for k, own in enumerate(names) if k != place]
    order = order_of(kept, table.shape[1], name)
    layout = TextLayout(head.separator, tuple(kept[k] for k in order) if kept else ())
    return Cloud(table[:, order], labels, name, layout)


def _read(
    found: Iterator[tuple[int, bytes]], name: str, head: _Head, place: int | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """All columns but the labels, and these."""
    width = len(head.fields)
    textual = place is not None and not is_plain(head.fields[place])
    rows: list[np.ndarray] = []
    texts: list[bytes] = []
    for first, block in found:
        block = space_fields(block)
        if textual:
            assert place is not None
            block, own = _without(block, width, place, name, first)
            texts += own
        rows.append(parse_numbers(block, width - textual, name, first))
    table = np.concatenate(rows)
    if textual:
        return table, _decoded(texts, name)
    if place is None:
        return table, None
    return np.delete(table, place, axis=1), whole_if_can(table[:, place])


def _first_line(block: bytes, begin: int) -> tuple[int, list[bytes]]:
    """Where the first line with something in it begins, and its fields."""
    match = _FIELD.search(block, begin)
    if match is None:
        return len(block), []
    begin = block.rfind(b"\n", begin, match.start()) + 1 or begin
    end = block.find(b"\n", begin)
    return begin, space_fields(block[begin : len(block) if end < 0 else end]).split()


def _names(fields: list[bytes]) -> list[str]:
    """Names of the columns, if the line has them: no field is a number, nor means one."""
    if any(is_plain(field) or field.lower() in (b"nan", b"inf", b"-inf") for field in fields):
        return []
    texts = [field.decode("utf-8", "replace").strip("\"'")[:80] for field in fields]
    return [texts[0].removeprefix("//"), *texts[1:]]


def _without(
    block: bytes, width: int, place: int, name: str, first: int
) -> tuple[bytes, list[bytes]]:
    """The block without the column of labels, and these."""
    lines, labels = [], []
    for number, line in enumerate(block.split(b"\n"), start=first):
        fields = line.split()
        if fields:
            if len(fields) != width:
                raise ValueError(
                    f"{name}, line {number}: {len(fields)} columns, expected {width} as in the"
                    " lines before."
                )
            labels.append(fields.pop(place))
        lines.append(b" ".join(fields))
    return b"\n".join(lines), labels


def _decoded(texts: list[bytes], name: str) -> np.ndarray:
    try:
        return np.array([text.decode("utf-8").strip("\"'") for text in texts])
    except UnicodeDecodeError:
        raise ValueError(f"{name}: has labels that are not UTF-8 text.") from None
