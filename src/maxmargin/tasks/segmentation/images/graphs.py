"""Graphs of images: what a pixel looks like, and how much neighbours differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.inputs import Graph
from maxmargin.tasks.segmentation.graph_makers import GraphMaker, Made
from maxmargin.tasks.segmentation.images.checks import check_image
from maxmargin.tasks.segmentation.images.cues import palette_of
from maxmargin.tasks.segmentation.images.features import (
    GROUPS,
    STRAIGHT,
    View,
    edge_columns,
    edge_names,
    node_columns,
)
from maxmargin.tasks.segmentation.images.pixel_maps import lab_of
from maxmargin.tasks.segmentation.images.regions import Regions, pixel_regions, superpixel_regions
from maxmargin.validation.learned import check_array
from maxmargin.validation.options import (
    Bounds,
    Count,
    CountOrZero,
    NonNegative,
    Positive,
    check_options,
)

#: pixels for typical colours, and nodes for scales, that are drawn from all training images
DRAWN = 100_000


class ImageGraphs(GraphMaker):
    """Graphs of the pixels or superpixels of images, with features of appearance and similarity.

    An image is an array (H, W) or (H, W, 1), grey, (H, W, 3), sRGB, or (H, W, 4), with alpha, on a
    white background. Values are bool, integers from 0 to 255, uint16 from 0 to 65535, or floats
    from 0 to 1. Images may differ in size.

    Parameters
    ----------
    graph : {"superpixels", "pixels"}, default="superpixels"
        Nodes: groups of pixels that are close and similar (needs scikit-image: ``pip install
        "maxmargin[images]"``), or single pixels.
    n_segments : int, default=800
        Approximate number of superpixels of an image.
    compactness : float, default=20.0
        Weight of distance in space, compared with that in colour, for superpixels.
    connectivity : {4, 8}, default=4
        Neighbours of a pixel: at its sides, or at its corners, too.
    features : sequence of str, default=("colour", "smooth", "texture", "place", "grid", "contrast")
        Groups of node features. "colour" (``L*a*b*`` and chroma); "smooth", smoothed colours;
        "texture", local gradients and roughness; "place", row, column, distance to the border;
        "grid", radial functions on a grid of places; "contrast", how unlike the border of the
        image, how like its centre, how rare and how scattered a colour is, and how many steps of
        colour are on the way to the border; "palette", fractions of typical colours of training;
        "shape", size and colour variation of a superpixel.
    n_bins : int, default=2
        Number of quantiles of training at which each feature, except grid and palette, has a knot
        of a piecewise linear function.
    n_colours : int, default=48
        Number of typical colours learned, for "contrast" and "palette".
    random_state : int, Generator, RandomState or None, default=0
        Seed of the draws that determine scales and typical colours.

    Attributes
    ----------
    palette_ : ndarray of shape (n_colours, 3)
        Typical colours, ``L*a*b* / 100``.
    mean_ : ndarray
        Means of the features.
    scale_ : ndarray
        Scales of the features.
    knots_ : ndarray
        Knots of the features.
    difference_ : float
        Mean difference of neighbours in colour.
    step_ : float
        Mean step of colour between neighbours.
    """

    noun = "image"
    palette_: np.ndarray
    columns_: list[tuple[str, bool]]
    mean_: np.ndarray
    scale_: np.ndarray
    knots_: np.ndarray
    difference_: NonNegative
    step_: NonNegative

    def __init__(
        self,
        graph: Literal["superpixels", "pixels"] = "superpixels",
        *,
        n_segments: Count = 800,
        compactness: Positive = 20.0,
        connectivity: Literal[4, 8] = 4,
        features: Sequence[str] = ("colour", "smooth", "texture", "place", "grid", "contrast"),
        n_bins: Annotated[int, Bounds(0, 1000)] = 2,
        n_colours: Annotated[int, Bounds(1, 2**16)] = 48,
        random_state: CountOrZero | np.random.Generator | None = 0,
    ):
        self.graph = graph
        self.n_segments = n_segments
        self.compactness = compactness
        self.connectivity = connectivity
        self.features = features
        self.n_bins = n_bins
        self.n_colours = n_colours
        self.random_state = random_state

    def check(self, i: int, x: Any) -> np.ndarray:
        return check_image(i, x)

    def fit(self, samples: Sequence[np.ndarray]) -> ImageGraphs:
        self._check_options()
        if not len(samples):
            raise ValueError("no images to learn from.")
        rng = np.random.default_rng(self.random_state)
        each = max(1, DRAWN // len(samples))
        colours = [_drawn(rng, lab_of(x).reshape(-1, 3), each // 2) for x in samples]
        self.palette_ = palette_of(np.concatenate(colours), self.n_colours, rng)
        found, apart, steps = [], [], []
        for x in samples:
            view = self._view(x)
            chosen = _drawn(rng, np.arange(view.regions.n), each)
            columns = list(node_columns(view, tuple(self.features)))
            found.append(np.column_stack([values[chosen] for _, _, values in columns]))
            apart.append((float(view.difference.sum()), len(view.difference)))
            steps.append((float(view.step.sum()), len(view.step)))
        self.columns_ = [(name, group not in STRAIGHT) for group, name, _ in columns]
        self._learn_scales(np.concatenate(found).astype(np.float64))
        self.difference_, self.step_ = _mean(apart), _mean(steps)
        return self

    def _learn_scales(self, nodes: np.ndarray) -> None:
        self.mean_, self.scale_ = nodes.mean(axis=0), nodes.std(axis=0) + 1e-6
        levels = np.arange(1, self.n_bins + 1) / (self.n_bins + 1)
        self.knots_ = np.quantile((nodes - self.mean_) / self.scale_, levels, axis=0)

    def _check_options(self) -> None:
        check_options(self)
        if not len(self.features) or any(name not in GROUPS for name in self.features):
            raise ValueError(f"features={self.features!r} must be some of {list(GROUPS)}.")

    def validate(self) -> None:
        """Raise ValueError unless scales and knots fit the features that this version makes."""
        if not hasattr(self, "palette_"):
            return
        self._check_options()
        size = len(self.columns_)
        check_array("palette_", self.palette_, np.float32, (None, 3))
        if not len(self.palette_) or len(self.palette_) > self.n_colours:
            raise ValueError("ImageGraphs: palette_ has another number of colours")
        check_array("mean_", self.mean_, shape=(size,))
        check_array("scale_", self.scale_, shape=(size,), low=1e-6)
        check_array("knots_", self.knots_, shape=(self.n_bins, size))
        tiny = View(np.zeros((2, 2, 3), np.float32), pixel_regions((2, 2), 4), self.palette_)
        made = node_columns(tiny, tuple(self.features))
        if self.columns_ != [(name, group not in STRAIGHT) for group, name, _ in made]:
            raise ValueError("ImageGraphs: columns_ are not those of the features")

    def _view(self, x: np.ndarray) -> View:
        return View(x, self._regions(x), self.palette_)

    def _regions(self, x: np.ndarray) -> Regions:
        if self.graph == "pixels":
            return pixel_regions((x.shape[0], x.shape[1]), self.connectivity)
        return superpixel_regions(x, self.n_segments, self.compactness, self.connectivity)

    def make(self, x: np.ndarray) -> Made:
        check_is_fitted(self, "palette_")
        view = self._view(x)
        nodes, features = self.names()
        table = np.empty((view.regions.n, len(nodes)), dtype=np.float32)
        for k, values in self._columns(view):
            table[:, k] = values
        found = np.empty((len(view.regions.edges), len(features)), dtype=np.float32)
        for k, values in enumerate(edge_columns(view, self.difference_, self.step_)):
            found[:, k] = values
        return _made(view, Graph(table, view.regions.edges, found))

    def project(self, x: np.ndarray, nodes: np.ndarray, edges: np.ndarray | None = None) -> Made:
        check_is_fitted(self, "palette_")
        view = self._view(x)
        table = np.zeros((view.regions.n, nodes.shape[1]))
        for k, values in self._columns(view):
            _add(table, values, nodes[k])
        if edges is None:
            return _made(view, Graph(table, ()))
        found = np.zeros((len(view.regions.edges), edges.shape[1]))
        for k, values in enumerate(edge_columns(view, self.difference_, self.step_)):
            _add(found, values.astype(np.float32), edges[k])
        return _made(view, Graph(table, view.regions.edges, found))

    def _columns(self, view: View) -> Iterator[tuple[int, np.ndarray]]:
        """All features of nodes, scaled and bent, float32: which column, and its values."""
        n_bent = sum(bends for _, bends in self.columns_)
        at = len(self.columns_)
        for k, (_, _, values) in enumerate(node_columns(view, tuple(self.features))):
            scaled = ((values - self.mean_[k]) / self.scale_[k]).astype(np.float32)
            yield k, scaled
            if self.columns_[k][1]:
                for i, knots in enumerate(self.knots_):
                    yield at + i * n_bent, np.maximum(scaled - knots[k], 0).astype(np.float32)
                at += 1

    def names(self) -> tuple[list[str], list[str]]:
        check_is_fitted(self, "palette_")
        plain = [name for name, _ in self.columns_]
        bent = [name for name, bends in self.columns_ if bends]
        levels = [f"{100 * (i + 1) / (self.n_bins + 1):.0f} %" for i in range(self.n_bins)]
        return [*plain, *(f"{name} above {at}" for at in levels for name in bent)], edge_names()


def _made(view: View, graph: Graph) -> Made:
    labels = view.regions.labels
    return Made(graph, view.shape, None if labels is None else labels.ravel())


def _add(sums: np.ndarray, values: np.ndarray, weights: np.ndarray) -> None:
    """sums[:, r] += weights[r] * values, in double precision."""
    for r, weight in enumerate(weights):
        sums[:, r] += weight * values.astype(np.float64)


def _drawn(rng: np.random.Generator, values: np.ndarray, n: int) -> np.ndarray:
    """At most n of the values, in order, none twice."""
    if len(values) <= n:
        return values
    return values[np.sort(rng.choice(len(values), size=n, replace=False))]


def _mean(sums: list[tuple[float, int]]) -> float:
    total, count = (sum(own) for own in zip(*sums, strict=True))
    return total / max(count, 1)
