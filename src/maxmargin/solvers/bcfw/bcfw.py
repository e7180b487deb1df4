"""Block-coordinate Frank-Wolfe."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin._numba.compile import announce_compilation, compile_module
from maxmargin._numba.packed_samples import score_block
from maxmargin._numba.passes.bcfw import frank_wolfe_pass, frank_wolfe_step
from maxmargin._numba.passes.vertex_pass import cached_pass, oracle_pass, vertex_step
from maxmargin.memory import sparse_copy
from maxmargin.problem import Problem
from maxmargin.result import State
from maxmargin.solvers.base import Solver
from maxmargin.solvers.bcfw import image_cache
from maxmargin.solvers.bcfw.image_cache import check_image_cache, images_pay, make_image_cache
from maxmargin.solvers.bcfw.vertex_cache import (
    check_vertex_cache,
    make_vertex_cache,
    vertex_cache_key,
)
from maxmargin.solvers.domain_steps import Step, is_free, unprojected_weights, visit_samples
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


class BCFW(Solver):
    """Block-coordinate Frank-Wolfe: maximise D(z) by exact steps in one z_i at a time.

    The oracle returns `s = argmax a_i . s`. Then z_i moves

    - "frank-wolfe": towards s, by the exact line search or by 2n / (k + 2n);
    - "pairwise": mass moves to s from the cached vertex where this raises the dual most;
    - "corrective": such exchanges between all cached vertices until their scores agree.

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
        Length of the step "corrective", 1 being the block's optimum. Below 2 the dual still never
        decreases, and samples that share weights zigzag less.

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

    def compiled_modules(self) -> tuple[str, ...]:
        return ("batch", "bcfw") if self._cache() is None else ("batch",)

    def load(self, problem: Problem) -> None:
        super().load(problem)
        cache = self._cache()
        if cache is not None:
            with announce_compilation():
                name = "image_pass" if cache.keeps_images(problem) else "vertex_pass"
                compile_module(f"passes.{name}")

    def _policy(self) -> tuple[int, float]:
        """Exchanges a visit, and how far to go along them."""
        return _EXCHANGES[self.step], self.relaxation if self.step == "corrective" else 1.0

    def init(self, problem: Problem) -> State:
        state = State(np.zeros(problem.dim), sparse_copy(problem.truth), self.generator())
        self._prepare(problem, state)
        return state

    def _prepare(self, problem: Problem, state: State) -> None:
        """What this solver keeps besides w and z; a state of another solver may lack it."""
        if self.averaging and len(state.lag) == 0:
            state.lag = np.zeros(problem.dim)
            state.clock[0] = 0.0
        if not is_free(problem) and "w_unprojected" not in state.extra:
            state.extra["w_unprojected"] = unprojected_weights(problem, state.z)
        state.extra.setdefault("gaps", np.full(problem.n, np.inf))
        cache = self._cache()
        if cache is None:
            return
        if problem.structure.expensive_oracle and len(state.extra.get("oracle_outputs", ())) != len(
            state.z
        ):
            state.extra["oracle_outputs"] = np.zeros_like(state.z)
            state.extra.pop("answered", None)
        kind = "images" if "image_cache" in state.extra else "vertices"
        if state.extra.get("vertex_cache_size") != cache.size or cache.store not in ("auto", kind):
            self._remember(problem, state, cache.size, cache.keeps_images(problem))

    def _remember(self, problem: Problem, state: State, size: int, with_images: bool) -> None:
        """Begin to remember, with z."""
        extra = state.extra
        extra.pop("image_cache", None)
        if with_images:
            extra["vertex_cache"], extra["image_cache"] = make_image_cache(problem, state.z, size)
        else:
            extra["vertex_cache"] = make_vertex_cache(problem, state.z, size)
        extra["vertex_cache_size"] = size

    def _warm_start_from(self, problem: Problem, state: State) -> None:
        super()._warm_start_from(problem, state)
        state.extra.pop("answered", None)  # at other weights, maybe
        if state.extra.pop("w_unprojected", None) is not None or not is_free(problem):
            state.lag, state.clock[0] = np.empty(0), 0.0  # an average of another domain, maybe
        if "vertex_cache" in state.extra:
            # remembered vertices and their inner products hold for these data and this z only
            known = state.extra.get("vertex_cache_key")
            with_images = "image_cache" in state.extra
            if self._cache() is None or known != vertex_cache_key(problem, state.z, with_images):
                for name in ("vertex_cache", "vertex_cache_size", "image_cache"):
                    state.extra.pop(name, None)

    def check_restored(self, problem: Problem, fresh: State, state: State) -> None:
        if not np.isfinite(state.extra.get("oracle_outputs", 0.0)).all():
            raise ValueError("its answers are not finite")
        if "vertex_cache" in fresh.extra:
            if state.extra["vertex_cache_size"] != fresh.extra["vertex_cache_size"]:
                raise ValueError("it remembers another number of vertices")
            check_vertex_cache(problem, fresh.extra["vertex_cache"], state.extra["vertex_cache"])
        if "image_cache" in fresh.extra:
            check_image_cache(fresh.extra["image_cache"], state.extra["image_cache"])

    def epoch(self, problem: Problem, state: State) -> None:
        self._prepare(problem, state)
        state.clock[2] = state.epoch
        cache = self._cache()
        order = self._order(problem, state)
        known = self._take_outputs(problem, state)
        if cache is None and self.line_search and not is_free(problem):
            visit_samples(self._whole_pass, problem, state, order, search=True)
        elif cache is None:
            self._visit(self._plain_pass, problem, state, order)
        elif "image_cache" in state.extra:
            self._image_passes(problem, state, order, cache.passes, known)
        else:
            before = problem.dual(state.z, state.w) if problem.structure.expensive_oracle else 0.0
            self._visit(partial(self._vertex_pass, known=known), problem, state, order)
            self._cached_passes(problem, state, cache.passes, before)
        state.n_oracle += len(order)  # at the last certificate, if they were known
        weighty = problem.packed.weight > 0
        gaps = np.maximum(state.extra["gaps"][weighty], 0.0)
        state.extra["estimate"] = float(problem.packed.weight[weighty] @ gaps)

    def _cached_passes(
        self, problem: Problem, state: State, passes: int | str, before: float
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
                self._visit(self._cached_pass, problem, state, again)
            if expensive_oracle:
                last, value = value, problem.dual(state.z, state.w)
                if value - last <= 0.1 * (value - before):
                    return

    def _visit(self, step: Step, problem: Problem, state: State, order: np.ndarray) -> None:
        """Steps in z for all samples of `order`; in a domain one by one, see `domain_steps`."""
        if is_free(problem):
            step(problem, state, order)
        else:
            visit_samples(step, problem, state, order)

    def _order(self, problem: Problem, state: State) -> np.ndarray:
        n, gaps = problem.n, state.extra["gaps"]
        if self.sampling == "uniform":
            return state.rng.integers(n, size=n)
        if self.sampling == "gap" and state.epoch % 10 and np.isfinite(gaps).all():
            chance = np.maximum(gaps, 0.0) * problem.packed.weight
            if chance.sum() > 0:
                return state.rng.choice(n, size=n, p=chance / chance.sum())
        return state.rng.permutation(n)

    def _whole_pass(self, problem: Problem, state: State, order: np.ndarray) -> None:
        """A step all the way to a vertex, which is 2n / (k + 2n) at k = 0, for one sample."""
        count, state.clock[1] = state.clock[1], 0.0
        try:
            self._plain_pass(problem, state, order, search=False)
        finally:
            state.clock[1] += count

    def _plain_pass(
        self, problem: Problem, state: State, order: np.ndarray, search: bool | None = None
    ) -> None:
        packed, workspace, gaps = problem.packed, problem.workspace(), state.extra["gaps"]
        function = problem.structure.compiled_function("maximize")
        point = (state.w, state.z, state.lag, state.clock)
        search = self.line_search if search is None else search
        if function is not None:
            frank_wolfe_pass(
                packed, workspace, function, order, problem.alpha, search, *point, gaps
            )
            return

        def at(i: int) -> int:
            return score_block(packed, i, state.w, workspace)

        for i in problem.visits(order, workspace, at, state.z, gaps):
            fixed = -1.0 if search else 2 * problem.n / (state.clock[1] + 2 * problem.n)
            gaps[i] = frank_wolfe_step(packed, i, workspace, problem.alpha, fixed, *point)

    def _vertex_pass(
        self, problem: Problem, state: State, order: np.ndarray, known: np.ndarray | None = None
    ) -> None:
        packed, workspace, gaps = problem.packed, problem.workspace(), state.extra["gaps"]
        function = problem.structure.compiled_function("maximize")
        vertex_cache = state.extra["vertex_cache"]
        options = (problem.alpha, *self._policy())
        point = (state.w, state.z, state.lag, state.clock)
        if function is not None:
            oracle_pass(packed, workspace, vertex_cache, function, order, *options, *point, gaps)
            return

        def at(i: int) -> int:
            return score_block(packed, i, state.w, workspace)

        for i in problem.visits(order, workspace, at, state.z, gaps, known):
            gaps[i] = vertex_step(packed, i, workspace, vertex_cache, *options, *point)

    def _cached_pass(self, problem: Problem, state: State, order: np.ndarray) -> None:
        limit, relaxation = self._policy()
        cached_pass(
            problem.packed, problem.workspace(), state.extra["vertex_cache"], order, problem.alpha,
            limit, relaxation, state.w, state.z, state.lag, state.clock,
        )  # fmt: skip

    def _image_passes(
        self,
        problem: Problem,
        state: State,
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
                self._visit(partial(step, policy=policy, bounded=False), problem, state, order)

        try:
            visit(partial(image_cache.oracle_pass, known=known), order)
            image_cache.cached_passes(
                problem, state, passes, partial(visit, image_cache.cached_pass)
            )
        finally:  # an oracle in Python may be interrupted
            image_cache.rebuild_z(problem, state)

    def objective(self, problem: Problem, state: State, w: np.ndarray) -> float:
        # what an expensive oracle says at the newest weights serves the next epoch, too
        if "oracle_outputs" not in state.extra or w is not state.w:
            return problem.primal(w)
        value = problem.primal(w, out=state.extra["oracle_outputs"])
        state.extra["answered"] = 1
        return value

    def _take_outputs(self, problem: Problem, state: State) -> np.ndarray | None:
        """What the oracle said of the present weights at the last certificate, if it did."""
        if not state.extra.pop("answered", 0):
            return None
        return state.extra["oracle_outputs"]

    def candidates(self, problem: Problem, state: State) -> list[np.ndarray]:
        k = state.clock[0]
        # with an expensive oracle the average is not worth as many calls as the next epoch
        if (
            not self.averaging
            or k == 0
            or len(state.lag) == 0
            or problem.structure.expensive_oracle
        ):
            return [state.w]
        average = state.lag / (-k * (k + 1) / 2)
        average += state.w
        if not is_free(problem):  # rounding
            average = problem.domain.project(average)
        return [state.w, average]

    def certified(self, state: State) -> None:
        if self.averaging:
            state.lag[:] = 0.0
            state.clock[0] = 0.0

    def estimate(self, state: State) -> float:
        return state.extra.get("estimate", float("inf"))

    def finalize(self, problem: Problem, state: State) -> None:
        exact = problem.weights(state.z)
        if len(state.lag):  # keep the average where it is
            k = state.clock[0]
            state.w -= exact
            state.w *= k * (k + 1) / 2
            state.lag -= state.w
        state.w[:] = exact
        if "w_unprojected" in state.extra:
            state.extra["w_unprojected"] = unprojected_weights(problem, state.z)
        if "vertex_cache" in state.extra:
            with_images = "image_cache" in state.extra
            state.extra["vertex_cache_key"] = vertex_cache_key(problem, state.z, with_images)
