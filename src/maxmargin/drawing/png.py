"""PNG files from bytes, without an imaging library."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import Literal

__all__ = ["png_bytes"]

#: kind -> (number in the head, bytes per pixel)
_KINDS = {"grey": (0, 1), "rgb": (2, 3), "palette": (3, 1), "grey-alpha": (4, 2)}


def png_bytes(
    pixels: bytes,
    height: int,
    width: int,
    kind: Literal["grey", "rgb", "palette", "grey-alpha"],
    palette: Sequence[tuple[int, int, int, int]] = (),
) -> bytes:
    """A file of 8 bits a channel.

    pixels : of all rows, one after another. palette : red, green, blue and alpha of each number
    that pixels of the kind "palette" may be.
    """
    number, size = _KINDS[kind]
    step = width * size
    if len(pixels) != height * step or height < 1 or width < 1:
        raise ValueError(f"{len(pixels)} bytes for {height} x {width} pixels of {size} bytes.")
    if kind == "palette" and max(pixels) >= len(palette):
        raise ValueError(f"pixel {max(pixels)} is not among the {len(palette)} colours.")
    # each row begins with 0: no filter
    rows = b"".join(b"\0" + pixels[top : top + step] for top in range(0, len(pixels), step))
    parts = [_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, number, 0, 0, 0))]
    if kind == "palette":
        parts.append(_chunk(b"PLTE", b"".join(bytes(own[:3]) for own in palette)))
        parts.append(_chunk(b"tRNS", bytes(own[3] for own in palette)))
    parts += [_chunk(b"IDAT", zlib.compress(rows, 9)), _chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
