"""Averaged projected gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from maxmargin.problem import Problem
from maxmargin.result import empty_array, state_field
from maxmargin.solvers.saddle.base import SaddleSolver, SaddleState
from maxmargin.validation.options import Count, CountOrZero, NonNegativeOrInf, Positive, Ratio, Seed


@dataclass(repr=False)
class ProjectedGradientState(SaddleState):
    """State of `ProjectedGradient`, whose w and z are averages."""

    #: weights and dual point of the last step, and its loss gradient
    last_w: np.ndarray = state_field(empty_array)
    last_z: np.ndarray = state_field(empty_array)
    last_gradient: np.ndarray = state_field(empty_array)
    #: number of steps, and the sum of their lengths, which are the weights of the averages
    n_steps: float = state_field(0.0)
    step_sum: float = state_field(0.0)


class ProjectedGradient(SaddleSolver[ProjectedGradientState]):
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
    state_class = ProjectedGradientState
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

    def init(self, problem: Problem) -> ProjectedGradientState:
        state = ProjectedGradientState(
            np.zeros(problem.dim), problem.truth_copy(), self.generator()
        )
        self.begin(problem, state)
        return state

    def begin(self, problem: Problem, state: ProjectedGradientState) -> None:
        super().begin(problem, state)
        state.last_w, state.last_z = state.w.copy(), state.z.copy()
        state.last_gradient = state.loss_gradient.copy()

    def epoch(self, problem: Problem, state: ProjectedGradientState) -> None:
        geometry, w, z = self.weight_geometry(problem, state.ratio), state.last_w, state.last_z
        t = state.n_steps + 1.0
        step = state.step / (np.sqrt(t) if self.decay else 1.0)
        moved = geometry.step(w, -(problem.alpha * w + state.last_gradient), step)
        gradient, sums_of_pass = self.ascend(
            problem, w, step, z, z, state.warm_v, state.warm_pointers
        )
        state.last_w, state.last_gradient, state.n_steps = moved, gradient, t
        state.n_project += problem.n
        # longer steps count for more, so that early points fade no faster than they should
        state.step_sum += float(step)
        share = step / state.step_sum
        state.w += share * (moved - state.w)
        state.z += share * (z - state.z)
        state.loss_gradient += share * (gradient - state.loss_gradient)
        state.loss += float(share * (float(sums_of_pass[3]) - state.loss))
        state.residual = max(state.residual, float(sums_of_pass[2]))
