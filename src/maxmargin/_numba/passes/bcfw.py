"""One pass of block-coordinate Frank-Wolfe, in the space of parts.

    w(z) = 1/lambda sum_i omega_i F_i (y_i - z_i)

so nothing is stored per sample but z_i: with a_i = F_i^T w + c_i, s = argmax a_i . s,
delta = s - z_i, gap g = a_i . delta, u = F_i delta, step = lambda g / (omega_i |u|^2).
"""

from __future__ import annotations

from maxmargin._numba.compile import FLOATS, INTS, POINTER, compiled_function, types
from maxmargin._numba.packed_samples import PACKED, WORKSPACE, call_oracle, score_block
from maxmargin._numba.passes.block_step import apply_change, block_change, subtract_point


@compiled_function(
    types.float64(
        PACKED, types.int64, WORKSPACE, types.float64, types.float64, FLOATS, FLOATS, FLOATS, FLOATS
    )
)
def frank_wolfe_step(packed, i, workspace, alpha, fixed, w, z, lag, clock):
    """Move z_i towards workspace.vertex; returns the block's gap before the move.

    fixed: the step, or negative for the exact line search. clock: [0] steps since the average
    began, [1] steps in all.
    """
    gap = subtract_point(packed, i, workspace, z)
    clock[0] += 1.0
    clock[1] += 1.0
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
    passed = clock[0] * (clock[0] - 1.0) / 2.0
    apply_change(packed, i, workspace, -step * omega / alpha, w, lag, passed)
    return gap


@compiled_function(
    types.void(
        PACKED,
        WORKSPACE,
        POINTER,
        INTS,
        types.float64,
        types.boolean,
        FLOATS,
        FLOATS,
        FLOATS,
        FLOATS,
        FLOATS,
    )
)
def frank_wolfe_pass(
    packed, workspace, maximize, order, alpha, line_search, w, z, lag, clock, gaps
):
    """One step for each sample named in `order`; gaps[i] is set to its block gap."""
    n = len(packed.weight)
    for i in order:
        parts = score_block(packed, i, w, workspace)
        call_oracle(packed, i, workspace, maximize, parts)
        fixed = -1.0 if line_search else 2.0 * n / (clock[1] + 2.0 * n)
        gaps[i] = frank_wolfe_step(packed, i, workspace, alpha, fixed, w, z, lag, clock)
