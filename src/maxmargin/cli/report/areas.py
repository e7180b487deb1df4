"""Pixels and points in colours: what was predicted, the truth, and where they differ."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import Any

from maxmargin.cli.report.markup import Html, bdi, clip_text, el, join
from maxmargin.drawing.png import png_bytes, png_uri
from maxmargin.drawing.views import COLOURS

__all__ = ["areas_html"]

MAX_PLACES = 400 * 400
MAX_MAPS = 4
#: pixels on the page of a picture's longer side
SIDE = 240
#: what places show: by role (background, foreground, false and missed foreground), a place in
#: COLOURS
PREDICTED, TRUTH, ERRORS = (0, 1, 1, 0), (0, 1, 0, 1), (0, 1, 2, 3)


def areas_html(drawing: dict[str, Any]) -> Html:
    """Small maps of one sample, each coloured by prediction, by truth and by mistakes."""
    title, maps = clip_text(drawing.get("title", ""), 80), drawing["maps"][:MAX_MAPS]
    if not maps:
        raise ValueError("there is nothing to draw")
    shown = [_figure(*_picture(drawing, maps[0]), "sample", title)] if "picture" in drawing else []
    for own in maps:
        height, width = _size(own)
        codes = _unpacked(own["codes"], height * width)
        place = f", {clip_text(own['name'], 40)}" if own.get("name") else ""
        kinds = [("prediction", PREDICTED)]
        if drawing.get("truth_known"):
            kinds += [("truth", TRUTH), ("mistakes", ERRORS)]
        for name, roles in kinds:
            file = png_bytes(codes, height, width, "palette", _palette(roles))
            shown.append(_figure(file, height, width, name + place, title))
    return el("div", join(shown), class_="areas")


def _size(own: dict[str, Any]) -> tuple[int, int]:
    height, width = int(own["height"]), int(own["width"])
    if not (height > 0 and width > 0 and height * width <= MAX_PLACES):
        raise ValueError("maps of this size are not drawn")
    return height, width


def _picture(drawing: dict[str, Any], own: dict[str, Any]) -> tuple[bytes, int, int]:
    height, width = _size(own)
    pixels = _unpacked(drawing["picture"], height * width * 3)
    return png_bytes(pixels, height, width, "rgb"), height, width


def _unpacked(text: str, size: int) -> bytes:
    """Return `size` bytes, never more, whatever is packed in the text."""
    try:
        found = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), size + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if len(found) != size:
        raise ValueError(f"found {len(found)} bytes, expected {size}")
    return found


def _palette(roles: Sequence[int]) -> list[tuple[int, int, int, int]]:
    shades = [bytes.fromhex(COLOURS[k].removeprefix("#")) for k in roles]
    return [(0, 0, 0, 0), *((r, g, b, 255) for r, g, b in shades)]


def _figure(file: bytes, height: int, width: int, name: str, title: str) -> Html:
    scale = SIDE / max(height, width)
    picture = el(
        "img",
        src=png_uri(file),
        alt=f"{name} of {title}",
        width=max(1, round(width * scale)),
        height=max(1, round(height * scale)),
    )
    return el("figure", picture, el("figcaption", bdi(name)), class_="area")
