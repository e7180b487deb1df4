"""Arrays of numbers and texts in .npz files, read with suspicion: what a file claims is checked
before memory is asked for, nothing is unpickled, and errors name the file and the array.
"""

from __future__ import annotations

import math
import os
import re
import struct
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO, cast
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
from scipy import sparse

from maxmargin.formats.text_lines import Readable, name_of
from maxmargin.persistence.archive import (
    DAMAGE,
    PIECE,
    check_total,
    list_members,
    read_bytes,
    unpacked_limit,
)
from maxmargin.persistence.members import write_array

__all__ = ["Arrays", "NpzError", "read_npz", "open_seekable", "write_npz"]

MAX_HEAD = 10_000
MAX_MEMBERS = 1000
#: texts of an array whose type has no room for a character
MAX_EMPTY = 1 << 20
#: bytes of a source that cannot go back, kept in memory before a temporary file is used
MAX_SPOOLED = 64 << 20

_HEAD = re.compile(
    r"\{\s*'descr':\s*'([^']{2,20})',\s*'fortran_order':\s*(True|False),"
    # a comma after each number but the last: were it left to choice, digits could be split up in
    # exponentially many ways
    r"\s*'shape':\s*\(((?:\s*\d{1,18}L?\s*,)*(?:\s*\d{1,18}L?)?)\s*\),?\s*\}\s*",
    re.ASCII,
)
_DTYPE = re.compile(r"[<>|=]?(b1|[iu][1248]|f[248]|[US]\d{1,7})|\?", re.ASCII)


class NpzError(ValueError):
    """What is wrong with an .npz file."""


class Arrays(Mapping[str, np.ndarray]):
    """The arrays of one file, and its name for messages."""

    def __init__(self, name: str, arrays: dict[str, np.ndarray]):
        self.name, self._arrays = name, arrays

    def __getitem__(self, name: str) -> np.ndarray:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def wrong(self, array: str, error: str) -> NpzError:
        """The error to raise for what is wrong with an array."""
        return NpzError(f"{self.name}: array {array!r}: {error}")

    def need(self, array: str, ndim: int, kinds: str, hint: str) -> np.ndarray:
        """The array, if it has that many dimensions and one of the kinds.

        kinds : letters of numpy: b (bool), i and u (integers), f (floats), U (texts).
        """
        if array not in self:
            found = ", ".join(sorted(self)) or "none"
            raise NpzError(f"{self.name}: array {array!r} is missing (there are: {found}); {hint}")
        value = self[array]
        if value.ndim != ndim:
            raise self.wrong(array, f"found {value.ndim} dimension(s), expected {ndim}; {hint}")
        if value.dtype.kind not in kinds:
            raise self.wrong(array, f"found type {value.dtype}, which cannot be used; {hint}")
        return value

    def _finite(self, array: str, n_axes: int, hint: str) -> np.ndarray:
        """Numbers, none of them nan or infinite."""
        value = self.need(array, n_axes, "biuf", hint).astype(np.float64, copy=False)
        bad = ~np.isfinite(value)
        if bad.any():
            place = ", ".join(map(str, np.argwhere(bad)[0].tolist()))
            found = value[tuple(np.argwhere(bad)[0])]
            raise self.wrong(
                array, f"has {found} at [{place}]; replace such values, by 0 or a mean say"
            )
        return value

    def matrix(self, array: str, hint: str) -> Any:
        """A dense (rows, columns) array, or a CSR matrix kept as four arrays.

        The four are X_data, X_indices, X_indptr and X_shape if the array is called X.
        """
        if array in self or f"{array}_data" not in self:
            return self._finite(array, 2, hint)
        data = self._finite(f"{array}_data", 1, hint)
        indices = self.need(f"{array}_indices", 1, "iu", hint)
        indptr = self.need(f"{array}_indptr", 1, "iu", hint)
        shape = self.need(f"{array}_shape", 1, "iu", hint)
        if shape.shape != (2,) or shape.min() < 0 or shape.max() >= 1 << 31:
            raise self.wrong(f"{array}_shape", f"expected (rows, columns) below 2^31; {hint}")
        rows, columns = map(int, shape)
        if len(indptr) != rows + 1:
            raise self.wrong(f"{array}_indptr", f"has {len(indptr)} numbers for {rows} rows")
        steps = indptr.astype(np.float64)
        if steps[0] != 0 or steps[-1] != len(data) or (np.diff(steps) < 0).any():
            raise self.wrong(
                f"{array}_indptr", f"expected numbers that rise from 0 to {len(data)}; {hint}"
            )
        if len(indices) != len(data):
            raise self.wrong(f"{array}_indices", f"has {len(indices)} numbers, not {len(data)}")
        if len(indices) and (indices.min() < 0 or indices.max() >= columns):
            raise self.wrong(f"{array}_indices", f"expected numbers from 0 to {columns - 1}")
        return sparse.csr_array(
            (data, indices.astype(np.int64), indptr.astype(np.int64)), shape=(rows, columns)
        )


def read_npz(source: Readable, name: str | None = None, max_bytes: int | None = None) -> Arrays:
    """All arrays of a file or a stream, each checked.

    name : what to call it in messages. max_bytes : what it may unpack to; None means 1 GiB, or 100
    times its own size if that is more.
    """
    name = name or name_of(source)
    with open_seekable(source) as file:
        size = file.seek(0, os.SEEK_END)
        limit = unpacked_limit(size, max_bytes)
        try:
            with ZipFile(file) as archive:
                infos = _list_arrays(archive, size, limit)
                arrays = {key: _read_member(archive, info) for key, info in infos.items()}
        except NpzError as error:
            raise NpzError(f"{name}: {error}") from error
        except DAMAGE as error:
            raise NpzError(
                f"{name}: not an .npz file, or damaged or cut short ({error}); write it with"
                " numpy.savez"
            ) from error
    return Arrays(name, arrays)


