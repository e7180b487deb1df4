"""A point cloud as a file holds it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO, NamedTuple, Protocol

import numpy as np

#: what columns and properties of labels are called, in lower case
LABEL_NAMES = ("label", "class", "classification", "scalar_label", "scalar_classification")
LABEL_HINT = "name it with --label-column, or say --no-label where there is none (predict)"


class Layout(Protocol):
    """How predictions are written like the file that was read."""

    def write(self, sink: BinaryIO, points: np.ndarray, labels: np.ndarray) -> None:
        """All columns of the points and a label each."""


class Cloud(NamedTuple):
    """points (N, 3 + further columns); labels None where the file has none; edges (E, 2) or None.

    name : what to call it, for people.
    """

    points: np.ndarray
    labels: np.ndarray | None
    name: str
    layout: Layout
    edges: np.ndarray | None = None


class Wish(NamedTuple):
    """How the user wants a file to be read.

    column : of the labels, its name, or its number from 1, or below 0 from the end; "" if it is to
    be found. labelled : whether to look for labels at all. bare : columns of a file without names
    that has no labels, if that is known.
    """

    column: str = ""
    labelled: bool = True
    bare: int = 3


def label_place(names: Sequence[str], width: int, wish: Wish, name: str) -> int | None:
    """Which column holds labels; None if none does. names : of the columns, empty without names."""
    if not wish.labelled:
        return None
    if wish.column:
        return _told(names, width, wish.column, name)
    lower = [own.lower() for own in names]
    for known in LABEL_NAMES:
        if known in lower:
            return lower.index(known)
    return None if names or width <= max(wish.bare, 3) else width - 1


def _told(names: Sequence[str], width: int, column: str, name: str) -> int:
    if column in names:
        return list(names).index(column)
    try:
        number = int(column)
    except ValueError:
        there = f"they are called {', '.join(names[:20])}" if names else "they have no names"
        raise ValueError(f"{name}: no column is called {column!r}; {there}.") from None
    place = number - 1 if number > 0 else width + number
    if number == 0 or not 0 <= place < width:
        raise ValueError(f"{name}: there is no column {number}, there are {width}, from 1.")
    return place


def order_of(names: Sequence[str], width: int, name: str) -> list[int]:
    """Columns with x, y and z first: by their names, else as they are."""
    lower = [own.lower() for own in names]
    if not names:
        first = [0, 1, 2][:width]
    else:
        first = [lower.index(axis) for axis in "xyz" if axis in lower]
    if len(first) < 3:
        there = ", ".join(names[:20]) or f"{width} columns"
        raise ValueError(f"{name}: x, y and z are needed beside the label, found {there}.")
    return [*first, *(k for k in range(width) if k not in first)]


def free_name(names: Sequence[str]) -> str:
    """What to call predicted labels beside columns of these names."""
    return "predicted" if "label" in [own.lower() for own in names] else "label"


def whole_if_can(values: np.ndarray) -> np.ndarray:
    """Labels as integers if they are that."""
    if values.dtype.kind in "iu":
        return values.astype(np.int64)
    with np.errstate(invalid="ignore"):
        close = np.abs(values) < 2**53
        return values.astype(np.int64) if (close & (values % 1 == 0)).all() else values
