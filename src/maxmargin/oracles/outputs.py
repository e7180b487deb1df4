"""What people and oracles may give for an output: a vector, or the parts that it has."""

from __future__ import annotations

from collections.abc import Set
from numbers import Integral, Real
from typing import Any

import numpy as np


class TimedOut:
    """In the place of an answer that took too long."""


def as_vector(y: Any, n_parts: int, binary: bool = False, indices: bool = False) -> np.ndarray:
    """Z of a vector, of a mask, or of the numbers of the parts that are 1.

    A set is of part numbers; floats and bools are z; a list or array of n_parts integers is z,
    any other one is of part numbers. If z is of zeros and ones (binary), lists that could be both,
    as [0, 1] of two parts, are refused, or taken for part numbers (indices).
    """
    if isinstance(y, Set):
        return _of_indices(list(y), n_parts)
    try:
        found = np.asarray(y)
    except ValueError:
        found = np.empty(0, dtype=object)
    if found.dtype.kind not in "biuf" or found.ndim != 1:
        raise ValueError(
            f"found {_kind(y)}, expected {n_parts} numbers, or the numbers of the parts that are 1."
        )
    whole = found.dtype.kind in "iu"
    vector = found.shape == (n_parts,)
    if binary and vector and whole:
        listed = len(np.unique(found)) == len(found) and ((found >= 0) & (found < n_parts)).all()
        if listed and (indices or not ((found == 0) | (found == 1)).all()):
            vector = False
        elif listed:
            raise ValueError(
                f"{found.tolist()} may be a vector or part numbers; give a vector as floats, or"
                ' part numbers as a set, or say encode="indices".'
            )
    if vector:
        return found.astype(float)
    if whole and len(found) > 2 and ((found == 0) | (found == 1)).all():  # not part numbers
        raise ValueError(f"found {len(found)} zeros and ones, expected {n_parts}.")
    if whole or found.size == 0:
        return _of_indices(found.tolist(), n_parts)
    raise ValueError(
        f"found {len(found)} numbers, expected {n_parts}, or integers of the parts that are 1."
    )


def _of_indices(indices: list[Any], n_parts: int) -> np.ndarray:
    z = np.zeros(n_parts)
    for found in indices:
        if isinstance(found, bool) or not isinstance(found, Integral):
            raise ValueError(f"{found!r} is not a number of a part.")
        p = int(found)
        if not 0 <= p < n_parts:
            raise ValueError(f"{p} is not a number of a part, 0 to {n_parts - 1}.")
        if z[p]:
            raise ValueError(f"part {p} is there twice.")
        z[p] = 1.0
    return z


def split_bound(output: Any) -> tuple[Any, float | None]:
    """An oracle's answer and the bound that it may come with: (z, bound)."""
    if (
        isinstance(output, tuple)
        and len(output) == 2
        and not isinstance(output[0], Real)
        and (output[1] is None or isinstance(output[1], Real) or np.ndim(output[1]) == 0)
    ):
        return output[0], None if output[1] is None else float(output[1])
    return output, None


def _kind(value: Any) -> str:
    return f"shape {value.shape}" if isinstance(value, np.ndarray) else f"{value!r}"[:80]
