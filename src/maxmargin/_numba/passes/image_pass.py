"""Passes of block-coordinate ascent over remembered images of vertices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from maxmargin._numba.compile import FLOATS, INTS, POINTER, inlined, kernel, piece
from maxmargin._numba.packed_samples import BLOCKS, SPACE, ask, gather, score_block
from maxmargin._numba.passes.image_cache import PLANES, image_of, learn_plane, recall_planes
from maxmargin._numba.passes.vertex_cache import FLOAT, INT, SUPPORT, put_to_sleep, wake_all
from maxmargin._numba.passes.vertex_steps import approach, exchange


class Course(NamedTuple):
    """The weights of a run, and where they may go.

    Without bounds, w_unprojected, lower and upper are empty. With them w is w_unprojected, cut to
    lower <= w <= upper.
    """

    w: np.ndarray
    w_unprojected: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    lag: np.ndarray  # for averages, see `steps.apply_change`; or empty
    clock: np.ndarray


COURSE = types.NamedUniTuple(FLOATS, len(Course._fields), Course)


@piece(types.void(BLOCKS, INT, FLOATS, FLOAT, COURSE, FLOAT))
def move_weights(blocks, i, change, scale, course, passed):
    """Let w_unprojected, and w, which is that within its bounds, go along scale * change."""
    w, w_unprojected, lag = course.w, course.w_unprojected, course.lag
    n = 0
    for b in range(blocks.block_ptr[i], blocks.block_ptr[i + 1]):
        first = blocks.source[b]
        for k in range(first, first + np.int64(blocks.block_width[b])):
            step = scale * change[n]
            if len(w_unprojected) > 0:
                w_unprojected[k] += step
                cut = min(max(w_unprojected[k], course.lower[k]), course.upper[k])
                step, w[k] = cut - w[k], cut
            else:
                w[k] += step
            if len(lag) > 0:
                lag[k] += passed * step
            n += 1


@piece(types.void(BLOCKS, INT, SUPPORT, PLANES, FLOAT, COURSE))
def settle_planes(blocks, i, support, planes, alpha, course):
    """Carry the change of masses since `recall_planes` over to w."""
    slots = len(support.score)
    clock = course.clock
    clock[0] += 1.0
    passed = clock[0] * (clock[0] - 1.0) / 2.0
    change = planes.change[: planes.size[i]]
    change[:] = 0.0
    moved = False
    for a in range(support.n_awake[i]):
        slot = support.awake[i * slots + a]
        mass = support.mass[i * slots + slot]
        if mass > 0.0:
            support.used[i * slots + slot] = np.int64(clock[2])
        step = mass - support.start[slot]
        if step != 0.0:
            moved = True
            image = image_of(planes, i, slot)
            for k in range(len(change)):
                change[k] += step * image[k]
    if moved:
        move_weights(blocks, i, change, -blocks.weight[i] / alpha, course, passed)


@inlined
def step_between(blocks, i, support, alpha, limit, relaxation, gap):
    """Frank-Wolfe step (limit 0) or exchanges between the slots that are awake."""
    rate = blocks.weight[i] / alpha
    if limit == 0:
        approach(support, i, rate, gap)
    else:
        exchange(support, i, rate, limit, 0.1 * gap, relaxation)


@kernel(FLOAT(BLOCKS, INT, SPACE, SUPPORT, PLANES, FLOAT, INT, FLOAT, COURSE))
def plane_step(blocks, i, space, support, planes, alpha, limit, relaxation, course):
    """After the oracle has written space.vertex: learn it, step, settle; returns the gap.

    NaN if the vertex cannot be kept. limit: as for `support_pass.support_step`.
    """
    wake_all(support, i)
    value = recall_planes(i, space, support, planes)
    slot = learn_plane(blocks, i, space, support, planes, np.int64(course.clock[2]))
    if slot < 0:
        return np.nan
    gap = support.score[slot] - value
    if blocks.weight[i] > 0.0 and gap > 0.0:
        step_between(blocks, i, support, alpha, limit, relaxation, gap)
    settle_planes(blocks, i, support, planes, alpha, course)
    put_to_sleep(support, i, gap)
    return gap


@kernel(
    types.void(BLOCKS, SPACE, SUPPORT, PLANES, POINTER, INTS, FLOAT, INT, FLOAT, COURSE, FLOATS)
)
def plane_oracle_pass(
    blocks, space, support, planes, maximize, order, alpha, limit, relaxation, course, gaps
):
    """Ask the oracle for each sample in `order`, then step; gaps[i] is set to its block gap."""
    for i in order:
        parts = score_block(blocks, i, course.w, space)
        ask(blocks, i, space, maximize, parts)
        gaps[i] = plane_step(blocks, i, space, support, planes, alpha, limit, relaxation, course)


@kernel(types.void(BLOCKS, SPACE, SUPPORT, PLANES, INTS, FLOAT, INT, FLOAT, COURSE))
def plane_cached_pass(blocks, space, support, planes, order, alpha, limit, relaxation, course):
    """Steps between remembered vertices only; planes.gap[i] is set to the gap among them."""
    slots = len(support.score)
    for i in order:
        gather(blocks, i, course.w, space.local)
        value = recall_planes(i, space, support, planes)
        best = -np.inf
        for a in range(support.n_awake[i]):
            best = max(best, support.score[support.awake[i * slots + a]])
        gap = best - value
        planes.gap[i] = max(gap, 0.0)
        if blocks.weight[i] > 0.0 and gap > 0.0:
            step_between(blocks, i, support, alpha, limit, relaxation, gap)
            settle_planes(blocks, i, support, planes, alpha, course)
