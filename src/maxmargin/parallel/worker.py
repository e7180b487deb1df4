"""What a worker process does: it keeps shards alive and runs commands on them.

A shard is a problem of its own, with the weights omega_i that its samples have among all, so that
objectives, bounds and gradients of all shards add up to those of the whole. Commands that change it
are deterministic functions of its state and their arguments: a worker that lacks a shard, or has an
older version of it, is given its last snapshot and the commands since (`load_and_run`), to the same
bits.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Generator
from copy import copy, deepcopy
from dataclasses import fields
from typing import Any, NamedTuple, cast

import numpy as np

from maxmargin._numba.packed_samples import PackedSamples, Points
from maxmargin._numba.passes.mixing import (
    collect_changes,
    follow_direction,
    loss_of_masses,
    make_room,
    mix_masses,
)
from maxmargin._numba.passes.weights import Average, start_average
from maxmargin.domains.base import check_domain
from maxmargin.parallel.flat_state import flatten_state, restore_state, size_of
from maxmargin.persistence.checkpoints.checks import check_state
from maxmargin.persistence.decode import WRONG_PARTS
from maxmargin.problem import Problem
from maxmargin.result import State
from maxmargin.solvers.base import Pieces, PiecewiseSolver, Solver

#: bytes of shards that a process keeps beside those in use, so as not to read them again
SPARE_BYTES = 1 << 28

#: parts of a piece, after each of which a visit looks whether its time is over
PARTS = 16

#: shards that this process has, the last used one last
_shards: OrderedDict[str, Shard] = OrderedDict()


class Missing(NamedTuple):
    """The answer of a worker that does not have a shard, or not in the right version."""


class Plan(NamedTuple):
    """How shards are visited."""

    solver: Solver
    #: pieces of a pass over the shard, each a round; None if there is no other shard
    n_pieces: int | None


class Visit(NamedTuple):
    """What a visit tells the driver: the direction that it went."""

    #: places of the weights that moved, in order, and by how much (alone: their values)
    places: np.ndarray
    change: np.ndarray
    #: how much more the weighted losses, or entropies, are; the same less alpha w . change
    gain: float
    slope: float
    #: |change|^2
    square: float
    seconds: float
    #: whether what is left of the epoch is its end
    is_last: bool
    #: parts of the piece that were visited; 0 where there is no limit
    n_parts: int
    #: samples of the piece that were not visited
    n_left_out: int


class News(NamedTuple):
    """What became of a round: how far it went along each direction."""

    shares: np.ndarray
    #: places and changes; None for those of the shard itself
    directions: list[tuple[np.ndarray, np.ndarray] | None]


# -- what the driver calls -------------------------------------------------------------------------
def run_command(
    key: str, version: int | None, name: str, arguments: tuple[Any, ...], changes: bool
) -> Any:
    """Run a command on a shard. version : None if any will do. changes : whether it raises it."""
    shard = _shards.get(key)
    if shard is None or version not in (None, shard.version):
        return Missing()
    _shards.move_to_end(key)
    try:
        found = getattr(shard, name)(*arguments)
    except BaseException:  # it may be anything by now
        _shards.pop(key, None)
        raise
    if changes and shard.version is not None:
        shard.version += 1
    return found


def load_and_run(
    source: Any,
    plan: Plan | None,
    snapshot: dict[str, np.ndarray] | None,
    first: int,
    journal: list[tuple[str, tuple[Any, ...]]],
    key: str,
    *command: Any,
) -> Any:
    """Run a command on a shard that this process does not have as it should be.

    source : None if the process had it before. plan : None if the command needs no state.
    snapshot : the state in version `first`, None for a new one. journal : the commands since.
    """
    shard = _shards.pop(key, None)
    if shard is None:
        if source is None:
            return Missing()
        _drop_spare()
        shard = Shard(source)
    if plan is not None:
        shard.start(plan, snapshot)
        for name, arguments in journal:
            getattr(shard, name)(*arguments)
        shard.version = first + len(journal)
    _shards[key] = shard
    return run_command(key, *command)


def forget_shards(keys: list[str]) -> None:
    """Drop shards of a run that is over."""
    for key in keys:
        _shards.pop(key, None)


def _drop_spare() -> None:
    """Drop shards without a state, those first that were not used for long."""
    spare = [
        (key, size_of(own.problem)) for key, own in list(_shards.items()) if own.version is None
    ]
    total = sum(size for _, size in spare)
    for key, size in spare:
        if total > SPARE_BYTES:
            _shards.pop(key, None)  # another thread may have it by now
            total -= size


# -- shards ----------------------------------------------------------------------------------------
class Shard:
    """Some of the samples, at work. source : their Problem, or has `open` that returns it."""

    def __init__(self, source: Any):
        whole = source if isinstance(source, Problem) else source.open()
        self.problem, self.touched = _keep_touched(whole)
        self.stop()

    def stop(self) -> None:
        """Forget the state."""
        self.version: int | None = None
        self.state: Any = None
        self.rest: Pieces | None = None
        self.noted: _Noted | None = None
        self.base = np.empty(0)

    def start(self, plan: Plan, snapshot: dict[str, np.ndarray] | None) -> None:
        """Begin anew, from a dual point and weights ("z" and "w" only) or from a snapshot."""
        self.stop()
        solver, problem = deepcopy(plan.solver), self.problem
        solver.prepare(problem)
        self.solver, self.n_pieces = solver, plan.n_pieces
        if snapshot is not None and snapshot.keys() == {"z", "w"}:
            given = State(snapshot["w"].copy(), snapshot["z"].copy(), solver.generator())
            self.state = self._complete(solver, solver._warm_start_from(problem, given))
        else:
            self.state = self._complete(solver, solver.init(problem))
            if snapshot is not None:
                restore_state(problem, self.state, snapshot)
        self.base = np.empty(0) if plan.n_pieces is None else self.state.w.copy()

    def _complete(self, solver: Solver, state: State) -> State:
        """The same with what `Solver.run` adds to a state."""
        state.solver, state.outputs = solver.name, self.problem.outputs_key
        state.memory = self.problem.remember(state.memory)
        return state

    @property
    def is_alone(self) -> bool:
        return self.n_pieces is None

    # commands that change the shard
    def visit(
        self, share: float, update: Any, new_average: bool, limit: float | int | None
    ) -> Visit:
        """Visit the samples of the next piece of an epoch. share, update : see `_settle`.

        limit : seconds, or the number of parts that were visited where this is done again.
        """
        begun = time.perf_counter()
        problem, state = self.problem, self.state
        self._settle(share, update)
        if new_average:
            state.average = start_average(len(state.w))
        if self.rest is None:
            solver = cast(PiecewiseSolver, self.solver)
            self.rest = solver.rounds(problem, state, self.n_pieces)
            self.order = next(self.rest)
        before = state.w.copy() if self.is_alone else self.base
        if not self.is_alone and self.solver.certifies:
            self.noted = _Noted(problem, state, self.order)
        self.n_parts = self.n_left_out = 0
        self.order = self.rest.send(None if limit is None else self._parts_within(limit))
        while self.is_alone and len(self.order):
            self.order = next(self.rest)
        at, change, sums = np.empty(len(before), np.uint32), np.empty(len(before)), np.empty(2)
        count = collect_changes(state.w, before, at, change, sums)
        at, change, gain = at[:count], change[:count].copy(), 0.0
        places = self.touched[at]
        if self.is_alone:
            change = state.w[at]
        else:
            self.moved = places, change
        if self.noted is not None:
            gain = self.noted.gain(problem, state)
        rest = gain, gain - problem.alpha * sums[0], sums[1], time.perf_counter() - begun
        ending = len(self.order) == 0, self.n_parts, self.n_left_out
        return Visit(places, change, *rest, *ending)

    def _parts_within(self, limit: float | int) -> Generator[np.ndarray, None, None]:
        """The parts of a piece, one at least, until the time is over."""
        begun, self.n_left_out = time.perf_counter(), len(self.order)
        for part in np.array_split(self.order, max(1, min(PARTS, len(self.order)))):
            used = self.n_parts if isinstance(limit, int) else time.perf_counter() - begun
            if self.n_parts and used >= limit:
                return
            self.n_parts += 1
            self.n_left_out -= len(part)
            yield part

    def end(self, share: float, update: Any) -> tuple[float, int]:
        """End an epoch; estimated gap, and number of oracle calls so far."""
        self._settle(share, update)
        for _ in self.rest or ():
            pass
        self.rest = None
        self.state.epoch += 1
        return self.solver.estimate(self.state), self.state.n_oracle

    def finish(self, share: float, update: Any) -> tuple[np.ndarray, float]:
        """Be where the line search ended; the loss gradient and the worth there, exactly."""
        self._settle(share, update)
        if self.rest is not None:
            self.rest.close()
            self.rest = None
        return self.problem.loss_gradient(self.state.points), self.worth()

    def _settle(self, share: float, update: News | np.ndarray | None) -> None:
        """Go `share` of the way of the last visit, and take the weights that it led to.

        update : what became of the round, or all weights, or None if they are known.
        """
        if self.noted is not None and share < 1.0:
            self.noted.mix(self.problem, self.state, share)
        self.noted, w = None, self.state.w
        if isinstance(update, np.ndarray):
            w[:] = update
            self.base = np.empty(0) if self.is_alone else w.copy()
        elif update is not None:  # as the driver does, in the same order
            for own, share in zip(update.directions, update.shares, strict=True):
                places, change = own or self.moved
                follow_direction(self.touched, places, share * change, self.base, w)

    # commands that do not
    def describe(self, with_sizes: bool) -> tuple[Any, ...]:
        """Begins and ends of the stretches of weights that it touches; what `rounding` needs."""
        steps = np.diff(self.touched.astype(np.int64), prepend=-2, append=2**33)
        cuts = np.flatnonzero(steps != 1)
        begins, ends = self.touched[cuts[:-1]], self.touched[cuts[1:] - 1] + 1
        if not with_sizes:
            return begins, ends, None, 0.0
        return begins, ends, *self.problem._sizes_of_terms

    def evaluate(self, w: np.ndarray) -> float:
        """Its share of the objective, without the penalty."""
        return self._without_penalty().primal(w)

    def evaluate_state(self) -> float:
        """The same at the present weights, where the solver may keep what the oracle returns."""
        return self.solver.objective(self._without_penalty(), self.state, self.state.w)

    def _without_penalty(self) -> Problem:
        found = copy(self.problem)
        found.alpha = 0.0
        return found

    def worth(self) -> float:
        """Its share of D(z) without the penalty: losses, or entropies."""
        problem, state = self.problem, self.state
        likelihood = problem.objective == "likelihood"
        worth = state.entropy if likelihood else problem.loss_at(state.points)
        return float(problem.sample_weight @ worth)

    def average(self) -> Average:
        """The average of its weights, if there is no other shard."""
        return self.state.average

    def points(self) -> Any:
        """Its z, in the form in which it is kept."""
        found = self.state.points
        return found if isinstance(found, np.ndarray) else found.points

    def snapshot(self) -> dict[str, np.ndarray]:
        """Its state after an epoch, in flat arrays."""
        return flatten_state(self.problem, self.state)

    def check_saved(self, solver: Solver, snapshot: dict[str, np.ndarray]) -> str:
        """Why a state that was read from a file is not one of this shard; empty if it is."""
        solver, problem = deepcopy(solver), self.problem
        solver.prepare(problem)
        fresh, state = (self._complete(solver, solver.init(problem)) for _ in range(2))
        try:
            restore_state(problem, state, snapshot)
            check_state(fresh, {own.name: getattr(state, own.name) for own in fields(state)})
            solver.check_restored(problem, fresh, state)
        except (*WRONG_PARTS, MemoryError) as error:
            return str(error) or type(error).__name__
        return ""

    def park(self) -> dict[str, np.ndarray]:
        """The same, and forget it."""
        found = self.snapshot()
        self.stop()
        return found

    def apply(
        self, ability: str, point: Any, with_outputs: bool, divisor: float, w: np.ndarray
    ) -> Any:
        """`Samples.apply`: values, and what the oracle returned if it is asked for.

        divisor : of the costs.
        """
        point = self.problem.truths if isinstance(point, str) else point
        out = np.empty(int(self.problem.part_ptr[-1])) if with_outputs else None
        samples = self.problem if divisor == 1.0 else self.problem.with_divided_costs(divisor)
        return samples.apply(ability, w, point, out), out

    def likelihood(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Its shares of the negative log-likelihood and of the gradient, without the penalty."""
        problem = self.problem
        z = np.empty(int(problem.part_ptr[-1]))
        hinges = problem.apply("marginals", w, point=problem.truths, out=z)
        return float(problem.sample_weight @ hinges), problem.loss_gradient(z)


