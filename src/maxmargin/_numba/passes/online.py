"""One pass of the stochastic subgradient method, and of the perceptron."""

from __future__ import annotations

from maxmargin._numba.compile import FLOATS, INTS, POINTER, compiled_function, types
from maxmargin._numba.packed_samples import (
    PACKED,
    WORKSPACE,
    call_oracle,
    gather_weights,
    score_block,
    write_part_scores,
)
from maxmargin._numba.passes.block_step import apply_change, block_change, subtract_point

INT = types.int64
FLOAT = types.float64


@compiled_function(INT(PACKED, INT, FLOATS, FLOAT, WORKSPACE))
def score_scaled(packed, i, v, scale, workspace):
    """workspace.theta = scale F_i^T v + c_i; returns the number of parts."""
    gather_weights(packed, i, v, workspace.local)
    write_part_scores(packed, i, workspace.local, workspace.theta)
    start = packed.part_ptr[i]
    n = packed.part_ptr[i + 1] - start
    for p in range(n):
        workspace.theta[p] *= scale
        if len(packed.costs) > 0:
            workspace.theta[p] += packed.costs[start + p]
    return n


@compiled_function(types.void(PACKED, INT, WORKSPACE, FLOATS, FLOATS, FLOATS, INTS, FLOATS, FLOATS))
def subgradient_step(packed, i, workspace, truth, v, z, visits, lag, clock):
    """Add to v: n omega_i F_i (y_i - s), s in workspace.vertex; z_i becomes the mean of its
    answers.

    clock: [0] steps; [1] R, the sum over steps of rho_k / k, and [2] whether rho_k = k (else 1).
    The average of w_k = v_k / (alpha k) with weights rho_k is then (R v - lag) / (alpha sum rho).
    """
    start = packed.part_ptr[i]
    visits[i] += 1
    for p in range(packed.part_ptr[i + 1] - start):
        z[start + p] += (workspace.vertex[p] - z[start + p]) / visits[i]
        workspace.vertex[p] -= truth[start + p]
    block_change(packed, i, workspace)
    apply_change(packed, i, workspace, -packed.weight[i] * len(packed.weight), v, lag, clock[1])
    clock[0] += 1.0
    clock[1] += 1.0 if clock[2] > 0.0 else 1.0 / clock[0]


@compiled_function(
    types.void(
        PACKED, WORKSPACE, POINTER, INTS, FLOAT, FLOATS, FLOATS, FLOATS, INTS, FLOATS, FLOATS
    )
)
def subgradient_pass(packed, workspace, maximize, order, alpha, truth, v, z, visits, lag, clock):
    """One step for each sample in `order`, at w = v / (alpha k)."""
    for i in order:
        scale = 1.0 / (alpha * clock[0]) if clock[0] > 0.0 else 0.0
        parts = score_scaled(packed, i, v, scale, workspace)
        call_oracle(packed, i, workspace, maximize, parts)
        subgradient_step(packed, i, workspace, truth, v, z, visits, lag, clock)


@compiled_function(types.boolean(PACKED, INT, WORKSPACE, FLOATS, FLOATS, FLOATS, FLOATS))
def perceptron_step(packed, i, workspace, truth, w, lag, clock):
    """Add to w: n omega_i F_i (y_i - s), s in workspace.vertex; returns whether s is wrong."""
    clock[0] += 1.0
    subtract_point(packed, i, workspace, truth)
    wrong = False
    for p in range(packed.part_ptr[i + 1] - packed.part_ptr[i]):
        if workspace.vertex[p] != 0.0:
            wrong = True
            break
    if wrong:
        block_change(packed, i, workspace)
        scale = -packed.weight[i] * len(packed.weight)
        apply_change(packed, i, workspace, scale, w, lag, clock[0] - 1.0)
    return wrong


@compiled_function(INT(PACKED, WORKSPACE, POINTER, INTS, FLOATS, FLOATS, FLOATS, FLOATS))
def perceptron_pass(packed, workspace, maximize, order, truth, w, lag, clock):
    """One step for each sample in `order`; returns the number of mistakes."""
    mistakes = 0
    for i in order:
        parts = score_block(packed, i, w, workspace)
        call_oracle(packed, i, workspace, maximize, parts)
        mistakes += perceptron_step(packed, i, workspace, truth, w, lag, clock)
    return mistakes
