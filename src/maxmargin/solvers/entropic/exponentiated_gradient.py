"""Exponentiated gradient, online and batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from maxmargin._numba.passes import exponentiated_gradient as entropic
from maxmargin._numba.passes.block_step import Counters, start_counters
from maxmargin._numba.passes.weights import Weights, start_average
from maxmargin.problem import Problem
from maxmargin.result import State, empty_array, state_field
from maxmargin.solvers.base import Requires, Solver
from maxmargin.solvers.domain_steps import (
    BlockState,
    finalize_weights,
    is_free,
    move_all_weights,
    unprojected_weights,
    visit_samples,
    weights_and_average,
)
from maxmargin.solvers.entropic.potentials import (
    expected_points,
    fade_of,
    inner_products,
    scores_of,
    why_stuck,
)
from maxmargin.validation.options import Bounds, Count, CountOrZero, NonNegativeOrInf, Seed

_RAISED = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 11.0, 16.0, 24.0)  # how much likelier, as a log
_LOST = 0.05  # of the objective at w = 0, which the dual value at the start may be below 0
_SHARPER = (0.0, 1.0, 4.0, 16.0, 64.0)  # inverse temperatures tried on weights of other solvers


@dataclass(repr=False)
class ExponentiatedGradientState(BlockState):
    """State of `ExponentiatedGradient`."""

    #: log-potentials t of all parts, whose expectation is z, and the entropy of each sample
    potentials: np.ndarray = state_field(empty_array, warm="keep")
    entropy: np.ndarray = state_field(empty_array)
    #: share of the potentials that a step of rate 1 leaves out
    fade: float = state_field(np.nan, warm="keep")
    #: rate of each sample's next step, 0 if not known; (1,) the last one that raised the dual
    rates: np.ndarray = state_field(empty_array, warm="keep")
    last_rate: np.ndarray = state_field(lambda: np.ones(1), warm="keep")
    #: slope of the dual along each sample's last step; half of their sum, for likelihoods
    slopes: np.ndarray = state_field(empty_array)
    estimate: float = state_field(np.inf)
    #: attempts at a step, each of which calls `marginals`
    counters: Counters = state_field(start_counters, warm="keep")


class ExponentiatedGradient(Solver[ExponentiatedGradientState]):
    """Maximise D(z) by multiplicative steps, where each z_i is a vector of expectations.

    Sample i stores a log-potential t_i per part, and z_i = marginals(t_i). A step of rate eta is

    - margin: `t_i + eta (F_i^T w + c_i)`
    - likelihood: `(1 - eta) t_i + eta F_i^T w`, 0 < eta <= 1

    Its exact change of the dual is known, and a step that would decrease it is shortened until it
    does not. Points never leave the interior of their polytopes except by rounding, and only
    `marginals` is needed of the structure: for margins, an entropic projection that is not an
    expectation suffices.

    Parameters
    ----------
    mode : {"online", "batch"}, default="online"
        "online": one sample at a time, each with its own rate; "batch": all samples at once
        (`n_jobs` threads), one rate.
    sampling : {"permutation", "uniform"}, default="permutation"
        Order of the samples of "online": each once per pass in random order, or uniformly at
        random.
    start : {"truth", "uniform"}, default="truth"
        "truth": potentials of the true output's parts are raised, so that w is nearly 0; "uniform":
        all potentials are 0, and w is that of the mean of all outputs.
    growth : float, default=2.0
        Maximum factor by which a rate grows after a step that increased the dual. It grows towards
        the best rate, which two terms of the dual's change determine; Collins et al. always use
        1.05.
    averaging : bool, default=True
        Whether to certify also the average of w since the last certificate (with weights
        proportional to k) and return the better of last and average.

    Notes
    -----
    For likelihoods, online, it needs fewer passes than "lbfgs" (on handwritten letters, alpha =
    0.01: 14 to a relative gap of 1e-6, compared with 78). For margins it exists for comparison:
    solutions lie on faces of the polytopes, which it approaches slowly, and "bcfw" needs a small
    fraction of its passes.

    A dual point of another solver has no potentials, and may be a vertex, which these steps never
    leave: from such a state the weights are used, not z, and the dual may be lower at first.

    In a domain the same steps are taken from w(z), and w is projected after each: the dual still
    never decreases, and certificates are as exact (`solvers.domain_steps`).

    References
    ----------
    Collins, Globerson, Koo, Carreras, Bartlett, JMLR 2008.
    """

    name: ClassVar[str] = "eg"
    summary: ClassVar[str] = (
        "Exponentiated gradient: multiplicative steps, so that outputs stay probabilities."
    )
    requires: ClassVar[Requires] = Requires(
        abilities=(("marginals",), ("maximize",)),
        any_domain=True,
        objectives=("margin", "likelihood"),
    )
    state_class = ExponentiatedGradientState

    def __init__(
        self,
        mode: Literal["online", "batch"] = "online",
        sampling: Literal["permutation", "uniform"] = "permutation",
        start: Literal["truth", "uniform"] = "truth",
        growth: Annotated[float, Bounds(1, 100)] = 2.0,
        averaging: bool = True,
        max_epochs: CountOrZero | None = None,
        tol: NonNegativeOrInf | None = None,
        random_state: Seed = None,
        check_every: Count | None = None,
    ):
        self.mode = mode
        self.sampling = sampling
        self.start = start
        self.growth = growth
        self.averaging = averaging
        self.max_epochs = max_epochs
        self.tol = tol
        self.random_state = random_state
        self.check_every = check_every

    def _compiled_modules(self, problem: Problem) -> tuple[str, ...]:
        return ("batch", "exponentiated_gradient")

    def _load(self, problem: Problem) -> None:
        super()._load(problem)
        problem.oracle.compiled_function("marginals")

    # -- the state ---------------------------------------------------------------------------------
    def init(self, problem: Problem) -> ExponentiatedGradientState:
        state = ExponentiatedGradientState(
            np.zeros(problem.dim), problem.truth_copy(), self.generator()
        )
        self._begin(problem, state, self._first(problem))
        return state

    def _first(self, problem: Problem) -> np.ndarray:
        """Potentials of the start.

        Raised by too little, the truth leaves z so far off that D is negative by far; by too much,
        z is as good as a vertex, which multiplicative steps are long in leaving. For the likelihood
        the best dual value decides, for margins the least raise that costs next to nothing.
        """
        flat = np.zeros(int(problem.part_ptr[-1]))
        if self.start == "uniform":
            return flat
        best, found = -np.inf, flat
        enough = np.inf
        if problem.objective != "likelihood":
            enough = -_LOST * problem.primal(np.zeros(problem.dim))
        for raised in _RAISED:
            tried = np.where(problem.truth > 0, raised, 0.0)
            z, entropy = expected_points(problem, tried)
            dual = problem.dual(z, entropy=entropy if np.isinf(enough) else None)
            if dual <= best:
                break
            best, found = dual, tried
            if dual >= enough:
                break
        return found

    def _begin(
        self, problem: Problem, state: ExponentiatedGradientState, potentials: np.ndarray
    ) -> None:
        """Everything that follows from the potentials."""
        state.potentials, state.fade = potentials, fade_of(problem)
        state.z, state.entropy = expected_points(problem, potentials)
        state.w[:] = problem.weights(state.z)
        state.average = start_average(problem.dim if self.averaging else 0)
        state.slopes = np.full(problem.n, np.inf)
        if len(state.rates) == 0:
            state.rates = np.zeros(problem.n)
        if not is_free(problem):
            state.w_unprojected = unprojected_weights(problem, state.z)

    def _warm_start_from(self, problem: Problem, state: State) -> ExponentiatedGradientState:
        w = state.w.copy()
        own = super()._warm_start_from(problem, state)
        # those of margins may be so large that their entropy, a small difference, is rounding
        if own.fade == fade_of(problem) and own.potentials.shape == problem.truth.shape:
            self._begin(problem, own, own.potentials)
        else:
            own.rates, own.last_rate = np.zeros(problem.n), np.ones(1)
            self._begin(problem, own, self._nearest(problem, w))
        return own

    def _nearest(self, problem: Problem, w: np.ndarray) -> np.ndarray:
        """Potentials from the weights of another solver, whose z may well be a vertex.

        For the likelihood those of the weights; for margins the best of a few sharpnesses.
        """
        scores = scores_of(problem, w)
        if problem.objective == "likelihood":
            return scores
        best, found = -np.inf, self._first(problem)
        for sharpness in _SHARPER:
            tried = sharpness * scores if sharpness else found
            dual = problem.dual(expected_points(problem, tried)[0])
            if dual > best:
                best, found = dual, tried
        return found

    # -- steps -------------------------------------------------------------------------------------
    def epoch(self, problem: Problem, state: ExponentiatedGradientState) -> None:
        tried = state.counters.steps[0]
        if self.mode == "batch":
            self._step(problem, state)
        else:
            self._visits(problem, state)
        state.n_oracle += int(state.counters.steps[0] - tried)
        if problem.objective == "likelihood":
            on = problem.packed.weight > 0  # the slopes of others may be infinite for ever
            slopes = np.maximum(state.slopes[on], 0.0)
            state.estimate = float(problem.packed.weight[on] @ slopes) / 2

    def _visits(self, problem: Problem, state: ExponentiatedGradientState) -> None:
        """A pass over single samples."""
        rng, n = state.rng, problem.n
        order = rng.permutation(n) if self.sampling == "permutation" else rng.integers(n, size=n)
        self._pass(problem, state, order)

    def _pass(self, problem: Problem, state: ExponentiatedGradientState, order: np.ndarray) -> None:
        def steps(order: np.ndarray, weights: Weights) -> None:
            stuck = problem.sweep(
                order,
                lambda function, workspace: entropic.entropic_pass(
                    problem.packed,
                    workspace,
                    function,
                    order,
                    problem.alpha,
                    state.fade,
                    float(self.growth),
                    state.potentials,
                    state.rates,
                    state.last_rate,
                    state.entropy,
                    state.slopes,
                    weights,
                    state.z,
                    state.counters,
                    np.zeros(5),
                ),
                lambda i, workspace, value: self._visit(problem, state, i, workspace, weights),
                None,
                ability="marginals",
            )
            if stuck is not None and stuck >= 0:
                raise why_stuck(problem, stuck, state.w)

        visit_samples(steps, problem, state, state.w_unprojected, order)

    def _visit(
        self,
        problem: Problem,
        state: ExponentiatedGradientState,
        i: int,
        workspace: Any,
        weights: Weights,
    ) -> None:
        """The step of the compiled `entropic_pass`, where `marginals` is Python."""
        packed, fade, entropy = problem.packed, state.fade, state.entropy
        if packed.weight[i] == 0.0:
            state.slopes[i] = 0.0
            entropic.entropic_count(weights)
            return
        here = problem.parts(i)
        own, point = state.potentials[here], state.z[here]
        parts = entropic.entropic_scores(packed, i, workspace, weights)
        rate = state.rates[i] or state.last_rate[0]
        rate = entropic.entropic_limit(workspace, parts, rate, fade)
        found = np.zeros(5)
        for _ in range(entropic.TRIES):
            entropic.entropic_trial(workspace, own, rate, fade)
            state.counters.steps[0] += 1.0
            value = problem.write_marginals(i, workspace, parts)
            entropic.entropic_gain(
                packed, i, workspace, own, point, value, rate, fade, problem.alpha, entropy[i],
                found,
            )  # fmt: skip
            state.slopes[i] = found[3] / rate
            used, rate = rate, entropic.entropic_rate(found, rate, fade, float(self.growth))
            if found[0] >= 0.0:
                entropic.entropic_move(
                    packed, i, workspace, problem.alpha, state.potentials, weights, state.z
                )
                entropy[i] = found[2]
                state.rates[i] = state.last_rate[0] = rate
                break
            if found[3] <= entropic.SMALL * found[4]:
                state.rates[i] = used
                break
        entropic.entropic_count(weights)

    def _step(self, problem: Problem, state: ExponentiatedGradientState) -> None:
        """A step of all samples at once."""
        fade, rate = state.fade, state.last_rate[0]
        omega, potentials = problem.packed.weight, state.potentials
        scores = scores_of(problem, state.w)
        ahead = scores - fade * potentials
        if fade == 0.0:
            rate = min(rate, entropic.FARTHEST / max(np.abs(ahead).max(), 1e-300))
        for _ in range(entropic.TRIES):
            state.counters.steps[0] += problem.n
            tried = potentials + rate * ahead
            z, entropy = expected_points(problem, tried)
            delta = z - state.z
            change = problem.features(delta)
            slopes = inner_products(problem, ahead, delta)
            slope, square = float(omega @ slopes), float(change @ change) / problem.alpha
            gains = inner_products(problem, scores, delta) + fade * (entropy - state.entropy)
            size = float(omega @ inner_products(problem, np.abs(scores), z + state.z))
            bend = fade * rate * slope + square
            best = slope / bend if bend > 0 else np.inf
            found = np.array([float(omega @ gains) - square / 2, best, 0.0, slope, size])
            used, rate = rate, entropic.entropic_rate(found, rate, fade, float(self.growth))
            if found[0] >= 0:
                state.potentials, state.entropy = tried, entropy
                state.slopes, state.z, state.last_rate[0] = slopes / used, z, rate
                move_all_weights(problem, state, change / -problem.alpha)
                return
            if slope <= entropic.SMALL * size:
                return

    # -- certificates ------------------------------------------------------------------------------
    def bound(self, problem: Problem, state: ExponentiatedGradientState) -> float:
        entropy = state.entropy if problem.objective == "likelihood" else None
        return problem.dual(state.z, state.w, entropy=entropy)

    def estimate(self, state: ExponentiatedGradientState) -> float:
        return state.estimate

    def candidates(self, problem: Problem, state: ExponentiatedGradientState) -> list[np.ndarray]:
        return weights_and_average(problem, state) if self.averaging else [state.w]

    def _certified(self, state: ExponentiatedGradientState) -> None:
        state.average = start_average(len(state.w) if self.averaging else 0)

    def check_restored(
        self, problem: Problem, fresh: ExponentiatedGradientState, state: ExponentiatedGradientState
    ) -> None:
        for name in ("potentials", "entropy", "rates"):
            if not np.isfinite(getattr(state, name)).all():
                raise ValueError(f"{name} is not finite")
        if (state.rates < 0).any() or state.last_rate[0] <= 0:
            raise ValueError("a rate is negative")

    def _finalize(self, problem: Problem, state: ExponentiatedGradientState) -> None:
        # the potentials tell all; a pass in Python may have been left between two of its writes
        state.z, state.entropy = expected_points(problem, state.potentials)
        finalize_weights(problem, state)
