"""Costs of all samples' parts, packed: rows of parts that cost the same are kept once.

The costs of a variable's labels depend on its true label, so a text has few different rows of
them, and tables of label pairs cost nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

#: parts of a row on average, from which on looking for equal rows pays
_WIDE = 4
#: different rows that are remembered; more of them will hardly be found again
_MOST = 1 << 16
#: parts that are looked at together, so that small samples cost little and large ones no memory
_AT_ONCE = 1 << 14


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
    size, n = 0, 0
    for group in _groups(costs):
        own, first = np.concatenate(group), int(row_ptr[n])
        n += len(group)
        last = int(row_ptr[n])
        ends = np.cumsum(width[first:last])
        begins = ends - width[first:last]
        filled = np.logical_or.reduceat(own != 0.0, begins)
        for r in np.flatnonzero(filled).tolist():
            row = own[begins[r] : ends[r]]
            key = row.tobytes()
            place = known.get(key, size)
            if place == size:
                different.append(row.copy())
                size += len(row)
                if len(known) < _MOST:
                    known[key] = place
            start[first + r] = place
    return (_join(different) if different else np.zeros(1)), start


def _groups(costs: Iterable[np.ndarray]) -> Iterator[list[np.ndarray]]:
    """The costs of some samples at a time."""
    group: list[np.ndarray] = []
    size = 0
    for own in costs:
        group.append(own)
        size += len(own)
        if size >= _AT_ONCE:
            yield group
            group, size = [], 0
    if group:
        yield group


def _join(arrays: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(arrays).astype(np.float64, copy=False) if arrays else np.empty(0)
