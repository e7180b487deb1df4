"""One pass of block-coordinate Frank-Wolfe, in the space of parts.

    w(z) = 1/lambda sum_i omega_i F_i (y_i - z_i)

so nothing is stored per sample but z_i: with a_i = F_i^T w + c_i, s = argmax a_i . s,
delta = s - z_i, gap g = a_i . delta, u = F_i delta, step = lambda g / (omega_i |u|^2).
"""

from __future__ import annotations

from numba import types

from maxmargin.kernels.blocks import BLOCKS, SPACE, adjoint, local_size, scatter, score_block
from maxmargin.kernels.compile import FLOATS, INTS, POINTER, kernel


@kernel(types.float64(BLOCKS, types.int64, SPACE, FLOATS))
def subtract_point(blocks, i, space, z):
    """space.vertex -= z_i; returns a_i . (vertex - z_i)."""
    start = blocks.part_ptr[i]
    gap = 0.0
    for p in range(blocks.part_ptr[i + 1] - start):
        delta = space.vertex[p] - z[start + p]
        space.vertex[p] = delta
        if delta != 0.0:
            gap += space.theta[p] * delta
    return gap


@kernel(types.float64(FLOATS))
def square_norm(x):
    """|x|^2 in eight partial sums, which the processor adds side by side."""
    a = b = c = d = e = f = g = h = 0.0
    n = len(x)
    k = 0
    while k + 7 < n:
        a += x[k] * x[k]
        b += x[k + 1] * x[k + 1]
        c += x[k + 2] * x[k + 2]
        d += x[k + 3] * x[k + 3]
        e += x[k + 4] * x[k + 4]
        f += x[k + 5] * x[k + 5]
        g += x[k + 6] * x[k + 6]
        h += x[k + 7] * x[k + 7]
        k += 8
    while k < n:
        a += x[k] * x[k]
        k += 1
    return ((a + b) + (c + d)) + ((e + f) + (g + h))


@kernel(types.float64(BLOCKS, types.int64, SPACE))
def block_change(blocks, i, space):
    """space.change = F_i space.vertex; returns its squared norm."""
    size = local_size(blocks, i)
    change = space.change[:size]
    change[:] = 0.0
    adjoint(blocks, i, space.vertex, change)
    return square_norm(change)


@kernel(types.void(BLOCKS, types.int64, SPACE, types.float64, FLOATS, FLOATS, types.float64))
def apply_change(blocks, i, space, scale, w, lag, passed):
    """Let w += scale * change, and lag += passed * scale * change if averages are kept.

    With weights rho_k the average of w_1 ... w_K is w_K - lag / S_K with S_k = rho_1 + ... + rho_k,
    where lag sums each change times the S before it: no step touches more than its own weights.
    """
    scatter(blocks, i, space.change, scale, w)
    if len(lag) > 0 and passed != 0.0:
        scatter(blocks, i, space.change, scale * passed, lag)


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
        shape = blocks.shapes[blocks.shape_ptr[i] : blocks.shape_ptr[i + 1]]
        maximize(space.theta[:parts], shape, space.vertex[:parts], space.work, space.iwork)
        fixed = -1.0 if line_search else 2.0 * n / (clock[1] + 2.0 * n)
        gaps[i] = frank_wolfe_step(blocks, i, space, alpha, fixed, w, z, lag, clock)
