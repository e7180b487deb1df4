"""Limited-memory BFGS for the likelihood."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from maxmargin.problem import Problem
from maxmargin.result import State
from maxmargin.solvers.base import Solver

_ENOUGH = 1e-4  # share of the promised decrease that a step must bring
_FLATTER = 0.9  # share of the slope along the step that may be left
_TRIES = 30


class LBFGS(Solver):
    """Minimise the penalised negative log-likelihood by quasi-Newton steps of all samples at once.

    An epoch is one step: a direction from the last `memory` changes of the gradient, and a line
    search until the weak Wolfe conditions hold, mostly one pass of `tilt` over the samples. The
    expectations of that pass are a dual point, so the gap |gradient|^2 / (2 alpha) comes for free.

    Reference: Liu, Nocedal, Mathematical Programming 1989.
    """

    name: ClassVar[str] = "lbfgs"
    requires: ClassVar[tuple[tuple[str, ...], ...]] = (("tilt",),)
    objectives: ClassVar[tuple[str, ...]] = ("likelihood",)

    def __init__(
        self,
        memory: int = 10,
        max_epochs: int | None = None,
        tol: float | None = None,
        random_state: Any = None,
        check_every: int | None = None,
    ):
        self.memory = memory
        self.max_epochs = max_epochs
        self.tol = tol
        self.random_state = random_state
        self.check_every = check_every

    def init(self, problem: Problem) -> State:
        state = State(np.zeros(problem.dim), problem.truth.copy(), self.generator())
        self._begin(problem, state)
        return state

    def _begin(self, problem: Problem, state: State) -> None:
        size = int(self.memory)
        state.extra = {
            "moves": np.zeros((size, problem.dim)),
            "turns": np.zeros((size, problem.dim)),
            "kept": 0,
            "bound": -np.inf,
        }
        state.extra["value"], state.extra["gradient"] = self._look(problem, state, state.w)

    def _adopt(self, problem: Problem, state: State) -> None:
        w = state.w.copy()
        super()._adopt(problem, state)
        state.w[:] = w  # all that counts here
        self._begin(problem, state)

    def _look(self, problem: Problem, state: State, w: np.ndarray) -> tuple[float, np.ndarray]:
        """P(w) and its gradient; one pass, whose dual value is kept."""
        value, dual, slope = problem.likelihood(w)
        state.n_oracle += problem.n
        state.extra["bound"] = max(state.extra["bound"], dual)
        return value, slope + problem.alpha * w

    def epoch(self, problem: Problem, state: State) -> None:
        extra = state.extra
        gradient = extra["gradient"]
        if not gradient.any():
            return
        direction = self._direction(extra)
        slope = float(gradient @ direction)
        step = 1.0 if extra["kept"] else 1.0 / float(np.linalg.norm(gradient))
        low, high = 0.0, np.inf
        for _ in range(_TRIES):
            w = state.w + step * direction
            value, new = self._look(problem, state, w)
            if not value <= extra["value"] + _ENOUGH * step * slope:
                high = step
            elif float(new @ direction) < _FLATTER * slope:
                low = step
            else:
                break
            step = 2.0 * step if high == np.inf else (low + high) / 2
        if value < extra["value"]:
            self._keep(extra, w - state.w, new - gradient)
            state.w[:] = w
            extra["value"], extra["gradient"] = value, new

    def _direction(self, extra: dict[str, Any]) -> np.ndarray:
        """The two loops over the last moves and turns of the gradient, newest first."""
        kept, size = extra["kept"], len(extra["moves"])
        q = -extra["gradient"]
        shares = []
        for k in range(kept - 1, max(kept - size, 0) - 1, -1):
            move, turn = extra["moves"][k % size], extra["turns"][k % size]
            share = float(move @ q) / float(move @ turn)
            q = q - share * turn
            shares.append((k, share))
        if kept:
            move, turn = extra["moves"][(kept - 1) % size], extra["turns"][(kept - 1) % size]
            q = q * (float(move @ turn) / float(turn @ turn))
        for k, share in reversed(shares):
            move, turn = extra["moves"][k % size], extra["turns"][k % size]
            q = q + (share - float(turn @ q) / float(move @ turn)) * move
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
