"""Zip archives read with suspicion: what a member claims is checked before memory is allocated."""

from __future__ import annotations

import struct
import zlib
from typing import IO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np

#: an archive may unpack to the larger of these, unless the caller says otherwise
FREE_BYTES, FREE_RATIO = 1 << 30, 100
#: deflate cannot pack better than this
MAX_RATIO = 1032
#: flags of members that are encrypted or patches of others
ENCRYPTED = 0x2061
#: bytes handled at a time
PIECE = 1 << 20
#: what Python's zip and JSON readers raise on damaged files
DAMAGE = (
    BadZipFile, zlib.error, struct.error, EOFError, OSError, NotImplementedError, RuntimeError,
    ValueError, KeyError, IndexError, TypeError, OverflowError, AttributeError,
)  # fmt: skip


def unpacked_limit(size: int, max_bytes: int | None = None) -> int:
    """How many bytes a packed file of that size may unpack to."""
    return max(FREE_BYTES, FREE_RATIO * size) if max_bytes is None else int(max_bytes)


def list_members(archive: ZipFile, size: int, error: type[ValueError]) -> dict[str, ZipInfo]:
    """Members by name. None is unpacked yet; none may claim what it cannot hold.

    Parameters
    ----------
    archive : ZipFile
        The archive.
    size : int
        Bytes of its file.
    error : type
        Class of the errors to raise.

    Returns
    -------
    dict of str to ZipInfo
        What the archive's directory says of each member.
    """
    members: dict[str, ZipInfo] = {}
    for info in archive.infolist():
        name = info.orig_filename
        shown = name[:80]
        if name in members:
            raise error(f"it has two members {shown!r}.")
        if info.flag_bits & ENCRYPTED or info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise error(f"its member {shown!r} is encrypted or packed in an unknown way.")
        if info.file_size > MAX_RATIO * info.compress_size + 64:
            raise error(f"its member {shown!r} claims more than it can hold.")
        members[name] = info
    if sum(info.compress_size for info in members.values()) > size:
        raise error("its members overlap.")
    return members


def check_total(members: dict[str, ZipInfo], limit: int, hint: str, error: type[ValueError]) -> int:
    """Check what all members together unpack to; `hint` may name it as ``{total}``."""
    total = sum(info.file_size for info in members.values())
    if total > limit:
        told = hint.format(total=total)
        raise error(f"it unpacks to {total} bytes, more than the {limit} allowed. {told}")
    return total


def read_bytes(stream: IO[bytes], count: int) -> np.ndarray:
    """Read that many bytes, or as many as there are, by and by.

    A read of everything at once would unpack more than a member claims.
    """
    found = np.empty(count, dtype=np.uint8)
    start = 0
    while start < count and (piece := stream.read(min(PIECE, count - start))):
        found[start : start + len(piece)] = np.frombuffer(piece, dtype=np.uint8)
        start += len(piece)
    return found[:start]
