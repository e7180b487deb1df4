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
    check_entropy,
    expected_points,
    inner_products,
    scores_of,
    why_stuck,
)
from maxmargin.validation.options import Bounds, Count, CountOrZero, NonNegativeOrInf, Seed

_RAISED = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 11.0, 16.0, 24.0)  # how much likelier, as a log
_WARMEST = 3.0  # of the temperature at which entropies weigh as much as the objective at w = 0
_COOLER = 4.0 ** -np.arange(5.0)  # temperatures tried on weights of other solvers
_COLDEST = 1e-9  # of the first temperature: below, entropies are rounding


@dataclass(repr=False)
class ExponentiatedGradientState(BlockState):
    """State of `ExponentiatedGradient`."""

    #: log-potentials t of all parts, whose expectation is z, and the entropy of each sample
    potentials: np.ndarray = state_field(empty_array, warm="keep")
    entropy: np.ndarray = state_field(empty_array)
    #: of the entropies in the dual; 1 for likelihoods, else lowered while the smoothed gap falls
    temperature: float = state_field(np.nan, warm="keep")
    #: below which it is not lowered
    coldest: float = state_field(np.nan)
    #: rate of each sample's next step, 0 if not known; (1,) the last one that raised the dual
    rates: np.ndarray = state_field(empty_array, warm="keep")
    last_rate: np.ndarray = state_field(lambda: np.ones(1), warm="keep")
    #: slope along each sample's last step; what they tell of the gap, for likelihoods
    slopes: np.ndarray = state_field(empty_array)
    estimate: float = state_field(np.inf)
    #: attempts at a step, each of which calls `marginals`
    counters: Counters = state_field(start_counters, warm="keep")


