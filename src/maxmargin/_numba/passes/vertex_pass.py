"""A pass of block-coordinate ascent over remembered vertices, with or without the oracle."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import FLOATS, INTS, POINTER, compiled_function, types
from maxmargin._numba.packed_samples import PACKED, WORKSPACE, call_oracle, score_block
from maxmargin._numba.passes.block_step import AVERAGE, COUNTERS
from maxmargin._numba.passes.vertex_cache import (
    VERTEX_CACHE,
    put_to_sleep,
    score_slots,
    score_vertices,
    store_vertex,
    wake_all,
)
from maxmargin._numba.passes.vertex_steps import exchange_masses, finalize_step, frank_wolfe_step

INT = types.int64
FLOAT = types.float64


@compiled_function(
    FLOAT(
        PACKED, INT, WORKSPACE, VERTEX_CACHE, FLOAT, INT, FLOAT, FLOATS, FLOATS, AVERAGE, COUNTERS
    )
)
def vertex_step(packed, i, workspace, cache, alpha, limit, relaxation, w, z, average, counters):
    """After the oracle has written workspace.vertex: learn it, step, store the result; returns the
    gap.

    limit: exchanges between pairs of vertices; 1 is the pairwise step, 0 the Frank-Wolfe step.
    """
    wake_all(cache, i)
    value = score_slots(packed, i, workspace, cache)
    now = counters.epoch[0]
    slot = store_vertex(packed, i, workspace, cache, now)
    gap = cache.score[slot] - value
    if packed.weight[i] > 0.0 and gap > 0.0:
        rate = packed.weight[i] / alpha
        if limit == 0:
            frank_wolfe_step(cache, i, rate, gap)
        else:
            exchange_masses(cache, i, rate, limit, 0.1 * gap, relaxation)
    finalize_step(packed, i, cache, now, alpha, w, z, average)
    put_to_sleep(cache, i, gap)
    return gap


@compiled_function(
    types.void(
        PACKED, WORKSPACE, VERTEX_CACHE, POINTER, INTS, FLOAT, INT, FLOAT, FLOATS, FLOATS, AVERAGE,
        COUNTERS, FLOATS,
    )
)  # fmt: skip
def oracle_pass(
    packed, workspace, cache, maximize, order, alpha, limit, relaxation, w, z, average, counters,
    gaps,
):  # fmt: skip
    """Ask the oracle for each sample in `order`, then step; gaps[i] is set to its block gap."""
    for i in order:
        parts = score_block(packed, i, w, workspace)
        call_oracle(packed, i, workspace, maximize, parts)
        gaps[i] = vertex_step(
            packed, i, workspace, cache, alpha, limit, relaxation, w, z, average, counters
        )


@compiled_function(
    types.void(
        PACKED, WORKSPACE, VERTEX_CACHE, INTS, FLOAT, INT, FLOAT, FLOATS, FLOATS, AVERAGE, COUNTERS
    )
)
def cached_pass(packed, workspace, cache, order, alpha, limit, relaxation, w, z, average, counters):
    """Steps between remembered vertices only."""
    slots = len(cache.score)
    for i in order:
        if cache.mass[i * slots] > 0.0:
            score_block(packed, i, w, workspace)
        else:
            score_vertices(packed, i, workspace, cache, w)
        value = score_slots(packed, i, workspace, cache)
        best = -np.inf
        for a in range(cache.n_awake[i]):
            best = max(best, cache.score[cache.awake[i * slots + a]])
        gap = best - value
        if packed.weight[i] > 0.0 and gap > 0.0:
            rate = packed.weight[i] / alpha
            if limit == 0:
                frank_wolfe_step(cache, i, rate, gap)
            else:
                exchange_masses(cache, i, rate, limit, 0.1 * gap, relaxation)
            finalize_step(packed, i, cache, counters.epoch[0], alpha, w, z, average)
