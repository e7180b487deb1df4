"""Problems whose oracle calls of all samples are computed by an engine."""

from __future__ import annotations

from copy import copy

import numpy as np

from maxmargin._numba.packed_samples import Points
from maxmargin.parallel.engines import Engine
from maxmargin.parallel.shards import ShardSet, split_problem
from maxmargin.problem import Problem


class SummedProblem(Problem):
    """A problem whose `apply` and `likelihood` are computed shard by shard."""

    shards: ShardSet
    #: costs of the shards are divided by it
    _divisor = 1.0
    _bounds: np.ndarray
    _whole: object

    @classmethod
    def of(cls, problem: Problem, engine: Engine) -> SummedProblem:
        """Hand out the samples of a problem."""
        found = copy(problem)
        found.__class__ = cls
        assert isinstance(found, SummedProblem)
        parts = split_problem(problem, engine.n_workers)
        found._whole = found.packed
        found._bounds = np.cumsum([0, *(int(own.part_ptr[-1]) for own in parts)])
        found.shards = ShardSet(engine, found.oracle, parts, [None] * len(parts))
        found.shards.describe()
        return found

    def with_divided_costs(self, divisor: float) -> SummedProblem:
        """Return the same with other costs, which shards divide for themselves."""
        found = super().with_divided_costs(divisor)
        assert isinstance(found, SummedProblem)
        found._whole, found._divisor = found.packed, self._divisor * divisor
        return found

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
        w = self._weights(w)

        def arguments(k: int) -> tuple[object, ...]:
            own = slice(*self._bounds[k : k + 2])
            points = "truth" if is_truth else None if point is None else point[own]
            w_own = w[self.shards.records[k].places()]
            return ability, points, out is not None, self._divisor, w_own

        told = self.shards.call("apply", arguments, changes=False)
        if out is not None:
            out[:] = np.concatenate([own[1] for own in told])
        return np.concatenate([own[0] for own in told])

    def likelihood(self, w: np.ndarray) -> tuple[float, float, np.ndarray]:
        w, records = self._weights(w), self.shards.records
        arguments = lambda k: (w[records[k].places()],)  # noqa: E731
        told = self.shards.call("likelihood", arguments, changes=False)
        gradient = np.zeros(self.dim)
        for shard, (_, own) in zip(records, told, strict=True):
            gradient[shard.places()] += own
        return self.likelihood_of(w, sum(own[0] for own in told), gradient)
