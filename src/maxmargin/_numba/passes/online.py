"""One pass of the stochastic subgradient method, and of the perceptron."""

from __future__ import annotations

from maxmargin._numba.compile import FLOATS, INTS, POINTER, compiled_function, types
from maxmargin._numba.packed_samples import PACKED, WORKSPACE, call_oracle
from maxmargin._numba.passes.block_step import block_change, subtract_point
from maxmargin._numba.passes.weights import (
    SCALE,
    WEIGHTS,
    count_step,
    drop_excess,
    move_scaled,
    move_weights,
    score_sample,
)

INT = types.int64
FLOAT = types.float64


@compiled_function(
    types.void(PACKED, INT, WORKSPACE, FLOAT, types.boolean, FLOATS, WEIGHTS, FLOATS, INTS)
)
def subgradient_step(packed, i, workspace, alpha, growing, truth, weights, z, visits):
    """Add to v: n omega_i F_i (y_i - s), s in workspace.vertex; z_i becomes the mean of its
    answers.

    Weights are w = v / (alpha k) after step k; with alpha = 0 their scale is left alone. growing:
    that step k has the weight k in the average, not 1.
    """
    start = packed.part_ptr[i]
    visits[i] += 1
    for p in range(packed.part_ptr[i + 1] - start):
        z[start + p] += (workspace.vertex[p] - z[start + p]) / visits[i]
        workspace.vertex[p] -= truth[start + p]
    block_change(packed, i, workspace)
    scale = -packed.weight[i] * len(packed.weight)
    if len(weights.seen) > 0:
        move_scaled(packed, i, workspace.change, scale, growing, weights)
    else:
        move_weights(packed, i, workspace.change, scale, weights)
    if alpha > 0.0:
        weights.norm[SCALE] = 1.0 / (alpha * (weights.average.steps[0] + 1.0))
    count_step(weights, growing)


@compiled_function(
    types.void(
        PACKED, WORKSPACE, POINTER, INTS, FLOAT, types.boolean, FLOATS, WEIGHTS, FLOATS, INTS
    )
)
def subgradient_pass(packed, workspace, maximize, order, alpha, growing, truth, weights, z, visits):
    """One step for each sample in `order`."""
    for i in order:
        parts = score_sample(packed, i, weights, workspace)
        call_oracle(packed, i, workspace, maximize, parts)
        subgradient_step(packed, i, workspace, alpha, growing, truth, weights, z, visits)


@compiled_function(types.boolean(PACKED, INT, WORKSPACE, FLOATS, WEIGHTS))
def perceptron_step(packed, i, workspace, truth, weights):
    """Let w be P(w + n omega_i F_i (y_i - s)), s in workspace.vertex; tells whether s is wrong."""
    subtract_point(packed, i, workspace, truth)
    wrong = False
    for p in range(packed.part_ptr[i + 1] - packed.part_ptr[i]):
        if workspace.vertex[p] != 0.0:
            wrong = True
            break
    if wrong:
        block_change(packed, i, workspace)
        scale = -packed.weight[i] * len(packed.weight)
        move_weights(packed, i, workspace.change, scale, weights)
        if len(weights.low) > 0:
            drop_excess(packed, i, weights)
    count_step(weights, False)
    return wrong


@compiled_function(INT(PACKED, WORKSPACE, POINTER, INTS, FLOATS, WEIGHTS))
def perceptron_pass(packed, workspace, maximize, order, truth, weights):
    """One step for each sample in `order`; returns the number of mistakes."""
    mistakes = 0
    for i in order:
        parts = score_sample(packed, i, weights, workspace)
        call_oracle(packed, i, workspace, maximize, parts)
        mistakes += perceptron_step(packed, i, workspace, truth, weights)
    return mistakes