class ExponentiatedGradient(Solver[ExponentiatedGradientState]):
    """Maximise D(z) by multiplicative steps, where each z_i is a vector of expectations.

    Sample i stores a log-potential t_i per part, and z_i = marginals(t_i). A step of rate eta in
    (0, 1] is

        t_i  <-  (1 - eta) t_i + eta (F_i^T w + c_i) / T

    It increases D(z) + T sum_i omega_i H_i by an amount that is known exactly, where H_i is the
    entropy of sample i, and a step that would decrease it is shortened until it does not. For the
    likelihood T = 1, c_i = 0, and this is the dual itself. For margins it is a smoothed dual: T
    begins where the entropies outweigh the objective at w = 0, and is lowered after each epoch
    whose smoothed gap is below what smoothing costs. Certificates are those of D(z).

    Points never leave the interior of their polytopes except by rounding, and only `marginals` and
    `log_partition` are needed of the structure: for margins, an entropic projection that is not an
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
    solutions lie on faces of the polytopes, which it approaches slowly, and "bcfw" needs a fraction
    of its passes.

    A dual point of another solver has no potentials, and may be a vertex, which these steps never
    leave: from such a state the weights are used, not z, and the dual may be lower at first.

    In a domain the same steps are taken from w(z), and w is projected after each: the smoothed dual
    still never decreases, and certificates are as exact (`solvers.domain_steps`).

    References
    ----------
    Collins, Globerson, Koo, Carreras, Bartlett, JMLR 2008.
    """

    name: ClassVar[str] = "eg"
    summary: ClassVar[str] = (
        "Exponentiated gradient: multiplicative steps, so that outputs stay probabilities."
    )
    requires: ClassVar[Requires] = Requires(
        abilities=(("marginals",), ("log_partition",), ("maximize",)),
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
        temperature = self._first_temperature(problem)
        self._begin(problem, state, self._first(problem, temperature), temperature)
        if self.start == "uniform" and problem.objective == "margin":
            # far from the truth weights may be huge, and would carry samples to vertices
            start = problem.primal(np.zeros(problem.dim))
            if start > 0:
                state.temperature *= max(problem.primal(state.w) / start, 1.0)
        return state

    def _first_temperature(self, problem: Problem) -> float:
        """1 for likelihoods; for margins entropies outweigh the objective at w = 0."""
        if problem.objective == "likelihood":
            return 1.0
        entropy = expected_points(problem, np.zeros(int(problem.part_ptr[-1])))[1]
        most = float(problem.sample_weight @ entropy)
        start = problem.primal(np.zeros(problem.dim))
        return _WARMEST * start / most if min(start, most) > 0 else 1.0

    def _first(self, problem: Problem, temperature: float) -> np.ndarray:
        """Potentials of the start: 0, or raised where the truth is, by what is best of a few."""
        best, found = -np.inf, np.zeros(int(problem.part_ptr[-1]))
        if self.start == "uniform":
            return found
        for raised in _RAISED:
            tried = np.where(problem.truth > 0, raised, 0.0)
            dual = _smoothed_dual(problem, *expected_points(problem, tried), temperature)
            if dual <= best:
                break
            best, found = dual, tried
        return found

    def _begin(
        self,
        problem: Problem,
        state: ExponentiatedGradientState,
        potentials: np.ndarray,
        temperature: float,
    ) -> None:
        """Everything that follows from the potentials."""
        state.potentials, state.temperature = potentials, temperature
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
        is_likelihood = problem.objective == "likelihood"
        same = (own.temperature == 1.0) == is_likelihood and np.isfinite(own.temperature)
        if same and own.potentials.shape == own.z.shape:
            self._begin(problem, own, own.potentials, own.temperature)
        else:
            own.rates, own.last_rate = np.zeros(problem.n), np.ones(1)
            self._begin(problem, own, *self._nearest(problem, w))
        return own

    def _nearest(self, problem: Problem, w: np.ndarray) -> tuple[np.ndarray, float]:
        """Potentials from the weights of another solver, whose z may be a vertex; temperature.

        For the likelihood those of the weights; for margins the best of a few temperatures.
        """
        scores, highest = scores_of(problem, w), self._first_temperature(problem)
        if problem.objective == "likelihood":
            return scores, highest
        found = self._first(problem, highest), highest
        best = problem.dual(expected_points(problem, found[0])[0])
        for temperature in highest * _COOLER:
            tried = scores / temperature
            dual = problem.dual(expected_points(problem, tried)[0])
            if dual > best:
                best, found = dual, (tried, float(temperature))
        return found

    # -- steps -------------------------------------------------------------------------------------
    def epoch(self, problem: Problem, state: ExponentiatedGradientState) -> None:
        tried = state.counters.steps[0]
        if self.mode == "batch":
            self._step(problem, state)
        else:
            self._visits(problem, state)
        state.n_oracle += int(state.counters.steps[0] - tried)
        on = problem.sample_weight > 0  # the slopes of others may be infinite for ever
        slopes = np.maximum(state.slopes[on], 0.0)
        gap = state.temperature * float(problem.sample_weight[on] @ slopes) / 2
        if problem.objective == "likelihood":
            state.estimate = gap
        else:
            self._cool(problem, state, gap)

    def _cool(self, problem: Problem, state: ExponentiatedGradientState, gap: float) -> None:
        """Lower the temperature if smoothing costs more than the smoothed gap, to half of that."""
        cost = state.temperature * float(problem.sample_weight @ state.entropy)
        if gap < cost:
            if np.isnan(state.coldest):  # a pass over all samples
                state.coldest = _COLDEST * self._first_temperature(problem)
            state.temperature = max(state.temperature * max(gap / cost, 0.1) / 2, state.coldest)

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
                    state.temperature,
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
        packed, temperature, entropy = problem.packed, state.temperature, state.entropy
        if packed.weight[i] == 0.0:
            state.slopes[i] = 0.0
            entropic.entropic_count(weights)
            return
        here = problem.parts(i)
        own, point = state.potentials[here], state.z[here]
        parts = entropic.entropic_scores(packed, i, workspace, weights, temperature)
        rate = state.rates[i] or state.last_rate[0]
        found = np.zeros(5)
        for _ in range(entropic.TRIES):
            entropic.entropic_trial(workspace, own, rate)
            state.counters.steps[0] += 1.0
            value = problem.write_marginals(i, workspace, parts)
            entropic.entropic_gain(
                packed, i, workspace, own, point, value, rate, temperature, problem.alpha,
                entropy[i], found,
            )  # fmt: skip
            state.slopes[i] = found[3] / rate
            used, rate = rate, entropic.entropic_rate(found, rate, float(self.growth))
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
        temperature, rate = state.temperature, state.last_rate[0]
        omega, potentials = problem.sample_weight, state.potentials
        scores = scores_of(problem, state.w) / temperature
        ahead = scores - potentials
        for _ in range(entropic.TRIES):
            state.counters.steps[0] += problem.n
            tried = potentials + rate * ahead
            z, entropy = expected_points(problem, tried)
            delta = z - state.z
            change = problem.features(delta)
            slopes = inner_products(problem, ahead, delta)
            slope = float(omega @ slopes)
            square = float(change @ change) / problem.alpha / temperature
            gains = inner_products(problem, scores, delta) + entropy - state.entropy
            size = float(omega @ inner_products(problem, np.abs(scores), z + state.z))
            curvature = rate * slope + square
            best = slope / curvature if curvature > 0 else np.inf
            found = np.array([float(omega @ gains) - square / 2, best, 0.0, slope, size])
            used, rate = rate, entropic.entropic_rate(found, rate, float(self.growth))
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
        if not 0 < state.temperature < np.inf:
            raise ValueError("the temperature is not a positive number")
        if (state.rates < 0).any() or state.last_rate[0] <= 0:
            raise ValueError("a rate is negative")
        check_entropy(problem, state.entropy)

    def _finalize(self, problem: Problem, state: ExponentiatedGradientState) -> None:
        # the potentials tell all; a pass in Python may have been left between two of its writes
        state.z, state.entropy = expected_points(problem, state.potentials)
        finalize_weights(problem, state)


def _smoothed_dual(
    problem: Problem, z: np.ndarray, entropy: np.ndarray, temperature: float
) -> float:
    if problem.objective == "likelihood":
        return problem.dual(z, entropy=entropy)
    return problem.dual(z) + temperature * float(problem.sample_weight @ entropy)
