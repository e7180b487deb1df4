"""Problems whose oracle calls of all samples are computed by an engine."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any
from uuid import uuid4

import numpy as np

from maxmargin._numba.packed_samples import Points
from maxmargin.callbacks import Callback
from maxmargin.parallel.driver import Rounds, split_problem
from maxmargin.parallel.engines import Engine, resolve_engine
from maxmargin.parallel.rounds import (
    Shard,
    apply_shard,
    copy_arrays,
    forget_shards,
    list_touched,
    sum_likelihood,
)
from maxmargin.persistence.checkpoints.sparse import pack_sparse
from maxmargin.problem import Problem
from maxmargin.result import Result, State
from maxmargin.solvers import Solver, solver_classes


class SummedProblem(Problem):
    """A problem whose `apply` and `likelihood` are computed shard by shard."""

    _engine: Engine
    _references: list[Any]
    _keys: list[str]
    _bounds: np.ndarray
    _touched: list[np.ndarray]
    _whole: Any

    @classmethod
    def of(cls, problem: Problem, engine: Engine) -> SummedProblem:
        """Hand out the samples of a problem."""
        found = copy(problem)
        found.__class__ = cls
        assert isinstance(found, SummedProblem)
        found._engine, found._whole = engine, found.packed
        parts, key = split_problem(problem, engine.n_shards), uuid4().hex
        found._bounds = np.cumsum([0, *(int(own.part_ptr[-1]) for own in parts)])
        found._keys = [f"{key}-{k}" for k in range(len(parts))]
        found._references = [
            engine.put(Shard(name, own)) for name, own in zip(found._keys, parts, strict=True)
        ]
        _, found._touched = engine.run(list_touched, [(own,) for own in found._references])
        return found

    def release(self) -> None:
        """Forget the shards."""
        forget_shards(self._keys)
        self._references = []

    def apply(
        self,
        ability: str,
        w: np.ndarray,
        point: np.ndarray | Points | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        is_truth = point is self.truths
        # a copy with other costs or outputs is not what the shards are of
        if self.packed is not self._whole or (isinstance(point, Points) and not is_truth):
            return super().apply(ability, w, point, out)
        tasks, w = [], self._weights(w)
        for k, (own, at) in enumerate(zip(self._references, self._touched, strict=True)):
            part = None if point is None or is_truth else point[slice(*self._bounds[k : k + 2])]
            points = "truth" if is_truth else pack_sparse(part)
            tasks.append((own, ability, points, out is not None, w[at]))
        _, told = self._engine.run(apply_shard, tasks)
        if out is not None:
            out[:] = np.concatenate([copy_arrays(own[1]) for own in told])
        return np.concatenate([own[0] for own in told])

    def likelihood(self, w: np.ndarray) -> tuple[float, float, np.ndarray]:
        w, pairs = self._weights(w), zip(self._references, self._touched, strict=True)
        _, told = self._engine.run(sum_likelihood, [(own, w[at]) for own, at in pairs])
        smooth, gradient = sum(own[0] for own in told), np.zeros(self.dim)
        for at, own in zip(self._touched, told, strict=True):
            gradient[at] += own[1]
        return self.likelihood_of(w, smooth, gradient)


def run_on_engine(
    engine: str | Engine | None,
    solver: Solver,
    problem: Problem,
    state: State | None = None,
    callbacks: Sequence[Callback] = (),
) -> Result:
    """Solve a problem where an engine computes.

    Parameters
    ----------
    engine : str, Engine or None
        The engine; one that is given by its name ends with the run. None means this process.
    solver : Solver
        A solver.
    problem : Problem
        The training problem.
    state : State, default=None
        State to continue from.
    callbacks : sequence of Callback, default=()
        Callbacks of the run.

    Returns
    -------
    Result
        What `Solver.run` returns.
    """
    found = resolve_engine(engine)
    if found is None:
        return solver.run(problem, state, callbacks)
    check_parallel(solver)
    try:
        if solver.parallel == "rounds":
            return Rounds(solver, found).run(problem, state, callbacks)
        problem = SummedProblem.of(problem, found)
        try:
            return solver.run(problem, state, callbacks)
        finally:
            problem.release()
    finally:
        if isinstance(engine, str):
            found.close()


def check_parallel(solver: Solver) -> None:
    """Raise a ValueError if a solver cannot work on shards.

    Parameters
    ----------
    solver : Solver
        A solver.
    """
    if not solver.parallel:
        able = [name for name, kind in solver_classes().items() if kind.parallel]
        raise ValueError(
            f"{type(solver).__name__} works in one process only; leave out engine, or use one of"
            f" {', '.join(able)}."
        )
