"""Kernel functions between rows: named ones and those of the user, checked where they enter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

NAMES = ("linear", "poly", "rbf")
#: numbers of a kernel matrix that are computed at a time, which bounds the memory of predictions
BLOCK = 1 << 22
#: sparse rows with more non-zeros than this share are faster as dense ones
DENSE = 0.05
#: by how much a kernel may differ from its transpose, relative to its largest entry
ASYMMETRY = 1e-8

Kernel = Callable[[Any, Any], np.ndarray]


def named_kernel(kernel: str, gamma: float, degree: int, coef0: float) -> Kernel:
    """k(A, B) of one of NAMES."""
    # slow to import, and only kernels need it
    from sklearn.metrics import pairwise  # noqa: PLC0415

    if kernel == "linear":
        return pairwise.linear_kernel
    if kernel == "poly":
        return lambda A, B: pairwise.polynomial_kernel(A, B, degree, gamma, coef0)
    return lambda A, B: pairwise.rbf_kernel(A, B, gamma)


def plain_rows(matrix: Any, dense: bool) -> Any:
    """Rows as the kernel takes them: an array, or CSR where that is much smaller."""
    if not sparse.issparse(matrix):
        return np.ascontiguousarray(matrix, dtype=np.float64)
    few = matrix.nnz <= DENSE * matrix.shape[0] * matrix.shape[1]
    return sparse.csr_array(matrix) if few and not dense else matrix.toarray()


def kernel_matrix(kernel: Kernel, A: Any, B: Any) -> np.ndarray:
    """The kernel matrix (rows of A, rows of B), checked."""
    expected = (A.shape[0], B.shape[0])
    found = np.asarray(kernel(A, B))
    if found.shape != expected:
        raise ValueError(
            f"kernel(A, B) returned shape {found.shape} for {expected[0]} rows A and {expected[1]}"
            f" rows B, expected {expected}: entry (i, j) is k(A[i], B[j])."
        )
    if found.dtype.kind not in "biuf":
        raise ValueError(f"kernel(A, B) returned dtype {found.dtype}, expected real numbers.")
    found = found.astype(np.float64, copy=False)
    if not np.isfinite(found).all():
        i, j = np.argwhere(~np.isfinite(found))[0].tolist()
        raise ValueError(
            f"kernel(A, B)[{i}, {j}] is {found[i, j]}; kernels must be finite. Scale the features,"
            " or lower degree or gamma."
        )
    return found


def in_blocks(kernel: Kernel, A: Any, B: Any) -> Iterator[tuple[slice, np.ndarray]]:
    """The same, some rows of A at a time."""
    step = max(1, BLOCK // max(B.shape[0], A.shape[1], 1))
    for start in range(0, A.shape[0], step):
        rows = slice(start, min(start + step, A.shape[0]))
        yield rows, kernel_matrix(kernel, A[rows], B)


def full_kernel_matrix(kernel: Kernel, A: Any, B: Any) -> np.ndarray:
    """The whole matrix, by blocks, so that the user's kernel needs no more memory than a block."""
    out = np.empty((A.shape[0], B.shape[0]))
    for rows, block in in_blocks(kernel, A, B):
        out[rows] = block
    return out


def kernel_diagonal(kernel: Kernel, A: Any) -> np.ndarray:
    """k(a, a) of each row."""
    step = 256
    parts = []
    for start in range(0, A.shape[0], step):
        rows = A[start : start + step]
        parts.append(np.diag(kernel_matrix(kernel, rows, rows)).copy())
    return np.concatenate([np.empty(0), *parts])


def check_symmetric(gram: np.ndarray, name: Callable[[int], str]) -> None:
    """Fail unless k(a, b) = k(b, a)."""
    scale = max(np.abs(gram).max(initial=0.0), np.finfo(float).tiny)
    worst, place = 0.0, (0, 0)
    for start in range(0, len(gram), 512):
        off = np.abs(gram[start : start + 512] - gram[:, start : start + 512].T)
        if off.max() > worst:
            i, j = np.unravel_index(int(off.argmax()), off.shape)
            worst, place = float(off.max()), (start + int(i), int(j))
    if worst > ASYMMETRY * scale:
        a, b = place
        raise ValueError(
            f"the kernel is not symmetric: between {name(a)} and {name(b)} it is {gram[a, b]:.6g},"
            f" the other way round {gram[b, a]:.6g}. Symmetrise it: (k(A, B) + k(B, A).T) / 2."
        )
