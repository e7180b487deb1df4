"""Which points of a cloud are neighbours, and how much they belong together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial import Delaunay, QhullError, cKDTree

CHUNK = 65536
EDGE_NAMES = ["constant", "nearness", "same height", "same surface", "near surface", "step", "part"]
#: steps along a part in shares of its size; multiples of this one lie nowhere close to each other
_SHARE = (np.sqrt(5.0) - 1.0) / 2.0


def nearest_edges(places: np.ndarray, count: int) -> np.ndarray:
    """(E, 2), each point with its nearest ones, in space (N, 3) or in the plane (N, 2)."""
    n = len(places)
    k = min(count + 1, n)
    tree = cKDTree(places)
    keys = []
    for first in range(0, n, CHUNK):
        own = np.arange(first, min(first + CHUNK, n))
        _, near = tree.query(places[own], k=np.arange(1, k + 1))
        keys.append(_keys(np.repeat(own, k), near.ravel(), n))
    return _pairs(np.concatenate(keys), n)


def surface_edges(points: np.ndarray, longest: float) -> np.ndarray:
    """(E, 2), the Delaunay triangles of the points seen from above, without long sides.

    Of points with the same x and y, the lowest is a corner; the others hang on it in the order of
    their heights.
    """
    n = len(points)
    flat, place = np.unique(points[:, :2], axis=0, return_inverse=True)
    order = np.lexsort((points[:, 2], place.ravel()))
    same = np.diff(place.ravel()[order]) == 0
    keys = [_keys(order[:-1][same], order[1:][same], n)]
    corners = order[np.concatenate([[True], ~same])]
    ends = _triangle_sides(flat)
    near = np.hypot(*(flat[ends[:, 0]] - flat[ends[:, 1]]).T) <= longest
    keys.append(_keys(corners[ends[near, 0]], corners[ends[near, 1]], n))
    return _pairs(np.concatenate(keys), n)


def _triangle_sides(flat: np.ndarray) -> np.ndarray:
    try:
        corners = Delaunay(flat).simplices if len(flat) > 2 else None
    except QhullError:  # all on one line
        corners = None
    if corners is None:  # the places are sorted, so this goes along the line
        return np.column_stack([np.arange(len(flat) - 1), np.arange(1, len(flat))])
    return np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])


def _keys(a: np.ndarray, b: np.ndarray, n: int) -> np.ndarray:
    keep = a != b
    a, b = a[keep].astype(np.int64), b[keep].astype(np.int64)
    return np.unique(np.minimum(a, b) * n + np.maximum(a, b))


def _pairs(keys: np.ndarray, n: int) -> np.ndarray:
    keys = np.unique(keys)
    return np.column_stack([keys // n, keys % n])


def smooth_parts(points: np.ndarray, edges: np.ndarray, grade: float, spacing: float) -> np.ndarray:
    """(N,), the part of each point: those that edges join which rise at most by `grade`.

    Edges shorter than the mean spacing may rise as much as one of that length, since heights are
    not exact.
    """
    kept = []
    for first in range(0, len(edges), CHUNK):
        own = edges[first : first + CHUNK]
        apart = np.abs(points[own[:, 0]] - points[own[:, 1]])
        along = np.maximum(np.hypot(apart[:, 0], apart[:, 1]), spacing)
        kept.append(own[apart[:, 2] <= grade * along])
    a, b = np.concatenate([np.empty((0, 2), np.int64), *kept]).T
    joined = sparse.coo_array((np.ones(len(a), np.int8), (a, b)), shape=(len(points),) * 2)
    return connected_components(joined, directed=False)[1]


def part_links(points: np.ndarray, part: np.ndarray, count: int) -> np.ndarray:
    """(L, 2), each point with `count` others of its part, near or far.

    Points of a part in the order of their distance from its middle make a ring; a point is joined
    to those at certain shares of the way round. Whatever group of points differs from the rest of
    its part then cuts most of its links, so that together they count the votes of the part, which
    links between neighbours cannot: they see the rim of the group alone.
    """
    n = len(points)
    size = np.bincount(part)
    middle = np.column_stack([np.bincount(part, own) / size for own in points.T])
    order = np.lexsort((((points - middle[part]) ** 2).sum(axis=1), part))
    sizes, starts = size[part[order]], (np.cumsum(size) - size)[part[order]]
    rank = np.arange(n) - starts
    keys = []
    for k in range(min(count, n)):  # there are no more points to link than these
        step = np.maximum((((k + 1) * _SHARE) % 1.0 * sizes).astype(np.int64), 1)
        keys.append(_keys(order, order[starts + (rank + step) % sizes], n))
    return _pairs(np.concatenate(keys), n)


def merge_edges(
    near: np.ndarray, links: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The edges of both lists, each once, and which of them are in either."""
    own, other = (_keys(pairs[:, 0], pairs[:, 1], n) for pairs in (near, links))
    keys = np.union1d(own, other)
    return _pairs(keys, n), np.isin(keys, own), np.isin(keys, other)


def lower_first(edges: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """The edges with their lower end first, which gives the tables of `GraphCutSVM` a meaning."""
    swap = heights[edges[:, 0]] > heights[edges[:, 1]]
    return np.where(swap[:, None], edges[:, ::-1], edges)


def edge_blocks(
    points: np.ndarray, normals: np.ndarray, edges: np.ndarray, spacing: float, rise: float
) -> Iterator[tuple[slice, np.ndarray]]:
    """Some edges at a time, (e, 7), from 0 to 1: how much their ends belong together, EDGE_NAMES.

    1; exp(-distance / spacing); exp(-height difference / (4 rise)); exp(-t / rise) and
    exp(-t / (4 rise)), t the mean distance of an end from the tangent plane of the other; the
    step, 1 - exp(-height difference / (8 rise)), which tells a model with tables that
    objects stand on the ground and not below it. The last, for links of a part, is left at 0.
    """
    for first in range(0, len(edges), CHUNK):
        part = slice(first, min(first + CHUNK, len(edges)))
        a, b = edges[part].T
        found = np.zeros((len(a), len(EDGE_NAMES)))
        apart = points[a] - points[b]
        up = np.abs(apart[:, 2])
        found[:, 0] = 1.0
        found[:, 1] = np.exp(-np.sqrt((apart**2).sum(axis=1)) / spacing)
        found[:, 2] = np.exp(-up / (4 * rise))
        off = np.abs((apart * normals[a]).sum(axis=1)) + np.abs((apart * normals[b]).sum(axis=1))
        found[:, 3] = np.exp(-off / (2 * rise))
        found[:, 4] = np.exp(-off / (8 * rise))
        found[:, 5] = 1.0 - np.exp(-up / (8 * rise))
        yield part, found
