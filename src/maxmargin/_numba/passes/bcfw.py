"""One pass of block-coordinate Frank-Wolfe, in the space of parts.

    w(z) = 1/lambda sum_i omega_i F_i (y_i - z_i)

so nothing is stored per sample but z_i: with a_i = F_i^T w + c_i, s = argmax a_i . s,
delta = s - z_i, gap g = a_i . delta, u = F_i delta, step = lambda g / (omega_i |u|^2).
"""

from __future__ import annotations

from numba import types

from maxmargin._numba.compile import FLOATS, INTS, POINTER, kernel
from maxmargin._numba.packed_samples import BLOCKS, SPACE, ask, score_block
from maxmargin._numba.passes.block_step import apply_change, block_change, subtract_point


@kernel(
    types.float64(
        BLOCKS, types.int64, SPACE, types.float64, types.float64, FLOATS, FLOATS, FLOATS, FLOATS
    )
)
def frank_wolfe_step(blocks, i, space, alpha, fixed, w, z, lag, clock):
    """Move z_i towards space.vertex; returns the block's gap before the move.

    fixed: the step, or negative for the exact line search. clock: [0] steps since the average
    began, [1] steps in all.
    """
    gap = subtract_point(blocks, i, space, z)
    clock[0] += 1.0
    clock[1] += 1.0
    omega = blocks.weight[i]
    if omega == 0.0 or gap <= 0.0:
        return gap
    norm = block_change(blocks, i, space)
    step = fixed
    if fixed < 0.0:
        step = 1.0
        if alpha * gap < omega * norm:
            step = alpha * gap / (omega * norm)
    start = blocks.part_ptr[i]
    for p in range(blocks.part_ptr[i + 1] - start):
        z[start + p] += step * space.vertex[p]
    passed = clock[0] * (clock[0] - 1.0) / 2.0
    apply_change(blocks, i, space, -step * omega / alpha, w, lag, passed)
    return gap


@kernel(
    types.void(
        BLOCKS,
        SPACE,
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
def frank_wolfe_pass(blocks, space, maximize, order, alpha, line_search, w, z, lag, clock, gaps):
    """One step for each sample named in `order`; gaps[i] is set to its block gap."""
    n = len(blocks.weight)
    for i in order:
        parts = score_block(blocks, i, w, space)
        ask(blocks, i, space, maximize, parts)
        fixed = -1.0 if line_search else 2.0 * n / (clock[1] + 2.0 * n)
        gaps[i] = frank_wolfe_step(blocks, i, space, alpha, fixed, w, z, lag, clock)
