"""What the saddle-point solvers share: steps, passes over samples, certificates."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, TypeVar, cast

import numpy as np

from maxmargin._numba.passes.saddle import add_block, ascent_range, measure_move
from maxmargin.domains import Domain, L1Ball, Product
from maxmargin.problem import Problem
from maxmargin.result import State, empty_array, state_field
from maxmargin.solvers.base import Requires, Solver
from maxmargin.solvers.identity import checksums, describe_object
from maxmargin.solvers.saddle.weight_geometry import EuclideanWeights, Weights

_RANGES = 8  # stretches of samples with sums of their own; fixed, so that threads change no bit
_SAFETY = 1.02  # a power iteration comes from below
_SETTLED = 1e-8  # residual of a projection that is good enough for a bound
_ANY_TIME = ("max_epochs", "tol", "random_state", "check_every")  # may change as a run goes on


@dataclass(repr=False)
class SaddleState(State):
    """What the states of all saddle-point solvers have."""

    #: checksums of the problem and of the options that steps depend on
    key: int = state_field(0)
    #: step length, and how far w moves for what z moves
    step: float = state_field(np.nan)
    ratio: float = state_field(np.nan)
    #: norm of w -> F^T w at ratio 1, and of the gradients at the present ratio, if known
    feature_norm: float = state_field(np.nan)
    operator_norm: float = state_field(np.nan)
    #: g(z), and that part of L(w, z) which does not depend on w
    loss_gradient: np.ndarray = state_field(empty_array)
    loss: float = state_field(0.0)
    #: how far projections ended from their polytopes, at most
    residual: float = state_field(0.0)
    #: what projections left behind, to start the next ones from, and where that of a sample begins
    warm_u: np.ndarray = state_field(empty_array)
    warm_v: np.ndarray = state_field(empty_array)
    warm_pointers: np.ndarray = state_field(lambda: np.empty(0, dtype=np.int64))
    #: whether the last pass over all samples came to its end
    is_complete: bool = state_field(True)


SaddleT = TypeVar("SaddleT", bound=SaddleState)


class SaddleSolver(Solver[SaddleT]):
    """Find the saddle point min over w in W, max over z in Z of L(w, z) by projected gradients.

    With ::

        L(w, z) = alpha/2 |w|^2 + w . g(z) + sum_i omega_i c_i . (z_i - y_i)
        g(z) = sum_i omega_i F_i (z_i - y_i)

    distances are measured by ::

        |w|^2 / ratio + sum_i omega_i |z_i|^2

    so that a step adds eta (F_i^T w + c_i) to every z_i whatever its weight omega_i, and -eta ratio
    (alpha w + g(z)) to w. ratio = 1 / omega, n for omega = 1 / n, gives the steps of the papers,
    whose L is a plain sum over samples. ratio = "auto" means that, too, where w has neither bounds
    nor a penalty; else it makes w and z equally far from where they end, `|w|^2 / (2 D_z)`, which
    gives the least bound on the gap. `|w|` is the radius of the domain, or a third of what the
    penalty allows, sqrt(2 P(0) / alpha), and D_z a tenth of the worst case, because most training
    outputs end near the truth.

    Records have, besides primal, dual and gap = primal - dual: saddle_gap, of the w and z reached
    (the better of last and average for each, if a solver has both); restricted_gap, the same with
    w' in a ball (twice `|w|`) where W has no bounds; bound, what the theory guarantees for it if
    the step is "norm" (of an L found from below, see `operator_norm`); step and operator_norm.
    """

    requires: ClassVar[Requires] = Requires(
        abilities=(("project",), ("maximize",)), penalty=False, any_domain=True
    )

    step: Any
    ratio: Any

    def _compiled_modules(self, problem: Problem) -> tuple[str, ...]:
        return ("batch", "saddle")

    def _load(self, problem: Problem) -> None:
        super()._load(problem)
        problem.oracle.compiled_function(self.requires.abilities[0][0])

    @property
    def step_rule(self) -> Any:
        """What `step` means: "norm", "adaptive" or a number."""
        return self.step

    # -- geometry ----------------------------------------------------------------------------------
    def weight_geometry(self, problem: Problem, ratio: float) -> Weights:
        """How w is measured."""
        return EuclideanWeights(problem.domain, ratio)

    def find_ratio(self, problem: Problem) -> float:
        """How far w moves for what z moves."""
        if self.ratio != "auto":
            return float(self.ratio)
        radius, spread = problem.domain.max_norm(problem.dim), self.likely_spread(problem)
        if problem.alpha > 0:
            radius = min(radius, float(np.sqrt(2 * self._most_loss(problem) / problem.alpha)) / 3)
        if 0 < radius < np.inf and spread > 0:
            return radius**2 / (2 * spread)
        return self.plain_ratio(problem)

    def likely_spread(self, problem: Problem) -> float:
        """How far z ends from where it begins: most training outputs end near the truth."""
        return self.spread(problem) / 10

    def plain_ratio(self, problem: Problem) -> float:
        """That of the papers: n for weights 1 / n, 1 / omega for weights that are all omega."""
        weight = problem.sample_weight
        return float(weight.sum() / np.sum(weight**2))

    def _most_loss(self, problem: Problem) -> float:
        """A bound on P(0), the mean of the largest losses, by the costliest parts of each sample.

        Without the oracle, which may be slow, or be interrupted before there is anything to keep.
        """
        size = {layout: problem.structure.vertex_size(layout) for layout in set(problem.layouts)}
        most = np.empty(problem.n)
        for i, layout in enumerate(problem.layouts):
            costs = problem.loss_costs[problem.parts(i)]
            most_costly = np.sort(costs)[::-1][: size[layout]]
            most[i] = np.maximum(most_costly, 0.0).sum() - costs @ problem.truth[problem.parts(i)]
        return float(problem.sample_weight @ most)

    def first_step(self, problem: Problem, geometry: Weights, state: SaddleT) -> float:
        """The step before the first epoch; 1 / L by power iteration unless told otherwise.

        An adaptive step starts from two power iterations, well above 1 / L, and finds its way.
        """
        if not isinstance(self.step, str):
            return float(self.step)
        if np.isnan(state.feature_norm):  # that of F alone, whatever the ratio
            state.feature_norm = self.norm(problem, geometry)
        linear, penalty = geometry.scaled(state.feature_norm, problem.alpha)
        norm = (penalty + np.sqrt(penalty**2 + 4 * linear**2)) / 2
        state.operator_norm = float(norm)
        if norm == 0:
            return 1.0
        return float(1.0 / (_SAFETY * norm) if self.step_rule == "norm" else 2.0 / norm)

    def norm(self, problem: Problem, geometry: Weights) -> float:
        """The norm of w -> F^T w at ratio 1, by power iteration."""
        return geometry.norm(problem, 100 if self.step_rule == "norm" else 2)

    # -- state -------------------------------------------------------------------------------------
    def begin(self, problem: Problem, state: SaddleT) -> None:
        """What these solvers keep besides w and z, from the state's w and z on."""
        state.key, state.ratio = self.key(problem), self.find_ratio(problem)
        geometry = self.weight_geometry(problem, state.ratio)
        state.w = geometry.start(state.w)
        state.step = self.first_step(problem, geometry, state)
        state.warm_pointers = self.warm_pointers(problem)
        size = int(state.warm_pointers[-1])
        state.warm_v, state.warm_u = np.zeros(size), np.zeros(size)
        state.loss_gradient = problem.loss_gradient(state.z)
        state.loss = float(problem.sample_weight @ problem.loss_at(state.z))

    def key(self, problem: Problem) -> int:
        """Checksums of the problem, and of the options that steps depend on."""
        own = {k: v for k, v in self.get_params(deep=False).items() if k not in _ANY_TIME}
        words = f"{problem.alpha!r} {describe_object(problem.domain)} {own!r}".encode()
        packed = problem.packed
        return checksums(
            packed.value, packed.index, packed.index_high, packed.block_ptr, packed.block_start,
            packed.indptr, packed.costs, packed.cost_start, packed.weight, *problem.truths,
            np.frombuffer(words, dtype=np.uint8),
        )  # fmt: skip

    def _warm_start_from(self, problem: Problem, state: State) -> SaddleT:
        """Go on where this solver was; from any other state or problem, start at its w and z.

        So it does after a pass that was interrupted and left its sums half done.
        """
        if isinstance(state, self.state_class) and state.solver == self.name:
            same = cast(SaddleT, state)
            known = same.key == self.key(problem) and state.outputs in (0, problem.outputs_key)
            if known and same.is_complete:
                return same
        w = state.w.copy()
        own = super()._warm_start_from(problem, state)
        own.w = w
        self.begin(problem, own)
        return own

    def check_restored(self, problem: Problem, fresh: SaddleT, state: SaddleT) -> None:
        if not np.array_equal(state.warm_pointers, fresh.warm_pointers):
            raise ValueError("its pointers are out of range")

    # -- passes over all samples -------------------------------------------------------------------
    def warm_pointers(self, problem: Problem) -> np.ndarray:
        """Where each sample's left-overs of projections stand in an array of all samples'."""
        known = {layout: problem.oracle.warm_size(layout) for layout in set(problem.layouts)}
        return np.concatenate([[0], np.cumsum([known[s] for s in problem.layouts])]).astype(
            np.int64
        )

    def in_ranges(
        self, problem: Problem, sums: int, visit: Callable
    ) -> tuple[list[np.ndarray], np.ndarray]:
        """Call visit(first, last, sums, sums_of_pass) for chunks of samples, and add up their sums.

        The chunks do not depend on the number of threads.
        """
        count = max(1, min(_RANGES, problem.n // 32, 2**22 // problem.dim))
        bounds = np.linspace(0, problem.n, count + 1).astype(int)
        chunks = [
            (a, b, [np.zeros(problem.dim) for _ in range(sums)], np.zeros(5))
            for a, b in pairwise(bounds)
        ]
        threads = min(problem.n_jobs, count)
        if threads > 1:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(lambda chunk: visit(*chunk), chunks))
        else:
            for chunk in chunks:
                visit(*chunk)
        sums_of_pass = np.array([chunk[3] for chunk in chunks])
        if np.isnan(sums_of_pass).any():
            raise FloatingPointError("a step in z failed; scale the features down.")
        total = sums_of_pass.sum(axis=0)
        total[2] = sums_of_pass[:, 2].max()
        return [np.sum([chunk[2][k] for chunk in chunks], axis=0) for k in range(sums)], total

    def ascend(
        self,
        problem: Problem,
        w: np.ndarray,
        step: float,
        base: np.ndarray,
        out: np.ndarray,
        warm: np.ndarray,
        pointers: np.ndarray,
        reference: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """out_i = P(base_i + step (F_i^T w + c_i)); returns g(out) and the sums of the pass."""
        other = np.empty(0) if reference is None else reference
        function = problem.oracle.compiled_function("project")

        def visit(first: int, last: int, sums: list[np.ndarray], sums_of_pass: np.ndarray) -> None:
            if function is not None:
                ascent_range(
                    problem.packed, problem.workspace(), function, first, last, w, other, step,
                    base, out,
                    warm, pointers, problem.truth, sums[0], sums_of_pass,
                )  # fmt: skip
                return
            for i in range(first, last):
                part = problem.parts(i)
                theta = problem.scores(w, i)
                if reference is not None:
                    allowed = np.isfinite(theta)
                    apart = theta[allowed] - problem.scores(reference, i)[allowed]
                    sums_of_pass[1] += problem.sample_weight[i] * float(apart @ apart)
                old = base[part].copy()
                out[part] = problem.calls.compute("project", old + step * theta, i)
                measure_sample_move(problem, i, out[part], old, sums[0], sums_of_pass)

        (gradient,), sums_of_pass = self.in_ranges(problem, 1, visit)
        return gradient, sums_of_pass

    # -- certificates ------------------------------------------------------------------------------
    def _finalize(self, problem: Problem, state: SaddleT) -> None:
        state.loss_gradient = problem.loss_gradient(state.z)
        state.loss = float(problem.sample_weight @ problem.loss_at(state.z))

    def bound(self, problem: Problem, state: SaddleT) -> float:
        """The minimum over W of L(., z), from the gradient and the loss of z that the state keeps.

        Projections that did not converge leave z outside its polytope, which proves nothing.
        """
        if state.residual > _SETTLED:
            return -float("inf")
        minimum = problem.domain.argmin_linear(state.loss_gradient, problem.alpha)[1]
        return float(minimum + state.loss)

    def metrics(self, problem: Problem, state: SaddleT, primal: float) -> dict[str, float]:
        gap = primal - self.bound(problem, state)
        known = {"saddle_gap": gap, "restricted_gap": gap, "step": state.step}
        if not np.isfinite(gap):
            minimum = problem.domain.min_linear_within(
                state.loss_gradient, self._radius(problem, state)
            )
            known["restricted_gap"] = primal - minimum - state.loss
        known["residual"] = state.residual
        if not np.isnan(state.operator_norm):
            known["operator_norm"] = state.operator_norm
        return known

    def _radius(self, problem: Problem, state: SaddleT) -> float:
        """A ball with all w' of the gap: that of W, or twice |w| and what the penalty asks."""
        radius = problem.domain.max_norm(problem.dim)
        if np.isfinite(radius):
            return radius
        best = problem.domain.argmin_linear(state.loss_gradient, problem.alpha)[0]
        norms = [float(np.linalg.norm(w)) for w in self.candidates(problem, state)]
        return max(2.0 * max(norms), float(np.linalg.norm(best)))

    def square_distance(self, problem: Problem, z: np.ndarray, other: np.ndarray) -> float:
        """Return `sum_i omega_i |z_i - other_i|^2`."""
        squares = np.add.reduceat((z - other) ** 2, problem.part_ptr[:-1])
        return float(problem.sample_weight @ squares)

    def spread(self, problem: Problem) -> float:
        """Return a bound on the distance of any two z, `sum_i omega_i |z - z'|^2 / 2`."""
        radius = {layout: problem.structure.radius(layout) for layout in set(problem.layouts)}
        squares = np.array([radius[layout] ** 2 for layout in problem.layouts])
        return float(problem.sample_weight @ squares) / 2


def check_entropic(domain: Domain) -> None:
    """Fail unless there is an l1 ball for entropic steps in w."""
    inner = [d for _, d in domain.groups] if isinstance(domain, Product) else [domain]
    if not any(isinstance(d, L1Ball) for d in inner):
        raise ValueError(
            'geometry="entropic" needs domain=L1Ball(radius), or a Product with one; found'
            f' {type(domain).__name__}. Use geometry="euclidean".'
        )


def measure_sample_move(
    problem: Problem,
    i: int,
    z: np.ndarray,
    base: np.ndarray,
    total: np.ndarray,
    sums_of_pass: np.ndarray,
) -> None:
    """What compiled code does with the z_i of a structure that moves it in Python."""
    moved = z - problem.truth[problem.parts(i)]
    measure_move(problem.packed, i, z, base, problem.truth, sums_of_pass)
    add_block(problem.packed, i, problem.workspace(), moved, total)
