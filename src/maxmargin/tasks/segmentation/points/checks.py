"""Point clouds as users give them, checked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin.exceptions import SampleError
from maxmargin.structures import Network

HIGHEST = 1e100  # squares of coordinates must be finite


class Cloud(NamedTuple):
    """points (N, 3) float64, from their lowest corner; extra (N, q); edges (E, 2), or None."""

    points: np.ndarray
    extra: np.ndarray
    edges: np.ndarray | None


def check_cloud(i: int, x: Any) -> Cloud:
    """Cloud i: an array (N, 3 + further columns), or a pair (array, edges)."""
    links = None
    if isinstance(x, tuple) and len(x) == 2 and np.ndim(x[0]) == 2:
        x, links = x
    try:
        table = np.asarray(x)
        if table.dtype.kind not in "fiub":
            table = table.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise SampleError.of(
            i, f": not a table of numbers with one row per point ({error}).", noun="cloud"
        ) from None
    if table.ndim != 2 or table.shape[1] < 3:
        raise SampleError.of(
            i,
            f": shape {table.shape}, expected (N, 3): x, y, z of each point, and further"
            " columns if you have them. A cloud with edges is a pair (points, edges).",
            noun="cloud",
        )
    if not len(table):
        raise SampleError.of(i, " has no points; leave it out.", noun="cloud")
    table = table.astype(np.float64)
    _check_numbers(i, table)
    points = np.ascontiguousarray(table[:, :3] - table[:, :3].min(axis=0))
    return Cloud(
        points, table[:, 3:], None if links is None else _check_links(i, links, len(table))
    )


def _check_numbers(i: int, table: np.ndarray) -> None:
    wrong = ~(np.abs(table) < HIGHEST)
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        name = "xyz"[column] if column < 3 else f"column {column}"
        raise SampleError.of(
            i,
            f": point {row} has {name} = {table[row, column]:g}, expected a finite number"
            f" below {HIGHEST:g}. {int(wrong.any(axis=1).sum())} of {len(table)} points are so;"
            " leave them out:"
            f" cloud[(np.abs(cloud) < {HIGHEST:g}).all(axis=1)].",
            noun="cloud",
        )


def _check_links(i: int, edges: Any, n_points: int) -> np.ndarray:
    try:
        return Network(n_points, edges).edges
    except (TypeError, ValueError) as error:
        raise SampleError.of(i, f": {error}", noun="cloud") from None
