"""Accelerated projected gradient on the smoothed hinge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from maxmargin.exceptions import MissingAbilityError
from maxmargin.problem import Problem
from maxmargin.result import State, empty_array, state_field
from maxmargin.solvers.base import Requires, Solver, check_counts
from maxmargin.validation.options import Count, CountOrZero, NonNegativeOrInf, Seed

_TRIES = 60
_LEAST = 1e-9  # of the first smoothing: less says nothing in double precision


class Look(NamedTuple):
    """What one pass of `marginals` tells at some w: f(w), and the dual point z of its expectations.

    gradient is g(z), worth what D(z) adds to the minimum over W, blur how much smoothing adds to
    it.
    """

    value: float
    loss_gradient: np.ndarray
    worth: float
    blur: float
    z: np.ndarray


@dataclass(repr=False)
class SmoothedGradientState(State):
    """State of `SmoothedGradient`."""

    #: smoothing, and the least there may be
    mu: float = state_field(1.0)
    least_mu: float = state_field(1.0)
    #: of the parabola above the objective: 1 / step length
    curvature: float = state_field(1.0)
    #: smooth objective at w, and the best lower bound, that of z
    value: float = state_field(np.inf)
    bound: float = state_field(-np.inf)
    #: point from which the next step goes: w and its momentum
    w_ahead: np.ndarray = state_field(empty_array)
    #: Nesterov's sequence t_k since the last restart, and its sum
    momentum: float = state_field(1.0)
    momentum_sum: float = state_field(0.0)
    #: averages with these weights of what `Look` has, and their dual value
    average_z: np.ndarray = state_field(empty_array)
    average_gradient: np.ndarray = state_field(empty_array)
    average_worth: float = state_field(0.0)
    average_blur: float = state_field(0.0)
    average_dual: float = state_field(-np.inf)


class SmoothedGradient(Solver[SmoothedGradientState]):
    """Minimise P(w) over its domain by accelerated projected gradients of a smooth P_mu >= P.

    P_mu has mu log sum_z exp(a_i . (z - y_i) / mu) in place of max_z a_i . (z - y_i). Its gradient
    is one pass of `marginals`, whose expectations are a dual point z: D(z) is an exact bound, and
    mu is halved whenever smoothing is the larger part of the gap. An epoch is one step, mostly two
    passes over all samples and one projection of w. The likelihood is smooth by itself.

    It is meant for domains and weak penalties, where steps sample by sample are short: w comes from
    a projection, never from an average, so that in an l1 ball its zeros are exact. alpha may be 0
    in a bounded domain.

    References
    ----------
    - Nesterov, Mathematical Programming 2005.
    - Beck, Teboulle, SIAM J. Imaging 2009.
    - O'Donoghue, Candes, Found. Comput. Math. 2015 (restarts).
    """

    name: ClassVar[str] = "smoothed"
    summary: ClassVar[str] = "Accelerated gradients of a smooth function just above the objective."
    requires: ClassVar[Requires] = Requires(
        abilities=(("marginals",),),
        expectations=True,
        penalty=False,
        any_domain=True,
        objectives=("margin", "likelihood"),
        shards="sums",
    )
    state_class = SmoothedGradientState

    def __init__(
        self,
        max_epochs: CountOrZero | None = None,
        tol: NonNegativeOrInf | None = None,
        random_state: Seed = None,
        check_every: Count | None = None,
    ):
        self.max_epochs = max_epochs
        self.tol = tol
        self.random_state = random_state
        self.check_every = check_every

    def _check(self, problem: Problem) -> None:
        super()._check(problem)
        if not problem.oracle.marginals_are_exact:
            raise MissingAbilityError(
                f"SmoothedGradient needs expectations over all outputs, which"
                f' {type(problem.structure).__name__} cannot compute; use solver="bcfw", or'
                ' solver="extragradient" in a small ball.'
            )
        check_counts(problem, "SmoothedGradient")

    def init(self, problem: Problem) -> SmoothedGradientState:
        state = SmoothedGradientState(np.zeros(problem.dim), problem.truth_copy(), self.generator())
        self._begin(problem, state)
        return state

    def _begin(self, problem: Problem, state: SmoothedGradientState) -> None:
        """From w, with the most smoothing that does not hide how far w is from the optimum."""
        state.w[:] = problem.domain.project(state.w)
        state.mu = self._first_mu(problem)
        state.least_mu, state.bound, state.curvature = _LEAST * state.mu, -np.inf, 1.0
        if problem.objective != "likelihood":  # what the dual point at hand proves
            worth = float(problem.sample_weight @ problem.loss_at(state.z))
            self._keep_bound(problem, state, problem.loss_gradient(state.z), worth, state.z)
        look = self._look(problem, state, state.w)
        while self._blurred(problem, state, look):
            state.mu /= 2
            look = self._look(problem, state, state.w)
        self._restart(state, look)

    def _first_mu(self, problem: Problem) -> float:
        """That at which smoothing adds to P(0) as much as it is."""
        if problem.objective == "likelihood":
            return 1.0
        nothing = np.zeros(problem.dim)
        counts = problem.without_loss().apply("marginals", nothing)
        doubt = float(problem.sample_weight @ counts)
        at_zero = problem.primal(nothing)
        return at_zero / doubt if min(at_zero, doubt) > 0 else 1.0

    def _restart(self, state: SmoothedGradientState, look: Look) -> None:
        """Without momentum, averages from here on."""
        state.w_ahead, state.value = state.w.copy(), look.value
        state.momentum, state.momentum_sum = 1.0, 0.0
        state.average_z, state.average_gradient = look.z.copy(), look.loss_gradient.copy()
        state.average_worth, state.average_blur = look.worth, look.blur

    def _warm_start_from(self, problem: Problem, state: State) -> SmoothedGradientState:
        w = state.w.copy() if state.best is None else state.best.copy()
        own = super()._warm_start_from(problem, state)
        own.w[:] = w
        self._begin(problem, own)
        return own

    def _look(self, problem: Problem, state: SmoothedGradientState, w: np.ndarray) -> Look:
        """One pass of `marginals` at w; its dual value is kept."""
        z, margin = np.empty(int(problem.part_ptr[-1])), problem.objective != "likelihood"
        mu = state.mu if margin else 1.0
        samples = problem.with_divided_costs(mu) if margin else problem
        weight = problem.sample_weight
        smooth = mu * float(
            weight @ samples.apply("marginals", w / mu, point=problem.truths, out=z)
        )
        state.n_oracle += problem.n
        loss_gradient = problem.loss_gradient(z)
        rest = smooth - float(w @ loss_gradient)
        worth = float(weight @ problem.loss_at(z)) if margin else rest
        look = Look(
            smooth + problem.alpha / 2 * float(w @ w), loss_gradient, worth, rest - worth, z
        )
        self._keep_bound(problem, state, loss_gradient, worth, z)
        return look

    def _keep_bound(
        self,
        problem: Problem,
        state: SmoothedGradientState,
        loss_gradient: np.ndarray,
        worth: float,
        z: np.ndarray,
    ) -> float:
        """D(z); state.z is the best dual point so far."""
        dual = worth + problem.domain.argmin_linear(loss_gradient, problem.alpha)[1]
        if dual > state.bound:
            state.bound = dual
            state.z[:] = z
        return dual

    def _blurred(self, problem: Problem, state: SmoothedGradientState, look: Look) -> bool:
        """Whether smoothing is the larger part of what is not proven at w."""
        if problem.objective == "likelihood" or state.mu <= state.least_mu:
            return False
        dual = look.worth + problem.domain.argmin_linear(look.loss_gradient, problem.alpha)[1]
        return look.value - dual - look.blur <= look.blur

    def epoch(self, problem: Problem, state: SmoothedGradientState) -> None:
        ahead, old = state.w_ahead, state.w.copy()
        here = self._look(problem, state, ahead)
        new = self._descend(problem, state, ahead, here)
        state.value = new.value
        self._average(problem, state, here)
        if self._blurred(problem, state, new) or self._average_blurred(problem, state, new):
            state.mu, state.curvature = state.mu / 2, state.curvature * 2
            self._restart(state, self._look(problem, state, state.w))
        elif float((state.w - old) @ (ahead - state.w)) > 0:  # momentum leads uphill
            self._restart(state, new)
        else:
            momentum = (1 + np.sqrt(1 + 4 * state.momentum**2)) / 2
            state.w_ahead = state.w + (state.momentum - 1) / momentum * (state.w - old)
            state.momentum = float(momentum)

    def _descend(
        self, problem: Problem, state: SmoothedGradientState, ahead: np.ndarray, here: Look
    ) -> Look:
        """W = the projected step from `ahead`, halved until the parabola above f holds there."""
        gradient = here.loss_gradient + problem.alpha * ahead
        state.curvature *= 0.8  # steps may grow again
        for _ in range(_TRIES):
            w = problem.domain.project(ahead - gradient / state.curvature)
            step, new = w - ahead, self._look(problem, state, w)
            above = float(gradient @ step) + state.curvature / 2 * float(step @ step)
            if new.value <= here.value + above + 1e-13 * abs(here.value):
                break
            state.curvature *= 2
        state.w[:] = w
        return new

    def _average(self, problem: Problem, state: SmoothedGradientState, look: Look) -> None:
        """The dual points of the way, later ones counting for more, are a better one together."""
        state.momentum_sum += state.momentum
        share = state.momentum / state.momentum_sum
        state.average_z += share * (look.z - state.average_z)
        state.average_gradient += share * (look.loss_gradient - state.average_gradient)
        state.average_worth += share * (look.worth - state.average_worth)
        state.average_blur += share * (look.blur - state.average_blur)
        state.average_dual = self._keep_bound(
            problem, state, state.average_gradient, state.average_worth, state.average_z
        )

    def _average_blurred(self, problem: Problem, state: SmoothedGradientState, look: Look) -> bool:
        if problem.objective == "likelihood" or state.mu <= state.least_mu:
            return False
        return bool(look.value - state.average_dual - state.average_blur <= state.average_blur)

    def bound(self, problem: Problem, state: SmoothedGradientState) -> float:
        return state.bound

    def estimate(self, state: SmoothedGradientState) -> float:
        return state.value - state.bound
