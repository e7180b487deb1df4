"""The pass of the dual extragradient method whose steps in z are entropic: `marginals`, no
projection.

A point z_i is the vector q_i of potentials whose `marginals` it is, and a step adds to them.
"""

from __future__ import annotations

from maxmargin._numba.arrays import copy_values
from maxmargin._numba.compile import FLOATS, POINTER, compile_internal, compiled_function, types
from maxmargin._numba.packed_samples import PACKED, WORKSPACE, score_block
from maxmargin._numba.passes.saddle import (
    add_block,
    measure_move,
    score_two,
    step_ahead,
    worse_residual,
)

INT = types.int64
FLOAT = types.float64


@compile_internal(FLOAT(FLOATS, FLOATS, INT, INT))
def along_truth(point, truth, start, n):
    """Point . y, over the parts that the true output has."""
    total = 0.0
    for p in range(n):
        if truth[start + p] != 0.0:
            total += point[p] * truth[start + p]
    return total


@compiled_function(
    types.void(
        PACKED, WORKSPACE, POINTER, INT, INT, FLOATS, FLOATS, FLOATS, FLOAT, FLOAT, FLOAT, FLOAT,
        types.boolean, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS,
    )
)  # fmt: skip
def marginals_range(
    packed, workspace, marginals, first, last, mean, look, w, height, far, lead, step,
    once, q, after, out, truth, scratch, total_u, total_v, sums_of_pass,
):  # fmt: skip
    """The z half of an entropic dual extragradient step, for first <= i < last.

        u_i = marginals(q_i + lead (F_i^T look + c_i)),   next v_i = marginals(q_i + step (F_i^T w
        + c_i))

    and total_u += omega F (u - y), total_v likewise; with `once`, without v. q (all parts) are the
    potentials of v; if not kept, q_i is height y_i + far (F_i^T mean + c_i). after: where those of
    the next v go, out: where u goes, both all parts or empty. sums_of_pass: [2] NaN if marginals
    failed, [3] sum omega c . (u - y), [4] sum omega (log Z - q . y) of the next v. scratch: one
    sample long.
    """
    for i in range(first, last):
        start = packed.part_ptr[i]
        n = packed.part_ptr[i + 1] - start
        layout = packed.layouts[packed.layout_ptr[i] : packed.layout_ptr[i + 1]]
        base, z, point = scratch[:n], workspace.vertex[:n], workspace.theta[:n]
        if len(q) > 0:
            copy_values(q[start : start + n], base)
        else:
            score_block(packed, i, mean, workspace)
            for p in range(n):
                base[p] = height * truth[start + p]
            step_ahead(base, point, far, n, base)
        score_two(packed, i, look, w, workspace)
        step_ahead(base, point, lead, n, point)
        value = marginals(point, layout, z, workspace.work, workspace.iwork)
        sums_of_pass[2] = worse_residual(0.0 * value, sums_of_pass[2])
        measure_move(packed, i, z, z, truth, sums_of_pass)
        for p in range(n):
            if len(out) > 0:
                out[start + p] = z[p]
            z[p] -= truth[start + p]
        add_block(packed, i, workspace, z, total_u)
        step_ahead(base, workspace.scratch, step, n, base)
        if len(after) > 0:
            copy_values(base, after[start : start + n])
        if once:
            continue
        value = marginals(base, layout, z, workspace.work, workspace.iwork)
        sums_of_pass[4] += packed.weight[i] * (value - along_truth(base, truth, start, n))
        for p in range(n):
            z[p] -= truth[start + p]
        add_block(packed, i, workspace, z, total_v)
