"""The oracle over a range of samples: batch objectives, batch predictions, sums of features."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import FLOATS, POINTER, compiled_function, types
from maxmargin._numba.packed_samples import (
    PACKED,
    POINTS,
    WORKSPACE,
    add_feature_sums,
    block_number,
    call_oracle_into,
    first_block,
    local_size,
    part_dot,
    scatter_weights,
    score_block,
)


@compiled_function(
    types.void(
        PACKED, WORKSPACE, POINTER, FLOATS, FLOATS, POINTS, types.int64, types.int64, FLOATS, FLOATS
    )
)
def apply_range(packed, workspace, ability, w, point, points, first, last, values, out):
    """values[i] = ability(theta_i) - theta_i . point_i for first <= i < last.

    point: all samples' parts, or empty: then `points` are meant. out: where to write what the
    ability writes (all samples' parts, as they are laid out in `packed`), or empty.
    """
    for i in range(first, last):
        n = score_block(packed, i, w, workspace)
        theta = workspace.theta[:n]
        start = packed.part_ptr[i]
        target = out[start : start + n] if len(out) > 0 else workspace.vertex[:n]
        values[i] = call_oracle_into(packed, i, workspace, ability, target)
        if len(point) > 0:
            values[i] -= part_dot(theta, point[start : start + n], n)
        elif len(points.ptr) > 0:
            total = 0.0
            for e in range(points.ptr[i], points.ptr[i + 1]):
                total += theta[points.part[e]] * points.value[e]
            values[i] -= total


@compiled_function(types.void(PACKED, WORKSPACE, types.int64, types.int64, FLOATS, POINTS, FLOATS))
def add_features(packed, workspace, begin, end, z, y, w):
    """Add to w: the sum of omega_i F_i (z_i - y_i) over begin <= i < end; z: of these samples."""
    for i in range(begin, end):
        if packed.weight[i] == 0.0:
            continue
        size = local_size(packed, i)
        workspace.change[:size] = 0.0
        first = packed.part_ptr[i] - packed.part_ptr[begin]
        last = packed.part_ptr[i + 1] - packed.part_ptr[begin]
        point = z[first:last]
        if len(y.ptr) > 0:
            point = workspace.scratch[: last - first]
            for p in range(last - first):
                point[p] = z[first + p]
            for e in range(y.ptr[i], y.ptr[i + 1]):
                point[y.part[e]] -= y.value[e]
        add_feature_sums(packed, i, point, workspace.change)
        scatter_weights(packed, i, workspace.change, packed.weight[i], w)


@compiled_function(types.void(PACKED, types.int64, FLOATS))
def add_absolute_features(packed, step, total):
    """Add to total: sum_i omega_i |F_i|, over all parts; one number for `step` weights.

    step: divides all widths and places, so that it is the same for these weights.
    """
    value, index, high = packed.value, packed.index, packed.index_high
    for i in range(len(packed.weight)):
        starts = packed.block_start[first_block(packed, i) :]
        for r in range(packed.row_ptr[i], packed.row_ptr[i + 1]):
            for e in range(packed.indptr[r], packed.indptr[r + 1]):
                size = packed.weight[i] * (abs(value[e]) if len(value) > 0 else 1.0)
                place = np.int64(starts[block_number(index, high, e)]) // step
                for k in range(np.int64(packed.width[r]) // step):
                    total[place + k] += size
