"""Pieces of a step in one sample: the direction, its image among the weights, the move."""

from __future__ import annotations

from maxmargin._numba.compile import FLOATS, compile_internal, types
from maxmargin._numba.packed_samples import (
    PACKED,
    WORKSPACE,
    add_feature_sums,
    local_size,
    scatter_weights,
)


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
    types.void(PACKED, types.int64, WORKSPACE, types.float64, FLOATS, FLOATS, types.float64)
)
def apply_change(packed, i, workspace, scale, w, lag, passed):
    """Let w += scale * change, and lag += passed * scale * change if averages are kept.

    With weights rho_k the average of w_1 ... w_K is w_K - lag / S_K with S_k = rho_1 + ... + rho_k,
    where lag sums each change times the S before it: no step touches more than its own weights.
    """
    scatter_weights(packed, i, workspace.change, scale, w)
    if len(lag) > 0 and passed != 0.0:
        scatter_weights(packed, i, workspace.change, scale * passed, lag)
