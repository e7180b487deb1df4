"""One pass of block-coordinate Frank-Wolfe, in the space of parts.

    w(z) = 1/lambda sum_i omega_i F_i (y_i - z_i)

so nothing is stored per sample but z_i: with a_i = F_i^T w + c_i, s = argmax a_i . s,
delta = s - z_i, gap g = a_i . delta, u = F_i delta, step = lambda g / (omega_i |u|^2).
"""

from __future__ import annotations

from maxmargin._numba.compile import FLOATS, INTS, POINTER, compiled_function, types
from maxmargin._numba.packed_samples import PACKED, WORKSPACE, call_oracle, score_block
from maxmargin._numba.passes.block_step import (
    AVERAGE,
    COUNTERS,
    apply_change,
    block_change,
    subtract_point,
    weight_before,
)


@compiled_function(
    types.float64(
        PACKED, types.int64, WORKSPACE, types.float64, types.float64, FLOATS, FLOATS, AVERAGE,
        COUNTERS,
    )
)  # fmt: skip
def frank_wolfe_step(packed, i, workspace, alpha, fixed, w, z, average, counters):
    """Move z_i towards workspace.vertex; returns the block's gap before the move.

    fixed: the step, or negative for the exact line search.
    """
    gap = subtract_point(packed, i, workspace, z)
    average.steps[0] += 1.0
    counters.steps[0] += 1.0
    omega = packed.weight[i]
    if omega == 0.0 or gap <= 0.0:
        return gap
    norm = block_change(packed, i, workspace)
    step = fixed
    if fixed < 0.0:
        step = 1.0
        if alpha * gap < omega * norm:
            step = alpha * gap / (omega * norm)
    start = packed.part_ptr[i]
    for p in range(packed.part_ptr[i + 1] - start):
        z[start + p] += step * workspace.vertex[p]
    scale = -step * omega / alpha
    apply_change(packed, i, workspace, scale, w, average, weight_before(average))
    return gap


@compiled_function(
    types.void(
        PACKED, WORKSPACE, POINTER, INTS, types.float64, types.boolean, FLOATS, FLOATS, AVERAGE,
        COUNTERS, FLOATS,
    )
)  # fmt: skip
def frank_wolfe_pass(
    packed, workspace, maximize, order, alpha, line_search, w, z, average, counters, gaps
):
    """One step for each sample named in `order`; gaps[i] is set to its block gap."""
    n = len(packed.weight)
    for i in order:
        parts = score_block(packed, i, w, workspace)
        call_oracle(packed, i, workspace, maximize, parts)
        fixed = -1.0 if line_search else 2.0 * n / (counters.steps[0] + 2.0 * n)
        gaps[i] = frank_wolfe_step(packed, i, workspace, alpha, fixed, w, z, average, counters)
