"""Block-coordinate Frank-Wolfe."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin._numba.packed_samples import score_block
from maxmargin._numba.passes.bcfw import frank_wolfe_pass, frank_wolfe_step
from maxmargin._numba.passes.block_step import start_average
from maxmargin._numba.passes.vertex_pass import cached_pass, oracle_pass, vertex_step
from maxmargin.memory import sparse_copy
from maxmargin.problem import Problem
from maxmargin.result import State
from maxmargin.solvers.base import Solver
from maxmargin.solvers.bcfw import image_cache
from maxmargin.solvers.bcfw.image_cache import (
    BCFWState,
    check_image_cache,
    images_pay,
    make_image_cache,
)
from maxmargin.solvers.bcfw.vertex_cache import (
    check_vertex_cache,
    make_vertex_cache,
    vertex_cache_key,
)
from maxmargin.solvers.domain_steps import (
    finalize_weights,
    is_free,
    unprojected_weights,
    visit_samples,
    weights_and_average,
)
from maxmargin.validation.learned import Checked
from maxmargin.validation.options import Bounds, Count, CountOrZero, NonNegativeOrInf, Seed

#: rounds of five passes over cached vertices at most, where the oracle is expensive
_EXPENSIVE_ROUNDS = 20
_EXCHANGES = {"frank-wolfe": 0, "pairwise": 1, "corrective": 20}


class OracleCache(Checked, BaseEstimator):
    """Cache of the oracle's answers, for steps between them without calling it.

    Parameters
    ----------
    size : int, default=30
        Maximum number of vertices for each sample; further ones are merged, so that no mass is
        lost.
    passes : int or "auto", default="auto"
        Number of passes over cached vertices after each pass with the oracle. See Notes.
    store : {"auto", "vertices", "images"}, default="auto"
        What is stored of a vertex. "vertices": its non-zeros, 20 bytes each. "images": its image F
        v and its cost, which is all that steps need, and a bit per part (a number per part where
        the structure is not `binary`), from which z is rebuilt once an epoch. "auto": images where
        an image has at most half the numbers of a vertex and takes no more memory: many parts, few
        weights, as in graph cuts (`python -m benchmarks oracle_cache`).

    Notes
    -----
    With `passes="auto"` and "vertices", there are 5 passes; if the oracle is `expensive_oracle`, as
    many times 5 as raise the dual by a tenth of what the epoch gains, at most 100. With "images",
    where they cost next to nothing, they continue until the gap among cached vertices is a tenth of
    the oracle's, or their number is that of a sample's parts / 30 (at least 5, at most 100), when
    they have cost about as much as the oracle.
    """

    def __init__(
        self,
        size: Annotated[int, Bounds(1, 10_000)] = 30,
        passes: CountOrZero | Literal["auto"] = "auto",
        store: Literal["auto", "vertices", "images"] = "auto",
    ):
        self.size = size
        self.passes = passes
        self.store = store

    def keeps_images(self, problem: Problem) -> bool:
        """Tell whether images are stored for this problem.

        Parameters
        ----------
        problem : Problem
            The training problem.

        Returns
        -------
        bool
            True for images, False for vertices.
        """
        return images_pay(problem) if self.store == "auto" else self.store == "images"


class BCFW(Solver[BCFWState]):
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
        Cache of the oracle's answers; "auto" means `OracleCache()` unless `step` is "frank-wolfe".
    relaxation : float, default=1.5
        Length of the step "corrective", relative to the best one along the sum of its exchanges.
        Below 2 the dual still never decreases, and samples that share weights zigzag less.

    Notes
    -----
    If a call of the oracle costs far more than a step (`Structure.expensive_oracle`, as with
    `Structure.from_oracle` and `LinearProgram`), its answers for a certificate are used in the next
    epoch as well, averages are not tried, and there are more passes over cached vertices: this
    takes between a half and a fifth of the calls for the same gap (`python -m benchmarks
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
    any_domain: ClassVar[bool] = True
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

    def check(self, problem: Problem) -> None:
        super().check(problem)
        if not self.line_search and (self.step != "frank-wolfe" or self._cache() is not None):
            raise ValueError('line_search=False goes with step="frank-wolfe" and no cache only.')

    def _cache(self) -> OracleCache | None:
        if self.cache == "auto":
            return None if self.step == "frank-wolfe" else OracleCache()
        if self.cache is None and self.step != "frank-wolfe":
            return OracleCache(passes=0)
        return self.cache

    def compiled_modules(self, problem: Problem) -> tuple[str, ...]:
        cache = self._cache()
        if cache is None:
            return "batch", "bcfw"
        storage = "image" if cache.keeps_images(problem) else "vertex"
        return "batch", f"{storage}_cache", f"{storage}_pass"

    def _policy(self) -> tuple[int, float]:
        """Exchanges a visit, and how far to go along them."""
        return _EXCHANGES[self.step], self.relaxation if self.step == "corrective" else 1.0

    def init(self, problem: Problem) -> BCFWState:
        state = BCFWState(
            np.zeros(problem.dim), sparse_copy(problem.truth, problem.n), self.generator()
        )
        self._prepare(problem, state)
        return state

    def _prepare(self, problem: Problem, state: BCFWState) -> None:
        """What this solver keeps besides w and z; a state of another solver may lack it."""
        if self.averaging and len(state.average.correction) == 0:
            state.average = start_average(problem.dim)
        if not is_free(problem) and state.w_unprojected is None:
            state.w_unprojected = unprojected_weights(problem, state.z)
        if len(state.gaps) == 0:
            state.gaps = np.full(problem.n, np.inf)
        cache = self._cache()
        if cache is None:
            return
        outputs = state.oracle_outputs
        if problem.structure.expensive_oracle and (outputs is None or len(outputs) != len(state.z)):
            state.oracle_outputs, state.outputs_known = np.zeros_like(state.z), False
        kind = "vertices" if state.image_cache is None else "images"
        if state.cache_size != cache.size or cache.store not in ("auto", kind):
            self._remember(problem, state, cache.size, cache.keeps_images(problem))

    def _remember(self, problem: Problem, state: BCFWState, size: int, with_images: bool) -> None:
        """Begin to remember, with z."""
        state.cache_size, state.image_cache = size, None
        if with_images:
            state.vertex_cache, state.image_cache = make_image_cache(problem, state.z, size)
        else:
            state.vertex_cache = make_vertex_cache(problem, state.z, size)

    def _warm_start_from(self, problem: Problem, state: State) -> BCFWState:
        was_free = not isinstance(state, BCFWState) or state.w_unprojected is None
        own = super()._warm_start_from(problem, state)
        if not (was_free and is_free(problem)):  # an average of another domain, maybe
            own.average = start_average()
        # remembered vertices and their inner products hold for these data and this z only
        if own.vertex_cache is not None and (
            self._cache() is None or own.cache_key != self._cache_key(problem, own)
        ):
            own.vertex_cache, own.image_cache, own.cache_size = None, None, 0
        return own

    def _cache_key(self, problem: Problem, state: BCFWState) -> int:
        return vertex_cache_key(problem, state.z, state.image_cache is not None)

    def check_restored(self, problem: Problem, fresh: BCFWState, state: BCFWState) -> None:
        if fresh.vertex_cache is not None:
            check_vertex_cache(problem, fresh, state)
        if fresh.image_cache is not None:
            check_image_cache(fresh.image_cache, state.image_cache)

    def epoch(self, problem: Problem, state: BCFWState) -> None:
        self._prepare(problem, state)
        state.counters.epoch[0] = state.epoch
        cache = self._cache()
        order = self._order(problem, state)
        known = state.oracle_outputs if state.outputs_known else None
        state.outputs_known = False
        if cache is None and self.line_search and not is_free(problem):
            visit_samples(self._whole_pass, problem, state, order, state.gaps)
        elif cache is None:
            visit_samples(self._plain_pass, problem, state, order)
        elif state.image_cache is not None:
            self._image_passes(problem, state, order, cache.passes, known)
        else:
            before = problem.dual(state.z, state.w) if problem.structure.expensive_oracle else 0.0
            visit_samples(partial(self._vertex_pass, known=known), problem, state, order)
            self._cached_passes(problem, state, cache.passes, before)
        state.n_oracle += len(order)  # at the last certificate, if they were known
        weighty = problem.packed.weight > 0
        gaps = np.maximum(state.gaps[weighty], 0.0)
        state.estimate = float(problem.packed.weight[weighty] @ gaps)

    def _cached_passes(
        self, problem: Problem, state: BCFWState, passes: int | str, before: float
    ) -> None:
        """Passes over remembered vertices: this many, or with an expensive oracle, as many as pay.

        They pay until five of them raise the dual by less than a tenth of what this epoch has
        gained since `before`. Counted, not timed: the same seed gives the same bits.
        """
        expensive_oracle = passes == "auto" and problem.structure.expensive_oracle
        count = 5 if passes == "auto" else int(passes)
        value = problem.dual(state.z, state.w) if expensive_oracle else 0.0
        for _ in range(_EXPENSIVE_ROUNDS if expensive_oracle else 1):
            for _ in range(count):
                again = state.rng.permutation(problem.n)
                visit_samples(self._cached_pass, problem, state, again)
            if expensive_oracle:
                last, value = value, problem.dual(state.z, state.w)
                if value - last <= 0.1 * (value - before):
                    return

    def _order(self, problem: Problem, state: BCFWState) -> np.ndarray:
        """The samples of one pass, n of them, as `sampling` says."""
        n, gaps = problem.n, state.gaps
        if self.sampling == "uniform":
            return state.rng.integers(n, size=n)
        if self.sampling == "gap" and state.epoch % 10 and np.isfinite(gaps).all():
            chance = np.maximum(gaps, 0.0) * problem.packed.weight
            if chance.sum() > 0:
                return state.rng.choice(n, size=n, p=chance / chance.sum())
        return state.rng.permutation(n)

    def _whole_pass(self, problem: Problem, state: BCFWState, order: np.ndarray) -> None:
        """A step all the way to a vertex, which is 2n / (k + 2n) at k = 0, for one sample."""
        steps = state.counters.steps
        count, steps[0] = steps[0], 0.0
        try:
            self._plain_pass(problem, state, order, search=False)
        finally:
            steps[0] += count

    def _plain_pass(
        self, problem: Problem, state: BCFWState, order: np.ndarray, search: bool | None = None
    ) -> None:
        packed, workspace, gaps = problem.packed, problem.workspace(), state.gaps
        function = problem.structure.compiled_function("maximize")
        point = (state.w, state.z, state.average, state.counters)
        search = self.line_search if search is None else search
        if function is not None:
            frank_wolfe_pass(
                packed, workspace, function, order, problem.alpha, search, *point, gaps
            )
            return

        def at(i: int) -> int:
            return score_block(packed, i, state.w, workspace)

        for i in problem.visits(order, workspace, at, state.z, gaps):
            fixed = -1.0 if search else 2 * problem.n / (state.counters.steps[0] + 2 * problem.n)
            gaps[i] = frank_wolfe_step(packed, i, workspace, problem.alpha, fixed, *point)

    def _vertex_pass(
        self, problem: Problem, state: BCFWState, order: np.ndarray, known: np.ndarray | None = None
    ) -> None:
        packed, workspace, gaps = problem.packed, problem.workspace(), state.gaps
        function = problem.structure.compiled_function("maximize")
        vertex_cache = state.vertex_cache
        options = (problem.alpha, *self._policy())
        point = (state.w, state.z, state.average, state.counters)
        if function is not None:
            oracle_pass(packed, workspace, vertex_cache, function, order, *options, *point, gaps)
            return

        def at(i: int) -> int:
            return score_block(packed, i, state.w, workspace)

        for i in problem.visits(order, workspace, at, state.z, gaps, known):
            gaps[i] = vertex_step(packed, i, workspace, vertex_cache, *options, *point)

    def _cached_pass(self, problem: Problem, state: BCFWState, order: np.ndarray) -> None:
        limit, relaxation = self._policy()
        cached_pass(
            problem.packed, problem.workspace(), state.vertex_cache, order, problem.alpha,
            limit, relaxation, state.w, state.z, state.average, state.counters,
        )  # fmt: skip

    def _image_passes(
        self,
        problem: Problem,
        state: BCFWState,
        order: np.ndarray,
        passes: int | str,
        known: np.ndarray | None = None,
    ) -> None:
        """A pass with the oracle and those over images that follow it; z is rebuilt at the end."""
        bounded = image_cache.weight_bounds(problem) is not None
        policy = self._policy()

        def visit(step: Callable[..., None], order: np.ndarray) -> None:
            if bounded:  # compiled code keeps w there
                step(problem, state, order, policy, True)
            else:
                visit_samples(partial(step, policy=policy, bounded=False), problem, state, order)

        try:
            visit(partial(image_cache.oracle_pass, known=known), order)
            image_cache.cached_passes(
                problem, state, passes, partial(visit, image_cache.cached_pass)
            )
        finally:  # an oracle in Python may be interrupted
            image_cache.rebuild_z(problem, state)

    def objective(self, problem: Problem, state: BCFWState, w: np.ndarray) -> float:
        # what an expensive oracle says at the newest weights serves the next epoch, too
        if state.oracle_outputs is None or w is not state.w:
            return problem.primal(w)
        value = problem.primal(w, out=state.oracle_outputs)
        state.outputs_known = True
        return value

    def candidates(self, problem: Problem, state: BCFWState) -> list[np.ndarray]:
        # with an expensive oracle the average is not worth as many calls as the next epoch
        if not self.averaging or problem.structure.expensive_oracle:
            return [state.w]
        return weights_and_average(problem, state)

    def certified(self, state: BCFWState) -> None:
        if self.averaging:
            state.average.correction[:] = 0.0
            state.average.steps[0] = 0.0

    def estimate(self, state: BCFWState) -> float:
        return state.estimate

    def finalize(self, problem: Problem, state: BCFWState) -> None:
        finalize_weights(problem, state)
        if state.vertex_cache is not None:
            state.cache_key = self._cache_key(problem, state)
