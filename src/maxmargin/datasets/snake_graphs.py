"""Images of snakes as graphs of their pixels."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse

from maxmargin.datasets.snakes import BACKGROUND, STEPS
from maxmargin.exceptions import SampleError
from maxmargin.inputs import Graph

Edges = Literal["plain", "direction", "colours", "neighbourhood"]


def snake_graphs(images: Any, edges: Edges = "colours") -> list[Graph]:
    """Convert images of snakes to graphs, whose edges join a pixel to those right of and below it.

    Parameters
    ----------
    images : iterable of ndarray of shape (H, W, 3)
        Images, as `load_snakes` and `make_snakes` return them.
    edges : {"plain", "direction", "colours", "neighbourhood"}, default="colours"
        Edge features. "plain": none; "direction": two, right or down; "colours": one for each
        direction and pair of colours of the ends, 50, one of them 1; "neighbourhood": for each
        direction the features of both ends, 2 x 2 x 45.

    Returns
    -------
    list of Graph
        One per image, its nodes the pixels row by row. Node features are the colours of the nine
        pixels around it, 9 x 5 zeros and ones.
    """
    if edges not in ("plain", "direction", "colours", "neighbourhood"):
        raise ValueError(
            f'edges={edges!r} must be "plain", "direction", "colours" or "neighbourhood".'
        )
    return [_graph(_numbered(image, i), edges) for i, image in enumerate(images)]


def _numbered(image: Any, i: int) -> np.ndarray:
    """(H, W), which of the five colours each pixel has."""
    image = np.asarray(image)
    if image.ndim != 3 or image.shape[2] != 3:
        raise SampleError.of(
            i, f" has shape {image.shape}, expected (rows, columns, 3).", noun="image"
        )
    same = [(image == colour).all(axis=2) for colour in (BACKGROUND, *STEPS)]
    known = np.any(same, axis=0)
    if not known.all():
        row, column = np.argwhere(~known)[0].tolist()
        raise SampleError.of(
            i,
            f": pixel ({row}, {column}) has the colour"
            f" {tuple(image[row, column].tolist())}, which neither a snake nor the background has.",
            noun="image",
        )
    return np.argmax(same, axis=0)


def _graph(colours: np.ndarray, kind: Edges) -> Graph:
    height, width = colours.shape
    one = np.eye(len(STEPS) + 1)[colours]
    padded = np.pad(one, ((1, 1), (1, 1), (0, 0)))
    around = [padded[r : r + height, c : c + width] for r in range(3) for c in range(3)]
    nodes = np.concatenate(around, axis=2).reshape(height * width, -1)
    place = np.arange(height * width).reshape(height, width)
    right = np.column_stack([place[:, :-1].ravel(), place[:, 1:].ravel()])
    down = np.column_stack([place[:-1].ravel(), place[1:].ravel()])
    ends = np.concatenate([right, down])
    direction = np.repeat(np.eye(2), [len(right), len(down)], axis=0)
    if kind == "plain":
        return Graph(nodes, ends)
    if kind == "direction":
        return Graph(nodes, ends, direction)
    flat = one.reshape(height * width, -1)
    if kind == "colours":
        own = np.einsum("ea,eb->eab", flat[ends[:, 0]], flat[ends[:, 1]]).reshape(len(ends), -1)
    else:
        own = np.concatenate([nodes[ends[:, 0]], nodes[ends[:, 1]]], axis=1)
    both = np.einsum("ed,ef->edf", direction, own).reshape(len(ends), -1)
    return Graph(nodes, ends, sparse.csr_array(both))