class _Noted:
    """The points of some samples before a visit: their masses, or the points themselves."""

    def __init__(self, problem: Problem, state: Any, order: np.ndarray):
        self.order, self.cache = order, getattr(state, "vertex_cache", None)
        self.entropy = getattr(state, "entropy", np.empty(0)).copy()
        if self.cache is not None:
            make_room(problem.packed, self.cache, order)
            self.mass = self.cache.mass.copy()
        else:
            self.points = [state.z[problem.parts(i)].copy() for i in order]

    def gain(self, problem: Problem, state: Any) -> float:
        """How much more the worth of the shard is than it was."""
        if self.cache is not None:
            rest = problem.workspace(), self.cache, self.order, self.mass
            return loss_of_masses(problem.packed, *rest)
        if len(self.entropy):
            return float(problem.sample_weight @ (state.entropy - self.entropy))
        total = 0.0
        for i, old in zip(self.order, self.points, strict=True):
            costs = problem._allowed_costs_of(i, i + 1)
            total += problem.sample_weight[i] * float(costs @ (state.z[problem.parts(i)] - old))
        return total

    def mix(self, problem: Problem, state: Any, share: float) -> None:
        """Let the points be `share` of the way from these to where they are."""
        if self.cache is not None:
            mix_masses(self.cache, self.order, self.mass, share)
            return
        for i, old in zip(self.order, self.points, strict=True):
            own = state.z[problem.parts(i)]
            own[:] = (1.0 - share) * old + share * own
        if len(self.entropy):
            state.entropy[:] = (1.0 - share) * self.entropy + share * state.entropy


