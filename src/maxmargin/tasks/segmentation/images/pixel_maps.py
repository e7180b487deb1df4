"""What a pixel looks like: its colour, the colour and the texture around it, and its place."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import ndimage

#: widths of the surroundings, in shares of the root of the number of pixels
SCALES = (0.02, 0.06)
#: centres of the bumps of the grid of places, in both directions
GRID = 5

# From linear sRGB to CIE XYZ, divided by the white point D65.
_TO_XYZ = np.array(
    [
        [0.412453 / 0.95047, 0.357580 / 0.95047, 0.180423 / 0.95047],
        [0.212671, 0.715160, 0.072169],
        [0.019334 / 1.08883, 0.119193 / 1.08883, 0.950227 / 1.08883],
    ],
    dtype=np.float32,
)


def lab_of(rgb: np.ndarray) -> np.ndarray:
    """(H, W, 3) float32, CIE L*a*b* / 100 of sRGB from 0 to 1: distances are those of the eye."""
    found = np.empty(rgb.shape, dtype=np.float32)
    for row in range(0, len(rgb), 256):  # in bands, since half a dozen copies are made of each
        band = rgb[row : row + 256]
        linear = np.where(band > 0.04045, ((band + 0.055) / 1.055) ** 2.4, band / 12.92)
        xyz = linear @ _TO_XYZ.T
        root = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
        x, y, z = root[..., 0], root[..., 1], root[..., 2]
        found[row : row + 256] = np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=2)
    return found / np.float32(100)


def colour_maps(lab: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Lightness, redness, yellowness, and how strong the colour is."""
    for k, name in enumerate(("lightness", "redness", "yellowness")):
        yield name, lab[..., k]
    yield "chroma", np.hypot(lab[..., 1], lab[..., 2])


def smooth_maps(lab: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Colours around a pixel, in windows of several widths."""
    size = np.sqrt(lab.shape[0] * lab.shape[1])
    for scale in SCALES:
        for k, name in enumerate(("lightness", "redness", "yellowness")):
            yield f"{name} within {scale:g}", gaussian_blur(lab[..., k], scale * size)


def texture_maps(lab: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Strength and direction of the change of lightness, and roughness, around a pixel."""
    size = np.sqrt(lab.shape[0] * lab.shape[1])
    light = lab[..., 0]
    down, right = (ndimage.gaussian_filter(light, 1.0, order=order) for order in ((1, 0), (0, 1)))
    for scale in SCALES:
        products = (down * down, right * right, down * right)
        a, b, c = (gaussian_blur(product, scale * size) for product in products)
        a, b = np.maximum(a, 0), np.maximum(b, 0)  # running means may end just below
        yield f"slope within {scale:g}", np.sqrt(a + b)
        yield f"steepness within {scale:g}", (a - b) / (a + b + np.float32(1e-6))
        yield f"coherence within {scale:g}", np.hypot(a - b, 2 * c) / (a + b + np.float32(1e-6))
        centre = light - gaussian_blur(light, scale * size)
        yield f"light against within {scale:g}", centre
        yield (
            f"roughness within {scale:g}",
            np.sqrt(np.maximum(gaussian_blur(centre * centre, scale * size), 0)),
        )


def place_maps(height: int, width: int) -> Iterator[tuple[str, np.ndarray]]:
    """Row and column from -1 to 1, their products, and how far the border is."""
    row, column = _axes(height, width)
    whole = np.ones((height, width), dtype=np.float32)
    yield "row", row * whole
    yield "column", column * whole
    yield "row squared", row * row * whole
    yield "column squared", column * column * whole
    yield "row times column", row * column
    yield "distance to border", np.minimum(1 - np.abs(row), 1 - np.abs(column))


def grid_maps(height: int, width: int) -> Iterator[tuple[str, np.ndarray]]:
    """Bumps on a grid: which shape the foreground often has."""
    row, column = _axes(height, width)
    places = np.linspace(-0.8, 0.8, GRID, dtype=np.float32)
    bumps = [[np.exp(-(((at - p) / 0.3) ** 2)) for p in places] for at in (row, column)]
    for i, down in enumerate(bumps[0]):
        for j, across in enumerate(bumps[1]):
            yield f"near place {i + 1}, {j + 1}", down * across


def _axes(height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """(H, 1) and (1, W), the middles of pixels from -1 to 1."""
    row = np.linspace(-1, 1, 2 * height + 1, dtype=np.float32)[1::2, None]
    column = np.linspace(-1, 1, 2 * width + 1, dtype=np.float32)[None, 1::2]
    return row, column


def gaussian_blur(values: np.ndarray, sigma: float) -> np.ndarray:
    """A Gaussian blur, by repeated means where the window is wide: as quick for any width."""
    if sigma < 4:
        return ndimage.gaussian_filter(values, sigma, mode="nearest", truncate=3.0)
    # A mean of n values has the variance (n * n - 1) / 12; three of two odd widths come near.
    low = 2 * int((np.sqrt(4 * sigma * sigma + 1) - 1) / 2) + 1
    n_low = round((3 * (low + 2) ** 2 - 12 * sigma * sigma - 3) / (4 * low + 4))
    for k in range(3):
        values = ndimage.uniform_filter(values, low if k < n_low else low + 2, mode="nearest")
    return values
