"""Coordinates of a kernel from inner products only: Cholesky factors with pivots.

K = L L^T makes the rows of L vectors whose inner products are the kernel: an isometry of the span
of the training rows, so that whatever is solved with L is solved in the kernel's own space.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

#: pivots below this share of the largest k(x, x) count as zero
PIVOT_TOL = 1e-10
#: how far below zero rounding may push a pivot or a minor, relative to the same
NEGATIVE = 1e-8

Name = Callable[[int], str]


class Factor(NamedTuple):
    """K ~ L L^T. lower : (rows, r) L, rows as given; pivots : (r,) which rows these coordinates
    are of, in order, so that lower[pivots] is triangular; residual : trace(K - L L^T) / trace(K).
    """

    lower: np.ndarray
    pivots: np.ndarray
    residual: float


def full_cholesky(gram: np.ndarray, name: Name) -> Factor:
    """The factor of a whole kernel matrix, which is overwritten; exact to PIVOT_TOL."""
    size = np.diag(gram).copy()
    largest = _check_diagonal(size, name)
    _check_minors(gram, size, name)
    packed, order, rank, _ = dpstrf(gram.T, tol=PIVOT_TOL * largest, lower=1, overwrite_a=0)
    order = order - 1
    lower = np.tril(packed)[:, :rank]
    _check_rest(gram, lower, order, rank, largest, name)
    out = np.empty((len(size), rank))
    out[order] = lower
    left = size - np.einsum("ij,ij->i", out, out)
    total = size.sum()
    return Factor(out, order[:rank], float(max(left.sum(), 0.0) / total) if total else 0.0)


def greedy_cholesky(
    column: Callable[[int], np.ndarray], size: np.ndarray, most: int, name: Name
) -> Factor:
    """At most `most` pivots, each the row that the ones before explain least; K is not formed.

    column(j) : k of all rows with row j. size : k(x, x) of each row.
    """
    largest = _check_diagonal(size, name)
    most = min(most, len(size))
    lower = np.zeros((len(size), most), order="F")
    left, pivots = size.copy(), np.empty(most, dtype=np.int64)
    for r in range(most):
        j = int(left.argmax())
        if left[j] <= PIVOT_TOL * largest:
            most = r
            break
        own = column(j) - lower[:, :r] @ lower[j, :r]
        own /= np.sqrt(left[j])
        own[pivots[:r]] = 0.0
        lower[:, r], pivots[r] = own, j
        left -= own * own
        left[pivots[: r + 1]] = 0.0
        worst = int(left.argmin())
        if left[worst] < -NEGATIVE * largest:
            raise not_psd(f"the pivot of {name(worst)} is {left[worst]:.3g} after {r + 1} others")
    total = float(size.sum())
    residual = float(np.maximum(left, 0.0).sum() / total) if total else 0.0
    return Factor(np.ascontiguousarray(lower[:, :most]), pivots[:most], residual)


def solve_triangle(triangle: np.ndarray, right: np.ndarray, transposed: bool = False) -> np.ndarray:
    """triangle^-1 right, or triangle^-T right."""
    return solve_triangular(triangle, right, lower=True, trans="T" if transposed else "N")


def _check_diagonal(size: np.ndarray, name: Name) -> float:
    largest = float(size.max(initial=0.0))
    worst = int(size.argmin())
    if size[worst] < 0:
        raise not_psd(f"k(x, x) of {name(worst)} is {size[worst]:.6g}")
    if largest == 0:
        raise ValueError(
            "the kernel of every row with itself is 0: nothing can be learned from it."
        )
    return largest


def _check_minors(gram: np.ndarray, size: np.ndarray, name: Name) -> None:
    """k(a, b)^2 <= k(a, a) k(b, b), of all pairs: an error there has two names."""
    slack = NEGATIVE * float(size.max())
    root = np.sqrt(size)
    for start in range(0, len(gram), 512):
        over = np.abs(gram[start : start + 512]) - root[start : start + 512, None] * root
        if over.max() > slack:
            i, j = np.unravel_index(int(over.argmax()), over.shape)
            a, b = start + int(i), int(j)
            raise not_psd(
                f"between {name(a)} and {name(b)} it is {gram[a, b]:.6g}, more than"
                f" sqrt({size[a]:.6g} * {size[b]:.6g}), what it is of each with itself"
            )


def _check_rest(
    gram: np.ndarray, lower: np.ndarray, order: np.ndarray, rank: int, largest: float, name: Name
) -> None:
    """What is left of the rows that are not pivots must be zero, too, off the diagonal."""
    rest = order[rank:]
    if len(rest) == 0:
        return
    for start in range(0, len(rest), 512):
        own = slice(start, min(start + 512, len(rest)))
        left = gram[np.ix_(rest[own], rest)] - lower[rank:][own] @ lower[rank:].T
        low = left[np.arange(left.shape[0]), np.arange(own.start, own.stop)]
        if low.min() < -NEGATIVE * largest:
            worst = int(low.argmin())
            raise not_psd(
                f"the pivot of {name(int(rest[own][worst]))} is {low[worst]:.3g} after {rank}"
                " others"
            )
        if np.abs(left).max() > NEGATIVE * largest:
            i, j = np.unravel_index(int(np.abs(left).argmax()), left.shape)
            a, b = int(rest[own][i]), int(rest[j])
            raise not_psd(
                f"between {name(a)} and {name(b)}, {left[i, j]:.3g} is left where the"
                f" {rank} pivots explain both"
            )


def not_psd(why: str) -> ValueError:
    """What to say of a kernel that is not an inner product."""
    return ValueError(
        f"the kernel is not positive semi-definite: {why}. Only such kernels are inner products."
        ' Use "linear", "poly" (gamma > 0, coef0 >= 0) or "rbf" (gamma > 0), correct the function,'
        " or give coordinates of your own as features."
    )
