"""Images as users give them, as colours from 0 to 1."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import numpy as np

from maxmargin.exceptions import SampleError


def check_image(i: int, x: Any) -> np.ndarray:
    """(H, W, 3) float32 sRGB from 0 to 1 of image i; errors say what is wrong and the remedy."""
    if isinstance(x, (str, bytes, PurePath)):
        raise SampleError.of(
            i,
            f": {str(x)[:80]!r} is a name, not pixels; open the file first, e.g."
            " np.asarray(PIL.Image.open(name)).",
            noun="image",
        )
    try:
        image = np.asarray(x)
    except ValueError as error:
        raise SampleError.of(i, f": not an array of numbers ({error}).", noun="image") from None
    if image.ndim == 2:
        image = image[:, :, None]
    if image.ndim != 3 or image.shape[2] not in (1, 3, 4):
        raise SampleError.of(
            i,
            f": shape {np.shape(x)}, expected (H, W), (H, W, 1), (H, W, 3) or (H, W, 4)"
            " with alpha; channels come last: np.moveaxis(image, 0, -1).",
            noun="image",
        )
    if image.size == 0:
        raise SampleError.of(i, f": shape {np.shape(x)} has no pixels; leave it out.", noun="image")
    values = _from_0_to_1(i, image)
    if image.shape[2] == 4:
        alpha = values[:, :, 3:]
        values = values[:, :, :3] * alpha + (1 - alpha)
    return np.broadcast_to(values, (*image.shape[:2], 3)).astype(np.float32)


def _from_0_to_1(i: int, image: np.ndarray) -> np.ndarray:
    kind = image.dtype.kind
    if kind == "b":
        return image.astype(np.float64)
    if kind == "f":
        return _check_float(i, image)
    if kind not in "iu":
        raise SampleError.of(
            i,
            f": dtype {image.dtype}, expected bool, integers or floats from 0 to 1.",
            noun="image",
        )
    top = 65535 if image.dtype == np.uint16 else 255
    low, high = int(image.min()), int(image.max())
    if low < 0 or high > top:
        raise SampleError.of(
            i,
            f": values from {low} to {high} with dtype {image.dtype}; integers must"
            " be from 0 to 255, or to 65535 with dtype uint16. Floats may be from 0 to 1.",
            noun="image",
        )
    return image / top


def _check_float(i: int, image: np.ndarray) -> np.ndarray:
    wrong = ~np.isfinite(image)
    if wrong.any():
        row, column, channel = (int(k) for k in np.argwhere(wrong)[0])
        raise SampleError.of(
            i,
            f": pixel ({row}, {column}), channel {channel} is"
            f" {image[row, column, channel]}; fill what is missing, e.g. np.nan_to_num(image).",
            noun="image",
        )
    low, high = float(image.min()), float(image.max())
    if low < -1e-6 or high > 1 + 1e-6:
        hint = "image / 255" if low >= 0 and high <= 255 else "scale it"
        raise SampleError.of(
            i, f": floats from {low:g} to {high:g}, expected 0 to 1: {hint}.", noun="image"
        )
    return np.clip(image.astype(np.float64), 0, 1)
