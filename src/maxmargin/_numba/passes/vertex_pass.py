"""A pass of block-coordinate ascent over remembered vertices, with or without the oracle."""

from __future__ import annotations

import numpy as np
from numba import types

from maxmargin._numba.compile import FLOATS, INTS, POINTER, kernel
from maxmargin._numba.packed_samples import BLOCKS, SPACE, ask, score_block
from maxmargin._numba.passes.vertex_cache import (
    SUPPORT,
    learn,
    put_to_sleep,
    recall,
    score_support,
    wake_all,
)
from maxmargin._numba.passes.vertex_steps import approach, exchange, settle

INT = types.int64
FLOAT = types.float64


@kernel(FLOAT(BLOCKS, INT, SPACE, SUPPORT, FLOAT, INT, FLOAT, FLOATS, FLOATS, FLOATS, FLOATS))
def support_step(blocks, i, space, support, alpha, limit, relaxation, w, z, lag, clock):
    """After the oracle has written space.vertex: learn it, step, settle; returns the gap.

    limit: exchanges between pairs of vertices; 1 is the pairwise step, 0 the Frank-Wolfe step.
    """
    wake_all(support, i)
    value = recall(blocks, i, space, support)
    now = np.int64(clock[2])
    slot = learn(blocks, i, space, support, now)
    gap = support.score[slot] - value
    if blocks.weight[i] > 0.0 and gap > 0.0:
        rate = blocks.weight[i] / alpha
        if limit == 0:
            approach(support, i, rate, gap)
        else:
            exchange(support, i, rate, limit, 0.1 * gap, relaxation)
    settle(blocks, i, support, now, alpha, w, z, lag, clock)
    put_to_sleep(support, i, gap)
    return gap


@kernel(
    types.void(
        BLOCKS,
        SPACE,
        SUPPORT,
        POINTER,
        INTS,
        FLOAT,
        INT,
        FLOAT,
        FLOATS,
        FLOATS,
        FLOATS,
        FLOATS,
        FLOATS,
    )
)
def oracle_pass(
    blocks, space, support, maximize, order, alpha, limit, relaxation, w, z, lag, clock, gaps
):
    """Ask the oracle for each sample in `order`, then step; gaps[i] is set to its block gap."""
    for i in order:
        parts = score_block(blocks, i, w, space)
        ask(blocks, i, space, maximize, parts)
        gaps[i] = support_step(
            blocks, i, space, support, alpha, limit, relaxation, w, z, lag, clock
        )


@kernel(types.void(BLOCKS, SPACE, SUPPORT, INTS, FLOAT, INT, FLOAT, FLOATS, FLOATS, FLOATS, FLOATS))
def cached_pass(blocks, space, support, order, alpha, limit, relaxation, w, z, lag, clock):
    """Steps between remembered vertices only."""
    slots = len(support.score)
    for i in order:
        if support.mass[i * slots] > 0.0:
            score_block(blocks, i, w, space)
        else:
            score_support(blocks, i, space, support, w)
        value = recall(blocks, i, space, support)
        best = -np.inf
        for a in range(support.n_awake[i]):
            best = max(best, support.score[support.awake[i * slots + a]])
        gap = best - value
        if blocks.weight[i] > 0.0 and gap > 0.0:
            rate = blocks.weight[i] / alpha
            if limit == 0:
                approach(support, i, rate, gap)
            else:
                exchange(support, i, rate, limit, 0.1 * gap, relaxation)
            settle(blocks, i, support, np.int64(clock[2]), alpha, w, z, lag, clock)
