"""Rows of numbers in text, read in bulk: a million rows in about a second, in bounded memory.

Fields are separated by white space, commas or semicolons; from # on, a line is comment; lines with
nothing else are skipped. Errors name the file and the line.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

#: bytes looked at together, and of one line at most
BLOCK, MAX_LINE = 4 << 20, 1 << 20
_COMMENT = re.compile(rb"#[^\n]*")
_TO_SPACES = bytes.maketrans(b",;\t\r\v\f", b"      ")
#: what numbers are made of; nan and inf are not coordinates
_OF_NUMBERS = b"0123456789+-.eE \n"


def read_blocks(stream: Any, name: str, first: int = 1, most: int | None = None) -> Iterator[Any]:
    """(number of the first line, whole lines) of a stream, without comments.

    most : how many bytes there may be, all in all.
    """
    size = 0
    while block := stream.read(BLOCK):
        if not block.endswith(b"\n"):
            rest = stream.readline(MAX_LINE)
            if len(rest) == MAX_LINE and not rest.endswith(b"\n"):
                raise ValueError(
                    f"{name}, line {first + block.count(10)}: longer than {MAX_LINE} bytes; this is"
                    " no table of points."
                )
            block += rest
        size += len(block)
        if most is not None and size > most:
            raise ValueError(f"{name}: unpacks to more than {most} bytes; split it.")
        lines = block.count(b"\n")
        if b"#" in block:
            block = _COMMENT.sub(b"", block)
        yield first, block
        first += lines


def space_fields(block: bytes) -> bytes:
    """With spaces for all that separates fields."""
    return block.translate(_TO_SPACES)


def parse_numbers(block: bytes, width: int, name: str, first: int) -> np.ndarray:
    """(rows, width), the numbers of a block with spaces, whose lines have this many or none."""
    block = block if block.endswith(b"\n") else block + b"\n"
    if block.translate(None, _OF_NUMBERS):
        raise _find_error(block, width, name, first)
    counts = _fields(block)
    used = counts > 0
    if (counts[used] != width).any():
        raise _find_error(block, width, name, first)
    if not used.any():
        return np.empty((0, width))
    with warnings.catch_warnings():
        # what stops it is found below, and in words
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            found = np.fromstring(block.decode("ascii"), dtype=np.float64, sep=" ")
        except ValueError:
            raise _find_error(block, width, name, first) from None
    if len(found) != width * int(used.sum()) or not np.isfinite(found).all():
        raise _find_error(block, width, name, first)
    return found.reshape(-1, width)


def _fields(block: bytes) -> np.ndarray:
    """How many fields each line has."""
    raw = np.frombuffer(block, dtype=np.uint8)
    begins = raw > 32
    begins[1:] &= raw[:-1] <= 32
    ends = np.flatnonzero(raw == 10)
    return np.diff(np.cumsum(begins)[ends], prepend=0)


def _find_error(block: bytes, width: int, name: str, first: int) -> ValueError:
    """What is wrong with the first line that has an error."""
    for number, line in enumerate(block.split(b"\n"), start=first):
        fields = line.split()
        if fields and len(fields) != width:
            return ValueError(
                f"{name}, line {number}: {len(fields)} columns, expected {width} as in the lines"
                " before."
            )
        for field in fields:
            if not is_plain(field):
                shown = field[:40].decode("utf-8", "replace")
                return ValueError(
                    f"{name}, line {number}: {shown!r} is not a finite number; correct it, or leave"
                    " the line out."
                )
    return ValueError(f"{name}, line {first}: found numbers that cannot be read.")


def is_plain(field: bytes) -> bool:
    """Whether it is a finite number as tables have it."""
    if field.translate(None, _OF_NUMBERS):
        return False
    try:
        return bool(np.isfinite(float(field)))
    except ValueError:
        return False


def rows_of_text(columns: np.ndarray, labels: list[str], separator: str) -> bytes:
    """Lines of numbers, each to its last digit, with a label at the end."""
    parts = [list(map(_shortest, column)) for column in columns.T.tolist()]
    lines = map(separator.join, zip(*parts, labels, strict=True))
    return ("\n".join(lines) + "\n").encode() if labels else b""


def _shortest(value: float) -> str:
    text = repr(value)
    return text.removesuffix(".0")