def write_npz(sink: BinaryIO, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays as numpy.savez_compressed does, but the same bytes at every time."""
    with ZipFile(sink, "w", ZIP_DEFLATED) as archive:
        for key, array in arrays.items():
            array = np.asarray(array)
            # by name, so that zipfile dates it 1980: nothing depends on the time
            with archive.open(f"{key}.npy", "w", force_zip64=array.nbytes > 1 << 30) as out:
                write_array(out, array)


@contextmanager
def open_seekable(source: Readable) -> Iterator[BinaryIO]:
    """The source if it can go back, else a copy of it."""
    if not hasattr(source, "read"):
        with open(cast(str, source), "rb") as file:
            yield file
        return
    stream = cast(BinaryIO, source)
    if stream.seekable():
        yield stream
        return
    with tempfile.SpooledTemporaryFile(MAX_SPOOLED) as copy:
        while piece := stream.read(PIECE):
            copy.write(piece)
        yield cast(BinaryIO, copy)


def _list_arrays(archive: ZipFile, size: int, limit: int) -> dict[str, ZipInfo]:
    """Members by the names of their arrays. None is unpacked yet."""
    members = list_members(archive, size, NpzError)
    if len(members) > MAX_MEMBERS:
        raise NpzError(f"found {len(members)} arrays, at most {MAX_MEMBERS} are read")
    check_total(members, limit, "Split it.", NpzError)
    named = {name.removesuffix(".npy"): info for name, info in members.items()}
    if len(named) < len(members):
        raise NpzError("two of its members have the same name but for .npy; write each array once")
    return named


def _read_member(archive: ZipFile, info: ZipInfo) -> np.ndarray:
    name = info.filename.removesuffix(".npy")[:80]
    with archive.open(info) as stream:
        dtype, fortran, shape, head = _read_head(cast(BinaryIO, stream), name)
        count = math.prod(shape) * dtype.itemsize
        if count != info.file_size - head:
            raise NpzError(
                f"array {name!r} of shape {shape} and type {dtype} needs {count} bytes, the file"
                f" has {info.file_size - head}; it is damaged"
            )
        flat = read_bytes(stream, count)
        if len(flat) < count:
            raise NpzError(f"array {name!r} is cut short")
        stream.read(1)  # makes zipfile compare its checksum
    return _checked(flat, dtype, fortran, shape, name)


def _read_head(stream: BinaryIO, name: str) -> tuple[np.dtype, bool, tuple[int, ...], int]:
    """Type, order, shape and length of the head, of a few known kinds only."""
    start = stream.read(8)
    if start[:6] != b"\x93NUMPY" or start[6:] not in (b"\x01\x00", b"\x02\x00"):
        raise NpzError(f"member {name!r} is not an array as numpy.savez writes it")
    wide = start[6] == 2
    size = struct.unpack("<I" if wide else "<H", stream.read(4 if wide else 2))[0]
    if size > MAX_HEAD:
        raise NpzError(f"array {name!r} has a head of {size} bytes, at most {MAX_HEAD} are read")
    text = stream.read(size).decode("latin-1")
    match = _HEAD.fullmatch(text)
    if match is None:
        raise NpzError(
            f"array {name!r} is of a kind that is not read; save plain numbers or texts, no objects"
        )
    if not _DTYPE.fullmatch(match[1]):
        raise NpzError(f"array {name!r} has type {match[1]!r}; save numbers or texts, no objects")
    shape = tuple(int(part.rstrip("L ")) for part in match[3].split(",") if part.strip())
    if len(shape) > 32:
        raise NpzError(f"array {name!r} has {len(shape)} dimensions")
    return np.dtype(match[1]), match[2] == "True", shape, len(start) + (4 if wide else 2) + size


def _checked(
    flat: np.ndarray, dtype: np.dtype, fortran: bool, shape: tuple[int, ...], name: str
) -> np.ndarray:
    """The bytes as an array of this machine's byte order; texts as str."""
    if dtype.itemsize == 0:
        if math.prod(shape) > MAX_EMPTY:  # they take no room in the file, but would in memory
            raise NpzError(f"array {name!r} has {math.prod(shape)} texts, all of them empty")
        return np.zeros(shape, dtype="U1")
    if dtype.kind == "b" and flat.size and flat.max() > 1:
        raise NpzError(f"array {name!r} has bools that are neither true nor false")
    array = flat.view(dtype)
    if dtype.kind == "U":
        codes = flat.view(np.dtype("u4").newbyteorder(dtype.byteorder))
        if codes.size and (codes.max() > 0x10FFFF or ((codes >= 0xD800) & (codes < 0xE000)).any()):
            raise NpzError(f"array {name!r} has characters that do not exist")
    array = array.astype(dtype.newbyteorder("="), copy=False)
    if dtype.kind == "S":
        try:
            array = np.char.decode(array, "utf-8")
        except UnicodeDecodeError:
            raise NpzError(f"array {name!r} has texts that are not UTF-8") from None
    return array.reshape(shape, order="F" if fortran else "C")
