"""Passes of the saddle-point solvers: scores, projections and sums of features.

All of them step z_i along its score gradient and project. Steps in z are the same for every sample;
the sample's weight omega_i enters the sums of features only (see `solvers.saddle`).
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.arrays import copy_values
from maxmargin._numba.compile import (
    FLOATS,
    INTS,
    POINTER,
    compile_internal,
    compiled_function,
    types,
)
from maxmargin._numba.packed_samples import (
    PACKED,
    WORKSPACE,
    add_costs,
    add_feature_sums,
    block_number,
    cost_of,
    first_block,
    gather_weights,
    local_size,
    part_dot,
    scatter_weights,
    score_block,
    shift_of,
    write_part_scores,
)

INT = types.int64
FLOAT = types.float64


@compile_internal(types.void(PACKED, INT, FLOATS, FLOATS, FLOATS, FLOATS))
def forward_two(packed, i, local, other, theta, second):
    """Theta = F_i^T local and second = F_i^T other in one look at the features."""
    part = 0
    value, index, high = packed.value, packed.index, packed.index_high
    is_one = len(value) == 0
    for r in range(packed.row_ptr[i], packed.row_ptr[i + 1]):
        width, shift = np.int64(packed.width[r]), shift_of(packed, r)
        first, stop = packed.indptr[r], packed.indptr[r + 1]
        if width == 1:
            a, b = 0.0, 0.0
            for e in range(first, stop):
                v, start = 1.0 if is_one else value[e], shift + block_number(index, high, e)
                a += v * local[start]
                b += v * other[start]
            theta[part], second[part] = a, b
        else:
            theta[part : part + width] = 0.0
            second[part : part + width] = 0.0
            for e in range(first, stop):
                v = 1.0 if is_one else value[e]
                start = shift + width * block_number(index, high, e)
                for k in range(width):
                    theta[part + k] += v * local[start + k]
                    second[part + k] += v * other[start + k]
        part += width


@compile_internal(types.void(PACKED, INT, FLOATS, FLOATS, WORKSPACE))
def score_two(packed, i, w, other, workspace):
    """workspace.theta = F_i^T w + c_i, workspace.scratch = F_i^T other + c_i."""
    gather_weights(packed, i, w, workspace.local)
    gather_weights(packed, i, other, workspace.change)
    forward_two(packed, i, workspace.local, workspace.change, workspace.theta, workspace.scratch)
    add_costs(packed, i, workspace.theta)
    add_costs(packed, i, workspace.scratch)


@compiled_function(types.void(PACKED, INT, WORKSPACE, FLOATS, FLOATS))
def add_block(packed, i, workspace, z, total):
    """Add to total: omega_i F_i z."""
    if packed.weight[i] == 0.0:
        return
    change = workspace.change[: local_size(packed, i)]
    change[:] = 0.0
    add_feature_sums(packed, i, z, change)
    scatter_weights(packed, i, change, packed.weight[i], total)


@compile_internal(types.void(FLOATS, FLOATS, INT, INT))
def recall_warm_start(warm, work, start, stop):
    """What the last projection of a sample left; nothing if that is not kept."""
    for k in range(stop - start):
        work[k] = warm[start + k] if len(warm) > 0 else 0.0


@compile_internal(types.void(FLOATS, FLOATS, INT, INT))
def keep_warm_start(warm, work, start, stop):
    """Keep what a projection left."""
    if len(warm) > 0:
        for k in range(stop - start):
            warm[start + k] = work[k]


@compile_internal(types.void(FLOATS, FLOATS, FLOAT, INT, FLOATS))
def step_ahead(base, slope, step, n, point):
    """Point = base + step * slope; forbidden parts (-inf) stay forbidden, whatever the step."""
    for p in range(n):
        point[p] = base[p] + step * slope[p] if slope[p] > -np.inf else -np.inf


@compiled_function(types.void(PACKED, INT, FLOATS, FLOATS, FLOATS, FLOATS))
def measure_move(packed, i, z, base, truth, sums_of_pass):
    """Add to sums_of_pass: [0] omega_i |z - base|^2, [3] omega_i c_i . (z - y_i)."""
    start = packed.part_ptr[i]
    moved, loss, p = 0.0, 0.0, 0
    for r in range(packed.row_ptr[i], packed.row_ptr[i + 1]):
        for k in range(np.int64(packed.width[r])):
            moved += (z[p] - base[p]) ** 2
            delta = z[p] - truth[start + p]
            if delta != 0.0:
                loss += cost_of(packed, i, p, r, k) * delta
            p += 1
    sums_of_pass[0] += packed.weight[i] * moved
    sums_of_pass[3] += packed.weight[i] * loss


@compile_internal(FLOAT(FLOAT, FLOAT))
def worse_residual(residual, other):
    """The larger one; NaN if either is."""
    return residual if residual > other or residual != residual else other


@compiled_function(
    types.void(
        PACKED, WORKSPACE, POINTER, INT, INT, FLOATS, FLOATS, FLOAT, FLOATS, FLOATS, FLOATS, INTS,
        FLOATS, FLOATS, FLOATS,
    )
)  # fmt: skip
def ascent_range(
    packed, workspace, project, first, last, w, reference, step, base, out, warm, warm_ptr,
    truth, total, sums_of_pass,
):  # fmt: skip
    """out_i = P(base_i + step (F_i^T w + c_i)) for first <= i < last; total += omega F (out - y).

    reference: other weights, or empty. sums_of_pass: [0] sum omega |out - base|^2, [1] sum omega
    |F^T (w - reference)|^2, [2] the largest residual of a projection, [3] sum omega c . (out - y).
    out may be base itself. warm: what projections leave behind, warm_ptr (n + 1); or empty.
    """
    for i in range(first, last):
        start = packed.part_ptr[i]
        n = packed.part_ptr[i + 1] - start
        if len(reference) > 0:
            score_two(packed, i, w, reference, workspace)
            for p in range(n):
                if workspace.theta[p] > -np.inf:
                    sums_of_pass[1] += (
                        packed.weight[i] * (workspace.theta[p] - workspace.scratch[p]) ** 2
                    )
        else:
            score_block(packed, i, w, workspace)
        step_ahead(base[start : start + n], workspace.theta, step, n, workspace.theta)
        recall_warm_start(warm, workspace.work, warm_ptr[i], warm_ptr[i + 1])
        layout = packed.layouts[packed.layout_ptr[i] : packed.layout_ptr[i + 1]]
        z = workspace.vertex[:n]
        residual = project(workspace.theta[:n], layout, z, workspace.work, workspace.iwork)
        sums_of_pass[2] = worse_residual(residual, sums_of_pass[2])
        keep_warm_start(warm, workspace.work, warm_ptr[i], warm_ptr[i + 1])
        measure_move(packed, i, z, base[start : start + n], truth, sums_of_pass)
        for p in range(n):
            out[start + p] = z[p]
            z[p] -= truth[start + p]
        add_block(packed, i, workspace, z, total)


@compiled_function(
    types.void(
        PACKED, WORKSPACE, POINTER, INT, INT, FLOATS, FLOATS, FLOAT, FLOAT, types.boolean, FLOATS,
        FLOATS, FLOATS, FLOATS, FLOATS, INTS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS,
    )
)  # fmt: skip
def dual_range(
    packed, workspace, project, first, last, w, look, passed, step, past, anchor,
    s, mean, warm_v, warm_u, warm_ptr, truth, v, total_v, total_u, sums_of_pass,
):  # fmt: skip
    """The z half of a dual extragradient step, for first <= i < last.

        v_i = P(anchor_i + step s_i),   u_i = P(v_i + step (F_i^T look + c_i))

    and total_v += omega F (v - y), total_u likewise. With `past`, there is no v:
    u_i = P(anchor_i + step (s_i + F_i^T look + c_i)).

    s (all parts), if kept: s_i += F_i^T w + c_i first, w being the last step's u; else s_i is
    passed * (F_i^T w + c_i), w being the average of the u's of all `passed` steps. mean: the
    running average of u, or empty. sums_of_pass: as in `ascent_range`, of u against v. v: scratch
    of one sample.
    """
    for i in range(first, last):
        start = packed.part_ptr[i]
        n = packed.part_ptr[i + 1] - start
        layout = packed.layouts[packed.layout_ptr[i] : packed.layout_ptr[i + 1]]
        score_two(packed, i, w, look, workspace)
        base, scale = anchor[start : start + n], step * passed
        slope = workspace.theta
        if len(s) > 0:
            slope, scale = s[start : start + n], step
            if passed > 0.0:
                for p in range(n):
                    slope[p] += workspace.theta[p]
        point, u, own = workspace.theta[:n], workspace.vertex[:n], v[:n]
        recall_warm_start(warm_v, workspace.work, warm_ptr[i], warm_ptr[i + 1])
        residual = 0.0
        if passed > 0.0:
            step_ahead(base, slope, scale, n, point)
            if past:
                copy_values(base, own)
            else:
                residual = project(point, layout, own, workspace.work, workspace.iwork)
                keep_warm_start(warm_v, workspace.work, warm_ptr[i], warm_ptr[i + 1])
        else:  # s is zero and the anchor feasible
            for p in range(n):
                point[p], own[p] = base[p], base[p]
        sums_of_pass[2] = worse_residual(residual, sums_of_pass[2])
        step_ahead(point if past else own, workspace.scratch, step, n, point)
        if len(warm_u) > 0:
            recall_warm_start(warm_u, workspace.work, warm_ptr[i], warm_ptr[i + 1])
        residual = project(point, layout, u, workspace.work, workspace.iwork)
        sums_of_pass[2] = worse_residual(residual, sums_of_pass[2])
        keep_warm_start(warm_u, workspace.work, warm_ptr[i], warm_ptr[i + 1])
        measure_move(packed, i, u, own, truth, sums_of_pass)
        for p in range(n):
            if len(mean) > 0:
                mean[start + p] += (u[p] - mean[start + p]) / (passed + 1.0)
            u[p] -= truth[start + p]
            own[p] -= truth[start + p]
        add_block(packed, i, workspace, u, total_u)
        if not past:
            add_block(packed, i, workspace, own, total_v)


@compiled_function(types.void(PACKED, WORKSPACE, INT, INT, FLOATS, FLOATS))
def gram_range(packed, workspace, first, last, x, total):
    """Add to total: sum_i omega_i F_i F_i^T x."""
    for i in range(first, last):
        gather_weights(packed, i, x, workspace.local)
        write_part_scores(packed, i, workspace.local, workspace.theta)
        add_block(packed, i, workspace, workspace.theta, total)


@compiled_function(FLOAT(PACKED, WORKSPACE, FLOATS))
def score_norm(packed, workspace, x):
    """sum_i omega_i |F_i^T x|^2."""
    total = 0.0
    for i in range(len(packed.weight)):
        gather_weights(packed, i, x, workspace.local)
        write_part_scores(packed, i, workspace.local, workspace.theta)
        n = packed.part_ptr[i + 1] - packed.part_ptr[i]
        total += packed.weight[i] * part_dot(workspace.theta, workspace.theta, n)
    return total


@compiled_function(types.void(PACKED, FLOATS))
def square_rows(packed, total):
    """Add to total: omega |row of F|^2 for each weight."""
    value, index, high = packed.value, packed.index, packed.index_high
    for i in range(len(packed.weight)):
        starts = packed.block_start[first_block(packed, i) :]
        for r in range(packed.row_ptr[i], packed.row_ptr[i + 1]):
            for e in range(packed.indptr[r], packed.indptr[r + 1]):
                place = np.int64(starts[block_number(index, high, e)])
                square = packed.weight[i] * (value[e] ** 2 if len(value) > 0 else 1.0)
                for k in range(np.int64(packed.width[r])):
                    total[place + k] += square
