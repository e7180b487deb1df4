"""Passes of block-coordinate ascent over remembered images of vertices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from maxmargin._numba.compile import FLOATS, INTS, POINTER, inlined, kernel, piece
from maxmargin._numba.packed_samples import BLOCKS, SPACE, ask, gather, score_block
from maxmargin._numba.passes.image_cache import IMAGE_CACHE, image_of, learn_image, recall_images
from maxmargin._numba.passes.vertex_cache import FLOAT, INT, VERTEX_CACHE, put_to_sleep, wake_all
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


@piece(types.void(BLOCKS, INT, VERTEX_CACHE, IMAGE_CACHE, FLOAT, COURSE))
def finalize_images(blocks, i, cache, images, alpha, course):
    """Carry the change of masses since `recall_planes` over to w."""
    slots = len(cache.score)
    clock = course.clock
    clock[0] += 1.0
    passed = clock[0] * (clock[0] - 1.0) / 2.0
    change = images.change[: images.size[i]]
    change[:] = 0.0
    moved = False
    for a in range(cache.n_awake[i]):
        slot = cache.awake[i * slots + a]
        mass = cache.mass[i * slots + slot]
        if mass > 0.0:
            cache.used[i * slots + slot] = np.int64(clock[2])
        step = mass - cache.start[slot]
        if step != 0.0:
            moved = True
            image = image_of(images, i, slot)
            for k in range(len(change)):
                change[k] += step * image[k]
    if moved:
        move_weights(blocks, i, change, -blocks.weight[i] / alpha, course, passed)


@inlined
def step_between(blocks, i, cache, alpha, limit, relaxation, gap):
    """Frank-Wolfe step (limit 0) or exchanges between the slots that are awake."""
    rate = blocks.weight[i] / alpha
    if limit == 0:
        approach(cache, i, rate, gap)
    else:
        exchange(cache, i, rate, limit, 0.1 * gap, relaxation)


@kernel(FLOAT(BLOCKS, INT, SPACE, VERTEX_CACHE, IMAGE_CACHE, FLOAT, INT, FLOAT, COURSE))
def image_step(blocks, i, space, cache, images, alpha, limit, relaxation, course):
    """After the oracle has written space.vertex: learn it, step, settle; returns the gap.

    NaN if the vertex cannot be kept. limit: as for `support_pass.support_step`.
    """
    wake_all(cache, i)
    value = recall_images(i, space, cache, images)
    slot = learn_image(blocks, i, space, cache, images, np.int64(course.clock[2]))
    if slot < 0:
        return np.nan
    gap = cache.score[slot] - value
    if blocks.weight[i] > 0.0 and gap > 0.0:
        step_between(blocks, i, cache, alpha, limit, relaxation, gap)
    finalize_images(blocks, i, cache, images, alpha, course)
    put_to_sleep(cache, i, gap)
    return gap


@kernel(
    types.void(
        BLOCKS, SPACE, VERTEX_CACHE, IMAGE_CACHE, POINTER, INTS, FLOAT, INT, FLOAT, COURSE, FLOATS
    )
)
def image_oracle_pass(
    blocks, space, cache, images, maximize, order, alpha, limit, relaxation, course, gaps
):
    """Ask the oracle for each sample in `order`, then step; gaps[i] is set to its block gap."""
    for i in order:
        parts = score_block(blocks, i, course.w, space)
        ask(blocks, i, space, maximize, parts)
        gaps[i] = image_step(blocks, i, space, cache, images, alpha, limit, relaxation, course)


@kernel(types.void(BLOCKS, SPACE, VERTEX_CACHE, IMAGE_CACHE, INTS, FLOAT, INT, FLOAT, COURSE))
def image_cached_pass(blocks, space, cache, images, order, alpha, limit, relaxation, course):
    """Steps between remembered vertices only; images.gap[i] is set to the gap among them."""
    slots = len(cache.score)
    for i in order:
        gather(blocks, i, course.w, space.local)
        value = recall_images(i, space, cache, images)
        best = -np.inf
        for a in range(cache.n_awake[i]):
            best = max(best, cache.score[cache.awake[i * slots + a]])
        gap = best - value
        images.gap[i] = max(gap, 0.0)
        if blocks.weight[i] > 0.0 and gap > 0.0:
            step_between(blocks, i, cache, alpha, limit, relaxation, gap)
            finalize_images(blocks, i, cache, images, alpha, course)
