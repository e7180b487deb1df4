"""Equal rows of a sparse matrix, found once."""

from __future__ import annotations

import numpy as np
from scipy import sparse


def merge_rows(matrix: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Where each distinct row stands first, and for every row which of these it equals."""
    own = sparse.csr_array(matrix, copy=True)
    own.sum_duplicates()
    own.eliminate_zeros()
    known: dict[tuple[bytes, bytes], int] = {}
    first: list[int] = []
    which = np.empty(own.shape[0], dtype=np.int64)
    for row in range(own.shape[0]):
        part = slice(own.indptr[row], own.indptr[row + 1])
        key = (own.indices[part].tobytes(), own.data[part].tobytes())
        number = known.setdefault(key, len(first))
        if number == len(first):
            first.append(row)
        which[row] = number
    return np.array(first, dtype=np.int64), which
