"""Cutting planes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from maxmargin._numba.compile import delay_signals
from maxmargin.problem import Problem
from maxmargin.result import State, state_field
from maxmargin.solvers.base import Requires, Solver
from maxmargin.solvers.cutting_plane import cuts, n_slack, program
from maxmargin.solvers.cutting_plane.checks import check_cuts
from maxmargin.solvers.cutting_plane.cuts import Cuts
from maxmargin.solvers.domain_steps import finalize_weights, is_free
from maxmargin.solvers.run import limits_of
from maxmargin.solvers.vertex_cache import CacheState, OracleCache, check_vertex_cache
from maxmargin.validation.options import Count, CountOrZero, NonNegativeOrInf, Seed

#: the small program is solved to this share of the gap that is left
_SHARE = 0.1
#: a cut of remembered outputs is worth its while if it is violated by this share of the gap
_WORTH = 0.25
#: and this many may follow a round of the oracle
_ROUNDS = 20
#: steps of the small program at most, each in time proportional to the number of cuts
_STEPS = 100_000


@dataclass(repr=False)
class CuttingPlaneState(CacheState):
    """State of `CuttingPlane`: joint cuts, or working sets in the cache of vertices."""

    #: cuts of all samples; the data and the z that they are of, see `cuts.cuts_key`
    cuts: Cuts | None = state_field(None, warm="refit", grows=True)
    cuts_key: int = state_field(0, warm="refit")
    #: lowest objective so far, and its weights
    best_primal: float = state_field(np.inf)
    best_w: np.ndarray | None = state_field(None)


class CuttingPlane(Solver[CuttingPlaneState]):
    """Minimise `alpha/2 |w|^2 + sum_i omega_i H_i(w)` by cutting planes, a lower model of H.

    "1-slack": an epoch calls every oracle at the minimum w of the model, which gives one more cut
    ::

        sum_i omega_i H_i(w) >= loss + w . b,   b = sum_i omega_i F_i (v_i - y_i)

    of all samples together, and minimises the model again, by its dual: the best mixture of cuts.
    In between, cuts of cached outputs are added while they are violated by a good part of the gap.
    The mixture of outputs is the dual point z, so that certificates are those of all solvers.

    "n-slack": each sample has a model of its own, made of its outputs. The oracles are called in
    turn; an output that is violated by more than epsilon joins its sample's working set, and after
    `resolve_every` such outputs, all models are minimised together again.

    Parameters
    ----------
    variant : {"1-slack", "n-slack"}, default="1-slack"
        See above. "1-slack" needs few rounds where alpha is large, for any n; "n-slack" learns more
        from the same oracle calls, and has larger programs to solve.
    cache : OracleCache, "auto" or None, default="auto"
        Cache of the oracle's outputs; "auto" means `OracleCache()`. See Notes.
    drop_after : int, default=50
        Number of rounds after which a cut without mass is dropped ("1-slack"), which does not
        change the dual.
    resolve_every : int, default=100
        Number of outputs after which the models are minimised again ("n-slack").

    Notes
    -----
    For "1-slack", `cache.size` is the number of recent outputs of each sample that are stored
    beside those of the cuts, and `cache.passes` the maximum number of cuts of these after a round
    ("auto": 20, while they are worth it); None calls the oracle for every cut. For "n-slack",
    `cache.size` is that of the working sets, beyond which outputs without mass are replaced and
    then the lightest ones merged, and `cache.passes` is not used.

    `tol` is on the relative gap, as for all solvers: epsilon, the violation that is ignored, is tol
    / 2 times the lower bound on the objective.

    In a domain w is projected, and steps are those of `solvers.domain_steps`: in Python, with a few
    projections each.

    References
    ----------
    - Joachims, Finley, Yu, Machine Learning 2009.
    - Tsochantaridis et al., JMLR 2005.
    """

    name: ClassVar[str] = "cutting-plane"
    summary: ClassVar[str] = (
        "Cutting planes: a model of the loss that grows from below, solved anew each pass."
    )
    requires: ClassVar[Requires] = Requires(any_domain=True, shards="sums")
    state_class = CuttingPlaneState

    def __init__(
        self,
        variant: Literal["1-slack", "n-slack"] = "1-slack",
        cache: OracleCache | Literal["auto"] | None = "auto",
        drop_after: Count = 50,
        resolve_every: Count = 100,
        max_epochs: CountOrZero | None = None,
        tol: NonNegativeOrInf | None = None,
        random_state: Seed = None,
        check_every: Count | None = None,
    ):
        self.variant = variant
        self.cache = cache
        self.drop_after = drop_after
        self.resolve_every = resolve_every
        self.max_epochs = max_epochs
        self.tol = tol
        self.random_state = random_state
        self.check_every = check_every

    def _cache(self) -> OracleCache | None:
        return OracleCache() if self.cache == "auto" else self.cache

    def _compiled_modules(self, problem: Problem) -> tuple[str, ...]:
        return ("batch", "cutting_plane" if self.variant == "1-slack" else "n_slack")

    # -- the state ---------------------------------------------------------------------------------
    def init(self, problem: Problem) -> CuttingPlaneState:
        start = problem.domain.project(np.zeros(problem.dim))  # the first cut is made there
        state = CuttingPlaneState(start, problem.truth_copy(), self.generator())
        self._prepare(problem, state)
        return state

    def _prepare(self, problem: Problem, state: CuttingPlaneState) -> None:
        """What this solver keeps besides w and z; a state of another solver may lack it."""
        if self.variant == "n-slack":
            n_slack.prepare_working_sets(problem, state, self._cache() or OracleCache())
        elif state.cuts is None:
            state.cuts = cuts.start_cuts(problem, state.z)
            state.best_primal, state.best_w = np.inf, state.w.copy()

    def _warm_start_from(self, problem: Problem, state: State) -> CuttingPlaneState:
        own = super()._warm_start_from(problem, state)
        if self.variant == "n-slack":
            own.cuts = None
            n_slack.keep_working_sets(problem, own)
            return own
        n_slack.forget_working_sets(own)
        if own.cuts_key != cuts.cuts_key(problem, own.z):
            own.cuts = None  # of other data, or z was moved by another solver
        own.best_w, own.estimate, own.cuts_key = own.w.copy(), np.inf, 0
        return own

    def check_restored(
        self, problem: Problem, fresh: CuttingPlaneState, state: CuttingPlaneState
    ) -> None:
        if fresh.vertex_cache is not None:
            check_vertex_cache(problem, fresh, state)
        if state.cuts is not None:
            check_cuts(problem, state.cuts)
        if state.best_w is not None and _is_known(problem, state):  # files are not trusted
            state.best_primal = problem.primal(state.best_w)

    # -- a round -----------------------------------------------------------------------------------
    def epoch(self, problem: Problem, state: CuttingPlaneState) -> None:
        self._prepare(problem, state)
        if self.variant == "n-slack":
            n_slack.round_of_all(problem, state, limits_of(self)[1], self.resolve_every)
        else:
            self._round(problem, state)

    def _round(self, problem: Problem, state: CuttingPlaneState) -> None:
        """Ask all oracles, add the cut, then cuts of remembered outputs while they are worth it."""
        vertex = np.empty_like(state.z)
        hinges = problem.apply("maximize", state.w, point=problem.truths, out=vertex)
        with delay_signals():  # what is remembered changes in place
            self._note(problem, state, hinges)
            assert state.cuts is not None
            known, ids = cuts.store_outputs(problem, state.cuts, vertex, state.epoch + 1)
            known = cuts.add_cut(problem, known, ids, vertex)
            self._cut(problem, state, known)
            state.n_oracle += problem.n

    def _note(self, problem: Problem, state: CuttingPlaneState, hinges: np.ndarray) -> None:
        """The objective at w is known now: keep the best."""
        objective = float(problem.sample_weight @ np.maximum(hinges, 0.0))
        objective += problem.alpha / 2 * float(state.w @ state.w)
        if objective < state.best_primal:
            state.best_primal, state.best_w = objective, state.w.copy()

    def _cut(self, problem: Problem, state: CuttingPlaneState, known: Cuts) -> None:
        """Minimise the model, and go on with remembered outputs."""
        cache = self._cache()
        w, dual = self._improve(problem, known, state.best_primal)
        for _ in range(0 if cache is None else _ROUNDS if cache.passes == "auto" else cache.passes):
            ids, vertex = cuts.cached_cut(problem, known, w)
            known = cuts.add_cut(problem, known, ids, vertex)
            if cuts.last_violation(known, problem.dim, w) <= _WORTH * (state.best_primal - dual):
                known.size[0] -= 1
                break
            w, dual = self._improve(problem, known, state.best_primal)
        known = cuts.drop_cuts(problem, known, self.drop_after, 0 if cache is None else cache.size)
        state.estimate = state.best_primal - dual
        state.cuts, state.z = known, cuts.dual_point(problem, known)
        state.w[:] = w

    def _improve(self, problem: Problem, known: Cuts, minimum: float) -> tuple[np.ndarray, float]:
        """The best mixture of cuts: its weights and its dual value."""
        tolerance = _SHARE * max(minimum - self._value(problem, known)[1], 0.0)
        if is_free(problem):
            program.solve_masses(known, problem.alpha, tolerance, _STEPS)
        else:
            program.solve_inside(problem, known, tolerance)
        return self._value(problem, known)

    @staticmethod
    def _value(problem: Problem, known: Cuts) -> tuple[np.ndarray, float]:
        """The weights of the mixture of cuts, and its dual value."""
        mass = known.mass[: known.n_cuts]
        w, minimum = problem.domain.argmin_linear(known.planes(problem.dim).T @ mass, problem.alpha)
        return w, float(mass @ known.loss[: known.n_cuts]) + minimum

    # -- certificates ------------------------------------------------------------------------------
    def candidates(self, problem: Problem, state: CuttingPlaneState) -> list[np.ndarray]:
        if state.best_w is None:
            return [state.w]
        return [state.best_w] if _is_known(problem, state) else [state.w, state.best_w]

    def objective(self, problem: Problem, state: CuttingPlaneState, w: np.ndarray) -> float:
        known = w is state.best_w and _is_known(problem, state)
        return state.best_primal if known else super().objective(problem, state, w)

    def estimate(self, state: CuttingPlaneState) -> float:
        return state.estimate

    def _finalize(self, problem: Problem, state: CuttingPlaneState) -> None:
        finalize_weights(problem, state)
        if state.cuts is not None:
            state.cuts_key = cuts.cuts_key(problem, state.z)
        n_slack.sign_working_sets(problem, state)


def _is_known(problem: Problem, state: CuttingPlaneState) -> bool:
    """Whether certificates take the objective that a round has found for an expensive oracle.

    The next round calls it at the newest weights anyway.
    """
    return problem.oracle.is_expensive and np.isfinite(state.best_primal)
