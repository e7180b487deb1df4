"""What workers do: pure functions of shards, states and weights.

A shard is a problem of its own, with the weights omega_i that its samples have among all, so that
objectives, bounds and gradients of all shards add up to those of the whole. A visit is an ordinary
epoch of the solver on one shard, from given weights. It returns what the shard becomes, which stays
where it is until the next visit, and how the weights moved, which goes to the driver.

None of these functions changes its arguments: a task whose worker is lost is done again elsewhere,
to the same bits.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from copy import copy
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from maxmargin._numba.packed_samples import PackedSamples, Points
from maxmargin._numba.passes.blend import blend_vertex_caches
from maxmargin._numba.passes.vertex_cache import rebuild_points
from maxmargin._numba.passes.weights import Average
from maxmargin.domains.base import check_domain
from maxmargin.persistence.checkpoints.checks import check_state
from maxmargin.persistence.checkpoints.sparse import Sparse, pack_sparse, unpack_sparse
from maxmargin.problem import Problem
from maxmargin.result import State
from maxmargin.solvers.base import Solver

#: bytes of shards that a worker keeps ready for its next visits
READY_BYTES = 1 << 28
#: fields of states that travel with the weights, or not at all
_ELSEWHERE = ("w", "average", "best", "w_unprojected")

#: shards that this process has ready, the last used one last
_ready: OrderedDict[str, tuple[Problem, np.ndarray]] = OrderedDict()


@dataclass(frozen=True)
class Shard:
    """Some of the samples; `source` is their Problem, or has a method `open` that returns it."""

    key: str
    source: Any

    def problem(self) -> Problem:
        """Return the problem, whose weights are those of all that its samples touch.

        It is made ready once for several visits in the same process.
        """
        return copy(self._ready()[0])

    def touched(self) -> np.ndarray:
        """Return the places of these weights among all, in order."""
        return self._ready()[1]

    def _ready(self) -> tuple[Problem, np.ndarray]:
        found = _ready.get(self.key)
        if found is None:
            whole = self.source if isinstance(self.source, Problem) else self.source.open()
            found = _keep_touched(whole)
        _ready[self.key] = found
        _ready.move_to_end(self.key)
        while len(_ready) > 1 and sum(_size(own) for own, _ in _ready.values()) > READY_BYTES:
            _ready.popitem(last=False)
        return found


def forget_shards(keys: list[str]) -> None:
    """Drop shards of a run that is over from this process."""
    for key in keys:
        _ready.pop(key, None)


def _size(problem: Problem) -> int:
    return sum(array.nbytes for array in problem.packed)


def _keep_touched(problem: Problem) -> tuple[Problem, np.ndarray]:
    """The same over those weights that its samples touch, and the places of these among all.

    Its arrays are such as compiled code takes: those in shared memory are read-only.
    """
    old = problem.packed
    marks = np.zeros(problem.dim + 1, dtype=np.int32)
    np.add.at(marks, old.block_start, 1)
    np.subtract.at(marks, old.block_start.astype(np.int64) + old.block_width, 1)
    is_touched = np.cumsum(marks[:-1]) > 0
    touched = np.flatnonzero(is_touched).astype(old.block_start.dtype)
    place = np.cumsum(is_touched, dtype=np.int64) - 1
    found = copy(problem)
    found.packed = PackedSamples(*(_writable(own) for own in old))._replace(
        block_start=place[old.block_start].astype(old.block_start.dtype),
        global_index=place[old.global_index].astype(old.global_index.dtype),
    )
    found.dim, found.part_ptr = len(touched), found.packed.part_ptr
    found.domain = check_domain(None, found.dim)
    found.truths = Points(*(_writable(own) for own in problem.truths))
    found.memory = np.empty(0)
    for name in ("weight_limits", "_sizes_of_terms"):
        found.__dict__.pop(name, None)
    return found, touched


def _writable(array: np.ndarray) -> np.ndarray:
    return array if array.flags.writeable else array.copy()


def list_touched(shard: Shard) -> tuple[None, np.ndarray]:
    """The places of the weights that a shard touches."""
    return None, shard.touched()


def measure_shard(shard: Shard) -> tuple[None, tuple[np.ndarray, float]]:
    """Its share of what bounds rounding errors, see `Problem.rounding`: one number per weight."""
    problem = shard.problem()
    features, costs = problem._sizes_of_terms
    return None, (np.repeat(features, problem.dim // len(features)), costs)


class Kept(NamedTuple):
    """What stays with a shard after a visit: its state, and the one before where that is new.

    It is new if the line search of the last round ended on the way between two states. Else it is
    the `end` of the visit before.
    """

    start: dict[str, Any] | None
    end: dict[str, Any]


class Visit(NamedTuple):
    """What a visit tells the driver."""

    #: places of the weights that moved, among those that the shard touches, and their new values
    where: np.ndarray
    values: np.ndarray
    worth: float
    estimate: float
    n_oracle: int
    average: Average | None
    seconds: float


def visit_shard(
    shard: Shard,
    solver: Solver,
    previous: Kept | None,
    last: Kept | None,
    share: float,
    phases: range,
    w: np.ndarray,
    average: Average | None,
    scale: float,
) -> tuple[Kept, Visit]:
    """Some phases of an epoch of the solver on a shard.

    previous, last, share : see `resume_state`. average : of the weights of all steps, if there is
    no other shard. scale : how many times as far as they do the weights seem to move, in view of
    what other shards do (sigma' of CoCoA+).
    """
    begun = time.perf_counter()
    problem = shard.problem()
    state = resume_state(problem, solver, previous, last, share, w.copy())
    first = None if share == 1.0 else _copy_fields(pack_state(state))
    if average is not None:
        state.average = Average(*map(np.array, average))
    known = state.n_oracle
    local = copy(problem)
    local.alpha = problem.alpha / scale
    for phase in phases:
        solver.visit(local, state, phase)
    state.epoch += phases.stop == solver.n_phases
    where = np.flatnonzero(state.w != w).astype(np.uint32 if len(w) < 2**32 else np.int64)
    values = state.w[where]
    if scale != 1.0:
        values = w[where] + (values - w[where]) / scale
    told = Visit(
        where,
        values,
        worth_of(problem, state),
        solver.estimate(state),
        state.n_oracle - known,
        None if average is None else state.average,
        time.perf_counter() - begun,
    )
    return Kept(first, pack_state(state)), told


def worth_of(problem: Problem, state: State) -> float:
    """The share of D(z) that is linear along the way between two states: losses, or entropies."""
    likelihood = problem.objective == "likelihood"
    worth = state.entropy if likelihood else problem.loss_at(state.z)  # type: ignore[attr-defined]
    return float(problem.sample_weight @ worth)


def evaluate_shard(shard: Shard, w: np.ndarray) -> tuple[None, float]:
    """Its share of the objective, without the penalty."""
    problem = shard.problem()
    return None, float(problem.sample_weight @ problem.hinges(w))


def finish_shard(
    shard: Shard, solver: Solver, previous: Kept | None, last: Kept | None, share: float
) -> tuple[Kept, tuple[np.ndarray, float]]:
    """The shard's state where the line search ended; its loss gradient and worth, exactly."""
    problem = shard.problem()
    state = resume_state(problem, solver, previous, last, share, np.zeros(problem.dim))
    told = problem.loss_gradient(state.z), worth_of(problem, state)
    return Kept(None, pack_state(state)), told


def apply_shard(
    shard: Shard, ability: str, point: Any, with_outputs: bool, w: np.ndarray
) -> tuple[None, tuple[np.ndarray, Any]]:
    """`Samples.apply` on a shard: values, and what the oracle returned if it is asked for."""
    problem = shard.problem()
    point = problem.truths if isinstance(point, str) else copy_arrays(point)
    out = np.empty(int(problem.part_ptr[-1])) if with_outputs else None
    values = problem.apply(ability, w, point, out)
    return None, (values, pack_sparse(out))


def sum_likelihood(shard: Shard, w: np.ndarray) -> tuple[None, tuple[float, np.ndarray]]:
    """Its shares of the negative log-likelihood and of the gradient, without the penalty."""
    problem = shard.problem()
    z = np.empty(int(problem.part_ptr[-1]))
    hinges = problem.apply("marginals", w, point=problem.truths, out=z)
    return None, (float(problem.sample_weight @ hinges), problem.loss_gradient(z))


def check_saved(shard: Shard, solver: Solver, last: Kept) -> tuple[None, str]:
    """Why a state that was read from a file is not one of this shard; empty if it is."""
    problem = shard.problem()
    solver.prepare(problem)
    fresh: Any = solver.init(problem)
    fresh.solver, fresh.outputs = solver.name, problem.outputs_key
    fresh.memory = problem.remember(fresh.memory)
    try:
        state = _unpack_state(copy(fresh), last.end)
        check_state(fresh, {own.name: getattr(state, own.name) for own in fields(state)})
        solver.check_restored(problem, fresh, state)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError, OverflowError) as error:
        return None, str(error) or type(error).__name__
    return None, ""


