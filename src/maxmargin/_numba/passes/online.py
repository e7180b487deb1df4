"""One pass of the stochastic subgradient method, and of the perceptron."""

from __future__ import annotations

from numba import types

from maxmargin._numba.compile import FLOATS, INTS, POINTER, kernel
from maxmargin._numba.packed_samples import BLOCKS, SPACE, ask, forward, gather, score_block
from maxmargin._numba.passes.block_step import apply_change, block_change, subtract_point

INT = types.int64
FLOAT = types.float64


@kernel(INT(BLOCKS, INT, FLOATS, FLOAT, SPACE))
def score_scaled(blocks, i, v, scale, space):
    """space.theta = scale F_i^T v + c_i; returns the number of parts."""
    gather(blocks, i, v, space.local)
    forward(blocks, i, space.local, space.theta)
    start = blocks.part_ptr[i]
    n = blocks.part_ptr[i + 1] - start
    for p in range(n):
        space.theta[p] *= scale
        if len(blocks.costs) > 0:
            space.theta[p] += blocks.costs[start + p]
    return n


@kernel(types.void(BLOCKS, INT, SPACE, FLOATS, FLOATS, FLOATS, INTS, FLOATS, FLOATS))
def subgradient_step(blocks, i, space, truth, v, z, visits, lag, clock):
    """Add to v: n omega_i F_i (y_i - s), s in space.vertex; z_i becomes the mean of its answers.

    clock: [0] steps; [1] R, the sum over steps of rho_k / k, and [2] whether rho_k = k (else 1).
    The average of w_k = v_k / (alpha k) with weights rho_k is then (R v - lag) / (alpha sum rho).
    """
    start = blocks.part_ptr[i]
    visits[i] += 1
    for p in range(blocks.part_ptr[i + 1] - start):
        z[start + p] += (space.vertex[p] - z[start + p]) / visits[i]
        space.vertex[p] -= truth[start + p]
    block_change(blocks, i, space)
    apply_change(blocks, i, space, -blocks.weight[i] * len(blocks.weight), v, lag, clock[1])
    clock[0] += 1.0
    clock[1] += 1.0 if clock[2] > 0.0 else 1.0 / clock[0]


@kernel(
    types.void(BLOCKS, SPACE, POINTER, INTS, FLOAT, FLOATS, FLOATS, FLOATS, INTS, FLOATS, FLOATS)
)
def subgradient_pass(blocks, space, maximize, order, alpha, truth, v, z, visits, lag, clock):
    """One step for each sample in `order`, at w = v / (alpha k)."""
    for i in order:
        scale = 1.0 / (alpha * clock[0]) if clock[0] > 0.0 else 0.0
        parts = score_scaled(blocks, i, v, scale, space)
        ask(blocks, i, space, maximize, parts)
        subgradient_step(blocks, i, space, truth, v, z, visits, lag, clock)


@kernel(types.boolean(BLOCKS, INT, SPACE, FLOATS, FLOATS, FLOATS, FLOATS))
def perceptron_step(blocks, i, space, truth, w, lag, clock):
    """Add to w: n omega_i F_i (y_i - s), s in space.vertex; returns whether s is wrong."""
    clock[0] += 1.0
    subtract_point(blocks, i, space, truth)
    wrong = False
    for p in range(blocks.part_ptr[i + 1] - blocks.part_ptr[i]):
        if space.vertex[p] != 0.0:
            wrong = True
            break
    if wrong:
        block_change(blocks, i, space)
        scale = -blocks.weight[i] * len(blocks.weight)
        apply_change(blocks, i, space, scale, w, lag, clock[0] - 1.0)
    return wrong


@kernel(INT(BLOCKS, SPACE, POINTER, INTS, FLOATS, FLOATS, FLOATS, FLOATS))
def perceptron_pass(blocks, space, maximize, order, truth, w, lag, clock):
    """One step for each sample in `order`; returns the number of mistakes."""
    mistakes = 0
    for i in order:
        parts = score_block(blocks, i, w, space)
        ask(blocks, i, space, maximize, parts)
        mistakes += perceptron_step(blocks, i, space, truth, w, lag, clock)
    return mistakes
