"""Which links a bipartite matching may have, and how many of them each node."""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from maxmargin.structures.frozen import Frozen, read_only

#: integers and sides beyond which products in 64 bits could overflow
_LARGEST, _LONGEST = 2**62, 2**31 - 1


class Candidates(Frozen):
    """Layout of a matching with its own candidate edges or capacities.

    Immutable; candidates are equal if all their values are.

    Parameters
    ----------
    shape : tuple of int
        Numbers of rows and columns (J, K).
    edges : array_like of shape (n_edges, 2), default=None
        Pairs (row, column) that may be linked, in any order, which is that of the parts. None means
        all pairs, row by row.
    row_caps, column_caps : array_like of shape (J,) and (K,), default=None
        Maximum number of links of each node; None means the values of the structure.
    """

    fields = ("shape", "edges", "row_caps", "column_caps")
    shape: tuple[int, int]
    edges: np.ndarray | None
    row_caps: np.ndarray | None
    column_caps: np.ndarray | None

    def __init__(
        self,
        shape: tuple[int, int],
        edges: Any = None,
        row_caps: Any = None,
        column_caps: Any = None,
    ):
        self.shape = check_sides(shape)
        self.edges = None if edges is None else _check_edges(edges, self.shape)
        self.row_caps = None if row_caps is None else _check_caps("row", row_caps, self.shape[0])
        self.column_caps = (
            None if column_caps is None else _check_caps("column", column_caps, self.shape[1])
        )

    @property
    def n_edges(self) -> int:
        return self.shape[0] * self.shape[1] if self.edges is None else len(self.edges)

    @cached_property
    def links(self) -> np.ndarray:
        """(E, 2), the edges in the order of the parts."""
        return read_only(all_pairs(self.shape)) if self.edges is None else self.edges

    @cached_property
    def numbers(self) -> Mapping[tuple[int, int], int]:
        """The number of each edge."""
        return MappingProxyType({(j, k): n for n, (j, k) in enumerate(self.links.tolist())})

    @cached_property
    def index(self) -> np.ndarray:
        """Starts, other ends and parts by rows, then by columns; empty if all pairs are edges."""
        if self.edges is None:
            return read_only(np.empty(0, dtype=np.int64))
        found = []
        for side, other in ((0, 1), (1, 0)):
            order = np.lexsort((self.edges[:, other], self.edges[:, side]))
            counts = np.bincount(self.edges[:, side], minlength=self.shape[side])
            found += [[0], np.cumsum(counts), self.edges[order, other], order]
        return read_only(np.concatenate(found).astype(np.int64))

    def __repr__(self) -> str:
        caps = [f"{n}=..." for n in ("row_caps", "column_caps") if getattr(self, n) is not None]
        edges = [] if self.edges is None else [f"{len(self.edges)} edges"]
        return f"Candidates({', '.join([str(self.shape), *edges, *caps])})"


def check_sides(shape: Any) -> tuple[int, int]:
    """(J, K) as two integers, 0 or more."""
    sides = as_integers("shape", shape)
    if sides.shape != (2,) or (sides < 0).any() or (sides > _LONGEST).any():
        raise ValueError(f"shape is {shape}, expected (J, K), the numbers of rows and columns.")
    return int(sides[0]), int(sides[1])


def all_pairs(shape: tuple[int, int]) -> np.ndarray:
    """(J K, 2), all pairs row by row."""
    return np.indices(shape).reshape(2, -1).T


def as_integers(name: str, values: Any) -> np.ndarray:
    """Values as integers of 64 bits, a copy that cannot be written to."""
    try:
        found = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name}: not an array of integers ({error})") from None
    if found.size == 0:
        found = found.astype(np.int64)
    if found.dtype.kind not in "iub":
        as_float = _floats(name, found)
        broken = ~np.isfinite(as_float) | (as_float != np.floor(as_float))
        if broken.any():
            raise ValueError(f"{name}: {as_float[broken].flat[0]} is not an integer.")
        found = as_float
    if found.size and not -_LARGEST <= found.min() <= found.max() <= _LARGEST:
        raise ValueError(f"{name}: numbers are beyond 2**62.")
    return read_only(found.astype(np.int64))


def _floats(name: str, values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "c":
        raise ValueError(f"{name}: expected integers, found {values.dtype}.")
    try:
        return values.astype(np.float64)
    except OverflowError:
        raise ValueError(f"{name}: numbers are beyond 2**62.") from None
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected integers, found {values.dtype}.") from None


def check_pairs(name: str, pairs: Any, shape: tuple[int, int]) -> np.ndarray:
    """(m, 2) of integers within the shape; also from a set of pairs."""
    if pairs is None:
        raise ValueError(f"{name}: found None, expected pairs (row, column); for no links, [].")
    if isinstance(pairs, Set):
        pairs = list(pairs)
    found = as_integers(name, pairs)
    as_matrix = np.asarray(pairs).dtype.kind == "b"  # a 2 x 2 one would pass for two pairs
    if found.size == 0:
        found = found.reshape(0, 2)
    if as_matrix or found.ndim != 2 or found.shape[1] != 2:
        raise ValueError(
            f"{name}: shape {found.shape}{' of bool' if as_matrix else ''}, expected (m, 2), pairs"
            " (row, column); of a 0/1 matrix that is np.argwhere(matrix)."
        )
    outside = ((found < 0) | (found >= np.array(shape))).any(axis=1)
    if outside.any():
        n = int(np.flatnonzero(outside)[0])
        pair = tuple(found[n].tolist())
        raise ValueError(
            f"{name}: {pair} at place {n} is outside {shape[0]} rows and {shape[1]} columns."
        )
    return found


def find_repeated(pairs: np.ndarray, shape: tuple[int, int]) -> int:
    """The place of the first pair that is there already, -1 if there is none."""
    _, first = np.unique(pairs[:, 0] * max(shape[1], 1) + pairs[:, 1], return_index=True)
    if len(first) == len(pairs):
        return -1
    return int(np.setdiff1d(np.arange(len(pairs)), first)[0])


def _check_edges(edges: Any, shape: tuple[int, int]) -> np.ndarray:
    found = check_pairs("edges", edges, shape)
    again = find_repeated(found, shape)
    if again >= 0:
        pair = tuple(found[again].tolist())
        raise ValueError(f"edges: {pair} at place {again} is there already; leave it out.")
    return found


def _check_caps(side: str, caps: Any, length: int) -> np.ndarray:
    found = as_integers(f"{side}_caps", caps)
    if found.shape != (length,):
        raise ValueError(f"{side}_caps has shape {found.shape}, expected ({length},).")
    if (found < 0).any():
        n = int(np.flatnonzero(found < 0)[0])
        raise ValueError(
            f"{side}_caps: {found[n]} at place {n} must be 0 or more; 0 means never matched."
        )
    return found
