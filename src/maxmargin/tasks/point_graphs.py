"""Graphs of point clouds: the surroundings of a point, and which points are near."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from maxmargin.graphs import Graph
from maxmargin.tasks.graph_makers import GraphMaker, Made


class PointGraphs(GraphMaker):
    """Points with their nearest neighbours."""

    noun = "cloud"

    def __init__(self, neighbours: int = 5):
        self.neighbours = neighbours

    def check(self, i: int, x: Any) -> np.ndarray:
        cloud = np.asarray(x, dtype=np.float64)
        if cloud.ndim != 2 or cloud.shape[1] < 3:
            raise ValueError(f"cloud {i}: shape {cloud.shape}, expected (N, 3) or more columns.")
        if not np.isfinite(cloud).all():
            raise ValueError(f"cloud {i}: coordinates must be finite.")
        return cloud

    def fit(self, samples: Sequence[np.ndarray]) -> PointGraphs:
        nodes = np.concatenate([self._nodes(x) for x in samples])
        self.mean_, self.scale_ = nodes.mean(axis=0), nodes.std(axis=0) + 1e-9
        return self

    def _nodes(self, x: np.ndarray) -> np.ndarray:
        k = min(30, len(x))
        _, near = cKDTree(x[:, :2]).query(x[:, :2], k=k)
        heights = x[:, 2][near.reshape(len(x), k)]
        return np.column_stack([x[:, 2] - heights.min(axis=1), x[:, 2] - heights.mean(axis=1)])

    def make(self, x: np.ndarray) -> Made:
        k = min(self.neighbours + 1, len(x))
        _, near = cKDTree(x[:, :3]).query(x[:, :3], k=k)
        near = near.reshape(len(x), k)[:, 1:]
        pairs = np.column_stack([np.repeat(np.arange(len(x)), k - 1), near.ravel()])
        edges = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]]), axis=0)
        nodes = (self._nodes(x) - self.mean_) / self.scale_
        return Made(Graph(nodes, edges), (len(x),))

    def names(self) -> tuple[list[str], list[str]]:
        return ["height above lowest", "height above mean"], ["constant"]
