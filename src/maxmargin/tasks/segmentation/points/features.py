"""What the surroundings of points look like: heights, shapes at several sizes, spin images."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import ndimage
from scipy.spatial import cKDTree

from maxmargin._numba.segmentation import spin_images

CHUNK = 8192  # points looked at together, which bounds the memory
#: bins of a spin image, about the normal and along it, as in Anguelov and others (CVPR 2005)
RINGS, LAYERS = 10, 5
#: how far a spin image reaches, in mean spacings of its points
SPIN_REACH = 4.0
SPIN_POINTS = 64
SHAPE_POINTS = 16
#: cells of the map of heights, for each point, at most
CELLS = 8
_SHAPE = ("lowest", "highest", "mean height", "spread", "flatness", "width", "tilt", "thickness")


class Level(NamedTuple):
    """A cloud thinned to one point a cube, and the tree that finds nearest points in it."""

    points: np.ndarray
    tree: cKDTree


def mean_spacing(points: np.ndarray, count: int = 2000) -> float:
    """The side of the square that a point has for itself on a surface; 0 if points coincide."""
    k = min(7, len(points))
    if k < 2:
        return 0.0
    chosen = np.linspace(0, len(points) - 1, min(count, len(points))).astype(np.int64)
    apart, _ = cKDTree(points).query(points[chosen], k=k)
    return float(np.median(apart[:, -1]) * np.sqrt(np.pi / (k - 1)))


def average_in_cubes(points: np.ndarray, side: float) -> Level:
    """The means of the points in each cube of the given side; all points if it is 0."""
    if side > 0:
        cell = np.minimum(points / side, 2.0**20).astype(np.int64)
        key = (cell[:, 0] << 42) + (cell[:, 1] << 21) + cell[:, 2]
        _, place = np.unique(key, return_inverse=True)
        count = np.bincount(place)
        sums = [np.bincount(place, weights=points[:, k]) for k in range(3)]
        points = np.column_stack(sums) / count[:, None]
    return Level(points, cKDTree(points))


def nearest_points(level: Level, places: np.ndarray, count: int) -> np.ndarray:
    """(n, count), the numbers of the nearest points; their number where there are no more."""
    _, near = level.tree.query(places, k=np.arange(1, count + 1))
    return near.astype(np.int64)


def height_steps(points: np.ndarray, chosen: np.ndarray, count: int) -> np.ndarray:
    """The differences of height between the chosen points and their nearest."""
    near = nearest_points(
        Level(points, cKDTree(points)), points[chosen], min(count + 1, len(points))
    )
    return np.abs(points[near, 2] - points[chosen, None, 2])[:, 1:].ravel()


def shape_features(places: np.ndarray, level: Level) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What the nearest points of a level look like.

    Measures (n, 8); the normals (n, 3), upwards; and how far the points extend (n,), which is more
    where they are sparse.
    """
    near = nearest_points(level, places, SHAPE_POINTS)
    found = np.empty((len(places), 11))
    spin_images.write_moments(places, level.points, near, SHAPE_POINTS, found)
    spread = found[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3)
    values, vectors = np.linalg.eigh(spread)
    normals = vectors[:, :, 0] * np.where(vectors[:, 2, :1] < 0, -1.0, 1.0)
    width = np.sqrt(np.maximum(values, 0.0))
    longest = np.maximum(width[:, 2], 1e-300)
    columns = [
        found[:, 9],
        found[:, 10],
        found[:, 8],
        np.sqrt(found[:, 5]),
        width[:, 0] / longest,
        width[:, 1] / longest,
        normals[:, 2],
        width[:, 0],
    ]
    return np.column_stack(columns), np.ascontiguousarray(normals), width[:, 2]


def shape_names(size: float) -> list[str]:
    """What the columns of `shape_features` are."""
    return [f"{name} around, size {size:g}" for name in _SHAPE]


def spin_features(
    places: np.ndarray, normals: np.ndarray, level: Level, radius: float
) -> np.ndarray:
    """(n, RINGS * LAYERS), the spin image of each place."""
    near = nearest_points(level, places, SPIN_POINTS)
    images = np.empty((len(places), RINGS * LAYERS))
    spin_images.spin_images(places, normals, level.points, near, radius, RINGS, images)
    return images


def heights_above(points: np.ndarray, cell: float, radii: np.ndarray) -> np.ndarray:
    """(N, 2 len(radii) + 1), heights above ground as far as objects of a size can hide it.

    The lowest points of square cells make a map; opening it by a square of half side r (the
    highest of the lowest heights in all such squares about a place) takes off whatever is narrower
    than that. Of each r: the height above the opened map, and above it made smooth, which is less
    on slopes. Last the slope of the map opened by the largest r. Zhang and others, IEEE TGRS 41,
    2003; Pingel and others, ISPRS J. 77, 2013.
    """
    flat = points[:, :2]
    # A few stray points far away shall not make cells large.
    low, high = np.quantile(flat, [0.005, 0.995], axis=0)
    reach = high - low
    flat = np.clip(flat, low - reach, high + reach)
    start = flat.min(axis=0)
    size = flat.max(axis=0) - start
    cell = max(cell, float(np.sqrt(size.prod() / (CELLS * len(points) + 64.0))))
    cell = max(cell, float(size.max() / (CELLS * len(points) + 64.0)), 1e-300)
    at = (flat - start) / cell
    lowest = _lowest(at.astype(np.int64), points[:, 2])
    found = np.empty((len(points), 2 * len(radii) + 1))
    for k, radius in enumerate(radii):
        # a wider window than the map sees no more of it
        half = min(max(round(float(radius) / cell), 1), max(lowest.shape))
        opened = ndimage.grey_opening(lowest, size=(2 * half + 1, 2 * half + 1))
        found[:, 2 * k] = points[:, 2] - _values(opened, at)
        smooth = ndimage.gaussian_filter(opened, half / 2)
        found[:, 2 * k + 1] = points[:, 2] - _values(smooth, at)
    across = [np.gradient(smooth, cell, axis=k) for k in range(2) if smooth.shape[k] > 1]
    slope = np.sqrt(sum((own**2 for own in across), np.zeros(smooth.shape)))
    found[:, -1] = _values(slope, at)
    return found


def height_names(radii: Any) -> list[str]:
    """What the columns of `heights_above` are."""
    names = []
    for radius in radii:
        names += [f"height above ground, size {radius:g}", f"height above smooth, size {radius:g}"]
    return [*names, "slope"]


def _lowest(cells: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """The lowest height of each cell; empty ones have that of the nearest cell."""
    shape = cells.max(axis=0) + 1
    lowest = np.full(shape.prod(), np.inf)
    np.minimum.at(lowest, cells[:, 0] * shape[1] + cells[:, 1], heights)
    lowest = lowest.reshape(shape)
    full = ndimage.distance_transform_edt(
        np.isinf(lowest), return_distances=False, return_indices=True
    )
    return lowest[tuple(full)]


def _values(table: np.ndarray, at: np.ndarray) -> np.ndarray:
    return ndimage.map_coordinates(table, at.T - 0.5, order=1, mode="nearest")
