"""Arrays as members of a model file: .npy, whose head is compared and never interpreted."""

from __future__ import annotations

import hashlib
import math
import re
import struct
from typing import Any, BinaryIO

import numpy as np

from maxmargin.exceptions import ModelFileError
from maxmargin.persistence.archive import PIECE, read_bytes

_DTYPE = re.compile(
    r"[<>|](b1|[iuc]\d{1,2}|f\d{1,2}|S[1-9]\d{0,6}|[mM]8(\[\d{0,6}[a-zA-Zμ]{1,7}\])?)"
)
_TEXT_DTYPE = re.compile(r"[<>]U\d{1,7}")


def write_array(out: Any, array: np.ndarray) -> dict[str, Any]:
    """Write an array; return what the header says about it."""
    fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    head = _npy_head(array.dtype.str, fortran, array.shape)
    flat = (array.T if fortran else np.ascontiguousarray(array)).reshape(-1).view(np.uint8)
    digest = hashlib.sha256(head)
    out.write(head)
    for start in range(0, len(flat), PIECE):
        piece = flat[start : start + PIECE].data
        digest.update(piece)
        out.write(piece)
    return {
        "bytes": len(head) + len(flat),
        "sha256": digest.hexdigest(),
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        "fortran": fortran,
    }


def read_array(stream: BinaryIO, name: str, spec: dict[str, Any]) -> np.ndarray:
    """Read an array whose type and size, checked before, are in `spec`."""
    dtype, shape, fortran = array_type(spec["dtype"]), spec["shape"], spec["fortran"]
    head = _npy_head(spec["dtype"], fortran, tuple(shape))
    size = math.prod(shape) * dtype.itemsize
    if len(head) + size != spec["bytes"]:
        raise ModelFileError(f"the size of {name} does not go with its type.")
    found = stream.read(len(head))
    flat = read_bytes(stream, size)
    digest = hashlib.sha256(head)
    digest.update(flat.data)
    rest = stream.read(1)  # also makes zipfile compare its own checksum
    if found != head or rest or digest.hexdigest() != spec["sha256"]:
        raise ModelFileError(f"{name} is damaged: its checksum is wrong.")
    if dtype.kind == "b" and size and flat.max() > 1:
        raise ModelFileError(f"{name} has bools that are neither true nor false.")
    return flat.view(dtype).reshape(shape, order="F" if fortran else "C")


def array_type(text: Any) -> np.dtype:
    """The dtype of that name, if it is one of plain numbers."""
    if not isinstance(text, str) or not _DTYPE.fullmatch(text):
        raise ModelFileError(f"an array has the type {str(text)[:40]!r}, which is not allowed.")
    return np.dtype(text)


def text_type(text: Any) -> np.dtype:
    """The dtype of that name, if it is one of texts."""
    if not isinstance(text, str) or not _TEXT_DTYPE.fullmatch(text):
        raise ModelFileError(f"texts have the type {str(text)[:40]!r}, which is not allowed.")
    return np.dtype(text)


def _npy_head(dtype: str, fortran: bool, shape: tuple[int, ...]) -> bytes:
    """The first bytes of a .npy file (format 1.0); a multiple of 64, so that data are aligned."""
    text = f"{{'descr': {dtype!r}, 'fortran_order': {fortran!r}, 'shape': {shape!r}, }}"
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode("latin-1")
