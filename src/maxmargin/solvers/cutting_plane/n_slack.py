"""Cutting planes with one model per sample (n-slack): working sets, and the program over all."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.packed_samples import score_block
from maxmargin._numba.passes.n_slack import consider_vertex, gather_violated, solve_pass
from maxmargin.problem import Problem
from maxmargin.result import State
from maxmargin.solvers.bcfw.bcfw import OracleCache
from maxmargin.solvers.bcfw.vertex_cache import (
    check_vertex_cache,
    make_vertex_cache,
    vertex_cache_key,
)
from maxmargin.solvers.domain_steps import is_free, unprojected_weights, visit_samples

#: the program is solved until what is left is this share of the last gap of the oracles,
_SHARE = 0.5
#: or for this many passes
_PASSES = 50
#: exchanges in a set at a visit, and how far to go along them, as in BCFW
_EXCHANGES, _RELAXATION = 20, 1.5
_NAMES = ("vertex_cache", "vertex_cache_size", "vertex_cache_key", "gaps", "w_unprojected")


def prepare_working_sets(problem: Problem, state: State, cache: OracleCache) -> None:
    """Working sets that hold z, if there are none yet."""
    extra = state.extra
    extra.setdefault("gaps", np.full(problem.n, np.inf))
    if not is_free(problem) and "w_unprojected" not in extra:
        extra["w_unprojected"] = unprojected_weights(problem, state.z)
    if extra.get("vertex_cache_size") != cache.size:
        extra["vertex_cache"] = make_vertex_cache(problem, state.z, cache.size)
        extra["vertex_cache_size"] = cache.size


def warm_start_from(problem: Problem, state: State) -> None:
    """Keep the sets of a state only if they are of these data and this z."""
    state.extra.pop("w_unprojected", None)  # of another alpha or other data, maybe
    known = state.extra.get("vertex_cache_key")
    if known is None or known != vertex_cache_key(problem, state.z):
        forget_working_sets(state)


def forget_working_sets(state: State) -> None:
    """Begin anew."""
    for name in _NAMES:
        state.extra.pop(name, None)


def sign_working_sets(problem: Problem, state: State) -> None:
    """Say of which data and z the sets are."""
    if "vertex_cache" in state.extra:
        state.extra["vertex_cache_key"] = vertex_cache_key(problem, state.z)


def check_restored(problem: Problem, fresh: State, state: State) -> None:
    """That the sets may be handed to compiled code."""
    if state.extra["vertex_cache_size"] != fresh.extra["vertex_cache_size"]:
        raise ValueError("it remembers another number of vertices")
    check_vertex_cache(problem, fresh.extra["vertex_cache"], state.extra["vertex_cache"])


def round_of_all(problem: Problem, state: State, tol: float, every: int) -> None:
    """Ask all oracles in turn; solve after `every` new outputs, and at the end."""
    extra, weight = state.extra, problem.packed.weight
    state.clock[2] = state.epoch
    dual = problem.dual(state.z, state.w)
    epsilon = tol / 2 * max(dual, 0.0) / float(weight.sum())
    order = np.arange(problem.n)
    while len(order):
        n_calls = _gather(problem, state, order, epsilon, every)
        order = order[n_calls:]
        state.n_oracle += n_calls
        known = (weight > 0) & np.isfinite(extra["gaps"])
        extra["estimate"] = float(weight[known] @ np.maximum(extra["gaps"][known], 0.0))
        _solve(problem, state, _SHARE * extra["estimate"])


def _gather(problem: Problem, state: State, order: np.ndarray, epsilon: float, most: int) -> int:
    """Ask until `most` outputs are learnt; returns how many oracles were asked."""
    packed, workspace = problem.packed, problem.workspace()
    vertex_cache, gaps = state.extra["vertex_cache"], state.extra["gaps"]
    function = problem.structure.compiled_function("maximize")
    if function is not None:
        args = (epsilon, most, state.epoch, state.w, gaps)
        return int(gather_violated(packed, workspace, vertex_cache, function, order, *args))
    learnt = 0
    for n_calls, i in enumerate(order, start=1):
        problem.write_oracle_output(i, workspace, score_block(packed, i, state.w, workspace))
        learnt += consider_vertex(packed, i, workspace, vertex_cache, epsilon, state.epoch, gaps)
        if learnt == most:
            return n_calls
    return len(order)


def _solve(problem: Problem, state: State, target: float) -> None:
    """Passes over all working sets until the gap among remembered outputs is on target."""
    packed, workspace, vertex_cache = (
        problem.packed,
        problem.workspace(),
        state.extra["vertex_cache"],
    )
    policy = (problem.alpha, _EXCHANGES, _RELAXATION)
    left = 0.0

    def step(problem: Problem, state: State, order: np.ndarray) -> None:
        nonlocal left
        point = (state.w, state.z, state.lag, state.clock)
        left += solve_pass(packed, workspace, vertex_cache, order, *policy, *point)

    for _ in range(_PASSES):
        order, left = state.rng.permutation(problem.n), 0.0
        if is_free(problem):
            step(problem, state, order)
        else:
            visit_samples(step, problem, state, order)
        if left <= target:
            return
