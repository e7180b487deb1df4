"""Small pictures as addresses that hold them."""

from __future__ import annotations

import base64
from collections.abc import Sequence

from maxmargin.drawing.png import png_bytes
from maxmargin.drawing.svg import number

__all__ = ["ink_png", "ink_uri", "png_uri"]


def ink_png(values: Sequence[float | None], height: int, width: int) -> bytes:
    """Black ink of strength 0 to 1 on a transparent background, so that it suits any page.

    values : height x width numbers, row after row; what is missing or no number is blank.
    """
    wanted = height * width
    shades = [_shade(v) for v in list(values)[:wanted]]
    shades += [0] * (wanted - len(shades))
    pixels = bytes(value for shade in shades for value in (0, shade))
    return png_bytes(pixels, height, width, "grey-alpha")


def ink_uri(values: Sequence[float | None], height: int, width: int) -> str:
    """The same as an address that holds the picture itself."""
    return png_uri(ink_png(values, height, width))


def png_uri(file: bytes) -> str:
    """A PNG file as an address that holds it."""
    return "data:image/png;base64," + base64.b64encode(file).decode()


def _shade(value: float | None) -> int:
    return round(255 * min(1.0, max(0.0, number(value) or 0.0)))
