"""A solver at work on many shards: its epoch is some rounds of visits and line searches."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Real
from typing import Any
from uuid import uuid4

import numpy as np
from sklearn.base import clone

from maxmargin._numba.passes.weights import Average, start_average
from maxmargin.callbacks import Callback
from maxmargin.domains import RealSpace
from maxmargin.parallel.engines import Engine
from maxmargin.parallel.line_search import join_directions
from maxmargin.parallel.rounds import (
    Kept,
    Shard,
    Visit,
    check_saved,
    evaluate_shard,
    expand_points,
    finish_shard,
    forget_shards,
    list_touched,
    measure_shard,
    visit_shard,
)
from maxmargin.persistence.checkpoints.sparse import pack_sparse
from maxmargin.problem import Problem
from maxmargin.result import Result, State, state_field
from maxmargin.solvers.base import Solver
from maxmargin.solvers.domain_steps import BlockState, finalize_weights, weights_and_average
from maxmargin.validation.options import check_option


@dataclass
class ShardRecord:
    """What the driver knows of a shard: what its last visits left (references), and its worth."""

    previous: Any = None
    last: Any = None
    #: how far the line search went, from where the last visit began to where it ended
    share: float = 1.0
    #: where the line search ended
    worth: float = 0.0
    estimate: float = np.inf


@dataclass(repr=False)
class RoundsState(BlockState):
    """State of `Rounds`: z lives with the shards."""

    #: a ShardRecord of each; in checkpoints, the states themselves
    shards: list = state_field(list, check="layout")
    #: rounds, seconds of visits, of the slowest ones, of line searches, of all; bytes sent, got
    totals: np.ndarray = state_field(lambda: np.zeros(7), warm="keep", check="layout")


_TOTALS = (
    "rounds",
    "visit_seconds",
    "slowest_visit_seconds",
    "combine_seconds",
    "round_seconds",
    "bytes_sent",
    "bytes_received",
)


class Rounds(Solver[RoundsState]):
    """Run a solver that visits samples one by one on several shards at the same time.

    An epoch visits every shard once, in rounds of `engine.n_workers` shards. A visit is an epoch of
    the solver on the shard alone; the directions of a round are joined by the line search of
    `join_directions`, so that the dual never decreases, and certificates are sums over all shards.

    Parameters
    ----------
    solver : Solver
        The solver; its class says that it works so (`parallel = "rounds"`).
    engine : Engine
        Where visits are computed.
    """

    state_class = RoundsState

    def __init__(self, solver: Solver, engine: Engine):
        self.solver = solver
        self.engine = engine
        self._key = uuid4().hex
        self._references: list[Any] = []

    # what the loop asks of any solver is what the one inside says
    requires = property(lambda self: self.solver.requires)
    name = property(lambda self: self.solver.name)
    max_epochs = property(lambda self: self.solver.max_epochs)
    tol = property(lambda self: self.solver.tol)
    random_state = property(lambda self: self.solver.random_state)
    check_every = property(lambda self: self.solver.check_every)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """What the bits of a run depend on: all that, and not where it is computed."""
        own = {name: getattr(self.engine, name) for name in ("n_workers", "rounds", "scale")}
        return self.solver.get_params(deep=False) | own

    @property
    def n_shards(self) -> int:
        return len(self._references)

    def _check(self, problem: Problem) -> None:
        self.solver._check(problem)
        if not isinstance(problem.domain, RealSpace):
            raise ValueError(
                f"engine: {type(self.solver).__name__} keeps w in a"
                f" {type(problem.domain).__name__} in one process only; leave out domain or engine."
            )

    def _load(self, problem: Problem) -> None:
        """Hand out the shards."""
        # those of a corpus in files are as many as there are files
        sources = getattr(problem, "sources", None) or split_problem(problem, self.engine.n_shards)
        self._sources = sources
        self._keys = [f"{self._key}-{k}" for k in range(len(sources))]
        self._references = [
            self.engine.put(Shard(key, own)) for key, own in zip(self._keys, sources, strict=True)
        ]
        _, self._touched = self.engine.run(list_touched, [(own,) for own in self._references])
        self._scratch = np.zeros(problem.dim if self.n_shards > 1 else 0)
        if not isinstance(sources[0], Problem):
            self._measure(problem)

    def _measure(self, problem: Problem) -> None:
        """Let a problem whose samples are elsewhere know the sizes of their features."""
        _, told = self.engine.run(measure_shard, [(own,) for own in self._references])
        sizes = np.zeros(problem.dim)
        for at, own in zip(self._touched, told, strict=True):
            sizes[at] += own[0]
        problem.__dict__["_sizes_of_terms"] = sizes, float(sum(own[1] for own in told))

    @property
    def _averages(self) -> bool:
        return bool(getattr(self.solver, "averaging", False))

    def init(self, problem: Problem) -> RoundsState:
        state = RoundsState(np.zeros(problem.dim), np.empty(0), self.generator())
        state.shards = [ShardRecord() for _ in self._references]
        state.average = start_average(problem.dim if self._averages else 0)
        self._start_solvers(state)
        return state

    def _start_solvers(self, state: RoundsState) -> None:
        """One solver for each shard, with random numbers of its own."""
        alone = self.n_shards == 1
        streams = [state.rng] if alone else state.rng.spawn(self.n_shards)
        averaging = {"averaging": alone and self._averages} if self._averages else {}
        self._solvers = [
            clone(self.solver).set_params(random_state=rng, **averaging) for rng in streams
        ]

    def _warm_start_from(self, problem: Problem, state: State) -> RoundsState:
        own = super()._warm_start_from(problem, state)
        own.average = start_average(problem.dim if self._averages else 0)
        self._start_solvers(own)
        first, own.shards = 0, []
        for part in self._sources:
            z = own.z[first : first + int(part.part_ptr[-1])]
            first += len(z)
            worth = float(part.sample_weight @ part.loss_at(z))
            last = self.engine.put(Kept(None, {"z": pack_sparse(z)}))
            own.shards.append(ShardRecord(last=last, worth=worth))
        own.z = np.empty(0)
        return own

    # -- an epoch ----------------------------------------------------------------------------------
    def epoch(self, problem: Problem, state: RoundsState) -> None:
        self._put_saved(state)
        # visits without the oracle pay after those of all other shards, not at once
        n = self.solver.n_phases
        for phases in [range(n)] if self.n_shards == 1 else [range(k, k + 1) for k in range(n)]:
            for chosen in self._draw_rounds(state.rng):
                self._round(problem, state, chosen, phases)
        if self.engine.lineage and (state.epoch + 1) % self.engine.lineage == 0:
            for own in state.shards:
                for name in ("previous", "last"):
                    if getattr(own, name) is not None:
                        value = self.engine.fetch(getattr(own, name))
                        setattr(own, name, self.engine.put(value))

    def _draw_rounds(self, rng: np.random.Generator) -> list[np.ndarray]:
        """The shards of each round: one of those that are first, second ... of n_workers."""
        n, width = self.n_shards, int(self.engine.n_workers)
        columns = [np.arange(k, n, width) for k in range(min(width, n))]
        if len(columns[0]) > 1:
            columns = [rng.permutation(own) for own in columns]
        rounds = [[own[r] for own in columns if r < len(own)] for r in range(len(columns[0]))]
        return [np.array(own) for own in rounds]

    def _round(
        self, problem: Problem, state: RoundsState, chosen: np.ndarray, phases: range
    ) -> None:
        begun = time.perf_counter()
        alone = self.n_shards == 1
        scale = 1.0 if len(chosen) == 1 or not self.engine.scale else float(self.engine.scale)
        parts = [self._touched[k] for k in chosen]
        weights = [state.w[at] for at in parts]
        average = self._local_average(state) if alone and self._averages else None
        tasks = [
            (*self._arguments(state, k), phases, w, average, scale)
            for k, w in zip(chosen, weights, strict=True)
        ]
        kept, visits = self.engine.run(visit_shard, tasks)
        waited = time.perf_counter()
        shares = self._combine(problem, state, chosen, visits)
        for k, last, told, share in zip(chosen, kept, visits, shares, strict=True):
            state.shards[k] = _next_record(state.shards[k], last, told, float(share))
            state.n_oracle += told.n_oracle
        if average is not None:
            self._take_average(state, visits[0].average)
        ended, seconds = time.perf_counter(), [told.seconds for told in visits]
        sent = sum(own.nbytes for own in weights)
        got = sum(own.where.nbytes + own.values.nbytes for own in visits)
        times = (1, sum(seconds), max(seconds), ended - waited, ended - begun)
        state.totals += np.array([*times, sent, got])

    def _combine(
        self, problem: Problem, state: RoundsState, chosen: np.ndarray, visits: list[Visit]
    ) -> np.ndarray:
        """Move the weights along all directions of a round; how far along each."""
        places = [self._touched[k][own.where] for k, own in zip(chosen, visits, strict=True)]
        if len(visits) == 1:  # every step of one shard alone raised the dual
            changes, shares = [visits[0].values - state.w[places[0]]], np.ones(1)
            state.w[places[0]] = visits[0].values
        else:
            changes = [own.values - state.w[at] for own, at in zip(visits, places, strict=True)]
            gains = [
                own.worth - state.shards[k].worth for k, own in zip(chosen, visits, strict=True)
            ]
            shares = join_directions(
                state.w, places, changes, np.array(gains), problem.alpha, self._scratch
            )
            for at, change, share in zip(places, changes, shares, strict=True):
                state.w[at] += share * change
        if self._averages and self.n_shards > 1:  # round k has the weight k
            average = state.average
            for at, change, share in zip(places, changes, shares, strict=True):
                average.correction[at] += average.total[0] * share * change
            average.steps[0] += 1.0
            average.total[0] += average.steps[0]
        return shares

    def _local_average(self, state: RoundsState) -> Average:
        """The average of the weights that the only shard touches; others are 0."""
        own = state.average
        return own._replace(correction=own.correction[self._touched[0]])

    def _take_average(self, state: RoundsState, found: Average | None) -> None:
        assert found is not None
        state.average.correction[self._touched[0]] = found.correction
        state.average.steps[:], state.average.total[:] = found.steps, found.total

    def _arguments(self, state: RoundsState, k: int) -> tuple[Any, ...]:
        """What tasks of a shard begin with."""
        own = state.shards[k]
        return self._references[k], self._solvers[k], own.previous, own.last, own.share

    # -- certificates ------------------------------------------------------------------------------
    def candidates(self, problem: Problem, state: RoundsState) -> list[np.ndarray]:
        return weights_and_average(problem, state) if self._averages else [state.w]

    def _take_candidates(self, problem: Problem, state: RoundsState) -> list[np.ndarray]:
        return weights_and_average(problem, state, take=True) if self._averages else [state.w]

    def _certified(self, state: RoundsState) -> None:
        if self._averages:
            state.average = start_average(len(state.w))

    def objective(self, problem: Problem, state: RoundsState, w: np.ndarray) -> float:
        pairs = zip(self._references, self._touched, strict=True)
        _, told = self.engine.run(evaluate_shard, [(own, w[at]) for own, at in pairs])
        return float(sum(told) + problem.alpha / 2 * (w @ w))

    def bound(self, problem: Problem, state: RoundsState) -> float:
        worth = sum(own.worth for own in state.shards)
        return float(worth - problem.alpha / 2 * float(state.w @ state.w))

    def estimate(self, state: RoundsState) -> float:
        return float(sum(own.estimate for own in state.shards))

    def metrics(self, problem: Problem, state: RoundsState, primal: float) -> dict[str, float]:
        return dict(zip(_TOTALS, map(float, state.totals), strict=True))

    def _finalize(self, problem: Problem, state: RoundsState) -> None:
        """Let all shards be where the line searches ended, and w exactly w(z)."""
        self._put_saved(state)
        tasks = [self._arguments(state, k) for k in range(self.n_shards)]
        kept, told = self.engine.run(finish_shard, tasks)
        gradient = np.zeros(problem.dim)
        for k, (own, worth) in enumerate(told):
            estimate = state.shards[k].estimate
            state.shards[k] = ShardRecord(None, kept[k], 1.0, worth, estimate)
            gradient[self._touched[k]] += own
        finalize_weights(problem, state, gradient / -problem.alpha)

    # -- checkpoints and the end -------------------------------------------------------------------
    def state_to_save(self, state: RoundsState) -> RoundsState:
        """A state of which nothing is on workers: shards where the line searches ended."""
        saved: list[Any] = []
        for k, own in enumerate(state.shards):
            if isinstance(own, ShardRecord) and own.last is not None:
                (last,), _ = self.engine.run(finish_shard, [self._arguments(state, k)])
                end = self.engine.fetch(last).end
                own = {"state": end, "worth": own.worth, "estimate": own.estimate}
            saved.append(None if isinstance(own, ShardRecord) else own)
        return replace(state, shards=saved)

    def _put_saved(self, state: RoundsState) -> None:
        """Hand out the states of a checkpoint."""
        for k, own in enumerate(state.shards):
            if isinstance(own, dict):
                last = self.engine.put(Kept(None, own["state"]))
                state.shards[k] = ShardRecord(None, last, 1.0, own["worth"], own["estimate"])
            elif own is None:
                state.shards[k] = ShardRecord()

    def check_restored(self, problem: Problem, fresh: RoundsState, state: RoundsState) -> None:
        if len(state.shards) != self.n_shards:
            raise ValueError(f"it has {len(state.shards)} shards, not {self.n_shards}")
        tasks = []
        for own, *rest in zip(state.shards, self._references, self._solvers, strict=True):
            if own is None:
                continue
            if set(own) != {"state", "worth", "estimate"} or not isinstance(own["state"], dict):
                raise ValueError("a shard of it lacks its state")
            for name in ("worth", "estimate"):
                check_option(name, own[name], Real)
            tasks.append((*rest, self.engine.put(Kept(None, own["state"]))))
        for why in self.engine.run(check_saved, tasks)[1]:
            if why:
                raise ValueError(why)

    def run(
        self, problem: Problem, state: State | None = None, callbacks: Sequence[Callback] = ()
    ) -> Result:
        """Solve the problem, and release what workers hold; see `Solver.run`."""
        try:
            result = super().run(problem, state, callbacks)
            own = result.state
            assert isinstance(own, RoundsState)
            is_here = isinstance(self._sources[0], Problem)
            own.z = self._gather_points(own) if is_here else np.empty(0)
            own.shards = []
        finally:
            forget_shards(self._keys)
            self._references, self._solvers, self._sources = [], [], []
        return result

    def _gather_points(self, state: RoundsState) -> np.ndarray:
        """The z of all shards, side by side, for a warm start."""
        self._put_saved(state)
        points = []
        for own in state.shards:
            if own.last is None:
                return np.empty(0)
            points.append(expand_points(self.engine.fetch(own.last)))
        return np.concatenate(points)


def _next_record(own: ShardRecord, last: Any, told: Visit, share: float) -> ShardRecord:
    """After a visit whose direction was followed by this share."""
    if share == 1.0:
        return ShardRecord(None, last, 1.0, told.worth, told.estimate)
    previous = own.last if own.share == 1.0 else None
    worth = (1.0 - share) * own.worth + share * told.worth
    return ShardRecord(previous, last, share, worth, told.estimate)


def split_problem(problem: Problem, n_shards: int) -> list[Problem]:
    """Contiguous ranges of samples, of about as many parts each."""
    n = min(int(n_shards), problem.n)
    goals = np.linspace(0, int(problem.part_ptr[-1]), n + 1)[1:-1]
    cuts = np.searchsorted(problem.part_ptr, goals)
    low = np.maximum.accumulate(np.maximum(cuts - np.arange(1, n), 0)) + np.arange(1, n)
    cuts = np.minimum(low, problem.n - n + np.arange(1, n))
    bounds = [0, *cuts.tolist(), problem.n]
    return [problem.part(first, last) for first, last in pairwise(bounds)]
