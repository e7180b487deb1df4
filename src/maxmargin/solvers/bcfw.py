"""Block-coordinate Frank-Wolfe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from maxmargin._numba.passes.bcfw import SCHEDULE, SEARCH, WHOLE, frank_wolfe_pass, frank_wolfe_step
from maxmargin._numba.passes.vertex_pass import oracle_pass, vertex_step
from maxmargin._numba.passes.weights import Weights, score_sample, start_average
from maxmargin.exceptions import SampleError
from maxmargin.problem import Problem
from maxmargin.result import State, state_field
from maxmargin.solvers.base import Pieces, PiecewiseSolver, Requires, cut_order
from maxmargin.solvers.domain_steps import (
    finalize_weights,
    is_free,
    unprojected_weights,
    visit_samples,
    weights_and_average,
)
from maxmargin.solvers.vertex_cache import (
    CacheState,
    OracleCache,
    check_vertex_cache,
    make_vertex_cache,
    step_between_vertices,
    take_points,
    vertex_cache_key,
)
from maxmargin.validation.options import Bounds, Count, CountOrZero, NonNegativeOrInf, Seed

_EXCHANGES = {"frank-wolfe": 0, "pairwise": 1, "corrective": 20}
#: "auto" passes over cached vertices end when the gap among them is this share of the oracle's:
#: what is gained below that is soon undone by the next vertices
_ENOUGH = 0.1
#: passes after which that is looked at, and the most passes there are
_PASSES, _MOST_PASSES = 5, 100
#: with images a visit takes as long as an oracle needs for this many parts
_PARTS_PER_VISIT = 30


@dataclass(repr=False)
class BCFWState(CacheState):
    """State of `BCFW`."""

    #: room for what an expensive oracle returns; whether it did so at the present weights
    oracle_outputs: np.ndarray | None = state_field(None, warm="keep")
    outputs_known: bool = state_field(False)


class BCFW(PiecewiseSolver[BCFWState]):
    """Block-coordinate Frank-Wolfe: maximise D(z) by exact steps in one z_i at a time.

    The oracle returns `s = argmax a_i . s`. Then z_i moves

    - "frank-wolfe": towards s, by the exact line search or by 2n / (k + 2n);
    - "pairwise": mass moves to s from the cached vertex where this raises the dual most;
    - "corrective": up to 20 such exchanges between cached vertices, until the scores of those with
      mass agree to a tenth of the sample's gap.

    The last two cache the vertices of each sample (`cache.size`). With `cache.passes`, passes over
    cached vertices follow each pass with the oracle, at a fraction of its cost.

    Parameters
    ----------
    step : {"frank-wolfe", "pairwise", "corrective"}, default="corrective"
        Kind of the steps, see above.
    sampling : {"permutation", "uniform", "gap"}, default="permutation"
        Order of the samples: each once per pass in random order, uniformly at random, or in
        proportion to the samples' last known gaps, with a permutation every tenth pass, because
        gaps become outdated (Osokin et al. 2016).
    line_search : bool, default=True
        Whether "frank-wolfe" uses the exact line search; False means 2n / (k + 2n).
    averaging : bool, default=True
        Whether to certify also the average of w since the last certificate (with weights
        proportional to k) and return the better of last and average.
    cache : OracleCache, "auto" or None, default="auto"
        Cache of the oracle's outputs; "auto" means `OracleCache()` unless `step` is "frank-wolfe".
    relaxation : float, default=1.5
        Length of the step "corrective", relative to the best one along the sum of its exchanges.
        Below 2 the dual still never decreases, and samples that share weights zigzag less.

    Notes
    -----
    If a call of the oracle costs far more than a step (`Oracle.is_expensive`, as with
    `Structure.from_oracle` and `LinearProgram`), its outputs for a certificate are used in the next
    epoch as well, averages are not tried, and there are more passes over cached vertices: this
    takes between a half and a tenth of the calls for the same gap (`python -m benchmarks
    expensive_oracle`).

    In a domain the same steps are taken from w(z), and w is projected after each: the dual still
    never decreases, and certificates are as exact (`solvers.domain_steps`). The line search of
    "frank-wolfe" without a cache is exact there as well, by a few more projections; exchanges use a
    bound.

    Corrective steps with five cached passes are the default because on handwritten letters they
    reach relative gaps of 10, 1 and 0.1 % first, at alpha = 0.01 and at 1/n, where textbook steps
    are still above 10 % when these are below 1 % (`python -m benchmarks gaps`). Gap sampling saves
    another tenth there; permutations are the default because every pass then visits every sample
    and updates its gap.

    References
    ----------
    - Lacoste-Julien et al., ICML 2013.
    - Osokin et al., ICML 2016.
    - Shah et al., CVPR 2015.
    """

    name: ClassVar[str] = "bcfw"
    summary: ClassVar[str] = (
        "Block-coordinate Frank-Wolfe: exact steps in one sample at a time, with a bound."
    )
    requires: ClassVar[Requires] = Requires(any_domain=True, shards="rounds")
    state_class = BCFWState

    def __init__(
        self,
        step: Literal["frank-wolfe", "pairwise", "corrective"] = "corrective",
        sampling: Literal["permutation", "uniform", "gap"] = "permutation",
        line_search: bool = True,
        averaging: bool = True,
        cache: OracleCache | Literal["auto"] | None = "auto",
        relaxation: Annotated[float, Bounds(1, 2, open_high=True)] = 1.5,
        max_epochs: CountOrZero | None = None,
        tol: NonNegativeOrInf | None = None,
        random_state: Seed = None,
        check_every: Count | None = None,
    ):
        self.step = step
        self.sampling = sampling
        self.line_search = line_search
        self.averaging = averaging
        self.cache = cache
        self.relaxation = relaxation
        self.max_epochs = max_epochs
        self.tol = tol
        self.random_state = random_state
        self.check_every = check_every

    def _check(self, problem: Problem) -> None:
        super()._check(problem)
        if not self.line_search and (self.step != "frank-wolfe" or self._cache() is not None):
            raise ValueError('line_search=False goes with step="frank-wolfe" and no cache only.')

    def _cache(self) -> OracleCache | None:
        if self.cache == "auto":
            return None if self.step == "frank-wolfe" else OracleCache()
        if self.cache is None and self.step != "frank-wolfe":
            return OracleCache(passes=0)
        return self.cache

    def _compiled_modules(self, problem: Problem) -> tuple[str, ...]:
        if self._cache() is None:
            return "batch", "bcfw"
        return "batch", "vertex_cache", "vertex_pass"

    def init(self, problem: Problem) -> BCFWState:
        state = BCFWState(np.zeros(problem.dim), np.empty(0), self.generator())
        state.z = problem.truth_points()
        self._prepare(problem, state)
        return state

    def _prepare(self, problem: Problem, state: BCFWState) -> None:
        """What this solver keeps besides w and z; a state of another solver may lack it."""
        if self.averaging and len(state.average.correction) == 0:
            state.average = start_average(problem.dim)
        if not is_free(problem) and state.w_unprojected is None:
            state.w_unprojected = unprojected_weights(problem, state.points)
        if len(state.gaps) == 0:
            state.gaps = np.full(problem.n, np.inf)
        cache = self._cache()
        if cache is None:
            state.make_dense()
            return
        outputs, size = state.oracle_outputs, len(state.points)
        if problem.oracle.is_expensive and (outputs is None or len(outputs) != size):
            state.oracle_outputs, state.outputs_known = np.zeros(size), False
        if state.cache_size != cache.size or cache.store not in ("auto", state.stores):
            state.cache_size = cache.size
            images = cache.keeps_images(problem)
            state.vertex_cache = make_vertex_cache(problem, state.points, cache.size, images)

    def _warm_start_from(self, problem: Problem, state: State) -> BCFWState:
        was_free = not isinstance(state, BCFWState) or state.w_unprojected is None
        own = super()._warm_start_from(problem, state)
        if not (was_free and is_free(problem)):  # an average of another domain, maybe
            own.average = start_average()
        # remembered vertices and their inner products hold for these data and this z only
        known = self._cache() is not None and own.vertex_cache is not None
        if not known or own.cache_key != vertex_cache_key(problem, own):
            own.vertex_cache, own.cache_size = None, 0
        return own

    def check_restored(self, problem: Problem, fresh: BCFWState, state: BCFWState) -> None:
        if fresh.vertex_cache is not None:
            check_vertex_cache(problem, fresh, state)

    # -- an epoch ----------------------------------------------------------------------------------
    def rounds(self, problem: Problem, state: BCFWState, n_pieces: int | None = None) -> Pieces:
        self._prepare(problem, state)
        state.counters.epoch[0] = state.epoch
        order, cache = self._order(problem, state), self._cache()
        known = state.oracle_outputs if state.outputs_known else None
        state.outputs_known, count = False, 0
        try:
            for piece in cut_order(order, n_pieces):
                for part in (yield piece) or (piece,):
                    if cache is None:
                        self._plain_pass(problem, state, part)
                    else:
                        self._oracle_pass(problem, state, part, known)
                    count += len(part)
            if cache is not None:
                yield from self._cached_passes(problem, state, cache.passes, n_pieces)
            yield order[:0]
        finally:  # an oracle in Python may be interrupted
            if cache is not None:
                take_points(problem, state)
        state.n_oracle += count  # known outputs count here, not where they were computed
        state.estimate = _weighted_gap(problem, state)

    def _order(self, problem: Problem, state: BCFWState) -> np.ndarray:
        """The samples of one pass, n of them, as `sampling` says."""
        n, gaps = problem.n, state.gaps
        if self.sampling == "uniform":
            return state.rng.integers(n, size=n)
        if self.sampling == "gap" and state.epoch % 10 and np.isfinite(gaps).all():
            chance = np.maximum(gaps, 0.0) * problem.sample_weight
            if chance.sum() > 0:
                return state.rng.choice(n, size=n, p=chance / chance.sum())
        return state.rng.permutation(n)

    def _plain_pass(self, problem: Problem, state: BCFWState, order: np.ndarray) -> None:
        """Call the oracle for each sample, and go towards its output."""
        # in a domain that compiled code does not know, `visit_samples` draws whole steps back
        draw_back = self.line_search and problem.weight_limits is None
        rule = WHOLE if draw_back else SEARCH if self.line_search else SCHEDULE

        def steps(order: np.ndarray, weights: Weights) -> None:
            packed, gaps = problem.packed, state.gaps
            rest = (problem.alpha, rule, weights, state.z, state.counters)

            def step(i: int, workspace: Any, value: float) -> None:
                gaps[i] = frank_wolfe_step(packed, i, workspace, *rest)

            problem.sweep(
                order,
                lambda function, workspace: frank_wolfe_pass(
                    packed, workspace, function, order, *rest, gaps
                ),
                step,
                lambda i, workspace: score_sample(packed, i, weights, workspace),
                point=lambda i: state.z[problem.parts(i)],
                gaps=gaps,
            )

        gaps = state.gaps if draw_back else None
        visit_samples(steps, problem, state, state.w_unprojected, order, gaps=gaps)

    def _policy(self) -> tuple[int, float]:
        """Exchanges per visit, and the length of their sum relative to the best one."""
        return _EXCHANGES[self.step], self.relaxation if self.step == "corrective" else 1.0

    def _oracle_pass(
        self, problem: Problem, state: BCFWState, order: np.ndarray, known: np.ndarray | None
    ) -> None:
        """Call the oracle for each sample, store its output, and step between cached vertices.

        known : its outputs of all samples, if they need not be asked for.
        """
        packed, gaps, cache = problem.packed, state.gaps, state.vertex_cache
        moved: set[int] = set()

        def point(i: int) -> np.ndarray:
            if i in moved:  # earlier in this pass, which z does not know yet
                take_points(problem, state)
                moved.clear()
            return state.points[problem.parts(i)]

        def steps(order: np.ndarray, weights: Weights) -> None:
            rest = (problem.alpha, *self._policy(), weights, state.counters)

            def step(i: int, workspace: Any, value: float) -> None:
                gaps[i] = vertex_step(packed, i, workspace, cache, *rest)
                moved.add(i)

            problem.sweep(
                order,
                lambda function, workspace: oracle_pass(
                    packed, workspace, cache, function, order, *rest, gaps
                ),
                step,
                lambda i, workspace: score_sample(packed, i, weights, workspace),
                point=point,
                gaps=gaps,
                known=known,
            )

        visit_samples(steps, problem, state, state.w_unprojected, order)
        if np.isnan(gaps).any():
            raise SampleError.of(
                int(np.flatnonzero(np.isnan(gaps))[0]),
                f": {type(problem.structure).__name__}.maximize returned something else than"
                " zeros and ones; say binary = False in the structure.",
            )

    def _cached_passes(
        self, problem: Problem, state: BCFWState, passes: int | str, n_pieces: int | None
    ) -> Pieces:
        """Step between cached vertices, in this many passes or as many as pay, see `rounds`.

        Counted, not timed: the same seed gives the same bits.
        """
        most = _PASSES if passes == "auto" else int(passes)
        target = -np.inf
        if passes == "auto" and (state.stores == "images" or problem.oracle.is_expensive):
            parts = int(problem.part_ptr[-1]) // (_PARTS_PER_VISIT * problem.n)
            most = (
                _MOST_PASSES if problem.oracle.is_expensive else min(max(parts, most), _MOST_PASSES)
            )
            most, target = most // _PASSES * _PASSES, _ENOUGH * _weighted_gap(problem, state)
        for count in range(1, most + 1):
            left = 0.0
            for piece in cut_order(state.rng.permutation(problem.n), n_pieces):
                for part in (yield piece) or (piece,):
                    left += step_between_vertices(problem, state, part, *self._policy())
            if count % _PASSES == 0 and left <= target:
                return

    # -- certificates ------------------------------------------------------------------------------
    def objective(self, problem: Problem, state: BCFWState, w: np.ndarray) -> float:
        # what an expensive oracle says at the newest weights serves the next epoch, too
        if state.oracle_outputs is None or w is not state.w:
            return problem.primal(w)
        value = problem.primal(w, out=state.oracle_outputs)
        state.outputs_known = True
        return value

    def candidates(self, problem: Problem, state: BCFWState) -> list[np.ndarray]:
        return self._candidates(problem, state, take=False)

    def _take_candidates(self, problem: Problem, state: BCFWState) -> list[np.ndarray]:
        return self._candidates(problem, state, take=True)

    def _candidates(self, problem: Problem, state: BCFWState, take: bool) -> list[np.ndarray]:
        # with an expensive oracle the average is not worth as many calls as the next epoch
        if not self.averaging or problem.oracle.is_expensive:
            return [state.w]
        return weights_and_average(problem, state, take)

    def _certified(self, state: BCFWState) -> None:
        if self.averaging:
            state.average = start_average(len(state.w))

    def estimate(self, state: BCFWState) -> float:
        return state.estimate

    def _finalize(self, problem: Problem, state: BCFWState) -> None:
        finalize_weights(problem, state)
        if state.vertex_cache is not None:
            state.cache_key = vertex_cache_key(problem, state)


def _weighted_gap(problem: Problem, state: BCFWState) -> float:
    """Gap of all samples at their last calls of the oracle."""
    weighty = problem.sample_weight > 0
    return float(problem.sample_weight[weighty] @ np.maximum(state.gaps[weighty], 0.0))
