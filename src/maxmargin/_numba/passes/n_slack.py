"""Cutting planes with a model for each sample: working sets of remembered vertices."""

from __future__ import annotations

from maxmargin._numba.compile import FLOATS, INTS, POINTER, compiled_function
from maxmargin._numba.packed_samples import PACKED, WORKSPACE, call_oracle, part_dot
from maxmargin._numba.passes.vertex_cache import (
    FLOAT,
    INT,
    NEVER,
    VERTEX_CACHE,
    activate_all,
    deactivate_low,
    score_slots,
    store_vertex,
)
from maxmargin._numba.passes.weights import WEIGHTS, score_sample


@compiled_function(INT(PACKED, INT, WORKSPACE, VERTEX_CACHE, FLOAT, INT, FLOATS))
def consider_vertex(packed, i, workspace, cache, epsilon, now, gaps):
    """After the oracle has written workspace.vertex: keep it if it is violated by more than
    epsilon.

    gaps[i]: how far the vertex is above z_i. Returns how many vertices were learnt, 0 or 1.
    """
    activate_all(cache, i)
    value = score_slots(packed.part_ptr, i, workspace.theta, workspace.local, cache)
    known = NEVER
    for slot in range(cache.count[i]):
        known = max(known, cache.score[slot])
    parts = packed.part_ptr[i + 1] - packed.part_ptr[i]
    score = part_dot(workspace.theta, workspace.vertex, parts)
    gaps[i] = score - value
    violated = packed.weight[i] > 0.0 and score > known + epsilon
    if violated:
        store_vertex(packed, i, workspace, cache, now)
    deactivate_low(cache, i, gaps[i])
    return 1 if violated else 0


@compiled_function(
    INT(PACKED, WORKSPACE, VERTEX_CACHE, POINTER, INTS, FLOAT, INT, INT, WEIGHTS, FLOATS)
)
def gather_violated(packed, workspace, cache, maximize, order, epsilon, most, now, weights, gaps):
    """Ask the oracles in `order` until `most` vertices are learnt; returns how many were asked."""
    learnt = 0
    for a in range(len(order)):
        i = order[a]
        parts = score_sample(packed, i, weights, workspace)
        call_oracle(packed, i, workspace, maximize, parts)
        learnt += consider_vertex(packed, i, workspace, cache, epsilon, now, gaps)
        if learnt == most:
            return a + 1
    return len(order)
