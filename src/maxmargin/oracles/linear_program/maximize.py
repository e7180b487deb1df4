"""Maximisation over linear rows, in integers or not, with a proof of how good the answer is.

HiGHS has absolute tolerances: beside a score of 1e8, scores of 1 would be lost in them. Here rows
have scores, too, beside the parts: (theta - A'p, p) for prices p of the rows A z. Their sum is
theta . z whatever p is. With the prices of the relaxed program, large scores are of parts and rows
that stay at one of their bounds. These may be cut off at some size: what is cut off adds up to no
more than at its best bounds, which is a proof if the answer is there, and always an upper bound.
Cut off at 0, that is the weak duality of linear programs.
"""

from __future__ import annotations

from copy import copy
from functools import cached_property
from heapq import heappop, heappush
from time import monotonic

import numpy as np
from scipy import sparse

from maxmargin.exceptions import InfeasibleError
from maxmargin.oracles.constraints import Constraints, part_score
from maxmargin.oracles.linear_program.highs import (
    INFEASIBLE,
    TIMED_OUT,
    endless_part,
    solve_linear,
    solve_whole,
    violated_row,
)

#: relaxed programs are solved so often at most, each time for what the last prices left over, cut
#: off at so much less
_ROUNDS, _FINER = 3, 1e-5
#: in integers, scores are cut off at this many times their median first, and then at this many
#: times more
_FIRST, _COARSER = 8.0, 1e3
#: sums are equal if they differ by less than this times the sum of the sizes of their terms
_ROUNDING = 2.0**-50
#: numbers nearer to whole ones than this are whole
_NEAR = 1e-9
#: what rows may be off by after numbers near whole ones were made whole, relative to the size of
#: their terms
_KEPT = 1e-7
_LATE = "no output was found in time, nor a proof that there is none."
#: seconds that HiGHS gets at least
_SHORTEST = 1e-3
#: relaxed programs that are solved at most where HiGHS' answer in integers is not proven
_NODES = 200


def maximize_linear(
    constraints: Constraints,
    theta: np.ndarray,
    integrality: np.ndarray | None = None,
    ceiling: np.ndarray | None = None,
    end: float = np.inf,
) -> tuple[np.ndarray, float]:
    """The argmax of theta . z over the polytope, a vertex, and a proven bound on that maximum.

    The bound is the score of the vertex itself where that is the maximum up to rounding.

    integrality : which of the first columns must be integers; then by branch and bound.
    ceiling : what the columns may be at most, besides what rows say.
    end : when branch and bound must stop, by `time.monotonic`; a TimeoutError if there is no answer
        by then.
    """
    rows = _Rows(constraints, theta, integrality, ceiling, end)
    x, scores, bound = rows.relaxed()
    if not rows.is_whole(x):
        x, bound = rows.branched(scores, bound)
    x = rows.rounded(x)[: len(theta)]
    value = part_score(theta, x)
    return x, value if bound - value <= rows.noise(scores) else bound


