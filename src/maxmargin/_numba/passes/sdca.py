"""One pass of dual coordinate ascent for the likelihood, in the space of parts.

The dual is D(z) = -alpha/2 |w(z)|^2 + sum_i omega_i H_i, H_i being an entropy that z_i allows. With
a_i = F_i^T w, nu = the expectations under exp(a_i . z), delta = nu - z_i and u = F_i delta, a
mixture of the two distributions has z_i + step * delta and at least the entropy
H_i + step * (H(nu) - H_i), so that D rises by at least omega_i times

    step * gap - step^2 omega_i |u|^2 / (2 alpha),   gap = log Z(a_i) - a_i . z_i - H_i.
"""

from __future__ import annotations

from maxmargin._numba.compile import FLOATS, INTS, POINTER, compiled_function, types
from maxmargin._numba.packed_samples import (
    PACKED,
    WORKSPACE,
    call_oracle,
    part_dot,
    scatter_weights,
    score_block,
)
from maxmargin._numba.passes.block_step import block_change

#: relative size of what rounding may add to log Z and to scores of points
ROUNDING = 2.0**-49


@compiled_function(
    types.float64(PACKED, types.int64, WORKSPACE, types.float64, types.float64, *[FLOATS] * 3)
)
def ascent_step(packed, i, workspace, log_z, alpha, w, z, entropy):
    """Move z_i towards workspace.vertex, the marginals of workspace.theta; the gap before."""
    start = packed.part_ptr[i]
    parts = packed.part_ptr[i + 1] - start
    own = z[start : start + parts]
    # what rounding of large scores leaves over is no entropy, of which the bound may not have more
    expected, size = 0.0, abs(log_z)
    for p in range(parts):
        if workspace.vertex[p] != 0.0:
            score = workspace.theta[p] * workspace.vertex[p]
            expected += score
            size += abs(score)
    rise = max(log_z - expected - ROUNDING * size, 0.0) - entropy[i]
    gap = log_z - part_dot(workspace.theta, own, parts) - entropy[i]
    omega = packed.weight[i]
    if omega == 0.0 or not gap > 0.0:
        return gap
    for p in range(parts):
        workspace.vertex[p] -= own[p]
    norm = block_change(packed, i, workspace)
    step = 1.0
    if alpha * gap < omega * norm:
        step = alpha * gap / (omega * norm)
    for p in range(parts):
        own[p] += step * workspace.vertex[p]
    entropy[i] += step * rise
    scatter_weights(packed, i, workspace.change, -step * omega / alpha, w)
    return gap


@compiled_function(types.void(PACKED, WORKSPACE, POINTER, INTS, types.float64, *[FLOATS] * 4))
def ascent_pass(packed, workspace, marginals, order, alpha, w, z, entropy, gaps):
    """One step for each sample named in `order`; gaps[i] is set to its block gap."""
    for i in order:
        parts = score_block(packed, i, w, workspace)
        log_z = call_oracle(packed, i, workspace, marginals, parts)
        gaps[i] = ascent_step(packed, i, workspace, log_z, alpha, w, z, entropy)
