"""Items within one or several capacities."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from maxmargin.oracles.base import Oracle, check_scores
from maxmargin.oracles.compiled import CompiledOracle
from maxmargin.oracles.linear_program.maximize import maximize_linear
from maxmargin.structures.base import Layout
from maxmargin.structures.decisions.selection import Selection
from maxmargin.structures.linear_program.program import Program

#: what weights are multiplied by to make them integers, in turn
_SCALES = 1, 10, 100, 1000, 10_000
#: entries of the table of dynamic programming, at most
_LARGEST_TABLE = 1 << 22
#: items that branch and bound takes, at most: with more, programs in integers have better bounds
_MOST_BRANCHED = 32


class Knapsack(Selection):
    """Items whose weights do not exceed a capacity, in one dimension or several. layout = (m,).

    Parts: one per item. Items of negative scores are left out.

    Parameters
    ----------
    weights : array_like of shape (m,) or (dimensions, m)
        Weights of the items, not negative.
    capacity : float or array_like of shape (dimensions,)
        Largest sum of the weights of chosen items; one number stands for all dimensions.

    Notes
    -----
    Weights of one dimension with at most four decimals are taken for integers, and outputs are
    found by dynamic programming. Those of several dimensions, or of a large capacity, by branch and
    bound, for 32 items at most; that takes seconds where scores are nearly proportional to weights.
    Other weights and more items are left to HiGHS, whose outputs come with a proven bound.
    """

    listed_in = "items in weights"

    def __init__(self, weights: Any, capacity: Any):
        self.weights = weights
        self.capacity = capacity

    def _make_oracle(self) -> Oracle:
        weights, capacity = self._sizes()
        whole = _as_integers(weights, capacity)
        if whole is not None:
            sizes, room = whole
            if len(room) == 1 and sizes.shape[1] * (int(room[0]) + 1) <= _LARGEST_TABLE:
                return TableOracle(self, sizes, room)
            if sizes.shape[1] <= _MOST_BRANCHED:
                return BranchOracle(self, sizes, room)
        return IntegerOracle(self)

    def _sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights of shape (dimensions, m) and a capacity for each dimension, checked."""
        try:
            weights, capacity = _numbers(self.weights), _numbers(self.capacity)
            weights = np.atleast_2d(weights)
            if capacity.ndim and capacity.shape != (len(weights),):
                raise ValueError(f"capacity has shape {capacity.shape}")
            capacity = np.broadcast_to(capacity, (len(weights),)).copy()
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(
                "weights must be numbers of shape (m,) or (dimensions, m), capacity one number or"
                f" one for each dimension ({error})."
            ) from None
        if weights.ndim != 2 or not weights.size:
            raise ValueError(f"weights have shape {weights.shape}, expected (dimensions, m).")
        if not (np.isfinite(weights).all() and np.isfinite(capacity).all()):
            raise ValueError("weights and capacity must be finite.")
        if weights.min() < 0 or capacity.min() < 0:
            raise ValueError("weights and capacity must not be negative.")
        return weights, capacity

    def size(self) -> int:
        return int(np.shape(np.atleast_1d(self.weights))[-1])

    def why_infeasible(self, z: np.ndarray, layout: Layout) -> str:
        weights, capacity = self._sizes()
        total = weights @ z
        over = np.flatnonzero(total > _room(weights, capacity))
        if not len(over):
            return ""
        where = f" in dimension {over[0]}" if len(capacity) > 1 else ""
        return f"items weigh {total[over[0]]:g}{where}, more than {capacity[over[0]]:g}"

    def vertices(self, layout: Layout) -> Iterator[np.ndarray]:
        count = self.n_parts(layout)
        stack = [np.zeros(0)]
        while stack:
            z = stack.pop()
            if len(z) == count:
                yield z
                continue
            for choice in (0.0, 1.0):
                more = np.append(z, choice)
                if not self.why_infeasible(np.pad(more, (0, count - len(more))), layout):
                    stack.append(more)


