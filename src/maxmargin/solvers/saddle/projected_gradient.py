"""Averaged projected gradient."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from maxmargin.problem import Problem
from maxmargin.result import State
from maxmargin.solvers.saddle.base import SaddleSolver
from maxmargin.validation.options import Count, CountOrZero, NonNegativeOrInf, Positive, Ratio, Seed


class ProjectedGradient(SaddleSolver):
    """Step w and z along their gradients, project both, and return the average of the iterates.

    There is no extrapolation: the iterates may circle around the saddle point, and the average
    converges only as 1 / sqrt(t), with a step that decreases at this rate. The method exists for
    comparison.

    Parameters
    ----------
    step : float or "norm", default="norm"
        Length of the first step: "norm" (1 / L by power iteration) or a number.
    decay : bool, default=True
        Whether to divide the step by sqrt(t).
    ratio : float or "auto", default="auto"
        Step length in w relative to that in z; see `SaddleSolver`. "auto" is always that of the
        papers; with a penalty a smaller one often ends nearer to the optimum.

    References
    ----------
    Taskar, Lacoste-Julien, Jordan, JMLR 2006, equation 16.
    """

    name: ClassVar[str] = "projected-gradient"
    summary: ClassVar[str] = "Projected gradients of weights and outputs at once, averaged."

    def __init__(
        self,
        step: Positive | Literal["norm"] = "norm",
        decay: bool = True,
        ratio: Ratio | Literal["auto"] = "auto",
        max_epochs: CountOrZero | None = None,
        tol: NonNegativeOrInf | None = None,
        random_state: Seed = None,
        check_every: Count | None = None,
    ):
        self.step = step
        self.decay = decay
        self.ratio = ratio
        self.max_epochs = max_epochs
        self.tol = tol
        self.random_state = random_state
        self.check_every = check_every

    def find_ratio(self, problem: Problem) -> float:
        # that of the papers, with which this is here to be compared, penalty or none
        if self.ratio != "auto":
            return float(self.ratio)
        return self.plain_ratio(problem)

    def init(self, problem: Problem) -> State:
        state = State(np.zeros(problem.dim), problem.truth.copy(), self.generator())
        self.begin(problem, state)
        return state

    def begin(self, problem: Problem, state: State) -> None:
        super().begin(problem, state)
        extra = state.extra
        extra["last_w"], extra["last_z"] = state.w.copy(), state.z.copy()
        extra["last_gradient"], extra["passed"] = extra["gradient"].copy(), 0.0

    def epoch(self, problem: Problem, state: State) -> None:
        extra, t = state.extra, state.extra["passed"] + 1.0
        geometry, w, z = (
            self.weight_geometry(problem, extra["ratio"]),
            extra["last_w"],
            extra["last_z"],
        )
        step = extra["step"] / (np.sqrt(t) if self.decay else 1.0)
        moved = geometry.step(w, -(problem.alpha * w + extra["last_gradient"]), step)
        gradient, sums_of_pass = self.ascend(
            problem, w, step, z, z, extra["warm_v"], extra["pointers"]
        )
        extra["last_w"], extra["last_gradient"], extra["passed"] = moved, gradient, t
        state.n_project += problem.n
        # longer steps count for more, so that early points fade no faster than they should
        extra["weight"] = extra.get("weight", 0.0) + step
        share = step / extra["weight"]
        state.w += share * (moved - state.w)
        state.z += share * (z - state.z)
        extra["gradient"] += share * (gradient - extra["gradient"])
        extra["loss"] += share * (float(sums_of_pass[3]) - extra["loss"])
        extra["residual"] = max(extra.get("residual", 0.0), float(sums_of_pass[2]))
