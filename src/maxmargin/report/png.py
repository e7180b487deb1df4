"""Small grey pictures as PNG, without an imaging library."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence

from maxmargin.svg import number

__all__ = ["ink_png", "ink_uri"]


def ink_png(values: Sequence[float | None], height: int, width: int) -> bytes:
    """Black ink of strength 0 to 1 on a transparent ground, so that it suits any page.

    values : height x width numbers, row after row; what is missing or no number is blank.
    """
    wanted = height * width
    shades = [_shade(v) for v in list(values)[:wanted]]
    shades += [0] * (wanted - len(shades))
    rows = bytearray()
    for top in range(0, wanted, width):
        rows.append(0)  # no filter
        for shade in shades[top : top + width]:
            rows += bytes((0, shade))
    grey_and_alpha = struct.pack(">IIBBBBB", width, height, 8, 4, 0, 0, 0)
    parts = (
        _chunk(b"IHDR", grey_and_alpha),
        _chunk(b"IDAT", zlib.compress(bytes(rows), 9)),
        _chunk(b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def ink_uri(values: Sequence[float | None], height: int, width: int) -> str:
    """The same as an address that holds the picture itself."""
    return "data:image/png;base64," + base64.b64encode(ink_png(values, height, width)).decode()


def _shade(value: float | None) -> int:
    return round(255 * min(1.0, max(0.0, number(value) or 0.0)))


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