# -- states --------------------------------------------------------------------------------------
def pack_state(state: State) -> dict[str, Any]:
    """The fields of a state that stay with the shard; long points by their non-zeros."""
    packed = {
        own.name: getattr(state, own.name) for own in fields(state) if own.name not in _ELSEWHERE
    }
    packed["z"] = pack_sparse(packed["z"])
    cache = packed.get("vertex_cache")
    if cache is not None:
        packed["vertex_cache"] = cache._replace(anchor=pack_sparse(cache.anchor))
    return packed


def _unpack_state(fresh: State, packed: dict[str, Any]) -> Any:
    """A state of its own arrays; w and its average are those of `fresh`."""
    for name, value in packed.items():
        if name in _ELSEWHERE or name not in vars(fresh):
            raise ValueError(f"its state has a field {str(name)[:80]!r}")
        setattr(fresh, name, copy_arrays(value))
    return fresh


def _copy_fields(packed: dict[str, Any]) -> dict[str, Any]:
    return {
        name: own if isinstance(own, Sparse) else copy_arrays(own) for name, own in packed.items()
    }


def copy_arrays(value: Any) -> Any:
    """The same with arrays and generators of its own; sparse ones in full."""
    if isinstance(value, Sparse):
        return unpack_sparse(value, np.empty(value.size, dtype=value.values.dtype))
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, np.random.Generator):
        return copy_generator(value)
    return type(value)(*map(copy_arrays, value)) if hasattr(value, "_fields") else value


