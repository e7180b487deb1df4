"""Nodes of an image's graph: its pixels, or superpixels, and where they touch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maxmargin.optional import optional_module

CORNER = 0.5**0.5  # what pixels that touch at a corner share, if a side is 1


@dataclass(frozen=True)
class Regions:
    """Nodes of an image and which of them touch.

    shape : (H, W). n : how many nodes. labels : (H, W), the node of each pixel; None if each has
    a node of its own. edges : (E, 2), nodes that touch. pairs : (M, 2), the pixels that touch
    across an edge, row by row; sides : (M,), what they share, 1 for a side; edge : (M,), which edge
    they belong to, None if each is an edge of its own.
    """

    shape: tuple[int, int]
    n: int
    labels: np.ndarray | None
    edges: np.ndarray
    pairs: np.ndarray
    sides: np.ndarray
    edge: np.ndarray | None

    @cached_property
    def size(self) -> np.ndarray:
        """(n,), how many pixels a node has."""
        if self.labels is None:
            return np.ones(self.n, dtype=np.float32)
        return np.bincount(self.labels.ravel(), minlength=self.n).astype(np.float64)

    def means(self, values: np.ndarray) -> np.ndarray:
        """(n,), the mean of an (H, W) map over the pixels of each node."""
        if self.labels is None:
            return values.ravel()
        sums = np.bincount(self.labels.ravel(), weights=values.ravel(), minlength=self.n)
        return sums / self.size

    def along(self, values: np.ndarray) -> np.ndarray:
        """(E,), the sum of values of the pairs, times what they share, over each edge."""
        if self.edge is None:
            return values * self.sides
        return np.bincount(self.edge, weights=values * self.sides, minlength=len(self.edges))

    @cached_property
    def length(self) -> np.ndarray:
        """(E,), how long the border of two nodes is, in sides of a node of mean size."""
        unit = np.sqrt(self.shape[0] * self.shape[1] / self.n)
        return self.along(np.ones(len(self.sides))) / unit


def pixel_regions(shape: tuple[int, int], connectivity: int) -> Regions:
    """Each pixel a node of its own."""
    number = np.arange(shape[0] * shape[1]).reshape(shape)
    edges, sides = _touching(number, connectivity)
    return Regions(shape, number.size, None, edges, edges, sides, None)


def superpixel_regions(
    rgb: np.ndarray, n_segments: int, compactness: float, connectivity: int
) -> Regions:
    """Groups of pixels that are near and alike; each pixel by itself if there are few."""
    shape = (rgb.shape[0], rgb.shape[1])
    if shape[0] * shape[1] <= n_segments:
        return regions_of(np.arange(shape[0] * shape[1]).reshape(shape), connectivity)
    return regions_of(_slic(rgb, n_segments, compactness), connectivity)


def regions_of(labels: np.ndarray, connectivity: int) -> Regions:
    """Regions with these labels, from 0 without gaps."""
    shape = (labels.shape[0], labels.shape[1])
    flat, n = labels.ravel().astype(np.int64), int(labels.max()) + 1
    pairs, sides = _touching(np.arange(labels.size).reshape(shape), connectivity)
    apart = flat[pairs[:, 0]] != flat[pairs[:, 1]]
    pairs, sides = pairs[apart], sides[apart]
    ends = np.sort(flat[pairs], axis=1)
    keys, edge = np.unique(ends[:, 0] * n + ends[:, 1], return_inverse=True)
    edges = np.column_stack([keys // n, keys % n])
    return Regions(shape, n, labels, edges, pairs, sides, edge)


def _touching(number: np.ndarray, connectivity: int) -> tuple[np.ndarray, np.ndarray]:
    """Neighbours in rows, in columns, and on both diagonals if there are 8; what they share."""
    found = [(number[:, :-1], number[:, 1:]), (number[:-1], number[1:])]
    if connectivity == 8:
        found += [(number[:-1, :-1], number[1:, 1:]), (number[:-1, 1:], number[1:, :-1])]
    share = [np.full(a.size, CORNER if k > 1 else 1.0) for k, (a, _) in enumerate(found)]
    pairs = [np.column_stack([a.ravel(), b.ravel()]) for a, b in found]
    return np.concatenate(pairs), np.concatenate(share)


def _slic(rgb: np.ndarray, n_segments: int, compactness: float) -> np.ndarray:
    slic = optional_module(
        "skimage.segmentation",
        'superpixels are found by scikit-image: pip install "maxmargin[images]", or choose'
        ' ImageGraphs(graph="pixels").',
    ).slic
    found = slic(rgb, n_segments=n_segments, compactness=compactness, channel_axis=2, start_label=0)
    return np.unique(found, return_inverse=True)[1].reshape(found.shape)
