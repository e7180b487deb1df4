"""Limited-memory BFGS for the likelihood."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from maxmargin.problem import Problem
from maxmargin.result import State
from maxmargin.solvers.base import Solver
from maxmargin.validation.options import Bounds, Count, CountOrZero, NonNegativeOrInf, Seed

_ENOUGH = 1e-4  # share of the promised decrease that a step must bring
_FLATTER = 0.9  # share of the slope along the step that may be left
_TRIES = 40
_ROUND = 1e-8  # relative gap below which a search that finds nothing has met the rounding


class LBFGS(Solver):
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
    requires: ClassVar[tuple[tuple[str, ...], ...]] = (("marginals",),)
    needs_expectations: ClassVar[bool] = True
    objectives: ClassVar[tuple[str, ...]] = ("likelihood",)

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

    def init(self, problem: Problem) -> State:
        state = State(np.zeros(problem.dim), np.empty(0), self.generator())
        self._begin(problem, state)
        return state

    def _begin(self, problem: Problem, state: State) -> None:
        size = int(self.memory)
        state.extra = {
            "moves": np.zeros((size, problem.dim)),
            "turns": np.zeros((size, problem.dim)),
            "kept": 0,
            "bound": -np.inf,
            "stuck": 0,
        }
        state.extra["value"], state.extra["gradient"] = self._look(problem, state, state.w)

    def _warm_start_from(self, problem: Problem, state: State) -> None:
        w = state.w.copy()
        super()._warm_start_from(problem, state)
        state.w[:] = w  # all that counts here
        state.z = np.empty(0)
        self._begin(problem, state)

    def _look(self, problem: Problem, state: State, w: np.ndarray) -> tuple[float, np.ndarray]:
        """P(w) and its gradient; one pass, whose dual value is kept."""
        with np.errstate(over="ignore", invalid="ignore"):
            value, dual, gradient = problem.likelihood(w)
            finite = np.isfinite(value) and np.isfinite(gradient @ gradient)
        if not finite:
            _refuse(problem, gradient)
        state.n_oracle += problem.n
        state.extra["bound"] = max(state.extra["bound"], dual)
        gradient += problem.alpha * w
        return value, gradient

    def epoch(self, problem: Problem, state: State) -> None:
        extra = state.extra
        if extra["stuck"] or not extra["gradient"].any():
            return
        if not self._step(problem, state):
            # once more straight down, in case that what is remembered misleads
            again = extra["kept"] > 0
            extra["kept"] = 0
            extra["stuck"] = int(not (again and self._step(problem, state)))

    def _step(self, problem: Problem, state: State) -> bool:
        """A line search; False if rounding hides every further decrease."""
        extra = state.extra
        old, gradient = extra["value"], extra["gradient"]
        direction = self._direction(extra)
        slope = float(gradient @ direction)
        if not slope < 0:
            return False
        step, low, high = 1.0 if extra["kept"] else self._first(extra), 0.0, np.inf
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
        self._keep(extra, w - state.w, new - gradient)
        state.w[:] = w
        extra["value"], extra["gradient"] = value, new
        return True

    def _first(self, extra: dict[str, Any]) -> float:
        """Where the tangent meets what is known to lie below: right for features of any scale."""
        room = extra["value"] - max(extra["bound"], 0.0)
        return max(room, 1e-16) / float(extra["gradient"] @ extra["gradient"])

    def _direction(self, extra: dict[str, Any]) -> np.ndarray:
        """The two loops over the last moves and turns of the gradient, newest first."""
        kept, size = extra["kept"], len(extra["moves"])
        q = -extra["gradient"]
        shares = []
        for k in range(kept - 1, max(kept - size, 0) - 1, -1):
            move, turn = extra["moves"][k % size], extra["turns"][k % size]
            share = float(move @ q) / float(move @ turn)
            q -= share * turn
            shares.append((k, share))
        if kept:
            move, turn = extra["moves"][(kept - 1) % size], extra["turns"][(kept - 1) % size]
            q *= float(move @ turn) / float(turn @ turn)
        for k, share in reversed(shares):
            move, turn = extra["moves"][k % size], extra["turns"][k % size]
            q += (share - float(turn @ q) / float(move @ turn)) * move
        return q

    def _keep(self, extra: dict[str, Any], move: np.ndarray, turn: np.ndarray) -> None:
        if float(move @ turn) <= 1e-12 * float(turn @ turn):
            return
        place = extra["kept"] % len(extra["moves"])
        extra["moves"][place], extra["turns"][place] = move, turn
        extra["kept"] += 1

    def bound(self, problem: Problem, state: State) -> float:
        return float(state.extra["bound"])

    def estimate(self, state: State) -> float:
        return float(state.extra["value"] - state.extra["bound"])

    def has_converged(self, state: State) -> bool:
        # no step brings more, so near the optimum that rounding is the reason
        return bool(state.extra["stuck"]) and self.estimate(state) <= _ROUND * state.extra["value"]


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
