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
from maxmargin._numba.passes.block_step import AVERAGE, apply_change, block_change, subtract_point

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


@compiled_function(
    types.void(PACKED, INT, WORKSPACE, types.boolean, FLOATS, FLOATS, FLOATS, INTS, AVERAGE, FLOATS)
)
def subgradient_step(packed, i, workspace, weighted, truth, v, z, visits, average, rates):
    """Add to v: n omega_i F_i (y_i - s), s in workspace.vertex; z_i becomes the mean of its
    answers.

    rates: (1,) R, the sum of rho_k / k over the steps k so far, where rho_k = k if weighted, else
    1. The average of w_k = v_k / (alpha k) with weights rho_k is then (R v - correction) / (alpha
    sum rho).
    """
    start = packed.part_ptr[i]
    visits[i] += 1
    for p in range(packed.part_ptr[i + 1] - start):
        z[start + p] += (workspace.vertex[p] - z[start + p]) / visits[i]
        workspace.vertex[p] -= truth[start + p]
    block_change(packed, i, workspace)
    scale = -packed.weight[i] * len(packed.weight)
    apply_change(packed, i, workspace, scale, v, average, rates[0])
    average.steps[0] += 1.0
    rates[0] += 1.0 if weighted else 1.0 / average.steps[0]


@compiled_function(
    types.void(
        PACKED, WORKSPACE, POINTER, INTS, FLOAT, types.boolean, FLOATS, FLOATS, FLOATS, INTS,
        AVERAGE, FLOATS,
    )
)  # fmt: skip
def subgradient_pass(
    packed, workspace, maximize, order, alpha, weighted, truth, v, z, visits, average, rates
):
    """One step for each sample in `order`, at w = v / (alpha k)."""
    for i in order:
        k = average.steps[0]
        scale = 1.0 / (alpha * k) if k > 0.0 else 0.0
        parts = score_scaled(packed, i, v, scale, workspace)
        call_oracle(packed, i, workspace, maximize, parts)
        subgradient_step(packed, i, workspace, weighted, truth, v, z, visits, average, rates)


@compiled_function(types.boolean(PACKED, INT, WORKSPACE, FLOATS, FLOATS, AVERAGE))
def perceptron_step(packed, i, workspace, truth, w, average):
    """Add to w: n omega_i F_i (y_i - s), s in workspace.vertex; returns whether s is wrong."""
    average.steps[0] += 1.0
    subtract_point(packed, i, workspace, truth)
    wrong = False
    for p in range(packed.part_ptr[i + 1] - packed.part_ptr[i]):
        if workspace.vertex[p] != 0.0:
            wrong = True
            break
    if wrong:
        block_change(packed, i, workspace)
        scale = -packed.weight[i] * len(packed.weight)
        apply_change(packed, i, workspace, scale, w, average, average.steps[0] - 1.0)
    return wrong


@compiled_function(INT(PACKED, WORKSPACE, POINTER, INTS, FLOATS, FLOATS, AVERAGE))
def perceptron_pass(packed, workspace, maximize, order, truth, w, average):
    """One step for each sample in `order`; returns the number of mistakes."""
    mistakes = 0
    for i in order:
        parts = score_block(packed, i, w, workspace)
        call_oracle(packed, i, workspace, maximize, parts)
        mistakes += perceptron_step(packed, i, workspace, truth, w, average)
    return mistakes
