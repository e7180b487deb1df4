"""Graphs of images: what a pixel looks like, and how much neighbours differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.graphs import Graph
from maxmargin.tasks.graph_makers import GraphMaker, Made


class ImageGraphs(GraphMaker):
    """Pixels of images, neighbours in rows and columns."""

    noun = "image"

    def check(self, i: int, x: Any) -> np.ndarray:
        image = np.asarray(x)
        if image.ndim == 2:
            image = np.repeat(image[:, :, None], 3, axis=2)
        if image.ndim != 3 or image.shape[2] != 3:
            raise ValueError(f"image {i}: shape {image.shape}, expected (H, W) or (H, W, 3).")
        scale = 255.0 if image.dtype == np.uint8 else 1.0
        return image.astype(np.float64) / scale

    def fit(self, samples: Sequence[np.ndarray]) -> ImageGraphs:
        pixels = np.concatenate([x.reshape(-1, 3) for x in samples])
        self.mean_, self.scale_ = pixels.mean(axis=0), pixels.std(axis=0) + 1e-9
        return self

    def make(self, x: np.ndarray) -> Made:
        height, width = x.shape[:2]
        colour = (x.reshape(-1, 3) - self.mean_) / self.scale_
        rows, columns = np.indices((height, width)).reshape(2, -1)
        place = np.column_stack([rows / height - 0.5, columns / width - 0.5])
        number = np.arange(height * width).reshape(height, width)
        pairs = [(number[:, :-1], number[:, 1:]), (number[:-1], number[1:])]
        edges = np.concatenate([np.column_stack([a.ravel(), b.ravel()]) for a, b in pairs])
        apart = ((colour[edges[:, 0]] - colour[edges[:, 1]]) ** 2).sum(axis=1)
        near = np.column_stack([np.ones(len(edges)), np.exp(-apart)])
        nodes = np.column_stack([colour, colour**2, place, place**2])
        return Made(Graph(nodes, edges, near), (height, width))

    def names(self) -> tuple[list[str], list[str]]:
        colours = ["red", "green", "blue"]
        squares = [f"{name} squared" for name in colours]
        places = ["row", "column", "row squared", "column squared"]
        return [*colours, *squares, *places], ["constant", "likeness"]
