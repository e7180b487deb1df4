"""A pass of block-coordinate ascent over remembered vertices, with or without the oracle."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import FLOATS, INTS, POINTER, compiled_function, types
from maxmargin._numba.packed_samples import PACKED, WORKSPACE, call_oracle
from maxmargin._numba.passes.block_step import COUNTERS
from maxmargin._numba.passes.vertex_cache import (
    FLOAT,
    INT,
    VERTEX_CACHE,
    activate_all,
    deactivate_low,
    score_cached,
    score_slots,
    store_vertex,
)
from maxmargin._numba.passes.vertex_steps import apply_masses, move_masses
from maxmargin._numba.passes.weights import WEIGHTS, count_step, score_sample


@compiled_function(
    FLOAT(PACKED, INT, WORKSPACE, VERTEX_CACHE, FLOAT, INT, FLOAT, WEIGHTS, COUNTERS)
)
def vertex_step(packed, i, workspace, cache, alpha, limit, relaxation, weights, counters):
    """After the oracle has written workspace.vertex: store it, step, move w; returns the gap.

    NaN if the vertex cannot be stored. limit: exchanges between pairs of vertices; 1 is the
    pairwise step, 0 the Frank-Wolfe step.
    """
    activate_all(cache, i)
    value = score_slots(packed.part_ptr, i, workspace.theta, workspace.local, cache)
    slot = store_vertex(packed, i, workspace, cache, counters.epoch[0])
    if slot < 0:
        return np.nan
    gap = cache.score[slot] - value
    if packed.weight[i] > 0.0 and gap > 0.0:
        move_masses(packed, i, cache, alpha, limit, relaxation, gap)
    apply_masses(packed, i, cache, counters.epoch[0], alpha, weights)
    count_step(weights, True)
    deactivate_low(cache, i, gap)
    return gap


@compiled_function(
    types.void(
        PACKED, WORKSPACE, VERTEX_CACHE, POINTER, INTS, FLOAT, INT, FLOAT, WEIGHTS, COUNTERS,
        FLOATS,
    )
)  # fmt: skip
def oracle_pass(
    packed, workspace, cache, maximize, order, alpha, limit, relaxation, weights, counters, gaps
):
    """Call the oracle for each sample in `order`, then step; gaps[i] is set to its block gap."""
    for i in order:
        parts = score_sample(packed, i, weights, workspace)
        call_oracle(packed, i, workspace, maximize, parts)
        gaps[i] = vertex_step(
            packed, i, workspace, cache, alpha, limit, relaxation, weights, counters
        )


@compiled_function(
    FLOAT(PACKED, WORKSPACE, VERTEX_CACHE, INTS, FLOAT, INT, FLOAT, WEIGHTS, COUNTERS)
)
def cached_pass(packed, workspace, cache, order, alpha, limit, relaxation, weights, counters):
    """Steps between remembered vertices only; returns the gap among them.

    That is the weighted sum of what each block could still gain when it was visited.
    """
    slots = len(cache.score)
    total = 0.0
    for i in order:
        if packed.weight[i] == 0.0 or cache.n_active[i] < 2:  # all mass is where it can be
            continue
        value = score_cached(packed, i, workspace, cache, weights)
        best = -np.inf
        for a in range(cache.n_active[i]):
            best = max(best, cache.score[cache.active[i * slots + a]])
        gap = best - value
        if gap > 0.0:
            total += packed.weight[i] * gap
            move_masses(packed, i, cache, alpha, limit, relaxation, gap)
            apply_masses(packed, i, cache, counters.epoch[0], alpha, weights)
            count_step(weights, True)
    return total
