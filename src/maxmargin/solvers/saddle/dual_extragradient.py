"""Dual extragradient: look ahead, average, and never store more than one must."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from maxmargin.domains import Product
from maxmargin.problem import Problem
from maxmargin.solvers.base import Requires
from maxmargin.solvers.saddle.base import SaddleSolver, check_entropic
from maxmargin.solvers.saddle.entropic_steps import MarginalState, MarginalSteps
from maxmargin.solvers.saddle.euclidean_steps import (
    DualExtragradientState,
    ProjectedState,
    ProjectedSteps,
)
from maxmargin.solvers.saddle.output_geometry import EntropicOutputs, check_marginals
from maxmargin.solvers.saddle.weight_geometry import BlockWeights, EntropicWeights, Weights
from maxmargin.validation.options import (
    Count,
    CountOrZero,
    NonNegative,
    NonNegativeOrInf,
    Positive,
    Ratio,
    Seed,
    check_options,
)


class DualExtragradient(SaddleSolver[DualExtragradientState]):
    """Find the saddle point of L(w, z) by Nesterov's dual extragradient method.

    With s the sum of all gradients so far and T(u, s) the step from u along s (projected, or
    entropic, for w and for z each), each epoch does ::

        v = T(start, s),   u = T(v, gradient at v),   s += gradient at u

    and the answer is the average of the u's. After t epochs its gap is at most (D_w + D_z) L / (t +
    1), D being the largest distance from the start: no method that only uses such gradients has a
    better rate.

    Parameters
    ----------
    geometry : {"euclidean", "entropic"}, default="euclidean"
        Steps in w; "entropic" for w in an `L1Ball` (multiplicative steps; w starts at 0). In a
        `Product`, steps are entropic in its `L1Ball` groups and Euclidean elsewhere.
    memory : {"plain", "low"}, default="plain"
        "low" stores no number per part of the samples, only vectors as long as w and one sample at
        a time. The iterates are the same; the average z is not stored, so that other solvers cannot
        continue from it, and projections cannot start from the last one's duals.
    step : float or {"auto", "norm", "adaptive"}, default="auto"
        Step length: "norm" (1 / L, by power iteration), "adaptive" (reduced whenever it was too
        long; needs no L), or a number. "auto" is "norm" for Euclidean z and "adaptive" for entropic
        z. See Notes.
    past : bool, default=False
        Whether to extrapolate by the last gradient instead of a new one: one projection and one
        gradient per epoch instead of two, at half the step length. False because on word alignments
        it reduces the gap less in the same time (`python -m benchmarks alignment`).
    restarts : bool, default=False
        Whether to restart from the average whenever the gap has halved; not with `memory="low"`.
        False because on word alignments restarts help with w in a ball but not with a penalty.
    ratio : float or "auto", default="auto"
        Step length in w relative to that in z; see `SaddleSolver`.
    z_geometry : {"euclidean", "entropic"}, default="euclidean"
        Steps in z; "entropic" for structures that can compute `marginals`: a step is a pass of
        sum-product instead of a projection, and z stays inside its polytope. `output_geometry`
        describes the norms and the guarantee.
    start : float, default=0.0
        With entropic z, by how much the first potentials favour the parts of the true output (or of
        the z of a given state); 0 means that all outputs are alike.

    Notes
    -----
    For entropic z, the constant L is that of the worst case, and "adaptive" is the default: a step
    that turns out too long is taken back, and the average weights each u by the length of its step,
    so that the guarantee holds.

    References
    ----------
    Taskar, Lacoste-Julien, Jordan, JMLR 2006, figures 2 and 6.
    """

    name: ClassVar[str] = "dual-extragradient"
    summary: ClassVar[str] = (
        "Nesterov's dual extragradient: averaged steps in weights and outputs by projections."
    )

    def __init__(
        self,
        geometry: Literal["euclidean", "entropic"] = "euclidean",
        memory: Literal["plain", "low"] = "plain",
        step: Positive | Literal["auto", "norm", "adaptive"] = "auto",
        past: bool = False,
        restarts: bool = False,
        ratio: Ratio | Literal["auto"] = "auto",
        max_epochs: CountOrZero | None = None,
        tol: NonNegativeOrInf | None = None,
        random_state: Seed = None,
        check_every: Count | None = None,
        z_geometry: Literal["euclidean", "entropic"] = "euclidean",
        start: NonNegative = 0.0,
    ):
        self.geometry = geometry
        self.z_geometry = z_geometry
        self.start = start
        self.memory = memory
        self.step = step
        self.past = past
        self.restarts = restarts
        self.ratio = ratio
        self.max_epochs = max_epochs
        self.tol = tol
        self.random_state = random_state
        self.check_every = check_every

    @property
    def requires(self) -> Requires:  # type: ignore[override]
        """A way to step in z, and `maximize`, for certificates."""
        step = "marginals" if self.entropic else "project"
        return Requires(abilities=((step,), ("maximize",)), penalty=False, any_domain=True)

    @property
    def state_class(self) -> type[DualExtragradientState]:  # type: ignore[override]
        """Class of its states."""
        return MarginalState if self.entropic else ProjectedState

    @property
    def entropic(self) -> bool:
        """Whether steps in z are."""
        return self.z_geometry == "entropic"

    @property
    def step_rule(self) -> Any:
        if self.step != "auto":
            return self.step
        return "adaptive" if self.entropic and not self.past else "norm"

    def _compiled_modules(self, problem: Problem) -> tuple[str, ...]:
        return (
            (*super()._compiled_modules(problem), "entropic_saddle")
            if self.entropic
            else super()._compiled_modules(problem)
        )

    def _check(self, problem: Problem) -> None:
        check_options(self)
        if self.entropic:
            check_marginals(self, problem)
        super()._check(problem)
        if self.restarts and self.memory == "low":
            raise ValueError('restarts need the average z, which memory="low" does not keep.')
        if self.restarts and "entropic" in (self.geometry, self.z_geometry):
            raise ValueError('restarts go with geometry="euclidean" and such z_geometry only.')
        if self.past and self.step == "adaptive":
            raise ValueError('past=True goes with step="norm" or a number.')
        if self.geometry == "entropic":
            check_entropic(problem.domain)

    def weight_geometry(self, problem: Problem, ratio: float) -> Weights:
        if self.geometry == "euclidean":
            return super().weight_geometry(problem, ratio)
        if isinstance(problem.domain, Product):
            return BlockWeights(problem.domain, problem.dim, ratio)
        return EntropicWeights(problem.domain, ratio)

    def find_ratio(self, problem: Problem) -> float:
        if self.ratio != "auto" or not isinstance(
            self.weight_geometry(problem, 1.0), EntropicWeights
        ):
            return super().find_ratio(problem)
        # samples of one output each leave z no way to go: any ratio will do
        return float(np.log(2 * problem.dim + 1)) / (self.spread(problem) or 1.0)

    def norm(self, problem: Problem, geometry: Weights) -> float:
        if not self.entropic:
            return super().norm(problem, geometry)
        return EntropicOutputs(problem, self.start).operator_norm(geometry, 100)

    def spread(self, problem: Problem) -> float:
        if not self.entropic:
            return super().spread(problem)
        return EntropicOutputs(problem, 0.0).max_distance(problem.truth)

    def likely_spread(self, problem: Problem) -> float:
        # from where all outputs are alike, any output is about equally far
        return self.spread(problem) if self.entropic else super().likely_spread(problem)

    # -- state -------------------------------------------------------------------------------------
    def init(self, problem: Problem) -> DualExtragradientState:
        z = np.empty(0) if self.memory == "low" else problem.truth_copy()
        state = self.state_class(np.zeros(problem.dim), z, self.generator())
        self.begin(problem, state)
        return state

    def begin(self, problem: Problem, state: DualExtragradientState) -> None:
        # start from the state's w and z (from the truth, if memory is low)
        low = self.memory == "low"
        state.key, state.ratio = self.key(problem), self.find_ratio(problem)
        geometry = self.weight_geometry(problem, state.ratio)
        z = problem.truth if low else state.z.copy()
        point = geometry.start(state.w)
        state.w = geometry.weights(point).copy()
        state.step = self.length(problem, geometry, state)
        state.u_w = state.w.copy()
        state.loss_gradient = np.zeros(problem.dim) if low else problem.loss_gradient(z)
        state.loss = 0.0 if low else float(problem.sample_weight @ problem.loss_at(z))
        state.loss_gradient_u, state.loss_u = state.loss_gradient.copy(), state.loss
        state.warm_pointers = self.warm_pointers(problem)
        state.z = np.empty(0) if low else state.z
        self._steps(problem, state).begin(z, point)

    def length(self, problem: Problem, geometry: Weights, state: DualExtragradientState) -> float:
        """Return the step length; half as long for `past`, which needs less than 1 / (2 L).

        Parameters
        ----------
        problem : Problem
            The training problem.
        geometry : Weights
            Geometry of the weights.
        state : DualExtragradientState
            The solver's state.

        Returns
        -------
        float
            Step length.
        """
        step = self.first_step(problem, geometry, state)
        return step / 2 if self.past and self.step_rule == "norm" else step

    def _steps(self, problem: Problem, state: Any) -> ProjectedSteps | MarginalSteps:
        return (MarginalSteps if self.entropic else ProjectedSteps)(self, problem, state)

    def epoch(self, problem: Problem, state: DualExtragradientState) -> None:
        self._steps(problem, state).epoch()

    # -- certificates ------------------------------------------------------------------------------
    def candidates(self, problem: Problem, state: DualExtragradientState) -> list[np.ndarray]:
        # the average, and the last u, which is better once the right vertices are found
        recent = state.recent_average() if isinstance(state, MarginalState) else None
        return [state.w, state.u_w, *([] if recent is None else [recent[0]])]

    def bound(self, problem: Problem, state: DualExtragradientState) -> float:
        # the best one of the average z, of the last u, and of recent ones where z is entropic
        average = super().bound(problem, state)
        if not np.isfinite(average) and state.residual > 0:
            return average
        others = [(state.loss_gradient_u, state.loss_u)]
        recent = state.recent_average() if isinstance(state, MarginalState) else None
        if recent is not None:
            others.append(recent[1:])
        argmin = problem.domain.argmin_linear
        return max(
            average, *(argmin(gradient, problem.alpha)[1] + loss for gradient, loss in others)
        )

    def metrics(
        self, problem: Problem, state: DualExtragradientState, primal: float
    ) -> dict[str, float]:
        known = super().metrics(problem, state, primal)
        state.gap = known["restricted_gap"]
        if np.isnan(state.restart_gap):
            state.restart_gap = state.gap
        geometry = self.weight_geometry(problem, state.ratio)
        distance = geometry.max_distance(self._radius(problem, state), state.anchor_w)
        if isinstance(state, MarginalState):
            promised = MarginalSteps(self, problem, state).promise(distance)
            known |= {"distance_w": distance, "distance_z": state.max_distance_z}
            known |= {} if np.isnan(promised) else {"bound": promised}
        elif self.step_rule == "norm" and state.n_steps > 0:
            promised = (distance + self.spread(problem)) / state.step
            known["bound"] = promised / state.n_steps
        return known

    def restricted_gap(
        self, problem: Problem, state: DualExtragradientState, distance_w: float, distance_z: float
    ) -> float:
        """Return `max L(w, .) - min L(., z)` of the averages, within given distances of the start.

        Only for entropic z.

        Parameters
        ----------
        problem : Problem
            The training problem.
        state : State
            The solver's state.
        distance_w, distance_z : float
            Bregman divergences in the two geometries; records have values that are large enough for
            all w and z.

        Returns
        -------
        float
            Restricted gap.
        """
        if not isinstance(state, MarginalState):
            raise ValueError("the gap within distances is known for z_geometry='entropic' only.")
        geometry = self.weight_geometry(problem, state.ratio)
        steps = MarginalSteps(self, problem, state)
        return steps.restricted_gap(geometry, distance_w, distance_z)

    def _finalize(self, problem: Problem, state: DualExtragradientState) -> None:
        if len(state.z):  # without z, its gradient and loss cannot be computed anew
            super()._finalize(problem, state)
