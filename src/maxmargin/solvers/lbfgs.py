"""Limited-memory BFGS for the likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from maxmargin.problem import Problem
from maxmargin.result import State, empty_array, state_field
from maxmargin.solvers.base import Requires, Solver
from maxmargin.validation.options import Bounds, Count, CountOrZero, NonNegativeOrInf, Seed

_ENOUGH = 1e-4  # share of the promised decrease that a step must bring
_FLATTER = 0.9  # share of the slope along the step that may be left
_TRIES = 40
_ROUND = 1e-8  # relative gap below which a search that finds nothing has met the rounding


@dataclass(repr=False)
class LBFGSState(State):
    """State of `LBFGS`."""

    #: objective at w, its gradient, and the best lower bound
    value: float = state_field(np.inf)
    gradient: np.ndarray = state_field(empty_array)
    bound: float = state_field(-np.inf)
    #: changes of w and of the gradient, number k in row k modulo `memory`; how many there were
    weight_changes: np.ndarray = state_field(lambda: np.empty((0, 0)))
    gradient_changes: np.ndarray = state_field(lambda: np.empty((0, 0)))
    n_changes: int = state_field(0, check="count")
    #: whether no step decreases the objective
    is_stuck: bool = state_field(False)
    #: whether `value` is of a pass of this run, so that certificates need none of their own
    is_known: bool = state_field(False)


class LBFGS(Solver[LBFGSState]):
    """Minimise the penalised negative log-likelihood by quasi-Newton steps of all samples at once.

    An epoch is one step: a direction from the last `memory` changes of the gradient, and a line
    search until the weak Wolfe conditions hold, mostly one pass of `marginals` over the samples.
    The expectations of that pass are a dual point, so that the gap `|gradient|^2 / (2 alpha)` needs
    no further pass.

    Parameters
    ----------
    memory : int, default=10
        Number of stored changes of the gradient.

    References
    ----------
    Liu, Nocedal, Mathematical Programming 1989.
    """

    name: ClassVar[str] = "lbfgs"
    summary: ClassVar[str] = "L-BFGS: quasi-Newton steps on the likelihood of all samples at once."
    requires: ClassVar[Requires] = Requires(
        abilities=(("marginals",),), expectations=True, objectives=("likelihood",), shards="sums"
    )
    state_class = LBFGSState

    def __init__(
        self,
        memory: Annotated[int, Bounds(1, 10_000)] = 10,
        max_epochs: CountOrZero | None = None,
        tol: NonNegativeOrInf | None = None,
        random_state: Seed = None,
        check_every: Count | None = None,
    ):
        self.memory = memory
        self.max_epochs = max_epochs
        self.tol = tol
        self.random_state = random_state
        self.check_every = check_every

    def init(self, problem: Problem) -> LBFGSState:
        state = LBFGSState(np.zeros(problem.dim), np.empty(0), self.generator())
        self._begin(problem, state)
        return state

    def _begin(self, problem: Problem, state: LBFGSState) -> None:
        shape = (int(self.memory), problem.dim)
        state.weight_changes, state.gradient_changes = np.zeros(shape), np.zeros(shape)
        state.n_changes, state.bound, state.is_stuck = 0, -np.inf, False
        state.value, state.gradient = self._look(problem, state, state.w)
        state.is_known = True

    def _warm_start_from(self, problem: Problem, state: State) -> LBFGSState:
        w = state.w.copy()
        own = super()._warm_start_from(problem, state)
        own.w[:] = w  # all that counts here
        own.z = np.empty(0)
        self._begin(problem, own)
        return own

    def check_restored(self, problem: Problem, fresh: LBFGSState, state: LBFGSState) -> None:
        state.is_known = False

    def _finalize(self, problem: Problem, state: LBFGSState) -> None:
        state.is_known = False  # what is returned is computed once more

    def objective(self, problem: Problem, state: LBFGSState, w: np.ndarray) -> float:
        known = state.is_known and w is state.w
        return state.value if known else super().objective(problem, state, w)

    def _look(self, problem: Problem, state: LBFGSState, w: np.ndarray) -> tuple[float, np.ndarray]:
        """P(w) and its gradient; one pass, whose dual value is kept."""
        with np.errstate(over="ignore", invalid="ignore"):
            value, dual, gradient = problem.likelihood(w)
            finite = np.isfinite(value) and np.isfinite(gradient @ gradient)
        if not finite:
            _refuse(problem, gradient)
        state.n_oracle += problem.n
        state.bound = max(state.bound, float(dual))
        gradient += problem.alpha * w
        return value, gradient

    def epoch(self, problem: Problem, state: LBFGSState) -> None:
        if state.is_stuck or not state.gradient.any():
            return
        if not self._step(problem, state):
            # once more straight down, in case that what is remembered misleads
            again = state.n_changes > 0
            state.n_changes = 0
            state.is_stuck = not (again and self._step(problem, state))

    def _step(self, problem: Problem, state: LBFGSState) -> bool:
        """A line search; False if rounding hides every further decrease."""
        old, gradient = state.value, state.gradient
        direction = self._direction(state)
        slope = float(gradient @ direction)
        if not slope < 0:
            return False
        step, low, high = 1.0 if state.n_changes else self._first(state), 0.0, np.inf
        for _ in range(_TRIES):
            w = state.w + step * direction
            value, new = self._look(problem, state, w)
            left = float(new @ direction)
            if not _falls(old, value, step, slope, left):
                high = step
            elif left < _FLATTER * slope:
                low = step
            else:
                break
            step = 2.0 * step if high == np.inf else _between(low, high, old, value, slope)
        else:
            if not value < old:
                return False
        self._keep(state, w - state.w, new - gradient)
        state.w[:] = w
        state.value, state.gradient, state.is_known = value, new, True
        return True

    def _first(self, state: LBFGSState) -> float:
        """Where the tangent meets what is known to lie below: right for features of any scale."""
        room = state.value - max(state.bound, 0.0)
        return max(room, 1e-16) / float(state.gradient @ state.gradient)

    def _direction(self, state: LBFGSState) -> np.ndarray:
        """The two loops over the last changes of w and of the gradient, newest first."""
        moves, turns, kept = state.weight_changes, state.gradient_changes, state.n_changes
        q, size = -state.gradient, len(moves)
        shares = []
        for k in range(kept - 1, max(kept - size, 0) - 1, -1):
            move, turn = moves[k % size], turns[k % size]
            share = float(move @ q) / float(move @ turn)
            q -= share * turn
            shares.append((k, share))
        if kept:
            move, turn = moves[(kept - 1) % size], turns[(kept - 1) % size]
            q *= float(move @ turn) / float(turn @ turn)
        for k, share in reversed(shares):
            move, turn = moves[k % size], turns[k % size]
            q += (share - float(turn @ q) / float(move @ turn)) * move
        return q

    def _keep(self, state: LBFGSState, move: np.ndarray, turn: np.ndarray) -> None:
        if float(move @ turn) <= 1e-12 * float(turn @ turn):
            return
        place = state.n_changes % len(state.weight_changes)
        state.weight_changes[place], state.gradient_changes[place] = move, turn
        state.n_changes += 1

    def bound(self, problem: Problem, state: LBFGSState) -> float:
        return state.bound

    def estimate(self, state: LBFGSState) -> float:
        return state.value - state.bound

    def _has_converged(self, state: LBFGSState) -> bool:
        # no step brings more, so near the optimum that rounding is the reason
        return state.is_stuck and self.estimate(state) <= _ROUND * state.value


def _refuse(problem: Problem, gradient: np.ndarray) -> None:
    """Raise what is wrong with features so large that the gradient has no length."""
    with np.errstate(over="ignore", invalid="ignore"):
        # names the sample, if its scores are at error
        problem.apply("marginals", -gradient / problem.alpha)
    raise FloatingPointError("the gradient is not finite; scale the features down.")


def _falls(old: float, value: float, step: float, slope: float, left: float) -> bool:
    """Whether a step brings its share of the promised decrease.

    Where values differ by rounding only, the slopes at both ends tell (Hager, Zhang, SIAM Journal
    on Optimization 2005): of a parabola, the one says what the other does.
    """
    if value <= old + _ENOUGH * step * slope:
        return True
    return value <= old + 1e-13 * abs(old) and left <= (2 * _ENOUGH - 1) * slope


def _between(low: float, high: float, old: float, value: float, slope: float) -> float:
    """The next step: the lowest point of a parabola if nothing but too long ones is known."""
    middle = (low + high) / 2
    above = value - old - slope * high
    if low > 0 or not above > 0:
        return middle
    return float(np.clip(-slope * high**2 / (2 * above), 0.1 * high, 0.5 * high))