class _Rows:
    """max theta . x  where  low <= (x, A x) <= high; columns are parts, auxiliary ones and rows."""

    def __init__(
        self,
        constraints: Constraints,
        theta: np.ndarray,
        integrality: np.ndarray | None = None,
        ceiling: np.ndarray | None = None,
        end: float = np.inf,
    ):
        self.constraints, self.theta, self.end = constraints, theta, end
        n_rows, self.n_columns = constraints.matrix.shape
        self.matrix = sparse.hstack([constraints.matrix, -sparse.eye_array(n_rows)], format="csr")
        self.whole = np.zeros(n_rows + self.n_columns, dtype=bool)
        if integrality is not None:
            self.whole[: len(integrality)] = integrality
        high = _implied_ceiling(constraints)
        if ceiling is not None:
            high = np.minimum(high, ceiling)
        high[: len(theta)][np.isneginf(theta)] = 0.0
        self.ceiling, own = high.copy(), self.whole[: self.n_columns]
        high[own] = np.floor(high[own] + _NEAR)
        self.low = np.concatenate([np.zeros(self.n_columns), constraints.lower])
        self.high = np.concatenate([high, constraints.upper])

    def priced(self, prices: np.ndarray) -> np.ndarray:
        """Scores of all columns, the sum of which is theta . x for all prices."""
        scores = np.append(-(self.constraints.matrix.T @ prices), prices)
        scores[: len(self.theta)] += np.where(self.high[: len(self.theta)] > 0, self.theta, 0.0)
        return scores

    def cut(self, scores: np.ndarray, size: float = np.inf) -> np.ndarray:
        """Scores cut off at a size; columns that are fixed need none."""
        return np.where(self.low == self.high, 0.0, np.clip(scores, -size, size))

    def most(self, scores: np.ndarray) -> float:
        """An upper bound on the sum of all scores: each column at its best bound."""
        on = scores != 0
        scores, low, high = scores[on], self.low[on], self.high[on]
        return float(scores @ np.where(scores > 0, high, low))

    def noise(self, scores: np.ndarray) -> float:
        """What rounding may add to sums of these scores."""
        ends = np.where(scores > 0, self.high, self.low)
        ends = np.where(np.isfinite(ends), np.abs(ends), 1.0)
        return _ROUNDING * float(np.abs(scores) @ ends)

    def relaxed(self) -> tuple[np.ndarray, np.ndarray, float]:
        """The best x, whole or not, scores at the best prices, and a bound on the maximum."""
        prices, size = np.zeros(len(self.constraints.lower)), np.inf
        scores = self.priced(prices)
        x, bound = None, np.inf
        for _ in range(_ROUNDS):
            costs = -self.cut(scores, size)
            solution = solve_linear(costs, self.matrix, self.low, self.high, self._seconds())
            if solution.x is None:
                break
            x = solution.x[: self.n_columns]
            prices = self._signed(prices - solution.prices)
            found = self.priced(prices)
            top = self.most(self._closed(found, prices))
            if top < bound:
                bound, scores = top, found
            value = part_score(self.theta, x[: len(self.theta)])
            if bound - value <= self.noise(scores):
                break
            size = _FINER * min(size, float(np.abs(costs).max()))
        if x is None and solution.status == TIMED_OUT:
            raise TimeoutError(_LATE)
        if x is None:
            raise InfeasibleError(self._why(solution.status, solution.message))
        return x, scores, bound

    def _seconds(self) -> float | None:
        """How long HiGHS may take."""
        return None if self.end == np.inf else max(self.end - monotonic(), _SHORTEST)

    def _signed(self, prices: np.ndarray) -> np.ndarray:
        """Prices without those that pay for what has no bound."""
        ends = np.where(prices > 0, self.constraints.upper, self.constraints.lower)
        return np.where(np.isfinite(ends), prices, 0.0)

    def _closed(self, scores: np.ndarray, prices: np.ndarray) -> np.ndarray:
        """The scores without those that columns without a known end have by rounding."""
        endless = np.flatnonzero((scores > 0) & np.isposinf(self.high))
        if not len(endless):
            return scores
        sizes = abs(self.constraints.matrix).T @ np.abs(prices)
        sizes[: len(self.theta)] += np.abs(scores[: len(self.theta)])
        noise = endless[scores[endless] <= _ROUNDING * sizes[endless]]
        scores = scores.copy()
        scores[noise] = 0.0
        if len(noise) < len(endless):
            self.high[: self.n_columns] = np.minimum(self.high[: self.n_columns], self._largest_sum)
        return scores

    @cached_property
    def _largest_sum(self) -> float:
        """What no column exceeds: the largest sum of those without a known end."""
        costs = -np.isposinf(self.high).astype(float)
        costs[self.n_columns :] = 0.0
        solution = solve_linear(costs, self.matrix, self.low, self.high)
        return np.inf if solution.x is None else float(-costs @ solution.x) * (1 + 1e-6)

    def is_whole(self, x: np.ndarray) -> bool:
        """Whether the numbers that must be whole are, up to what rows allow."""
        own = self.whole[: len(x)]
        whole = np.where(own, np.rint(x), x)
        return not (np.abs(x - whole) > _NEAR).any() and (not own.any() or self._keeps(whole))

    def rounded(self, x: np.ndarray) -> np.ndarray:
        """X with integers where it must have them, and where it nearly has and rows allow."""
        whole = np.rint(x)
        x = np.where(self.whole[: len(x)], whole, x)
        near = np.where(np.abs(x - whole) < _NEAR, whole, x)
        return near if self._keeps(near) else x

    def _keeps(self, x: np.ndarray) -> bool:
        """Whether all rows hold: numbers near whole ones may count for much there."""
        matrix, lower, upper = self.constraints
        values, room = matrix @ x, _KEPT * (1 + abs(matrix) @ np.abs(x))
        return not ((values > upper + room) | (values < lower - room)).any()

    def branched(self, scores: np.ndarray, bound: float) -> tuple[np.ndarray, float]:
        """The best x with integers, and a bound on the maximum."""
        free = np.abs(self.cut(scores))
        largest = float(free.max(initial=0.0))
        size = _FIRST * float(np.median(free[free > 0])) if largest else 1.0
        best, value = None, -np.inf
        while True:
            own = self.cut(scores, size)
            bounds = self.low, self.high
            solution = solve_whole(-own, self.matrix, *bounds, self.whole, self._seconds())
            x = None if solution.x is None else self._completed(solution.x)
            if x is not None and self._value(x) > value:
                best, value = x, self._value(x)
            if solution.status != INFEASIBLE:
                bound = min(bound, self.most(scores - own) - solution.least)
            proven = bound - value <= max(self.noise(scores), 2 * solution.unsure)
            if proven or size >= largest or solution.status == TIMED_OUT:
                break
            size *= _COARSER
        if not proven and solution.status != TIMED_OUT:
            best, bound = self._searched(best, bound)
        if best is None:
            if solution.status == TIMED_OUT or (solution.status != INFEASIBLE and bound > -np.inf):
                raise TimeoutError(_LATE)
            raise InfeasibleError(self._why(solution.status, solution.message))
        return best, bound

    def _value(self, x: np.ndarray) -> float:
        return part_score(self.theta, x[: len(self.theta)])

    def _completed(self, found: np.ndarray) -> np.ndarray | None:
        """The best x with these integers, which are so up to the solver's tolerance.

        None if rows do not allow it: beside large coefficients, that tolerance is wide.
        """
        x = found[: self.n_columns]
        x = np.where(self.whole[: len(x)], np.rint(x), x)
        kept = self._keeps(x)
        if kept and self.whole[: len(self.theta)].all():
            return x
        costs, own = -self.cut(self.priced(np.zeros(len(self.constraints.lower)))), self.whole
        low, high = self.low.copy(), self.high.copy()
        low[own] = high[own] = x[own[: len(x)]]
        solution = solve_linear(costs, self.matrix, low, high)
        if solution.x is not None:
            return solution.x[: self.n_columns]
        return x if kept else None

    def _searched(self, best: np.ndarray | None, bound: float) -> tuple[np.ndarray | None, float]:
        """The best x, and a bound, by branching on relaxed programs, whose tolerance is narrow.

        best : what is known.
        """
        value = -np.inf if best is None else self._value(best)
        left, settled, solved = [(-bound, 0, self)], -np.inf, 0
        while left and -left[0][0] > value and solved < _NODES and monotonic() < self.end:
            node = heappop(left)
            rows = node[2]
            solved += 1
            try:
                x, scores, top = rows.relaxed()
            except InfeasibleError:
                continue
            except TimeoutError:
                heappush(left, node)
                break
            x = np.clip(x, rows.low[: len(x)], rows.high[: len(x)])
            whole = rows._completed(x)
            if whole is not None and self._value(whole) > value:
                best, value = whole, self._value(whole)
            off = np.where(self.whole[: len(x)], np.abs(x - np.rint(x)), 0.0)
            k = int(off.argmax())
            if top - value <= rows.noise(scores) or off[k] == 0:
                settled = max(settled, top)
                continue
            for side, end_of_side in (("high", np.floor(x[k])), ("low", np.floor(x[k]) + 1)):
                part = copy(rows)
                part.low, part.high = rows.low.copy(), rows.high.copy()
                getattr(part, side)[k] = end_of_side
                heappush(left, (-top, 2 * solved + (side == "low"), part))
        return best, min(bound, max([settled, value, *(-top for top, *_ in left)]))

    def _why(self, status: int, message: str) -> str:
        """Why there is no maximum, with the row or part where that shows."""
        row = violated_row(self.constraints, self.ceiling)
        if row >= 0:
            return f"no output satisfies all rows: row {row} cannot hold together with the others."
        scores = self.priced(np.zeros(len(self.constraints.lower)))[: self.n_columns]
        part = endless_part(self.constraints, self.ceiling, -scores)
        if part >= 0:
            return (
                f"the program has no bound: part {part} may grow for ever. Give it an upper bound."
            )
        if self.whole.any() and status == INFEASIBLE:
            return "no output of integers satisfies all rows."
        return f"the linear program has no solution: {message}"


def _implied_ceiling(constraints: Constraints) -> np.ndarray:
    """What each column is at most by a row that has it with no negative coefficients."""
    matrix = sparse.csr_array(constraints.matrix)
    n_rows, n_columns = matrix.shape
    row = np.repeat(np.arange(n_rows), np.diff(matrix.indptr))
    negative = np.zeros(n_rows, dtype=bool)
    negative[row[matrix.data < 0]] = True
    own = ~negative[row] & (matrix.data > 0)
    ceiling = np.full(n_columns, np.inf)
    room = np.maximum(constraints.upper[row[own]], 0.0) / matrix.data[own]
    np.minimum.at(ceiling, matrix.indices[own], room)
    return ceiling