def expand_points(kept: Kept) -> np.ndarray:
    """The z of a shard."""
    return copy_arrays(kept.end["z"])


def copy_generator(rng: np.random.Generator) -> np.random.Generator:
    """A generator that goes on by itself."""
    found = np.random.Generator(type(rng.bit_generator)())
    found.bit_generator.state = rng.bit_generator.state
    return found


def resume_state(
    problem: Problem,
    solver: Solver,
    previous: Kept | None,
    last: Kept | None,
    share: float,
    w: np.ndarray,
) -> Any:
    """The state that a visit begins with, at weights w: `share` of the way that the last one went.

    previous, last : of the last two visits; None before the first one, and where not needed.
    """
    solver.prepare(problem)
    solver = copy(solver)
    solver.random_state = copy_generator(solver.random_state)

    def unpack(packed: dict[str, Any] | None) -> Any:
        if packed is None:
            return solver.init(problem)
        if packed.keys() == {"z"}:  # a warm start
            z = copy_arrays(packed["z"])
            return solver._warm_start_from(problem, State(w.copy(), z, solver.generator()))
        empty = solver.state_class(w, np.empty(0), np.random.default_rng(0))
        return _unpack_state(empty, packed)

    state = unpack(None if last is None else last.end)
    if last is not None and share < 1.0:
        start = last.start if previous is None else previous.end
        _blend(problem, unpack(start), state, share)
    state.w = w
    state.solver, state.outputs = solver.name, problem.outputs_key
    state.memory = problem.remember(state.memory)
    return state


def _blend(problem: Problem, before: Any, state: Any, share: float) -> None:
    """Let `state` be where the line search ended, between `before` and itself."""
    if getattr(state, "entropy", None) is not None:
        state.entropy = (1.0 - share) * before.entropy + share * state.entropy
    cache = getattr(state, "vertex_cache", None)
    if cache is None or share == 0.0:
        state.z = (1.0 - share) * before.z + share * state.z
        if cache is not None:
            state.vertex_cache = before.vertex_cache
        return
    now = int(state.counters.epoch[0])
    arguments = (problem.packed, problem.workspace(), before.vertex_cache, cache, share, now)
    blend_vertex_caches(*arguments)
    rebuild_points(problem.packed, cache, state.z)
