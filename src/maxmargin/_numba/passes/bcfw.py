"""One pass of block-coordinate Frank-Wolfe, in the space of parts.

    w(z) = 1/lambda sum_i omega_i F_i (y_i - z_i)

so nothing is stored per sample but z_i: with a_i = F_i^T w + c_i, s = argmax a_i . s,
delta = s - z_i, gap g = a_i . delta, u = F_i delta, step = lambda g / (omega_i |u|^2).
"""

from __future__ import annotations

from maxmargin._numba.compile import FLOATS, INTS, POINTER, compiled_function, types
from maxmargin._numba.packed_samples import PACKED, WORKSPACE, call_oracle, local_size
from maxmargin._numba.passes.block_step import COUNTERS, block_change, subtract_point
from maxmargin._numba.passes.weights import (
    WEIGHTS,
    count_step,
    is_free,
    move_weights,
    score_sample,
    search_share,
)

INT = types.int64
FLOAT = types.float64
#: how long steps are: 2n / (k + 2n), the best one, or all the way to the vertex
SCHEDULE, SEARCH, WHOLE = 0, 1, 2


@compiled_function(FLOAT(PACKED, INT, WORKSPACE, FLOAT, INT, WEIGHTS, FLOATS, COUNTERS))
def frank_wolfe_step(packed, i, workspace, alpha, rule, weights, z, counters):
    """Move z_i towards workspace.vertex; returns the block's gap before the move.

    workspace.local: the weights that the sample touches. rule: SCHEDULE, SEARCH or WHOLE.
    """
    gap = subtract_point(packed, i, workspace, z)  # workspace.vertex is delta from here on
    counters.steps[0] += 1.0
    rate = packed.weight[i] / alpha
    if rate > 0.0 and gap > 0.0:
        norm = block_change(packed, i, workspace)
        change = workspace.change[: local_size(packed, i)]
        step = 1.0
        if rule == SCHEDULE:
            n = len(packed.weight)
            step = 2.0 * n / (counters.steps[0] - 1.0 + 2.0 * n)
        elif rule == SEARCH and norm > 0.0:
            step = min(gap / (rate * norm), 1.0)
        if rule == SEARCH and step < 1.0 and not is_free(weights):
            step = search_share(packed, i, change, gap, rate, weights)
        else:
            move_weights(packed, i, change, -step * rate, weights)
        start = packed.part_ptr[i]
        for p in range(packed.part_ptr[i + 1] - start):
            z[start + p] += step * workspace.vertex[p]
    count_step(weights, True)
    return gap


@compiled_function(
    types.void(PACKED, WORKSPACE, POINTER, INTS, FLOAT, INT, WEIGHTS, FLOATS, COUNTERS, FLOATS)
)
def frank_wolfe_pass(packed, workspace, maximize, order, alpha, rule, weights, z, counters, gaps):
    """One step for each sample named in `order`; gaps[i] is set to its block gap."""
    for i in order:
        parts = score_sample(packed, i, weights, workspace)
        call_oracle(packed, i, workspace, maximize, parts)
        gaps[i] = frank_wolfe_step(packed, i, workspace, alpha, rule, weights, z, counters)
