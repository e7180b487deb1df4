"""Graphs of point clouds: the surroundings of a point, and which points are near."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from maxmargin.exceptions import SampleError
from maxmargin.inputs import Graph
from maxmargin.tasks.segmentation.graph_makers import GraphMaker, Made
from maxmargin.tasks.segmentation.points import (
    columns as point_columns,
    edges as point_edges,
    features as measures,
)
from maxmargin.tasks.segmentation.points.checks import Cloud, check_cloud
from maxmargin.validation.learned import check_array
from maxmargin.validation.options import (
    Count,
    CountOrZero,
    NonNegative,
    Positive,
    PositiveOrInf,
    check_options,
)

FEATURES = ("height", "shape", "density", "spin", "extra")


class Joined(NamedTuple):
    """Edges; which of them join neighbours, and which points of the same part."""

    edges: np.ndarray
    near: np.ndarray
    linked: np.ndarray


class PointGraphs(GraphMaker):
    """Graphs of the points of clouds, with features of their neighbourhoods.

    A cloud is an array (N, 3) of x, y and z, or (N, 3 + further columns), such as intensity; or a
    pair (array, edges) with edges (E, 2) of its own, such as the surface links of a range scan.
    Clouds may have any offset. Lengths are in units of the mean spacing of the training points, so
    that the unit of the clouds does not matter but must be the same in all of them.

    Parameters
    ----------
    graph : {"auto", "knn", "plane", "surface", "given"}, default="auto"
        Which points are joined: "knn", nearest in space; "plane", nearest in the horizontal plane;
        "surface", horizontal Delaunay triangulation without sides longer than `jump`; "given", the
        edges given with each cloud; "auto", "given" where there are edges, else "knn".
    neighbours : int, default=6
        Number of neighbours of each point, for "knn" and "plane".
    features : sequence of str, default=("height", "shape", "extra")
        "height" above the lowest points that remain when objects of several sizes are removed, for
        scans from above; "shape", heights, flatness, width, tilt and thickness of the neighbourhood
        at several sizes; "density", sparsity relative to the mean of the cloud; "spin", spin images
        at two sizes; "extra", further columns of the clouds.
    sizes : sequence of float, default=(1.5, 3, 6, 12)
        Sizes of the neighbourhoods for "shape", in mean spacings. Each has the 16 nearest points of
        the cloud thinned to one point per cube of that side; 0 means not thinned. Sides of more
        than a spacing make scans of different densities comparable.
    radii : sequence of float, default=(1, 2, 4, 8, 16, 32)
        Half sides of the objects removed for "height", in mean spacings.
    knots : int, default=8
        Number of quantiles of the training points at which "height", "shape" and "extra" have a
        knot of a piecewise linear function; 0 means one standardised column each.
    components : int, default=45
        Number of principal components of the spin images, each with unit variance.
    links : int, default=2
        Number of links of each point to others of its segment, near or far, besides its neighbours;
        see Notes.
    grade : float, default=0.2
        Largest slope, as rise by distance, between neighbours of one segment.
    jump : float, default=10.0
        Longest side of a triangle, in mean spacings.
    up : {"x", "y", "z"}, default="z"
        The vertical axis; normals point that way, too.
    n_sample : int, default=50000
        Number of training points from which quantiles and components are learned.
    random_state : int, Generator, RandomState or None, default=0
        Seed of their choice.

    Attributes
    ----------
    spacing_ : float
        Mean spacing of the training points.
    rise_ : float
        Median height difference of neighbours.
    knots_ : ndarray
        Knots of the piecewise linear functions.
    mean_ : ndarray
        Mean of the spin images.
    axes_ : ndarray
        Principal components of the spin images.

    Notes
    -----
    Segments are the points connected by neighbours without a step: roofs, fields. Links within
    segments carry evidence from the border of a roof to its middle. Clouds with edges of their own
    have no links.
    """

    noun = "cloud"
    n_extra_: CountOrZero
    spacing_: Positive
    rise_: Positive
    knots_: np.ndarray
    mean_: np.ndarray
    axes_: np.ndarray

    def __init__(
        self,
        graph: Literal["auto", "knn", "plane", "surface", "given"] = "auto",
        neighbours: Count = 6,
        features: Sequence[str] = ("height", "shape", "extra"),
        sizes: Sequence[NonNegative] = (1.5, 3, 6, 12),
        radii: Sequence[NonNegative] = (1, 2, 4, 8, 16, 32),
        knots: CountOrZero = 8,
        components: Count = 45,
        *,
        links: CountOrZero = 2,
        grade: PositiveOrInf = 0.2,
        jump: PositiveOrInf = 10.0,
        up: Literal["x", "y", "z"] = "z",
        n_sample: Count = 50_000,
        random_state: CountOrZero | np.random.Generator | None = 0,
    ):
        self.graph = graph
        self.neighbours = neighbours
        self.features = features
        self.sizes = sizes
        self.radii = radii
        self.knots = knots
        self.components = components
        self.links = links
        self.grade = grade
        self.jump = jump
        self.up = up
        self.n_sample = n_sample
        self.random_state = random_state

    # -- checks ------------------------------------------------------------------------------------
    def _check_options(self) -> None:
        check_options(self)
        unknown = [name for name in self.features if name not in FEATURES]
        if unknown or not len(self.features):
            raise ValueError(
                f"features={self.features!r} must be a list of some of {', '.join(FEATURES)}."
            )
        if self.knots == 1:
            raise ValueError("knots=1 must be 0, for none, or 2 or more.")
        for name in ("sizes", "radii"):
            if not len(getattr(self, name)):
                raise ValueError(f"{name}={getattr(self, name)!r} must be one number at least.")

    def check(self, i: int, x: Any) -> Cloud:
        cloud = check_cloud(i, x)
        if self.graph == "given" and cloud.edges is None:
            raise SampleError.of(
                i,
                " has no edges, which graph='given' needs: give a pair (points, edges).",
                noun="cloud",
            )
        if self.graph in ("knn", "plane", "surface") and cloud.edges is not None:
            raise SampleError.of(
                i,
                f" has edges of its own, which graph={self.graph!r} would not use. Give"
                " the points alone, or set graph='given'.",
                noun="cloud",
            )
        self._check_extra(i, cloud, getattr(self, "n_extra_", None))
        turn = {"x": [1, 2, 0], "y": [2, 0, 1], "z": [0, 1, 2]}.get(self.up, [0, 1, 2])
        return cloud._replace(points=np.ascontiguousarray(cloud.points[:, turn]))

    def _check_extra(self, i: int, cloud: Cloud, expected: int | None) -> None:
        found = cloud.extra.shape[1]
        if expected is not None and found != expected:
            raise SampleError.of(
                i,
                f" has {found} columns after x, y and z, expected {expected}, as in training.",
                noun="cloud",
            )

    # -- learning ----------------------------------------------------------------------------------
    def fit(self, samples: Sequence[Cloud]) -> PointGraphs:
        self._check_options()
        self.n_extra_ = samples[0].extra.shape[1]
        for i, cloud in enumerate(samples):
            self._check_extra(i, cloud, self.n_extra_)
        found = [measures.mean_spacing(cloud.points) for cloud in samples]
        self.spacing_ = float(np.median([s for s in found if s > 0] or [1.0]))
        rng = np.random.default_rng(self.random_state)
        total = sum(len(cloud.points) for cloud in samples)
        tables, images, rises = [], [], []
        for cloud in samples:
            n = len(cloud.points)
            count = min(n, max(1, -(-self.n_sample * n // total)))
            chosen = np.sort(rng.choice(n, count, replace=False))
            for _, table, spins, _ in self._measured(cloud, chosen):
                tables.append(table)
                images.append(spins)
            rises.append(measures.height_steps(cloud.points, chosen, self.neighbours))
        steps = np.concatenate(rises)
        self.rise_ = float(np.median(steps[steps > 0])) if (steps > 0).any() else self.spacing_
        table = np.concatenate(tables)
        if self.knots:
            self.knots_ = point_columns.learn_knots(table, self.knots)
        else:
            spread = table.std(axis=0)
            self.knots_ = np.column_stack([table.mean(axis=0), np.where(spread > 0, spread, 1.0)])
        self.mean_, self.axes_ = point_columns.learn_axes(np.concatenate(images), self.components)
        return self

    def validate(self) -> None:
        """Raise ValueError unless knots and axes fit the measures and spin images in use."""
        if not hasattr(self, "axes_"):
            return
        self._check_options()
        if self.n_extra_ > len(self.knots_) and "extra" in self.features:
            raise ValueError("PointGraphs: n_extra_ is more than there are knots_")
        check_array("knots_", self.knots_, shape=(len(self._measures()), self.knots or 2))
        wrong = self.knots_[:, 1:] <= (self.knots_[:, :-1] if self.knots else 0)
        if wrong.any():
            raise ValueError("PointGraphs: knots_ do not rise")
        n_spins = 2 * measures.RINGS * measures.LAYERS if "spin" in self.features else 0
        check_array("mean_", self.mean_, shape=(n_spins,))
        check_array("axes_", self.axes_, shape=(n_spins, None), any_order=True)
        if self.axes_.shape[1] > min(n_spins, self.components):
            raise ValueError("PointGraphs: axes_ are too many")

    def _measured(
        self, cloud: Cloud, chosen: np.ndarray | None = None
    ) -> Iterator[tuple[slice, np.ndarray, np.ndarray, np.ndarray]]:
        """Some rows at a time: which, their measures, their spin images, their normals.

        chosen : the points that are looked at; None means all.
        """
        points, unit = cloud.points, self.spacing_
        places = points if chosen is None else points[chosen]
        usual = (measures.mean_spacing(points) if "density" in self.features else 0.0) or unit
        sizes = [size for size in self.sizes if "shape" in self.features]
        spins = [0.0, 2.0] if "spin" in self.features else []
        levels = {
            size: measures.average_in_cubes(points, size * unit) for size in {0.0, *sizes, *spins}
        }
        blocks = [cloud.extra] if "extra" in self.features else []
        if "height" in self.features:
            radii = unit * np.asarray(self.radii, dtype=np.float64)
            blocks.append(measures.heights_above(points, unit, radii))
        blocks = blocks if chosen is None else [block[chosen] for block in blocks]
        for first in range(0, len(places), measures.CHUNK):
            part = slice(first, min(first + measures.CHUNK, len(places)))
            some = places[part]
            own = [block[part] for block in blocks]
            _, normals, extent = measures.shape_features(some, levels[0.0])
            if "density" in self.features:
                own.append(extent[:, None] / usual)
            own += [measures.shape_features(some, levels[size])[0] for size in sizes]
            images = [np.empty((len(some), 0))]
            for size in spins:
                radius = measures.SPIN_REACH * unit * max(size, 1.0)
                images.append(measures.spin_features(some, normals, levels[size], radius))
            table = np.column_stack(own) if own else np.empty((len(some), 0))
            yield part, table, np.column_stack(images), normals

    # -- making ------------------------------------------------------------------------------------
    def make(self, x: Cloud) -> Made:
        n = len(x.points)
        filler, normals = self._filler(n), np.empty((n, 3))
        for rows, columns, own in self._columns(x):
            filler.put(rows, columns)
            normals[rows] = own
        joined = self._joined(x)
        features = np.empty((len(joined.edges), len(point_edges.EDGE_NAMES)))
        for rows, block in self._edge_blocks(x, normals, joined):
            features[rows] = block
        return Made(Graph(filler.matrix(), joined.edges, features), (n,))

    def project(self, x: Cloud, nodes: np.ndarray, edges: np.ndarray | None = None) -> Made:
        n = len(x.points)
        table, normals = np.empty((n, nodes.shape[1])), np.empty((n, 3))
        for rows, columns, own in self._columns(x):
            filler = self._filler(len(own))
            filler.put(slice(None), columns)
            table[rows] = filler.matrix() @ nodes
            normals[rows] = own
        if edges is None:
            return Made(Graph(table, ()), (n,))
        joined = self._joined(x)
        found = np.empty((len(joined.edges), edges.shape[1]))
        for rows, block in self._edge_blocks(x, normals, joined):
            found[rows] = block @ edges
        return Made(Graph(table, joined.edges, found), (n,))

    def _filler(self, n: int) -> point_columns.RowFiller:
        wide, n_spins = self.knots_.shape[0], self.axes_.shape[1]
        n_entries = wide * (2 if self.knots else 1) + n_spins
        return point_columns.RowFiller(n, n_entries, wide * max(self.knots, 1) + n_spins)

    def _columns(self, x: Cloud) -> Iterator[tuple[slice, list[point_columns.Columns], np.ndarray]]:
        """Some points at a time: which, their features, their normals."""
        n_plain, n_spins = self.knots_.shape[0] * max(self.knots, 1), self.axes_.shape[1]
        for rows, table, images, normals in self._measured(x):
            spins = (images - self.mean_) @ self.axes_
            yield rows, [self._plain(table), (n_plain + np.arange(n_spins), spins)], normals

    def _joined(self, x: Cloud) -> Joined:
        """The edges, their lower ends first."""
        edges = self._edges(x)
        near, linked = np.ones(len(edges), dtype=bool), np.zeros(len(edges), dtype=bool)
        if self.links and x.edges is None:
            part = point_edges.smooth_parts(x.points, edges, self.grade, self.spacing_)
            links = point_edges.part_links(x.points, part, self.links)
            edges, near, linked = point_edges.merge_edges(edges, links, len(x.points))
        return Joined(point_edges.lower_first(edges, x.points[:, 2]), near, linked)

    def _edge_blocks(
        self, x: Cloud, normals: np.ndarray, joined: Joined
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Some edges at a time: which, and their features."""
        shape = normals, joined.edges, self.spacing_, self.rise_
        for rows, found in point_edges.edge_blocks(x.points, *shape):
            found[~joined.near[rows]] = 0.0
            found[joined.linked[rows], -1] = 1.0
            yield rows, found

    def _plain(self, table: np.ndarray) -> point_columns.Columns:
        if self.knots:
            return point_columns.hat_columns(table, self.knots_)
        return np.arange(table.shape[1]), (table - self.knots_[:, 0]) / self.knots_[:, 1]

    def _edges(self, x: Cloud) -> np.ndarray:
        if x.edges is not None:
            return x.edges
        if self.graph == "surface":
            return point_edges.surface_edges(x.points, self.jump * self.spacing_)
        places = x.points[:, :2] if self.graph == "plane" else x.points
        return point_edges.nearest_edges(np.ascontiguousarray(places), self.neighbours)

    def _measures(self) -> list[str]:
        """Names of what is measured at a point, but for spin images."""
        plain = []
        if "extra" in self.features:
            plain += [f"column {3 + k}" for k in range(self.n_extra_)]
        if "height" in self.features:
            plain += measures.height_names(self.radii)
        if "density" in self.features:
            plain.append("sparseness")
        for size in self.sizes if "shape" in self.features else ():
            plain += measures.shape_names(size)
        return plain

    def names(self) -> tuple[list[str], list[str]]:
        plain = self._measures()
        if self.knots:
            plain = [
                f"{name} near {knot:.3g}"
                for name, own in zip(plain, self.knots_, strict=True)
                for knot in own
            ]
        spins = [f"spin image {k + 1}" for k in range(self.axes_.shape[1])]
        return plain + spins, list(point_edges.EDGE_NAMES)
