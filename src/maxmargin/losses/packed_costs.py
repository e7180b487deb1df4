"""Costs of all samples' parts, packed: rows of parts that cost the same are kept once.

The costs of a variable's labels depend on its true label, so a text has few different rows of
them, and tables of label pairs cost nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

#: parts of a row on average, from which on looking for equal rows pays
_WIDE = 4
#: different rows that are remembered; more of them will hardly be found again
_MOST = 1 << 16


def pack_costs(
    costs: Iterable[np.ndarray], row_ptr: np.ndarray, width: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """`costs` and `cost_start` of `PackedSamples`, from the costs of one sample after the other."""
    n_parts = int(width.sum(dtype=np.int64))
    if n_parts < _WIDE * len(width) or n_parts < 1 << 12:
        return _join(list(costs)), np.empty(0, dtype=np.int64)
    start = np.full(len(width), -1, dtype=np.int64)
    known: dict[bytes, int] = {}
    different: list[np.ndarray] = []
    size = 0
    for i, own in enumerate(costs):
        first, last = int(row_ptr[i]), int(row_ptr[i + 1])
        ends = np.cumsum(width[first:last])
        filled = np.logical_or.reduceat(own != 0.0, ends - width[first:last])
        for r in np.flatnonzero(filled).tolist():
            row = own[ends[r] - width[first + r] : ends[r]]
            key = row.tobytes()
            place = known.get(key, size)
            if place == size:
                different.append(row.copy())
                size += len(row)
                if len(known) < _MOST:
                    known[key] = place
            start[first + r] = place
    return (_join(different) if different else np.zeros(1)), start


def _join(arrays: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(arrays).astype(np.float64, copy=False) if arrays else np.empty(0)
