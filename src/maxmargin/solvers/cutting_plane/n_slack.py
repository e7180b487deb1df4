"""Cutting planes with one model per sample (n-slack): working sets, and the program over all."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._numba.passes.n_slack import consider_vertex, gather_violated
from maxmargin._numba.passes.weights import score_sample
from maxmargin.problem import Problem
from maxmargin.solvers.domain_steps import free_weights, is_free, unprojected_weights
from maxmargin.solvers.vertex_cache import (
    CacheState,
    OracleCache,
    make_vertex_cache,
    step_between_vertices,
    take_points,
    vertex_cache_key,
)

#: the program is solved until what is left is this share of the last gap of the oracles,
_SHARE = 0.5
#: or for this many passes
_PASSES = 50
#: exchanges in a set at a visit, and how far to go along them, as in BCFW
_EXCHANGES, _RELAXATION = 20, 1.5


def prepare_working_sets(problem: Problem, state: CacheState, cache: OracleCache) -> None:
    """Working sets that hold z, if there are none yet."""
    if len(state.gaps) == 0:
        state.gaps = np.full(problem.n, np.inf)
    if not is_free(problem) and state.w_unprojected is None:
        state.w_unprojected = unprojected_weights(problem, state.points)
    if state.cache_size != cache.size:
        state.vertex_cache = make_vertex_cache(problem, state.points, cache.size)
        state.cache_size = cache.size


def keep_working_sets(problem: Problem, state: CacheState) -> None:
    """Keep the sets of a state only if they are of these data and this z."""
    if not state.cache_key or state.cache_key != vertex_cache_key(problem, state):
        forget_working_sets(state)


def forget_working_sets(state: CacheState) -> None:
    """Begin anew."""
    state.vertex_cache, state.cache_size, state.cache_key = None, 0, 0
    state.gaps = np.empty(0)


def sign_working_sets(problem: Problem, state: CacheState) -> None:
    """Say of which data and z the sets are."""
    if state.vertex_cache is not None:
        state.cache_key = vertex_cache_key(problem, state)


def round_of_all(problem: Problem, state: CacheState, tol: float, every: int) -> None:
    """Ask all oracles in turn; solve after `every` new outputs, and at the end."""
    weight = problem.sample_weight
    state.counters.epoch[0] = state.epoch
    dual = problem.dual(state.points, state.w)
    epsilon = tol / 2 * max(dual, 0.0) / float(weight.sum())
    order = np.arange(problem.n)
    try:
        while len(order):
            n_calls = _gather(problem, state, order, epsilon, every)
            order = order[n_calls:]
            state.n_oracle += n_calls
            known = (weight > 0) & np.isfinite(state.gaps)
            state.estimate = float(weight[known] @ np.maximum(state.gaps[known], 0.0))
            _solve(problem, state, _SHARE * state.estimate)
    finally:  # an oracle in Python may be interrupted
        take_points(problem, state)


def _gather(
    problem: Problem, state: CacheState, order: np.ndarray, epsilon: float, most: int
) -> int:
    """Ask until `most` outputs are learnt; returns how many oracles were asked."""
    packed, cache, gaps = problem.packed, state.vertex_cache, state.gaps
    weights = free_weights(state.w, state.average)
    n_calls = learnt = 0

    def step(i: int, workspace: Any, value: float) -> bool:
        nonlocal n_calls, learnt
        n_calls += 1
        learnt += consider_vertex(packed, i, workspace, cache, epsilon, state.epoch, gaps)
        return learnt == most

    found = problem.sweep(
        order,
        lambda function, workspace: gather_violated(
            packed, workspace, cache, function, order, epsilon, most, state.epoch, weights, gaps
        ),
        step,
        lambda i, workspace: score_sample(packed, i, weights, workspace),
    )
    return n_calls if found is None else int(found)


def _solve(problem: Problem, state: CacheState, target: float) -> None:
    """Passes over all working sets until the gap among remembered outputs is on target."""
    for _ in range(_PASSES):
        order = state.rng.permutation(problem.n)
        if step_between_vertices(problem, state, order, _EXCHANGES, _RELAXATION) <= target:
            return
