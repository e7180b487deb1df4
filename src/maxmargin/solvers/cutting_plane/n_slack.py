"""Cutting planes with one model per sample (n-slack): working sets, and the program over all."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.packed_samples import score_block
from maxmargin._numba.passes.n_slack import consider_vertex, gather_violated, solve_pass
from maxmargin.problem import Problem
from maxmargin.solvers.bcfw.bcfw import OracleCache
from maxmargin.solvers.bcfw.vertex_cache import CacheState, make_vertex_cache, vertex_cache_key
from maxmargin.solvers.domain_steps import is_free, unprojected_weights, visit_samples

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
        state.w_unprojected = unprojected_weights(problem, state.z)
    if state.cache_size != cache.size:
        state.vertex_cache = make_vertex_cache(problem, state.z, cache.size)
        state.cache_size = cache.size


def keep_working_sets(problem: Problem, state: CacheState) -> None:
    """Keep the sets of a state only if they are of these data and this z."""
    if not state.cache_key or state.cache_key != vertex_cache_key(problem, state.z):
        forget_working_sets(state)


def forget_working_sets(state: CacheState) -> None:
    """Begin anew."""
    state.vertex_cache, state.cache_size, state.cache_key = None, 0, 0
    state.gaps = np.empty(0)


def sign_working_sets(problem: Problem, state: CacheState) -> None:
    """Say of which data and z the sets are."""
    if state.vertex_cache is not None:
        state.cache_key = vertex_cache_key(problem, state.z)


def round_of_all(problem: Problem, state: CacheState, tol: float, every: int) -> None:
    """Ask all oracles in turn; solve after `every` new outputs, and at the end."""
    weight = problem.packed.weight
    state.counters.epoch[0] = state.epoch
    dual = problem.dual(state.z, state.w)
    epsilon = tol / 2 * max(dual, 0.0) / float(weight.sum())
    order = np.arange(problem.n)
    while len(order):
        n_calls = _gather(problem, state, order, epsilon, every)
        order = order[n_calls:]
        state.n_oracle += n_calls
        known = (weight > 0) & np.isfinite(state.gaps)
        state.estimate = float(weight[known] @ np.maximum(state.gaps[known], 0.0))
        _solve(problem, state, _SHARE * state.estimate)


def _gather(
    problem: Problem, state: CacheState, order: np.ndarray, epsilon: float, most: int
) -> int:
    """Ask until `most` outputs are learnt; returns how many oracles were asked."""
    packed, workspace = problem.packed, problem.workspace()
    vertex_cache, gaps = state.vertex_cache, state.gaps
    function = problem.oracle.compiled_function("maximize")
    if function is not None:
        args = (epsilon, most, state.epoch, state.w, gaps)
        return int(gather_violated(packed, workspace, vertex_cache, function, order, *args))
    learnt = 0
    for n_calls, i in enumerate(order, start=1):
        problem.calls.write_vertex(i, workspace, score_block(packed, i, state.w, workspace))
        learnt += consider_vertex(packed, i, workspace, vertex_cache, epsilon, state.epoch, gaps)
        if learnt == most:
            return n_calls
    return len(order)


def _solve(problem: Problem, state: CacheState, target: float) -> None:
    """Passes over all working sets until the gap among remembered outputs is on target."""
    packed, workspace, vertex_cache = problem.packed, problem.workspace(), state.vertex_cache
    policy = (problem.alpha, _EXCHANGES, _RELAXATION)
    left = 0.0

    def step(problem: Problem, state: CacheState, order: np.ndarray) -> None:
        nonlocal left
        point = (state.w, state.z, state.average, state.counters)
        left += solve_pass(packed, workspace, vertex_cache, order, *policy, *point)

    for _ in range(_PASSES):
        order, left = state.rng.permutation(problem.n), 0.0
        visit_samples(step, problem, state, order)
        if left <= target:
            return
