"""Lines of text files, plain or gzip, with errors that name the file and the line."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from maxmargin.progress import open_watched

__all__ = [
    "Readable",
    "check_encoding",
    "decoded_lines",
    "fields_of",
    "is_number",
    "name_of",
    "text_lines",
    "decoding_error",
    "open_unpacked",
]

Readable = str | os.PathLike | BinaryIO


def text_lines(path: Readable, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield the number, from 1, and the text of every line.

    Runs of ASCII white space become one space, and none is left at the ends. gzip is told by its
    first bytes, not by the name; pipes such as sys.stdin.buffer will do. The encoding must be one
    that includes ASCII.
    """
    name, number = name_of(path), 0
    try:
        with open_unpacked(path) as lines:
            for number, line in enumerate(lines, start=1):
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
                # bytes.split knows ASCII white space only; str.split would also cut at U+00A0.
                yield number, b" ".join(line.split()).decode(encoding)
    except UnicodeDecodeError as error:
        raise decoding_error(name, number, encoding) from error


@contextmanager
def open_unpacked(path: Readable) -> Iterator[Any]:
    """The file, unpacked if its first bytes say gzip; damage is a ValueError that names it."""
    try:
        with _opened(path) as raw:
            zipped, raw = _told_by_start(raw)
            yield io.BufferedReader(gzip.GzipFile(fileobj=raw), 1 << 20) if zipped else raw
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(
            f"{name_of(path)}: damaged gzip file ({error}); fetch or make it again"
        ) from error


#: what to do about a file of another encoding, where it can be chosen
CHOOSE_ENCODING = (
    'if the file is in another encoding, name it (encoding="latin-1", --encoding latin-1)'
)


def decoding_error(
    name: str, number: int, encoding: str, advice: str = CHOOSE_ENCODING
) -> ValueError:
    """What to raise for bytes that are not text."""
    return ValueError(f"{name}, line {number}: found bytes that are not {encoding} text; {advice}")


def decoded_lines(raw: Iterable[bytes], name: str) -> Iterator[str]:
    """Yield the lines of a file in UTF-8 as they are; name : of it, for errors."""
    for number, line in enumerate(raw, start=1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise decoding_error(name, number, "utf-8", "convert the file") from None


def check_encoding(encoding: str) -> str:
    """The encoding, if it is one whose line ends, tabs and spaces are those of ASCII."""
    try:
        plain = b"\t\n ".decode(encoding) == "\t\n " and "\t\n ".encode(encoding) == b"\t\n "
    except (LookupError, ValueError):
        plain = False
    if not plain:
        raise ValueError(
            f"encoding {encoding!r} cannot be read by lines; use utf-8 or latin-1, or "
            "turn the file into UTF-8"
        )
    return encoding


def fields_of(line: str) -> list[str]:
    """Return the fields of a line as `text_lines` gives it."""
    return line.split(" ") if line else []


def is_number(text: str) -> bool:
    """Whether `text` is a number, as float() reads it."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def name_of(path: Readable) -> str:
    """Return what to call the file in messages."""
    if not hasattr(path, "read"):
        return str(path)
    name = getattr(path, "name", None)  # a number of pipes, absent of files in memory
    return name if isinstance(name, str) else "the input"


@contextmanager
def _opened(path: Readable) -> Iterator[BinaryIO]:
    """An open file is the caller's to close."""
    if hasattr(path, "read"):
        yield cast(BinaryIO, path)
        return
    with open_watched(cast(str, path)) as file:
        yield file


def _told_by_start(file: BinaryIO) -> tuple[bool, BinaryIO]:
    """Whether it is gzip, and a file that still has its first bytes."""
    start = file.read(1)
    start += file.read(1)  # one by one, as a pipe may have had no more yet
    zipped = start == b"\x1f\x8b"
    if file.seekable():
        file.seek(-len(start), os.SEEK_CUR)
        return zipped, file
    return zipped, cast(BinaryIO, io.BufferedReader(_PutBack(start, file)))


class _PutBack(io.RawIOBase):
    """A file that cannot go back, after the bytes that were read of it; is not to close it."""

    def __init__(self, start: bytes, file: BinaryIO):
        self._start = start
        self._read = getattr(file, "read1", file.read)  # read1 waits for some bytes, read for all

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._start:
            data, self._start = self._start[: len(buffer)], self._start[len(buffer) :]
        else:
            data = self._read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
