"""Pieces of a step in one sample: the direction, and its image among the weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin._numba.compile import FLOATS, INTS, compile_internal, tuple_type, types
from maxmargin._numba.packed_samples import PACKED, WORKSPACE, add_feature_sums, local_size


class Counters(NamedTuple):
    """Numbers by which passes tell the time, in arrays that compiled code can write."""

    steps: np.ndarray  # (1,) steps of the run, or attempts at some
    epoch: np.ndarray  # (1,) present epoch, by which caches know what was not used for long

    def validate(self) -> None:
        """Nothing yet: arrays must go with those of a run, as checkpoints see to."""


COUNTERS = tuple_type(Counters, {"steps": FLOATS, "epoch": INTS})


def start_counters() -> Counters:
    """Before the first step."""
    return Counters(np.zeros(1), np.zeros(1, dtype=np.int64))


@compile_internal(types.float64(PACKED, types.int64, WORKSPACE, FLOATS))
def subtract_point(packed, i, workspace, z):
    """workspace.vertex -= z_i; returns a_i . (vertex - z_i)."""
    start = packed.part_ptr[i]
    gap = 0.0
    for p in range(packed.part_ptr[i + 1] - start):
        delta = workspace.vertex[p] - z[start + p]
        workspace.vertex[p] = delta
        if delta != 0.0:
            gap += workspace.theta[p] * delta
    return gap


@compile_internal(types.float64(FLOATS, FLOATS), reorder=True)
def inner_product(a, b):
    """Return a . b; the sum may be taken in any order, side by side."""
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@compile_internal(types.float64(PACKED, types.int64, WORKSPACE))
def block_change(packed, i, workspace):
    """Let workspace.change = F_i workspace.vertex; returns its squared norm."""
    size = local_size(packed, i)
    change = workspace.change[:size]
    change[:] = 0.0
    add_feature_sums(packed, i, workspace.vertex, change)
    return inner_product(change, change)