def _keep_touched(problem: Problem) -> tuple[Problem, np.ndarray]:
    """The same over those weights that its samples touch, and the places of these among all.

    Its arrays are such as compiled code takes: those in shared memory are read-only.
    """
    old = problem.packed
    marks = np.zeros(problem.dim + 1, dtype=np.int32)
    counts = np.diff(old.block_ptr)
    ends = old.block_start + np.repeat(np.resize(old.group_width, len(counts)), counts)
    np.add.at(marks, old.block_start, 1)
    np.subtract.at(marks, ends, 1)
    is_touched = np.cumsum(marks, out=marks)[:-1] > 0
    place = np.cumsum(is_touched, dtype=np.uint32) - np.uint32(1)
    found = copy(problem)
    found.packed = PackedSamples(*(_writable(own) for own in old))._replace(
        block_start=place[old.block_start]
    )
    touched = np.flatnonzero(is_touched).astype(np.uint32)
    found.dim, found.part_ptr = len(touched), found.packed.part_ptr
    found.domain = check_domain(None, found.dim)
    found.truths = Points(*(_writable(own) for own in problem.truths))
    found.memory, found._plain = np.empty(0), None
    for name in ("weight_limits", "_sizes_of_terms"):
        found.__dict__.pop(name, None)
    return found, touched


def _writable(array: np.ndarray) -> np.ndarray:
    return array if array.flags.writeable else array.copy()
