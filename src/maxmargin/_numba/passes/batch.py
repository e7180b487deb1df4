"""The oracle over a range of samples: batch objectives, batch predictions, sums of features."""

from __future__ import annotations

from numba import types

from maxmargin._numba.compile import FLOATS, POINTER, kernel
from maxmargin._numba.packed_samples import (
    BLOCKS,
    SPACE,
    adjoint,
    ask_into,
    dot,
    local_size,
    scatter,
    score_block,
)


@kernel(
    types.void(
        BLOCKS,
        SPACE,
        POINTER,
        FLOATS,
        FLOATS,
        types.int64,
        types.int64,
        FLOATS,
        FLOATS,
    )
)
def apply_range(blocks, space, ability, w, point, first, last, values, out):
    """values[i] = ability(theta_i) - theta_i . point_i for first <= i < last.

    point: all samples' parts, or empty for zero. out: where to write what the ability writes (all
    samples' parts, as they are laid out in `blocks`), or empty.
    """
    for i in range(first, last):
        n = score_block(blocks, i, w, space)
        theta = space.theta[:n]
        start = blocks.part_ptr[i]
        target = out[start : start + n] if len(out) > 0 else space.vertex[:n]
        values[i] = ask_into(blocks, i, space, ability, target)
        if len(point) > 0:
            values[i] -= dot(theta, point[start : start + n], n)


@kernel(types.void(BLOCKS, SPACE, FLOATS, FLOATS))
def add_features(blocks, space, z, w):
    """Add to w: sum_i omega_i F_i z_i."""
    for i in range(len(blocks.weight)):
        if blocks.weight[i] == 0.0:
            continue
        size = local_size(blocks, i)
        space.change[:size] = 0.0
        adjoint(blocks, i, z[blocks.part_ptr[i] : blocks.part_ptr[i + 1]], space.change)
        scatter(blocks, i, space.change, blocks.weight[i], w)