def _numbers(values: Any) -> np.ndarray:
    """Values as floats; texts are no numbers."""
    found = np.asarray(values)
    if found.dtype.kind not in "biufO":
        raise TypeError(f"found {found.dtype.name}")
    return found.astype(np.float64)


class TableOracle(CompiledOracle):
    """Dynamic programming over integer capacities.

    Parameters
    ----------
    structure : Knapsack
        Structure whose outputs are found.
    weights : ndarray of int of shape (1, m)
        Weights of the items.
    capacity : ndarray of int of shape (1,)
        The capacity.
    """

    compiled: ClassVar[dict[str, str]] = {"maximize": "decisions.knapsack"}
    projects_by_maximize = True

    def __init__(self, structure: Knapsack, weights: np.ndarray, capacity: np.ndarray):
        super().__init__(structure)
        self.ints = np.concatenate([[weights.shape[1]], capacity, weights[0]])

    def layout_as_ints(self, layout: Layout) -> Any:
        return self.ints

    def scratch(self, layout: Layout) -> tuple[int, int]:
        count, room = int(self.ints[0]), int(self.ints[1])
        return room + 1, count * (room + 1)


class BranchOracle(CompiledOracle):
    """Branch and bound over items, with bounds by each dimension alone.

    Parameters
    ----------
    structure : Knapsack
        Structure whose outputs are found.
    weights : ndarray of int of shape (dimensions, m)
        Weights of the items.
    capacity : ndarray of int of shape (dimensions,)
        The capacities.
    """

    compiled: ClassVar[dict[str, str]] = {"maximize": "decisions.branch_and_bound"}
    is_expensive = True  # beside steps between known outputs: a third of the calls, no more time
    projects_by_maximize = True

    def __init__(self, structure: Knapsack, weights: np.ndarray, capacity: np.ndarray):
        super().__init__(structure)
        self.ints = np.concatenate([weights.shape[::-1], capacity, weights.ravel()])

    def layout_as_ints(self, layout: Layout) -> Any:
        return self.ints

    def scratch(self, layout: Layout) -> tuple[int, int]:
        count, dimensions = int(self.ints[0]), int(self.ints[1])
        return 2 * count + 1, (dimensions + 3) * count + dimensions


class IntegerOracle(Oracle):
    """A program in integers, solved by HiGHS with a bound."""

    structure: Knapsack
    is_expensive = True
    is_exact = False
    is_bounded = True

    def maximize(self, theta: np.ndarray, layout: Layout) -> tuple[np.ndarray, float]:
        weights, capacity = self.structure._sizes()
        scores = check_scores(self.structure, theta, layout)
        unit = weights.max(axis=1)
        unit[unit == 0] = 1.0  # of any other size, weights are lost in HiGHS's tolerances
        room = _room(weights, capacity) / unit
        rows = Program(weights / unit[:, None], room, part_upper=1.0).constraints
        return maximize_linear(rows, scores, np.ones(len(scores), dtype=bool))


def _room(weights: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    """What items may weigh together in each dimension: sums of rounded weights are a bit more."""
    return capacity + 1e-9 * np.maximum(capacity, weights.max(axis=1))


def _as_integers(weights: np.ndarray, capacity: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The same weights and capacities in integers, as small as possible; None if there are none."""
    for scale in _SCALES:
        scaled = np.rint(scale * weights)
        near = 1e-9 * scale * min(weights.max(), 1.0)
        if np.abs(scaled - scale * weights).max() > near or scaled.max() > 2**31:
            continue
        room = np.minimum(np.floor(scale * capacity * (1 + 1e-12) + 1e-9), scaled.sum(axis=1))
        whole = scaled.astype(np.int64)
        unit = np.maximum(np.gcd.reduce(whole, axis=1), 1)
        return whole // unit[:, None], room.astype(np.int64) // unit
    return None
