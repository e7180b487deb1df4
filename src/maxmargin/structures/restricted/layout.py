"""The layout of a sample with some of its outputs only."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.structures.base import Layout
from maxmargin.structures.frozen import Frozen, read_only
from maxmargin.structures.matching.candidates import as_integers
from maxmargin.structures.restricted.inequalities import KEPT, ROUNDING
from maxmargin.validation.samples import as_csr


class RestrictedLayout(Frozen):
    """Layout of a sample of which only some outputs are allowed.

    Immutable; layouts are equal if all their values are.

    Parameters
    ----------
    layout : Layout
        Layout of the inner structure.
    on, off : array_like of int, default=()
        Numbers of parts that each output must have, and that none may have.
    matrix : {array_like, sparse matrix} of shape (n_rules, n_parts), default=None
        Coefficients of the rules `lower <= matrix @ z <= upper`.
    lower, upper : float or array_like of shape (n_rules,), default=-inf and inf
        Bounds of the rules; may be infinite.
    """

    fields = ("layout", "on", "off", "matrix", "lower", "upper")
    layout: Layout
    on: np.ndarray
    off: np.ndarray
    matrix: sparse.csr_array | None
    lower: np.ndarray
    upper: np.ndarray

    def __init__(
        self,
        layout: Layout,
        on: Any = (),
        off: Any = (),
        matrix: Any = None,
        lower: Any = -np.inf,
        upper: Any = np.inf,
    ):
        rows = None if matrix is None else _rows(matrix)
        count = 0 if rows is None else rows.shape[0]
        self.layout = layout
        self.on, self.off = _numbers("on", on), _numbers("off", off)
        self.matrix = rows
        self.lower, self.upper = _bounds("lower", lower, count), _bounds("upper", upper, count)

    def __repr__(self) -> str:
        rules = 0 if self.matrix is None else self.matrix.shape[0]
        return (
            f"RestrictedLayout({self.layout!r}, {len(self.on)} parts on, {len(self.off)} off,"
            f" {rules} rules)"
        )


def inner_layout(layout: Any) -> Layout:
    """The layout of the structure inside; a TypeError if it is not a RestrictedLayout."""
    if not isinstance(layout, RestrictedLayout):
        raise TypeError(f"layout={layout!r} must be a RestrictedLayout(layout, on, off, ...).")
    return layout.layout


def rule_matrix(layout: RestrictedLayout, n_parts: int) -> sparse.csr_array:
    """The matrix of a layout with rules; a ValueError if it is about other parts."""
    assert layout.matrix is not None
    if layout.matrix.shape[1] != n_parts:
        raise ValueError(
            f"the rules have {layout.matrix.shape[1]} columns, but there are {n_parts} parts."
        )
    return layout.matrix


def why_excluded(z: np.ndarray, layout: RestrictedLayout, tol: float = KEPT) -> str:
    """What an output does not keep, in words; nothing if it keeps all."""
    for own, wanted in ((layout.on, "must be on"), (layout.off, "must be off")):
        wrong = own[(z[own] > 0.5) != (wanted == "must be on")]
        if len(wrong):
            return f"part {wrong[0]} {wanted}"
    if layout.matrix is None:
        return ""
    sums = layout.matrix @ z
    room = tol + ROUNDING * (abs(layout.matrix) @ np.abs(z))
    wrong = np.flatnonzero((sums < layout.lower - room) | (sums > layout.upper + room))
    if not len(wrong):
        return ""
    row = int(wrong[0])
    return (
        f"rule {row} asks for {layout.lower[row]:g} to {layout.upper[row]:g}, and finds"
        f" {sums[row]:g}"
    )


def _rows(matrix: Any) -> sparse.csr_array:
    rows = as_csr(matrix) if sparse.issparse(matrix) else np.atleast_2d(np.asarray(matrix))
    found = sparse.csr_array(rows, dtype=float, copy=True)
    found.sum_duplicates()
    if not np.isfinite(found.data).all():
        raise ValueError("the matrix of the rules has numbers that are not finite.")
    return read_only(found)


def _numbers(name: str, parts: Any) -> np.ndarray:
    given = np.asarray(list(parts))
    if given.size and given.dtype.kind not in "iu":
        raise ValueError(f"{name} must be numbers of parts, 0 or more; found {given.flat[0]!r}.")
    found = np.unique(as_integers(name, given))
    if found.size and found[0] < 0:
        raise ValueError(f"{name} must be numbers of parts, 0 or more; found {found[0]!r}.")
    return read_only(found)


def _bounds(name: str, values: Any, count: int) -> np.ndarray:
    found = np.asarray(values, dtype=float)
    if np.isnan(found).any():
        raise ValueError(f"{name} has NaN.")
    if found.ndim and found.shape != (count,):
        raise ValueError(f"{name} has shape {found.shape}, expected one number for {count} rows.")
    return read_only(np.array(np.broadcast_to(found, (count,))))
