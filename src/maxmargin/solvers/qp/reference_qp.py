"""The joint convex program, by library solvers: exact, and for small problems."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from maxmargin.callbacks import Callback, TimeLimit
from maxmargin.features.base import feature_values
from maxmargin.problem import Problem
from maxmargin.result import State, Status, describe_rounding, empty_array, state_field
from maxmargin.solvers.base import Requires, Solver
from maxmargin.solvers.qp.cone_program import ConeProgram, cone_program, point_features
from maxmargin.solvers.qp.feasible import ROUNDING, nearest_feasible
from maxmargin.solvers.qp.interior_point import Solution, by_clarabel, by_highs, load_clarabel
from maxmargin.solvers.qp.polytopes import sample_polytopes
from maxmargin.solvers.qp.program_size import (
    allowed_bytes,
    n_entries,
    program_bytes,
    refuse_size,
    rough_factor,
)
from maxmargin.solvers.qp.weight_cones import is_polyhedral, weight_cones
from maxmargin.validation.options import Count, CountOrZero, NonNegativeOrInf, PositiveOrInf, Seed

#: relative gap at which nothing is left to do: what interior-point methods reach
_EXACT = 1e-7
#: solves at most: if the optimum is far below the loss, once more with it as the unit
_ROUNDS = 4
#: how many times as large objectives become from round to round, at most: of larger ones Clarabel
#: says that they have no minimum
_MAX_RISE = 1e4


@dataclass(repr=False)
class ReferenceQPState(State):
    """State of `ReferenceQP`."""

    #: weights of the program's solution; w are those of its dual point
    solution: np.ndarray = state_field(empty_array)
    #: lowest objective of the two, its gap, and how much of that may be rounding
    primal: float = state_field(np.inf)
    gap: float = state_field(np.inf)
    rounding: float = state_field(0.0)
    #: optimum of the program, if that is a relaxation
    relaxed: float = state_field(np.nan)
    #: whether it was solved, the estimated bytes of that, and what the library said
    is_solved: bool = state_field(False)
    n_bytes: float = state_field(np.nan)
    message: str = state_field("")


class ReferenceQP(Solver[ReferenceQPState]):
    """Minimise `alpha/2 |w|^2 + sum_i omega_i H_i(w)` over w in W as one convex program.

    The maximum over z in each H_i, a linear program over the polytope Z_i, is replaced by the dual
    of that linear program; its prices and w are then minimised together (equation 15 of the
    reference). An epoch is one solve by Clarabel, an interior-point method, or by HiGHS if the
    program is linear (alpha = 0 in an l1 ball or in signs). The multipliers are the dual point z.

    Use it to know the optimum of a small problem to seven digits. Time and memory grow much faster
    than with the other solvers; problems that would not fit are refused before the solve.

    Structures need `constraints`, or `vertices` if their outputs are few. Where constraints are too
    many to list (`Oracle.separate`), those that the optimum violates are added until there are
    none. Where they are a relaxation (`Structure.is_tight` is False), the message says that the
    optimum is that of the relaxation.

    Parameters
    ----------
    memory_limit : float, default=None
        Maximum estimated number of bytes of the solve; None means 80 % of the free memory.

    References
    ----------
    Taskar, Lacoste-Julien, Jordan, Journal of Machine Learning Research 2006.
    """

    name: ClassVar[str] = "qp"
    summary: ClassVar[str] = (
        "The whole problem as one convex program, by an interior-point method; for small data."
    )
    #: when a solve must end
    _deadline: float = np.inf
    requires: ClassVar[Requires] = Requires(
        abilities=(("constraints", "vertices"),), penalty=False, any_domain=True
    )
    state_class = ReferenceQPState

    def __init__(
        self,
        memory_limit: PositiveOrInf | None = None,
        max_epochs: CountOrZero | None = None,
        tol: NonNegativeOrInf | None = None,
        random_state: Seed = None,
        check_every: Count | None = None,
    ):
        self.memory_limit = memory_limit
        self.max_epochs = max_epochs
        self.tol = tol
        self.random_state = random_state
        self.check_every = check_every

    def _configure(self, callbacks: Sequence[Callback]) -> None:
        # a `TimeLimit` holds within the one solve, too
        limits = [own.seconds for own in callbacks if isinstance(own, TimeLimit)]
        self._deadline = time.perf_counter() + min(limits, default=np.inf)

    def init(self, problem: Problem) -> ReferenceQPState:
        w = problem.weights(problem.truth)
        return ReferenceQPState(w, problem.truth.copy(), self.generator(), solution=w.copy())

    def _warm_start_from(self, problem: Problem, state: State) -> ReferenceQPState:
        own = super()._warm_start_from(problem, state)
        own.solution = own.w.copy()
        return own

    def _check(self, problem: Problem) -> None:
        super()._check(problem)
        if problem.alpha == 0 and not np.isfinite(problem.domain.max_norm(problem.dim)):
            raise ValueError(
                "ReferenceQP needs alpha > 0 or a bounded domain, such as domains.L2Ball(10.0):"
                " with neither, nothing bounds the objective from below but zero."
            )
        weight_cones(problem.domain, problem.dim)
        if problem.alpha > 0 or not is_polyhedral(problem.domain, problem.dim):
            load_clarabel()

    def epoch(self, problem: Problem, state: ReferenceQPState) -> None:
        if state.is_solved:
            return
        limit = allowed_bytes(self.memory_limit)
        program = self._separated(problem, self._program(problem, limit), limit)
        worth = 1.0
        for _ in range(_ROUNDS):
            solution = self._solved(problem, program, worth, limit)
            state.is_solved, state.message = True, solution.words
            state.n_bytes = float(solution.n_bytes)
            if solution.x is not None:
                self._take(problem, state, program, solution)
            if self._has_converged(state) or not 0 < state.primal < 1 / worth:
                break
            worth = min(1 / state.primal, _MAX_RISE * worth)

    def _separated(self, problem: Problem, program: ConeProgram, limit: float) -> ConeProgram:
        """With further constraints until the optimum violates none, where not all are listed."""
        while problem.oracle.has("separate") and time.perf_counter() < self._deadline:
            solution = self._solved(problem, program, 1.0, limit)
            if solution.x is None:
                break
            u, miss = nearest_feasible(program.polytopes, solution.points)
            found = program.polytopes.tightened(problem, u)
            if miss > ROUNDING or len(found.bound) == len(program.polytopes.bound):
                break
            program = cone_program(problem, found)
        return program

    def _solved(
        self, problem: Problem, program: ConeProgram, worth: float, limit: float
    ) -> Solution:
        """What a solver says, whose tolerances are absolute, to features and an optimum near 1."""
        size = np.ones(program.matrix.shape[1])
        largest = float(np.abs(feature_values(problem.packed)).max(initial=0.0))
        n_prices = program.polytopes.matrix.shape[0]
        size[: len(size) - n_prices] = max(largest, np.sqrt(problem.alpha)) or 1.0
        scaled, left = program.scaled(size, worth), max(self._deadline - time.perf_counter(), 1e-3)
        solution = by_highs(scaled, left) if program.is_linear else by_clarabel(scaled, limit, left)
        if solution.x is None:
            return solution
        return solution._replace(x=solution.x / size, points=solution.points / worth)

    def _program(self, problem: Problem, limit: float) -> ConeProgram:
        """The convex program, if there is room for it."""
        entries = n_entries(problem)
        refuse_size(program_bytes(entries, 0), limit, f"{entries} non-zeros of features alone")
        found = sample_polytopes(problem, limit)
        features = point_features(problem, found)
        factor = rough_factor(problem, found, features)
        count = features.nnz + found.matrix.nnz
        sizes = f"{len(found.owner)} parts, {found.matrix.shape[0]} prices, {count} non-zeros"
        # the factor's numbers only, lest a guess refuse what would fit
        refuse_size(8 * factor, limit, sizes)
        return cone_program(problem, found, features)

    def _take(
        self, problem: Problem, state: ReferenceQPState, program: ConeProgram, solution: Solution
    ) -> None:
        """Weights and dual point from the solver's answer, if the gap between them is less."""
        assert solution.x is not None
        old = replace(state, z=state.z.copy(), w=state.w.copy())
        state.solution = problem.domain.project(solution.x[: problem.dim])
        if program.polytopes.relaxed:
            # z may not be a mixture of outputs, and proves nothing then
            x = solution.x
            value = x @ (program.square * x) / 2 + program.linear @ x + program.constant
            state.relaxed = float(value)
        else:
            u, miss = nearest_feasible(program.polytopes, solution.points)
            z = program.polytopes.lift @ u
            idle = problem.sample_weight == 0
            for i in np.flatnonzero(idle).tolist():
                z[problem.parts(i)] = problem.truth[problem.parts(i)]
            is_feasible = miss <= ROUNDING and not problem.oracle.has("separate")
            state.z[:] = z if is_feasible else self._projected(problem, z)
        state.w[:] = problem.weights(state.z)
        tried = self.candidates(problem, state)
        state.primal = float(min(problem.primal(w) for w in tried))
        state.gap = state.primal - max(self.bound(problem, state), 0.0)  # 0: at the truth
        state.rounding = float(max(problem.rounding(w) for w in tried))
        state.n_oracle += 2 * problem.n
        if not state.gap <= old.gap:
            state.z[:], state.w[:], state.solution = old.z, old.w, old.solution
            state.primal, state.gap, state.rounding = old.primal, old.gap, old.rounding

    def _projected(self, problem: Problem, z: np.ndarray) -> np.ndarray:
        """Next to z by the structure itself, where the equations leave more than rounding."""
        own = [problem.calls.compute("project", z[problem.parts(i)], i) for i in range(problem.n)]
        return np.concatenate(own)

    def candidates(self, problem: Problem, state: ReferenceQPState) -> list[np.ndarray]:
        return [state.w, state.solution]

    def estimate(self, state: ReferenceQPState) -> float:
        return state.gap

    def _has_converged(self, state: ReferenceQPState) -> bool:
        # the gap is what an interior-point method can reach
        enough = max(_EXACT * abs(state.primal), state.rounding)
        return bool(np.isfinite(state.gap) and state.gap <= enough)

    def _termination(self, state: ReferenceQPState) -> tuple[Status, str] | None:
        if not state.is_solved:
            return None
        if np.isfinite(state.relaxed):
            return Status.STOPPED, (
                f"this is the optimum of a relaxation, {state.relaxed:.9g}, which the true one"
                ' does not exceed; use solver="bcfw" to bound it from below'
            )
        if state.gap <= state.rounding:
            return Status.ROUNDING, describe_rounding(state.rounding)
        return Status.FAILED, state.message
