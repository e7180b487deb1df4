"""Passes of block-coordinate ascent over remembered images of vertices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin._numba.compile import (
    FLOATS,
    INTS,
    POINTER,
    compile_inlined,
    compile_internal,
    compiled_function,
    tuple_type,
    types,
)
from maxmargin._numba.packed_samples import (
    PACKED,
    WORKSPACE,
    call_oracle,
    gather_weights,
    score_block,
)
from maxmargin._numba.passes.block_step import AVERAGE, COUNTERS, Average, Counters, weight_before
from maxmargin._numba.passes.image_cache import IMAGE_CACHE, image_of, learn_image, recall_images
from maxmargin._numba.passes.vertex_cache import FLOAT, INT, VERTEX_CACHE, put_to_sleep, wake_all
from maxmargin._numba.passes.vertex_steps import exchange_masses, frank_wolfe_step


class Course(NamedTuple):
    """The weights of a run, and where they may go.

    Without bounds, w_unprojected, lower and upper are empty. With them w is w_unprojected, cut to
    lower <= w <= upper.
    """

    w: np.ndarray
    w_unprojected: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    average: Average
    counters: Counters


COURSE = tuple_type(
    Course, dict.fromkeys(Course._fields, FLOATS) | {"average": AVERAGE, "counters": COUNTERS}
)


@compile_internal(types.void(PACKED, INT, FLOATS, FLOAT, COURSE))
def move_weights(packed, i, change, scale, course):
    """Let w_unprojected, and w, which is that within its bounds, go along scale * change."""
    w, w_unprojected = course.w, course.w_unprojected
    correction, before = course.average.correction, weight_before(course.average)
    n = 0
    for b in range(packed.block_ptr[i], packed.block_ptr[i + 1]):
        first = np.int64(packed.block_start[b])
        for k in range(first, first + np.int64(packed.block_width[b])):
            step = scale * change[n]
            if len(w_unprojected) > 0:
                w_unprojected[k] += step
                cut = min(max(w_unprojected[k], course.lower[k]), course.upper[k])
                step, w[k] = cut - w[k], cut
            else:
                w[k] += step
            if len(correction) > 0:
                correction[k] += before * step
            n += 1


@compile_internal(types.void(PACKED, INT, VERTEX_CACHE, IMAGE_CACHE, FLOAT, COURSE))
def finalize_images(packed, i, cache, images, alpha, course):
    """Carry the change of masses since `recall_images` over to w."""
    slots = len(cache.score)
    course.average.steps[0] += 1.0
    change = images.change[: images.size[i]]
    change[:] = 0.0
    moved = False
    for a in range(cache.n_awake[i]):
        slot = cache.awake[i * slots + a]
        mass = cache.mass[i * slots + slot]
        if mass > 0.0:
            cache.used[i * slots + slot] = course.counters.epoch[0]
        step = mass - cache.start[slot]
        if step != 0.0:
            moved = True
            image = image_of(images, i, slot)
            for k in range(len(change)):
                change[k] += step * image[k]
    if moved:
        move_weights(packed, i, change, -packed.weight[i] / alpha, course)


@compile_inlined
def step_between(packed, i, cache, alpha, limit, relaxation, gap):
    """Frank-Wolfe step (limit 0) or exchanges between the slots that are awake."""
    rate = packed.weight[i] / alpha
    if limit == 0:
        frank_wolfe_step(cache, i, rate, gap)
    else:
        exchange_masses(cache, i, rate, limit, 0.1 * gap, relaxation)


@compiled_function(
    FLOAT(PACKED, INT, WORKSPACE, VERTEX_CACHE, IMAGE_CACHE, FLOAT, INT, FLOAT, COURSE)
)
def image_step(packed, i, workspace, cache, images, alpha, limit, relaxation, course):
    """After the oracle has written workspace.vertex: learn it, step, move w; returns the
    gap.

    NaN if the vertex cannot be kept. limit: as for `vertex_pass.vertex_step`.
    """
    wake_all(cache, i)
    value = recall_images(i, workspace, cache, images)
    slot = learn_image(packed, i, workspace, cache, images, course.counters.epoch[0])
    if slot < 0:
        return np.nan
    gap = cache.score[slot] - value
    if packed.weight[i] > 0.0 and gap > 0.0:
        step_between(packed, i, cache, alpha, limit, relaxation, gap)
    finalize_images(packed, i, cache, images, alpha, course)
    put_to_sleep(cache, i, gap)
    return gap


@compiled_function(
    types.void(
        PACKED,
        WORKSPACE,
        VERTEX_CACHE,
        IMAGE_CACHE,
        POINTER,
        INTS,
        FLOAT,
        INT,
        FLOAT,
        COURSE,
        FLOATS,
    )
)
def image_oracle_pass(
    packed, workspace, cache, images, maximize, order, alpha, limit, relaxation, course, gaps
):
    """Ask the oracle for each sample in `order`, then step; gaps[i] is set to its block gap."""
    for i in order:
        parts = score_block(packed, i, course.w, workspace)
        call_oracle(packed, i, workspace, maximize, parts)
        gaps[i] = image_step(packed, i, workspace, cache, images, alpha, limit, relaxation, course)


@compiled_function(
    types.void(PACKED, WORKSPACE, VERTEX_CACHE, IMAGE_CACHE, INTS, FLOAT, INT, FLOAT, COURSE)
)
def image_cached_pass(packed, workspace, cache, images, order, alpha, limit, relaxation, course):
    """Steps between remembered vertices only; images.gap[i] is set to the gap among them."""
    slots = len(cache.score)
    for i in order:
        gather_weights(packed, i, course.w, workspace.local)
        value = recall_images(i, workspace, cache, images)
        best = -np.inf
        for a in range(cache.n_awake[i]):
            best = max(best, cache.score[cache.awake[i * slots + a]])
        gap = best - value
        images.gap[i] = max(gap, 0.0)
        if packed.weight[i] > 0.0 and gap > 0.0:
            step_between(packed, i, cache, alpha, limit, relaxation, gap)
            finalize_images(packed, i, cache, images, alpha, course)
