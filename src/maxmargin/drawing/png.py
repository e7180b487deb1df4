"""PNG files from bytes, without an imaging library."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from typing import Literal

from maxmargin.drawing.svg import finite_or_none

__all__ = ["ink_png", "png_bytes", "png_uri"]

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
    code, size = _KINDS[kind]
    step = width * size
    if len(pixels) != height * step or height < 1 or width < 1:
        raise ValueError(f"{len(pixels)} bytes for {height} x {width} pixels of {size} bytes.")
    if kind == "palette" and max(pixels) >= len(palette):
        raise ValueError(f"pixel {max(pixels)} is not among the {len(palette)} colours.")
    # each row begins with 0: no filter
    rows = b"".join(b"\0" + pixels[top : top + step] for top in range(0, len(pixels), step))
    parts = [_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, code, 0, 0, 0))]
    if kind == "palette":
        parts.append(_chunk(b"PLTE", b"".join(bytes(own[:3]) for own in palette)))
        parts.append(_chunk(b"tRNS", bytes(own[3] for own in palette)))
    parts += [_chunk(b"IDAT", zlib.compress(rows, 9)), _chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def ink_png(values: Sequence[float | None], height: int, width: int) -> bytes:
    """Black ink of strength 0 to 1 on a transparent background, so that it suits any page.

    values : height x width numbers, row after row; what is missing or no number is blank.
    """
    wanted = height * width
    shades = [_shade(v) for v in list(values)[:wanted]]
    shades += [0] * (wanted - len(shades))
    pixels = bytes(value for shade in shades for value in (0, shade))
    return png_bytes(pixels, height, width, "grey-alpha")


def png_uri(file: bytes) -> str:
    """A PNG file as an address that holds it."""
    return "data:image/png;base64," + base64.b64encode(file).decode()


def _shade(value: float | None) -> int:
    return round(255 * min(1.0, max(0.0, finite_or_none(value) or 0.0)))


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
