"""The layout of a linear program: which rows outputs must satisfy."""

from __future__ import annotations

from functools import cached_property
from typing import Any
from zlib import crc32

import numpy as np
from scipy import sparse

from maxmargin.oracles.constraints import Constraints
from maxmargin.structures.frozen import Frozen, read_only
from maxmargin.validation.samples import as_csr

#: what rows may be off by, relative to the size of their terms
ROW_TOL = 1e-6


class Program(Frozen):
    """Linear constraints `lower <= matrix @ z <= upper` and `0 <= z <= part_upper`.

    Immutable; programs are equal if all their values are.

    Parameters
    ----------
    matrix : {array_like, sparse matrix} of shape (n_rows, n_parts)
        Coefficients.
    upper, lower : float or array_like of shape (n_rows,), default=None
        Bounds of the rows; None means no bound.
    equal : array_like, default=None
        Rows that hold with equality, as a mask or as their numbers; `upper` is their value.
    part_upper : float or array_like of shape (n_parts,), default=None
        Upper bounds of the parts; None means no bound except the rows.
    """

    fields = ("matrix", "upper", "lower", "part_upper")
    matrix: sparse.csr_array
    upper: np.ndarray
    lower: np.ndarray
    part_upper: np.ndarray

    def __init__(
        self,
        matrix: Any,
        upper: Any = None,
        lower: Any = None,
        equal: Any = None,
        part_upper: Any = None,
    ):
        self.matrix = _matrix(matrix)
        rows, parts = self.matrix.shape
        top = _numbers("upper", upper, rows, np.inf)
        bottom = _numbers("lower", lower, rows, -np.inf)
        if equal is not None:
            bottom = _equal(equal, top, bottom)
        ceiling = _numbers("part_upper", part_upper, parts, np.inf)
        _refuse("row", bottom > top, lambda r: f"lower {bottom[r]:g} is above upper {top[r]:g}.")
        _refuse("row", bottom == np.inf, lambda r: "lower must not be inf.")
        _refuse("row", top == -np.inf, lambda r: "upper must not be -inf.")
        _refuse("part_upper: part", ceiling < 0, lambda p: f"{ceiling[p]:g} is below 0.")
        self.upper, self.lower = read_only(top), read_only(bottom)
        self.part_upper = read_only(ceiling)

    @property
    def n_parts(self) -> int:
        return int(self.matrix.shape[1])

    @property
    def n_rows(self) -> int:
        return int(self.matrix.shape[0])

    @cached_property
    def constraints(self) -> Constraints:
        """All of it as rows; those of bounds on parts come last."""
        bounded = np.flatnonzero(np.isfinite(self.part_upper))
        if len(bounded) == 0:
            return Constraints(self.matrix, self.lower, self.upper)
        own = sparse.eye_array(self.n_parts, format="csr")[bounded]
        return Constraints(
            sparse.csr_array(sparse.vstack([self.matrix, own])),
            np.concatenate([self.lower, np.full(len(bounded), -np.inf)]),
            np.concatenate([self.upper, self.part_upper[bounded]]),
        )

    def why_infeasible(self, z: np.ndarray) -> str:
        """Describe the first constraint that z violates.

        Parameters
        ----------
        z : ndarray of shape (n_parts,)
            Values of the parts.

        Returns
        -------
        str
            The description; empty if z is feasible.
        """
        sizes = abs(self.matrix) @ np.abs(z)
        values = self.matrix @ z
        over = values - self.upper > ROW_TOL * (1 + sizes)
        under = self.lower - values > ROW_TOL * (1 + sizes)
        for wrong, sign, bounds in ((over, "<=", self.upper), (under, ">=", self.lower)):
            if wrong.any():
                r = int(np.flatnonzero(wrong)[0])
                return f"row {r} asks for {sign} {bounds[r]:g}, found {values[r]:.6g}"
        low, high = z < -ROW_TOL, z - self.part_upper > ROW_TOL * (1 + np.abs(z))
        if low.any() or high.any():
            p = int(np.flatnonzero(low | high)[0])
            return f"part {p} is {z[p]:.6g}, outside 0 to {self.part_upper[p]:g}"
        return ""

    @cached_property
    def checksum(self) -> int:
        """The same in every process, unlike hashes."""
        m = self.matrix
        found = crc32(repr(m.shape).encode())
        for part in (m.data, m.indices, m.indptr, self.upper, self.lower, self.part_upper):
            found = crc32(part.tobytes(), found)
        return found

    def __repr__(self) -> str:
        return f"Program({self.n_rows} rows, {self.n_parts} parts, {self.checksum:08x})"


def _matrix(values: Any) -> sparse.csr_array:
    try:
        dense = not sparse.issparse(values)
        values = np.atleast_2d(np.asarray(values, dtype=float)) if dense else as_csr(values)
        found = sparse.csr_array(values, dtype=np.float64, copy=True)
    except (TypeError, ValueError) as error:
        raise ValueError(f"matrix: not a matrix of numbers ({error})") from None
    if found.ndim != 2:
        raise ValueError(f"matrix has shape {found.shape}, expected (rows, parts).")
    if found.shape[1] == 0:
        raise ValueError(f"matrix has shape {found.shape}: a program needs one part at least.")
    found.sum_duplicates()
    found.eliminate_zeros()
    if not np.isfinite(found.data).all():
        entry = np.flatnonzero(~np.isfinite(found.data))[0]
        row = int(np.searchsorted(found.indptr, entry, side="right")) - 1
        raise ValueError(f"matrix: row {row} has entries that are not finite.")
    return read_only(found)


def _numbers(name: str, values: Any, size: int, default: float) -> np.ndarray:
    """One number for each, a copy."""
    if values is None:
        return np.full(size, default)
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected {size} numbers, or one for all.") from None
    if found.ndim == 0:
        found = np.full(size, float(found))
    if found.shape != (size,):
        raise ValueError(f"{name} has shape {found.shape}, expected ({size},) or one number.")
    if np.isnan(found).any():
        raise ValueError(f"{name}: NaN at place {int(np.flatnonzero(np.isnan(found))[0])}.")
    return found.copy()


def _equal(rows: Any, upper: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """Lower bounds, those of the named rows being their upper ones."""
    which = np.asarray(rows)
    if which.size == 0:
        return lower
    mask = np.zeros(len(upper), dtype=bool)
    try:
        mask[which] = True
    except IndexError:
        raise ValueError(f"equal: expected a mask or numbers of the {len(upper)} rows.") from None
    _refuse("equal: row", mask & ~np.isfinite(upper), lambda r: "needs a finite upper.")
    return np.where(mask, upper, lower)


def _refuse(what: str, wrong: np.ndarray, why: Any) -> None:
    if wrong.any():
        n = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"{what} {n}: {why(n)}")
