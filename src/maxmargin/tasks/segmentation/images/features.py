"""Features of the nodes and edges of an image's graph, before they are scaled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from maxmargin.tasks.segmentation.images.cues import (
    colour_contrasts,
    colour_histograms,
    nearest_colours,
    way_to_border,
)
from maxmargin.tasks.segmentation.images.pixel_maps import (
    colour_maps,
    gaussian_blur,
    grid_maps,
    lab_of,
    place_maps,
    smooth_maps,
    texture_maps,
)
from maxmargin.tasks.segmentation.images.regions import Regions

#: how much like their neighbours pixels are: widths, in typical differences
WIDTHS = (0.25, 0.5, 1.0)
Columns = Iterator[tuple[str, np.ndarray]]


class View:
    """An image, its regions, and what features are made of; each is found when first asked for.

    palette : (K, 3), typical colours.
    """

    def __init__(self, rgb: np.ndarray, regions: Regions, palette: np.ndarray):
        self.regions = regions
        self.palette = palette
        self.shape = regions.shape
        self.lab = lab_of(rgb)

    @cached_property
    def colour(self) -> np.ndarray:
        """(V, 3), the mean colour of each node."""
        return np.column_stack([self.regions.means(self.lab[..., k]) for k in range(3)])

    @cached_property
    def place(self) -> np.ndarray:
        """(V, 2), row and column of each node, from -1 to 1."""
        maps = dict(place_maps(*self.shape))
        return np.column_stack([self.regions.means(maps[name]) for name in ("row", "column")])

    @cached_property
    def difference(self) -> np.ndarray:
        """(E,), how much the mean colours of two nodes differ."""
        return _between(self.colour, self.regions.edges)

    @cached_property
    def step(self) -> np.ndarray:
        """(M,), how much the colours on both sides of an edge differ, pixel by pixel."""
        soft = np.stack([gaussian_blur(self.lab[..., k], 1.0) for k in range(3)], axis=2)
        return _between(soft.reshape(-1, 3), self.regions.pairs)


def _between(colours: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    squares = np.zeros(len(pairs), dtype=np.float32)
    for k in range(3):
        own = colours[:, k]
        squares += (own[pairs[:, 0]] - own[pairs[:, 1]]) ** 2
    return np.sqrt(squares)


# -- nodes -----------------------------------------------------------------------------------------
def _of_maps(maps: Callable[[np.ndarray], Columns]) -> Callable[[View], Columns]:
    def columns(view: View) -> Columns:
        for name, values in maps(view.lab):
            yield name, view.regions.means(values)

    return columns


def _of_places(maps: Callable[[int, int], Columns]) -> Callable[[View], Columns]:
    def columns(view: View) -> Columns:
        for name, values in maps(*view.shape):
            yield name, view.regions.means(values)

    return columns


def _contrast(view: View) -> Columns:
    hist = colour_histograms(
        nearest_colours(view.lab, view.palette), view.regions, len(view.palette)
    )
    yield from colour_contrasts(hist, view.palette, view.regions.size, view.place)
    # At least the outermost nodes are the border.
    outer = np.abs(view.place).max(axis=1)
    rim = outer > min(float(outer.max()), 1 - 3 / np.sqrt(view.regions.n)) - 1e-6
    typical = view.difference.mean() if len(view.difference) else 0.0
    for name, free in (("way to border", 0.0), ("rough way to border", 1.0)):
        cost = np.maximum(view.difference - free * typical, 0)
        yield name, way_to_border(view.regions, cost, rim)


def _palette(view: View) -> Columns:
    codes = nearest_colours(view.lab, view.palette)
    for k in range(len(view.palette)):
        yield f"colour {k + 1}", view.regions.means((codes == k).astype(np.float32))


def _shape(view: View) -> Columns:
    size = view.regions.size / view.regions.size.mean()
    yield "size", np.log(size)
    for k, name in enumerate(("lightness", "redness", "yellowness")):
        values = view.lab[..., k]
        squares = view.regions.means(values * values) - view.colour[:, k] ** 2
        yield f"spread of {name}", np.sqrt(np.maximum(squares, 0))


GROUPS: dict[str, Callable[[View], Columns]] = {
    "colour": _of_maps(colour_maps),
    "smooth": _of_maps(smooth_maps),
    "texture": _of_maps(texture_maps),
    "place": _of_places(place_maps),
    "contrast": _contrast,
    "shape": _shape,
    "grid": _of_places(grid_maps),
    "palette": _palette,
}
#: groups of bumps and shares, which are not bent any further
STRAIGHT = ("grid", "palette")


def node_columns(view: View, groups: tuple[str, ...]) -> Iterator[tuple[str, str, np.ndarray]]:
    """(group, name, (V,) values) of all features, those of straight groups last."""
    for group, columns in GROUPS.items():
        if group in groups:
            for name, values in columns(view):
                yield group, name, values


# -- edges -----------------------------------------------------------------------------------------
def edge_names() -> list[str]:
    """Names of the features of edges."""
    kinds = ("alike", "alike for its image", "no step", "no step for its image")
    return ["length", *(f"{kind}, width {width:g}" for kind in kinds for width in WIDTHS)]


def edge_columns(view: View, difference: float, step: float) -> Iterator[np.ndarray]:
    """(E,) each, none negative: how long a border is, times how alike both sides are.

    difference, step : what is typical in training; what is typical of the image is used as well.
    """
    length, regions = view.regions.length, view.regions
    if not len(length):
        return
    yield length
    unit = np.sqrt(regions.shape[0] * regions.shape[1] / regions.n)
    for scale in (difference, float(view.difference.mean())):
        for width in WIDTHS:
            yield length * _alike(view.difference, width * scale)
    for scale in (step, float(view.step.mean())):
        for width in WIDTHS:
            yield regions.along(_alike(view.step, width * scale)) / unit


def _alike(apart: np.ndarray, scale: float) -> np.ndarray:
    return np.exp(-((apart / max(scale, 1e-4)) ** 2))
