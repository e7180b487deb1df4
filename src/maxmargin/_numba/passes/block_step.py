"""Pieces of a step in one sample: the direction, its image among the weights, the move."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin._numba.compile import (
    FLOATS,
    INTS,
    compile_inlined,
    compile_internal,
    tuple_type,
    types,
)
from maxmargin._numba.packed_samples import (
    PACKED,
    WORKSPACE,
    add_feature_sums,
    local_size,
    scatter_weights,
)


class Average(NamedTuple):
    """The average of the weights of a run's steps, by what they are more than it.

    With weights rho_k the average of w_1 ... w_K is w_K - correction / S_K, S_k = rho_1 + ... +
    rho_k, where the correction sums each change of w times the S before it: no step touches more
    than its own weights.
    """

    correction: np.ndarray  # as long as w; empty if there is no average
    steps: np.ndarray  # (1,) K

    def validate(self) -> None:
        """Nothing yet: arrays must go with those of a run, as checkpoints see to."""


class Counters(NamedTuple):
    """Numbers by which passes tell the time, in arrays that compiled code can write."""

    steps: np.ndarray  # (1,) steps of the run, or attempts at some
    epoch: np.ndarray  # (1,) present epoch, by which caches know what was not used for long

    def validate(self) -> None:
        """Nothing yet: arrays must go with those of a run, as checkpoints see to."""


AVERAGE = tuple_type(Average, dict.fromkeys(Average._fields, FLOATS))
COUNTERS = tuple_type(Counters, {"steps": FLOATS, "epoch": INTS})


def start_average(size: int = 0) -> Average:
    """An average of as many weights that begins with the next step."""
    return Average(np.zeros(size), np.zeros(1))


def start_counters() -> Counters:
    """Before the first step."""
    return Counters(np.zeros(1), np.zeros(1, dtype=np.int64))


@compile_inlined
def weight_before(average):
    """The sum of the weights before the present step k, where that of each step is its number."""
    return average.steps[0] * (average.steps[0] - 1.0) / 2.0


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


@compile_internal(types.float64(FLOATS), reorder=True)
def square_norm(x):
    """|x|^2; the sum may be taken in any order, side by side."""
    total = 0.0
    for k in range(len(x)):
        total += x[k] * x[k]
    return total


@compile_internal(types.float64(PACKED, types.int64, WORKSPACE))
def block_change(packed, i, workspace):
    """workspace.change = F_i workspace.vertex; returns its squared norm."""
    size = local_size(packed, i)
    change = workspace.change[:size]
    change[:] = 0.0
    add_feature_sums(packed, i, workspace.vertex, change)
    return square_norm(change)


@compile_internal(
    types.void(PACKED, types.int64, WORKSPACE, types.float64, FLOATS, AVERAGE, types.float64)
)
def apply_change(packed, i, workspace, scale, w, average, before):
    """Let w += scale * change, and so the average, if there is one.

    before : sum of the weights of the steps before this one.
    """
    scatter_weights(packed, i, workspace.change, scale, w)
    if len(average.correction) > 0 and before != 0.0:
        scatter_weights(packed, i, workspace.change, scale * before, average.correction)
