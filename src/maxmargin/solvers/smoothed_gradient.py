"""Accelerated projected gradient on the smoothed hinge."""

from __future__ import annotations

from copy import copy
from typing import ClassVar, NamedTuple

import numpy as np

from maxmargin.exceptions import MissingAbilityError
from maxmargin.problem import Problem, Samples
from maxmargin.result import State
from maxmargin.solvers.base import Solver, check_counts
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


class SmoothedGradient(Solver):
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
    requires: ClassVar[tuple[tuple[str, ...], ...]] = (("marginals",),)
    needs_expectations: ClassVar[bool] = True
    objectives: ClassVar[tuple[str, ...]] = ("margin", "likelihood")
    needs_penalty: ClassVar[bool] = False
    any_domain: ClassVar[bool] = True

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

    def check(self, problem: Problem) -> None:
        super().check(problem)
        if not problem.structure.marginals_are_exact:
            raise MissingAbilityError(
                f"SmoothedGradient needs expectations over all outputs, which"
                f' {type(problem.structure).__name__} cannot compute; use solver="bcfw", or'
                ' solver="extragradient" in a small ball.'
            )
        check_counts(problem, "SmoothedGradient")

    def init(self, problem: Problem) -> State:
        state = State(np.zeros(problem.dim), problem.truth.copy(), self.generator())
        self._begin(problem, state)
        return state

    def _begin(self, problem: Problem, state: State) -> None:
        """From w, with the most smoothing that does not hide how far w is from the optimum."""
        state.w[:] = problem.domain.project(state.w)
        mu = self._first_mu(problem)
        state.extra = {"mu": mu, "least": _LEAST * mu, "bound": -np.inf, "curve": 1.0}
        if problem.objective != "likelihood":  # what the dual point at hand proves
            worth = float(problem.packed.weight @ problem.loss_at(state.z))
            self._keep_bound(problem, state, problem.loss_gradient(state.z), worth, state.z)
        look = self._look(problem, state, state.w)
        while self._blurred(problem, state, look):
            state.extra["mu"] /= 2
            look = self._look(problem, state, state.w)
        self._restart(state, look)

    def _first_mu(self, problem: Problem) -> float:
        """That at which smoothing adds to P(0) as much as it is."""
        if problem.objective == "likelihood":
            return 1.0
        nothing = np.zeros(problem.dim)
        counts = problem.without_loss().apply("marginals", nothing)
        doubt = float(problem.packed.weight @ counts)
        at_zero = problem.primal(nothing)
        return at_zero / doubt if min(at_zero, doubt) > 0 else 1.0

    def _restart(self, state: State, look: Look) -> None:
        """Without momentum, averages from here on."""
        extra = state.extra
        extra["ahead"], extra["pace"], extra["sum"] = state.w.copy(), 1.0, 0.0
        extra["value"] = look.value
        extra["loss_gradient"], extra["worth"], extra["blur"] = (
            look.loss_gradient.copy(),
            look.worth,
            look.blur,
        )
        extra["mean"] = look.z.copy()

    def _warm_start_from(self, problem: Problem, state: State) -> None:
        w = state.w.copy() if state.best is None else state.best.copy()
        super()._warm_start_from(problem, state)
        state.w[:] = w
        self._begin(problem, state)

    def _look(self, problem: Problem, state: State, w: np.ndarray) -> Look:
        """One pass of `marginals` at w; its dual value is kept."""
        z, margin = np.empty_like(problem.truth), problem.objective != "likelihood"
        mu = state.extra["mu"] if margin else 1.0
        samples = _scaled(problem, mu) if margin else problem
        weight = problem.packed.weight
        smooth = mu * float(weight @ samples.apply("marginals", w / mu, point=problem.truth, out=z))
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
        self, problem: Problem, state: State, loss_gradient: np.ndarray, worth: float, z: np.ndarray
    ) -> float:
        """D(z); state.z is the best dual point so far."""
        dual = worth + problem.domain.argmin_linear(loss_gradient, problem.alpha)[1]
        if dual > state.extra["bound"]:
            state.extra["bound"] = dual
            state.z[:] = z
        return dual

    def _blurred(self, problem: Problem, state: State, look: Look) -> bool:
        """Whether smoothing is the larger part of what is not proven at w."""
        if problem.objective == "likelihood" or state.extra["mu"] <= state.extra["least"]:
            return False
        dual = look.worth + problem.domain.argmin_linear(look.loss_gradient, problem.alpha)[1]
        return look.value - dual - look.blur <= look.blur

    def epoch(self, problem: Problem, state: State) -> None:
        extra = state.extra
        ahead, old = extra["ahead"], state.w.copy()
        here = self._look(problem, state, ahead)
        new = self._descend(problem, state, ahead, here)
        extra["value"] = new.value
        self._average(problem, state, here)
        if self._blurred(problem, state, new) or self._average_blurred(problem, state, new):
            extra["mu"], extra["curve"] = extra["mu"] / 2, extra["curve"] * 2
            self._restart(state, self._look(problem, state, state.w))
        elif float((state.w - old) @ (ahead - state.w)) > 0:  # momentum leads uphill
            self._restart(state, new)
        else:
            pace = (1 + np.sqrt(1 + 4 * extra["pace"] ** 2)) / 2
            extra["ahead"] = state.w + (extra["pace"] - 1) / pace * (state.w - old)
            extra["pace"] = float(pace)

    def _descend(self, problem: Problem, state: State, ahead: np.ndarray, here: Look) -> Look:
        """W = the projected step from `ahead`, halved until the parabola above f holds there."""
        extra = state.extra
        gradient = here.loss_gradient + problem.alpha * ahead
        extra["curve"] *= 0.8  # steps may grow again
        for _ in range(_TRIES):
            w = problem.domain.project(ahead - gradient / extra["curve"])
            step, new = w - ahead, self._look(problem, state, w)
            above = float(gradient @ step) + extra["curve"] / 2 * float(step @ step)
            if new.value <= here.value + above + 1e-13 * abs(here.value):
                break
            extra["curve"] *= 2
        state.w[:] = w
        return new

    def _average(self, problem: Problem, state: State, look: Look) -> None:
        """The dual points of the way, later ones counting for more, are a better one together."""
        extra = state.extra
        extra["sum"] += extra["pace"]
        share = extra["pace"] / extra["sum"]
        extra["mean"] += share * (look.z - extra["mean"])
        for name in ("loss_gradient", "worth", "blur"):
            extra[name] = extra[name] + share * (getattr(look, name) - extra[name])
        extra["proven"] = self._keep_bound(
            problem, state, extra["loss_gradient"], extra["worth"], extra["mean"]
        )

    def _average_blurred(self, problem: Problem, state: State, look: Look) -> bool:
        extra = state.extra
        if problem.objective == "likelihood" or extra["mu"] <= extra["least"]:
            return False
        return bool(look.value - extra["proven"] - extra["blur"] <= extra["blur"])

    def bound(self, problem: Problem, state: State) -> float:
        return float(state.extra["bound"])

    def estimate(self, state: State) -> float:
        return float(state.extra["value"] - state.extra["bound"])


def _scaled(problem: Problem, mu: float) -> Samples:
    """The samples with their costs divided by mu."""
    found = copy(problem)
    found.packed = problem.packed._replace(costs=problem.packed.costs / mu)
    return found
