"""A solver at work on many shards: its epoch is some rounds of visits and line searches."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from maxmargin._numba.packed_samples import Points
from maxmargin._numba.passes.mixing import add_direction
from maxmargin._numba.passes.weights import start_average
from maxmargin.callbacks import Callback
from maxmargin.domains import RealSpace
from maxmargin.memory import SparsePoints
from maxmargin.parallel.engines import Engine
from maxmargin.parallel.line_search import join_directions
from maxmargin.parallel.shards import ShardSet, size_of_arrays, split_problem
from maxmargin.parallel.worker import News, Plan, Visit
from maxmargin.problem import Problem
from maxmargin.result import Result, State, state_field
from maxmargin.solvers.base import Solver
from maxmargin.solvers.domain_steps import finalize_weights, weights_and_average
from maxmargin.solvers.vertex_cache import CacheState
from maxmargin.validation.options import check_option

log = logging.getLogger("maxmargin")

#: a visit that takes so many seconds, and times as long as another one of its round, is told
_SLOW_SECONDS, _SLOW = 1.0, 3.0
#: what `RoundsState.totals` are
_TOTALS = ("rounds", "visit_seconds", "slowest_visit_seconds", "combine_seconds", "round_seconds",
           "megabytes_sent", "megabytes_received")  # fmt: skip


@dataclass(repr=False)
class RoundsState(CacheState):
    """State of `Rounds`: z lives with the shards."""

    #: share of D(z) of each shard but for the penalty, its estimated gap, its calls of the oracle
    worth: np.ndarray = state_field(lambda: np.empty(0), warm="keep", check="layout")
    estimates: np.ndarray = state_field(lambda: np.empty(0), warm="keep", check="layout")
    calls: np.ndarray = state_field(lambda: np.empty(0, np.int64), warm="keep", check="layout")
    totals: np.ndarray = state_field(lambda: np.zeros(len(_TOTALS)), warm="keep", check="layout")
    #: whether the only shard is to begin a new average
    new_average: bool = state_field(False, warm="keep", check="layout")
    #: in checkpoints, the states of all shards
    shards: list = state_field(list, check="layout")


@dataclass
class _Link:
    """How the weights that a shard has differ from those of the driver."""

    #: the last round that it took part in, and how far the line search went along its direction
    round: int = 0
    share: float = 1.0
    #: whether it knows what came of that round
    in_sync: bool = True


def add_sizes(dim: int, records: Sequence[Any], sizes: Sequence[np.ndarray]) -> np.ndarray:
    """Sums of what `Problem.rounding` needs of shards: a number for each feature, if it can be.

    dim : number of weights. sizes : of each shard, a number for as many touched weights each.
    """
    steps = [own.count() // len(size) for own, size in zip(records, sizes, strict=True)]
    edges = [edge for own in records for edge in (own.begins, own.ends)]
    step = int(np.gcd.reduce([dim, *steps, *map(np.gcd.reduce, edges)]))
    total = np.zeros(dim // step)
    for own, size in zip(records, sizes, strict=True):
        starts = own.places()[::step] // step
        total[starts] += np.repeat(size, len(starts) // len(size))
    return total


class Rounds(Solver[RoundsState]):
    """Run a solver that visits samples one by one on several shards at the same time.

    In a round every worker visits a piece of its shard's samples, from the same weights. The
    directions of a round are joined by the line search of `join_directions`, so that the dual never
    decreases, and certificates are sums over all shards. Solvers without certificates take the mean
    of the workers' weights.

    Parameters
    ----------
    solver : Solver
        The solver; it says that it works so (`Requires.shards`).
    engine : Engine
        Where visits are computed.
    """

    state_class = RoundsState

    def __init__(self, solver: Solver, engine: Engine):
        self.solver = solver
        self.engine = engine

    # what the loop asks of any solver is what the one inside says
    requires = property(lambda self: self.solver.requires)
    certifies = property(lambda self: self.solver.certifies)
    name = property(lambda self: self.solver.name)
    max_epochs = property(lambda self: self.solver.max_epochs)
    tol = property(lambda self: self.solver.tol)
    random_state = property(lambda self: self.solver.random_state)
    check_every = property(lambda self: self.solver.check_every)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """What the bits of a run depend on: all that, and not where it is computed."""
        own = {name: getattr(self.engine, name) for name in ("n_workers", "rounds")}
        return self.solver.get_params(deep=False) | own

    def _check(self, problem: Problem) -> None:
        self.solver._check(problem)
        if not isinstance(problem.domain, RealSpace):
            raise ValueError(
                f"engine: {type(self.solver).__name__} keeps w in a"
                f" {type(problem.domain).__name__} in one process only; leave out domain or engine."
            )

    def _load(self, problem: Problem) -> None:
        """Hand out the shards."""
        files = getattr(problem, "sources", None)
        sources = files or split_problem(problem, self.engine.n_workers)
        rng, self.is_alone = self.generator(), len(sources) == 1
        averaging = "averaging" if self.certifies else "averaged"
        self._averages = bool(getattr(self.solver, averaging, False))
        options: dict[str, Any] = {}
        if not self.is_alone and self._averages:
            options[averaging] = False  # rounds are averaged here
        if not self.is_alone and hasattr(self.solver, "relaxation"):
            # directions of shards add up like over-relaxed ones
            options["relaxation"] = 1.0
        streams = [rng] if self.is_alone else rng.spawn(len(sources))
        pieces = None if self.is_alone else int(self.engine.rounds)
        self._rng = rng
        solvers = [clone(self.solver).set_params(random_state=own, **options) for own in streams]
        self._shards = ShardSet(self.engine, sources, [Plan(own, pieces) for own in solvers])
        self._links = [_Link() for _ in sources]
        self._round, self._is_final = 0, False
        #: shards and directions of the last round, and whether w has followed them
        self._last: tuple[list[int], np.ndarray, list[Visit]] = [], np.empty(0), []
        self._followed = True
        told = self._shards.describe(with_sizes=files is not None)
        if files is not None:  # let the problem know the sizes of features that are elsewhere
            sizes = add_sizes(problem.dim, self._shards.records, [own[2] for own in told])
            problem.__dict__["_sizes_of_terms"] = sizes, float(sum(own[3] for own in told))

    def init(self, problem: Problem) -> RoundsState:
        state = RoundsState(np.zeros(problem.dim), np.empty(0), self._rng)
        n = len(self._shards)
        state.worth, state.estimates = np.zeros(n), np.full(n, np.inf)
        state.calls = np.zeros(n, dtype=np.int64)
        if self._averages:
            state.average = start_average(problem.dim)
        return state

    def _warm_start_from(self, problem: Problem, state: State) -> RoundsState:
        own = super()._warm_start_from(problem, state)
        fresh = self.init(problem)
        own.rng, own.average = fresh.rng, fresh.average
        own.worth, own.estimates, own.calls = fresh.worth, fresh.estimates, fresh.calls
        z, first = own.z, 0
        for shard in self._shards.records:
            parts = z[first : first + int(shard.source.part_ptr[-1])]
            first += len(parts)
            shard.begin_from({"z": parts, "w": own.w[shard.places()]})
        own.z = np.empty(0)
        if self.certifies:
            self._make_exact(problem, own)
        return own

    # -- an epoch ----------------------------------------------------------------------------------
    def epoch(self, problem: Problem, state: RoundsState) -> None:
        self._hand_out(state)
        for group in self._draw_groups(state.rng):
            active = list(group)
            while active:
                active = self._run_round(problem, state, active)
            told = self._shards.call(
                "end", lambda k: self._news(state, k), group, meanwhile=lambda: self._follow(state)
            )
            for k, (estimate, n_calls) in zip(group, told, strict=True):
                self._links[k] = _Link(self._round)
                state.n_oracle += n_calls - int(state.calls[k])
                state.estimates[k], state.calls[k] = estimate, n_calls
                self._shards.save(k, park=len(self._shards) > self.engine.n_workers)

    def _draw_groups(self, rng: np.random.Generator) -> list[list[int]]:
        """Shards that are visited at the same time: one of each worker."""
        n, width = len(self._shards), int(self.engine.n_workers)
        columns = [np.arange(k, n, width) for k in range(min(width, n))]
        if len(columns[0]) > 1:
            columns = [rng.permutation(own) for own in columns]
        return [[int(own[r]) for own in columns if r < len(own)] for r in range(len(columns[0]))]

    def _news(self, state: RoundsState, k: int) -> tuple[float, News | np.ndarray | None]:
        """How far the line search went along a shard's direction, and what else moved w."""
        own = self._links[k]
        if own.round != self._round:
            self._follow(state)
            return own.share, state.w[self._shards.records[k].places()]
        if own.in_sync:
            return own.share, None
        chosen, shares, visits = self._last
        pairs = [
            None if j == k else (v.places, v.change) for j, v in zip(chosen, visits, strict=True)
        ]
        return own.share, News(shares, pairs)

    def _run_round(self, problem: Problem, state: RoundsState, chosen: list[int]) -> list[int]:
        """Visit shards, and find how far to go; returns those whose epoch goes on."""
        begun, limit = time.perf_counter(), self.engine.round_limit
        limit = None if limit is None or self.is_alone else float(limit)
        arguments = {k: (*self._news(state, k), state.new_average, limit) for k in chosen}
        visits = self._shards.call(
            "visit", arguments.__getitem__, chosen, meanwhile=lambda: self._follow(state)
        )
        waited = time.perf_counter()
        state.new_average = False
        shares = np.ones(1)
        if self.is_alone:  # every step raised the dual
            state.w[visits[0].places] = visits[0].change
        else:
            places, changes = [v.places for v in visits], [v.change for v in visits]
            gains, slopes, squares = np.array([(v.gain, v.slope, v.square) for v in visits]).T
            if self.certifies:
                shares = join_directions(slopes, squares, places, changes, problem.alpha)
            else:
                shares = np.full(len(visits), 1.0 / len(visits))
            state.worth[chosen] += shares * gains
            self._last, self._followed = (chosen, shares, visits), False
        self._round += 1
        for k, share in zip(chosen, shares, strict=True):
            self._links[k] = _Link(self._round, float(share), self.is_alone)
        ended, seconds = time.perf_counter(), [own.seconds for own in visits]
        slow = int(np.argmax(seconds))
        if seconds[slow] > max(_SLOW_SECONDS, _SLOW * min(seconds)):
            log.info(
                "shard %d took %.1f s, another one %.1f", chosen[slow], max(seconds), min(seconds)
            )
        for k, visit in zip(chosen, visits, strict=True):
            if visit.n_left_out:
                log.info("shard %d left out %d samples of a round", k, visit.n_left_out)
        moved = size_of_arrays(list(arguments.values())), size_of_arrays(visits)
        times = (1, sum(seconds), max(seconds), ended - waited, ended - begun)
        state.totals += np.array([*times, *(own / 1e6 for own in moved)])
        return [k for k, own in zip(chosen, visits, strict=True) if not own.is_last]

    def _follow(self, state: RoundsState) -> None:
        """Move the weights along the directions of the last round, and average them."""
        if self._followed:
            return
        average, (_, shares, visits) = state.average, self._last
        for share, own in zip(shares, visits, strict=True):
            rest = average.correction, float(average.total[0])
            add_direction(own.places, share * own.change, state.w, *rest)
        if self._averages:  # round k has the weight k, or all have the same
            average.steps[0] += 1.0
            average.total[0] += average.steps[0] if self.certifies else 1.0
        self._followed = True

    # -- certificates ------------------------------------------------------------------------------
    def candidates(self, problem: Problem, state: RoundsState) -> list[np.ndarray]:
        if not self.certifies:
            self._follow(state)
            self._fetch_average(state)
            return self.solver.candidates(problem, state)
        return weights_and_average(problem, state) if self._averages else [state.w]

    def _take_candidates(self, problem: Problem, state: RoundsState) -> list[np.ndarray]:
        if not self._averages or problem.oracle.is_expensive:
            return [state.w]
        self._fetch_average(state)
        return weights_and_average(problem, state, take=True)

    def _fetch_average(self, state: RoundsState) -> None:
        """Have the average of the only shard's weights here; others are 0."""
        if self.is_alone and self._averages and not (state.new_average or self._is_final):
            found = self._shards.call("average", chosen=[0], changes=False)[0]
            state.average = start_average(len(state.w))
            if len(found.correction):  # none before the first epoch after a warm start
                state.average.correction[self._shards.records[0].places()] = found.correction
            state.average.steps[:], state.average.total[:] = found.steps, found.total

    def _certified(self, state: RoundsState) -> None:
        if self._averages and self.certifies:
            state.average = start_average(len(state.w))
            state.new_average = self.is_alone

    def objective(self, problem: Problem, state: RoundsState, w: np.ndarray) -> float:
        records = self._shards.records
        self._follow(state)
        are_there = (own.in_sync and own.round == self._round for own in self._links)
        if w is state.w and all(are_there) and not any(own.is_parked for own in records):
            changes = problem.oracle.is_expensive  # its outputs are kept
            told = self._shards.call("evaluate_state", changes=changes)
        else:
            told = self._shards.call("evaluate", lambda k: (w[records[k].places()],), changes=False)
        return float(sum(told) + problem.alpha / 2 * (w @ w))

    def bound(self, problem: Problem, state: RoundsState) -> float:
        if self.is_alone and not self._is_final:
            state.worth[0] = self._shards.call("worth", changes=False)[0]
        return float(sum(state.worth)) - problem.alpha / 2 * float(state.w @ state.w)

    def estimate(self, state: RoundsState) -> float:
        return float(sum(state.estimates))

    def metrics(self, problem: Problem, state: RoundsState, primal: float) -> dict[str, float]:
        known = {} if self.certifies else {"train_error": self._train_error(state)}
        return known | dict(zip(_TOTALS, map(float, state.totals), strict=True))

    def _train_error(self, state: RoundsState) -> float:
        shares = state.calls / max(state.calls.sum(), 1)
        return float(shares @ state.estimates) if state.epoch else float("nan")

    def _has_converged(self, state: RoundsState) -> bool:
        return not self.certifies and self._train_error(state) == 0.0

    def _finalize(self, problem: Problem, state: RoundsState) -> None:
        self._hand_out(state)
        self._follow(state)
        self._fetch_average(state)
        if self.certifies:
            self._make_exact(problem, state)
        self._is_final = True

    def _make_exact(self, problem: Problem, state: RoundsState) -> None:
        """Let all shards be where the line searches ended, and w exactly w(z)."""
        gradient, n, width = np.zeros(problem.dim), len(self._shards), int(self.engine.n_workers)
        for first in range(0, n, width):  # no more shards at a time than there are workers
            group = range(first, min(first + width, n))
            told = self._shards.call("finish", lambda k: self._news(state, k), group)
            for k, (own, worth) in zip(group, told, strict=True):
                gradient[self._shards.records[k].places()] += own
                state.worth[k] = worth
                self._links[k] = _Link(round=-1)
                if n > width:
                    self._shards.save(k, park=True)
        gradient /= -problem.alpha
        finalize_weights(problem, state, gradient)

    # -- checkpoints and the end -------------------------------------------------------------------
    def state_to_save(self, state: RoundsState) -> RoundsState:
        """What a checkpoint keeps: a state of which nothing is on workers."""
        if state.shards or not state.epoch:
            return state
        return replace(state, shards=list(map(self._shards.snapshot, range(len(self._shards)))))

    def _hand_out(self, state: RoundsState) -> None:
        """Let shards begin with the states of a checkpoint."""
        for own, link, saved in zip(self._shards.records, self._links, state.shards, strict=False):
            own.begin_from(saved)
            own.first += 1  # workers have another state of the version before
            link.round = -1
        state.shards = []

    def check_restored(self, problem: Problem, fresh: RoundsState, state: RoundsState) -> None:
        n = len(self._shards) if state.epoch else 0
        if len(state.shards) != n:
            raise ValueError(f"it has {len(state.shards)} shards, not {n}")
        check_option("its shards", state.shards, list[dict[str, np.ndarray]])

        def arguments(k: int) -> tuple[Any, ...]:
            plan = self._shards.records[k].plan
            assert plan is not None
            return plan.solver, state.shards[k]

        for why in filter(None, self._shards.call("check_saved", arguments, range(n), False)):
            raise ValueError(why)

    def run(
        self, problem: Problem, state: State | None = None, callbacks: Sequence[Callback] = ()
    ) -> Result:
        """Solve the problem, and free what workers hold; see `Solver.run`."""
        try:
            result = super().run(problem, state, callbacks)
            own = result.state
            assert isinstance(own, RoundsState)
            if getattr(problem, "sources", None) is None:
                own.z = self._gather_points(problem)
        finally:
            if hasattr(self, "_shards"):
                self._shards.forget()
        return result

    def _gather_points(self, problem: Problem) -> Any:
        """The z of all shards, side by side, for a warm start."""
        found = self._shards.call("points", changes=False)
        if any(isinstance(own, np.ndarray) for own in found):
            shards = zip(found, self._shards.records, strict=True)
            return np.concatenate([
                own if isinstance(own, np.ndarray) else SparsePoints(own, shard.source.part_ptr)[:]
                for own, shard in shards
            ])  # fmt: skip
        ends = np.cumsum([0, *(own.ptr[-1] for own in found[:-1])])
        ptr = [own.ptr[1:] + end for own, end in zip(found, ends, strict=True)]
        parts = [
            np.concatenate([getattr(own, name) for own in found]) for name in ("part", "value")
        ]
        return SparsePoints(Points(np.concatenate([[0], *ptr]), *parts), problem.part_ptr)
