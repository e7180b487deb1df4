"""Cutting planes with a model for each sample: working sets of remembered vertices."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import FLOATS, INTS, POINTER, compiled_function, types
from maxmargin._numba.packed_samples import PACKED, WORKSPACE, call_oracle, score_block
from maxmargin._numba.passes.block_step import AVERAGE, COUNTERS
from maxmargin._numba.passes.vertex_cache import (
    NEVER,
    VERTEX_CACHE,
    put_to_sleep,
    score_slots,
    score_vertices,
    store_vertex,
    wake_all,
)
from maxmargin._numba.passes.vertex_steps import exchange_masses, finalize_step

INT = types.int64
FLOAT = types.float64


@compiled_function(INT(PACKED, INT, WORKSPACE, VERTEX_CACHE, FLOAT, INT, FLOATS))
def consider_vertex(packed, i, workspace, cache, epsilon, now, gaps):
    """After the oracle has written workspace.vertex: keep it if it is violated by more than
    epsilon.

    gaps[i]: how far the vertex is above z_i. Returns how many vertices were learnt, 0 or 1.
    """
    wake_all(cache, i)
    value = score_slots(packed, i, workspace, cache)
    known = NEVER
    for slot in range(cache.count[i]):
        known = max(known, cache.score[slot])
    score = 0.0
    for p in range(packed.part_ptr[i + 1] - packed.part_ptr[i]):
        if workspace.vertex[p] != 0.0:
            score += workspace.theta[p] * workspace.vertex[p]
    gaps[i] = score - value
    violated = packed.weight[i] > 0.0 and score > known + epsilon
    if violated:
        store_vertex(packed, i, workspace, cache, now)
    put_to_sleep(cache, i, gaps[i])
    return 1 if violated else 0


@compiled_function(
    INT(PACKED, WORKSPACE, VERTEX_CACHE, POINTER, INTS, FLOAT, INT, INT, FLOATS, FLOATS)
)
def gather_violated(packed, workspace, cache, maximize, order, epsilon, most, now, w, gaps):
    """Ask the oracles in `order` until `most` vertices are learnt; returns how many were asked."""
    learnt = 0
    for a in range(len(order)):
        i = order[a]
        parts = score_block(packed, i, w, workspace)
        call_oracle(packed, i, workspace, maximize, parts)
        learnt += consider_vertex(packed, i, workspace, cache, epsilon, now, gaps)
        if learnt == most:
            return a + 1
    return len(order)


@compiled_function(
    FLOAT(
        PACKED, WORKSPACE, VERTEX_CACHE, INTS, FLOAT, INT, FLOAT, FLOATS, FLOATS, AVERAGE, COUNTERS
    )
)
def solve_pass(packed, workspace, cache, order, alpha, limit, relaxation, w, z, average, counters):
    """Exchanges within the working sets, one after the other; returns the gap that was found.

    The gap is the weighted sum of what each set could still gain when it was looked at.
    """
    slots = len(cache.score)
    total = 0.0
    for i in order:
        if packed.weight[i] == 0.0 or cache.n_awake[i] < 2:
            continue
        if cache.mass[i * slots] > 0.0:
            score_block(packed, i, w, workspace)
        else:
            score_vertices(packed, i, workspace, cache, w)
        value = score_slots(packed, i, workspace, cache)
        best = -np.inf
        for a in range(cache.n_awake[i]):
            best = max(best, cache.score[cache.awake[i * slots + a]])
        gap = best - value
        if gap > 0.0:
            total += packed.weight[i] * gap
            exchange_masses(cache, i, packed.weight[i] / alpha, limit, 0.1 * gap, relaxation)
            finalize_step(packed, i, cache, counters.epoch[0], alpha, w, z, average)
    return total
