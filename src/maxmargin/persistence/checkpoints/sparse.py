"""Long arrays that are mostly zero, as most of what BCFW remembers is, by their other entries.

Written so, a checkpoint of a large run takes a fraction of the time, since what takes time is to
compress and to checksum.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

#: entries of an array that is worth it
LONG = 1 << 14


class Sparse(NamedTuple):
    """An array of `size` entries, zero but for `values` at the places cumsum(steps)."""

    size: int
    steps: np.ndarray
    values: np.ndarray

    def validate(self) -> None:
        """Nothing yet: its size is that of an array of the run, see `unpack_sparse`."""


def pack_sparse(value: Any) -> Any:
    """The same with sparse arrays in the place of long ones that are mostly zero."""
    if isinstance(value, np.ndarray):
        return _packed(value)
    if isinstance(value, dict):
        return {name: pack_sparse(own) for name, own in value.items()}
    if type(value) is tuple:
        return tuple(pack_sparse(own) for own in value)
    return type(value)(*map(pack_sparse, value)) if hasattr(value, "_fields") else value


def _packed(array: np.ndarray) -> np.ndarray | Sparse:
    if array.ndim != 1 or not LONG <= len(array) < 2**32 or array.dtype.itemsize not in (4, 8):
        return array
    bits = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")  # -0.0 is not a zero
    places = np.flatnonzero(bits)
    if 4 * len(places) > len(array):
        return array
    return Sparse(len(array), np.diff(places, prepend=0).astype(np.uint32), array[places])


def unpack_sparse(value: Any, like: Any) -> Any:
    """The same with full arrays again; a ValueError if one is not as long as in `like`."""
    if isinstance(value, Sparse):
        return _unpacked(value, like)
    if isinstance(value, dict) and isinstance(like, dict):
        return {name: unpack_sparse(own, like.get(name)) for name, own in value.items()}
    if isinstance(value, tuple) and isinstance(like, tuple) and len(value) == len(like):
        parts = [unpack_sparse(own, other) for own, other in zip(value, like, strict=True)]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


def _unpacked(sparse: Sparse, like: Any) -> np.ndarray:
    size, steps, values = sparse
    if not isinstance(like, np.ndarray) or like.shape != (size,):
        raise ValueError("it has an array of another size")
    arrays = isinstance(steps, np.ndarray) and isinstance(values, np.ndarray)
    if not arrays or steps.dtype != np.uint32 or steps.shape != values.shape or steps.ndim != 1:
        raise ValueError("it has an array whose parts do not go together")
    if values.dtype != like.dtype:
        raise ValueError("it has an array of another type")
    places = np.cumsum(steps, dtype=np.uint64)
    if len(places) and places[-1] >= size:
        raise ValueError("it has an array with entries out of range")
    full = np.zeros(size, dtype=like.dtype)
    full[places] = values
    return full
