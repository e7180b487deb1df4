"""Image files and masks, by pillow; what claims to be too large is not unpacked."""

from __future__ import annotations

import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from maxmargin.formats.text_lines import Readable, name_of
from maxmargin.optional import import_pillow

__all__ = ["FORMATS", "SUFFIXES", "read_image", "read_mask"]

FORMATS = ("PNG", "JPEG", "BMP", "TIFF")
SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff")
#: of one image
MAX_PIXELS = 100_000_000
#: where masks that JPEG has blurred are cut
CUT = 128
#: what pillow raises on damaged files
_DAMAGE = (
    OSError, SyntaxError, EOFError, ValueError, KeyError, IndexError, TypeError, AttributeError,
    ArithmeticError, RuntimeError, struct.error, zlib.error,
)  # fmt: skip


class _Refused(ValueError):
    """What is wrong with an image that pillow can read."""


def read_image(source: Readable, name: str | None = None) -> np.ndarray:
    """(H, W, 3) uint8; (H, W) uint16 or float64 where a file has such greys.

    As a viewer shows it: turned as its EXIF entry says, transparent parts on white. name : what to
    call it in messages.
    """
    name = name or name_of(source)
    with _opened(source, name) as (image, _):
        if image.mode in ("I;16", "I;16B", "I;16L", "I", "F"):
            return _deep(np.asarray(image), name)
        if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
            return _on_white(image)
        return np.asarray(image.convert("RGB"))


def read_mask(source: Readable) -> tuple[np.ndarray, bool]:
    """(H, W) integers as they are in the file, and whether JPEG values were cut at 128."""
    name = name_of(source)
    with _opened(source, name) as (image, form):
        if form == "JPEG":
            return np.where(np.asarray(image.convert("L")) >= CUT, 255, 0), True
        values = np.asarray(image)  # numbers of colours where there is a palette
        if image.mode in ("LA", "PA"):
            values = values[:, :, 0]
        if values.ndim == 3:
            values = _flat(values[:, :, :3])
        if values.dtype.kind == "f":
            raise ValueError(f"{name}: a mask of floats; save it with integers.")
        return values.astype(np.int64), False


@contextmanager
def _opened(source: Readable, name: str) -> Iterator[tuple[Any, str]]:
    """The image, its pixels unpacked and upright, and the name of its format."""
    Image, ImageOps = import_pillow("Image"), import_pillow("ImageOps")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd entries that do not matter here
        try:
            with Image.open(source, formats=FORMATS) as image:
                _check_head(image, name)
                image.load()
                upright = ImageOps.exif_transpose(image)
        except Image.UnidentifiedImageError:
            raise ValueError(
                f"{name}: is not an image in PNG, JPEG, BMP or TIFF, whatever its name; convert it."
            ) from None
        except Image.DecompressionBombError:
            raise _too_large(name) from None
        except (_Refused, FileNotFoundError, PermissionError, IsADirectoryError):
            raise
        except _DAMAGE as error:
            raise ValueError(f"{name}: damaged or cut short ({error}); save it again.") from error
        yield upright, image.format or ""


def _check_head(image: Any, name: str) -> None:
    """What the head claims, before memory is asked for."""
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise _too_large(name)
    if width < 1 or height < 1:
        raise _Refused(f"{name}: has no pixels.")
    if getattr(image, "n_frames", 1) > 1 and image.format != "JPEG":
        raise _Refused(f"{name}: holds {image.n_frames} images; save them one by one.")


def _too_large(name: str) -> _Refused:
    return _Refused(f"{name}: has more than {MAX_PIXELS:,} pixels; make it smaller.")


def _deep(values: np.ndarray, name: str) -> np.ndarray:
    """Greys of more than 8 bits."""
    if values.dtype.kind == "f":
        return values.astype(np.float64)
    if int(values.min()) < 0 or int(values.max()) > 65535:
        raise ValueError(f"{name}: greys are beyond 16 bits; save it with 8 or 16.")
    return values.astype(np.uint16)


def _on_white(image: Any) -> np.ndarray:
    Image = import_pillow("Image")
    clear = image.convert("RGBA")
    white = Image.new("RGBA", clear.size, (255, 255, 255, 255))
    return np.asarray(Image.alpha_composite(white, clear).convert("RGB"))


def _flat(colours: np.ndarray) -> np.ndarray:
    """A number for each colour; greys are their own."""
    if (colours[:, :, :1] == colours).all():
        return colours[:, :, 0]
    return colours.astype(np.int64) @ [1 << 16, 1 << 8, 1]
