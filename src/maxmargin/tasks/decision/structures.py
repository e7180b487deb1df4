"""Structures of decisions as the command line names them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from maxmargin.formats.tables import read_table
from maxmargin.structures import Knapsack, ShortestPath, SpanningTree, Structure, TopK

HELP = (
    "shortest-path:HxW, paths right and down a grid from its first node to the last: all edges"
    " right in a row, then all down from it, then the next row, so that costs of 3x3 are of edges"
    " 0-1, 1-2, 0-3, 1-4, 2-5, 3-4, 4-5, 3-6, 4-7, 5-8, 6-7, 7-8 (nodes are numbered row by row);"
    " shortest-path:FILE:S:T, paths from node S to node T by a table of edges, tail and head;"
    " knapsack:FILE, a row for each dimension: the weights of all items, then the capacity;"
    " top-k:K, the K best items; spanning-tree:FILE, a table of edges."
)


def parse_structure(text: str) -> Structure:
    """Make the structure that --structure names.

    Parameters
    ----------
    text : str
        Such as "shortest-path:5x5".

    Returns
    -------
    Structure
        The structure, checked.
    """
    kind, _, rest = text.partition(":")
    makers = {
        "shortest-path": _path,
        "knapsack": _knapsack,
        "top-k": lambda own: TopK(_integer("K", own)),
        "spanning-tree": lambda own: SpanningTree(_edges(own)),
    }
    if kind not in makers or not rest:
        raise ValueError(f"structure: {text[:80]!r} is not known; give {HELP}")
    found = makers[kind](rest)
    try:
        found.oracle()  # checks its options
    except ValueError as error:
        raise ValueError(f"structure {text!r}: {error}") from None
    return found


def grid_edges(height: int, width: int) -> np.ndarray:
    """Return the edges right and down a grid, row by row: first those right, then those down.

    Parameters
    ----------
    height, width : int
        Numbers of rows and columns of nodes.

    Returns
    -------
    ndarray of shape (n_edges, 2)
        Tails and heads, nodes numbered row by row.
    """
    node = np.arange(height * width).reshape(height, width)
    edges = []
    for i in range(height):
        edges += list(zip(node[i, :-1], node[i, 1:], strict=True))
        if i + 1 < height:
            edges += list(zip(node[i], node[i + 1], strict=True))
    return np.array(edges, dtype=np.int64)


def grid_size(structure: Structure) -> tuple[int, int] | None:
    """Return height and width if a structure is that of paths on a grid, else None.

    Parameters
    ----------
    structure : Structure
        Any structure.

    Returns
    -------
    tuple of int or None
        Numbers of rows and columns of nodes.
    """
    if not isinstance(structure, ShortestPath) or structure.source != 0:
        return None
    edges = np.asarray(structure.edges)
    count = int(structure.target) + 1
    for width in range(1, count + 1):
        if count % width == 0 and np.array_equal(edges, grid_edges(count // width, width)):
            return count // width, width
    return None


def _path(text: str) -> ShortestPath:
    grid = re.fullmatch(r"(\d{1,4})x(\d{1,4})", text, re.ASCII)
    if grid is not None:
        height, width = int(grid[1]), int(grid[2])
        if min(height, width) < 1 or height * width < 2:
            raise ValueError(f"structure: a grid of {text} has no path; give 5x5, say.")
        return ShortestPath(grid_edges(height, width), 0, height * width - 1)
    file, *ends = text.rsplit(":", 2)
    if len(ends) != 2:
        raise ValueError(
            f"structure: shortest-path:{text[:60]} names no grid such as 5x5, and no source and"
            " target; give shortest-path:FILE:SOURCE:TARGET."
        )
    return ShortestPath(_edges(file), *(_integer("node", own) for own in ends))


def _knapsack(text: str) -> Knapsack:
    rows = read_table(Path(text)).rows
    if rows.shape[0] < 1 or rows.shape[1] < 2:
        raise ValueError(f"{text}: give a row for each dimension: weights, then the capacity.")
    weights = rows[0, :-1] if len(rows) == 1 else rows[:, :-1]
    return Knapsack(weights, float(rows[0, -1]) if len(rows) == 1 else rows[:, -1])


def _edges(text: str) -> np.ndarray:
    rows = read_table(Path(text)).rows
    if rows.shape[1] != 2 or (rows != np.floor(rows)).any():
        raise ValueError(f"{text}: edges must be two columns of node numbers, from 0.")
    return rows.astype(np.int64)


def _integer(what: str, text: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text, re.ASCII):
        raise ValueError(f"structure: {text[:40]!r} is not a number of a {what}.")
    return int(text)
