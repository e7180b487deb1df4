"""What a solver is, and how one is found by its name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone

from maxmargin.callbacks import Callback
from maxmargin.domains import Domain, RealSpace
from maxmargin.exceptions import MissingAbilityError
from maxmargin.problem import Problem
from maxmargin.result import Result, State, Status
from maxmargin.solvers.run import Run
from maxmargin.structures import Structure
from maxmargin.validation.learned import Checked
from maxmargin.validation.options import check_options


class Solver(Checked, BaseEstimator):
    """Options in the constructor, `init`, `epoch`, and one inherited `run`.

    A subclass defines `init(problem) -> State` and `epoch(problem, state)`, which changes the state
    in place. If its state bounds the optimum, it says so by `bound` and `candidates`.

    Common options: max_epochs (100), tol (1e-3, on gap / |primal|), random_state (0). None leaves
    them to the estimator. check_every: epochs between certificates; None means after half as many
    epochs again each time, and when the solver's own estimate says that it may be done.
    """

    #: each inner tuple names abilities of which the structure must have one
    requires: ClassVar[tuple[tuple[str, ...], ...]] = (("maximize",),)
    #: whether `marginals` must give expectations, and not an approximation of them
    needs_expectations: ClassVar[bool] = False
    #: whether alpha must be positive
    needs_penalty: ClassVar[bool] = True
    #: whether w may be kept in a domain other than all of R^d
    any_domain: ClassVar[bool] = False
    #: whether `candidates` and `bound` give a certificate; without one, records are free
    certifies: ClassVar[bool] = True
    #: whether alpha and the loss matter to it
    has_objective: ClassVar[bool] = True
    #: which objectives it can minimise, see `Problem`
    objectives: ClassVar[tuple[str, ...]] = ("margin",)
    #: short name
    name: ClassVar[str] = ""

    max_epochs: int | None
    tol: float | None
    random_state: Any
    check_every: int | None

    @abstractmethod
    def init(self, problem: Problem) -> State:
        """The state before the first epoch."""

    @abstractmethod
    def epoch(self, problem: Problem, state: State) -> None:
        """One pass, in place."""

    def load(self, problem: Problem) -> None:
        """Load the compiled code of a pass, so that its time does not count."""
        from maxmargin._numba.compile import loading

        with loading():
            problem.structure.compiled_function("maximize")
            for name in self.compiled_modules():
                import_module(f"maxmargin._numba.passes.{name}")

    def compiled_modules(self) -> tuple[str, ...]:
        """Modules of maxmargin._numba.passes that an epoch uses."""
        return ("batch",)

    def candidates(self, problem: Problem, state: State) -> list[np.ndarray]:
        """Weights worth a certificate: the last ones, averages."""
        return [state.w]

    def answer(self, state: State) -> np.ndarray:
        """The weights to return if nothing is certified."""
        return state.w

    def has_converged(self, state: State) -> bool:
        """Whether a solver without certificates has nothing left to do."""
        return False

    def termination(self, state: State) -> tuple[Status, str] | None:
        """How a run ends that no further epoch would help, unless it has converged; else None."""
        return None

    def bound(self, problem: Problem, state: State) -> float:
        """A lower bound on the objective; -inf if the solver has none."""
        return problem.dual(state.z, state.w)

    def objective(self, problem: Problem, state: State, w: np.ndarray) -> float:
        """P(w) of a candidate; a solver may keep what the oracle says on the way."""
        return problem.primal(w)

    def metrics(self, problem: Problem, state: State, primal: float) -> dict[str, float]:
        """More numbers for the record of a certificate; primal: the objective of `candidates`."""
        return {}

    def estimate(self, state: State) -> float:
        """A guess of the gap that costs nothing; inf if there is none."""
        return float("inf")

    def certified(self, state: State) -> None:
        """Called after a certificate of this state."""

    def configure(self, callbacks: Sequence[Callback]) -> None:
        """Called before the run: what its callbacks ask for within an epoch, such as a limit."""

    def finalize(self, problem: Problem, state: State) -> None:
        """Called before the last certificate: remove what rounding has added up."""

    def check_restored(self, problem: Problem, fresh: State, state: State) -> None:
        """A ValueError if a state from a file, of the right sizes, has what compiled code must not
        see.

        fresh : what `init` returns.
        """

    def check(self, problem: Problem) -> None:
        """Fail before the first pass, and say the remedy."""
        check_options(self)
        structure = problem.structure
        for names in self.requires:
            if not any(structure.has(name) for name in names):
                wanted = " or ".join(f"`{name}`" for name in names)
                kind = type(structure).__name__
                raise MissingAbilityError(
                    f"{type(self).__name__} needs {wanted}, which {kind} cannot do."
                    f" {structure.hint_for(names[0])}, or choose another solver."
                )
        if problem.alpha < 0 or not np.isfinite(problem.alpha):
            raise ValueError(f"alpha={problem.alpha} must be a finite number, 0 or more.")
        self._check_objective(problem.objective, structure)
        likelihood = problem.objective == "likelihood"
        if likelihood:
            check_counts(problem, f'{type(self).__name__} with objective="likelihood"')
        if self.needs_penalty and problem.alpha == 0:
            hint = (
                ": without it, likelihoods mostly have no maximum."
                if likelihood
                else ', or use solver="dual-extragradient", which works without, or'
                ' solver="perceptron", which knows no penalty.'
            )
            raise ValueError(
                f"{type(self).__name__} needs alpha > 0; give a small one (1e-4){hint}"
            )
        if not self.any_domain and not isinstance(problem.domain, RealSpace):
            raise ValueError(
                f"{type(self).__name__} does not say that it keeps w in a"
                f" {type(problem.domain).__name__} (any_domain = True); use one that does, such as"
                f' solver="{"smoothed" if likelihood else "bcfw"}", or domain=None.'
            )

    def _check_objective(self, objective: str, structure: Structure) -> None:
        if minimised_as(objective) in self.objectives:
            return
        able = [f'"{name}"' for name in solvers_for(objective, structure)]
        raise ValueError(
            f'{type(self).__name__} cannot minimise objective="{objective}"; solvers that can:'
            f' {", ".join(able)}, or solver="auto".'
        )

    def limits(self) -> tuple[int, float]:
        """max_epochs and tol, with their defaults."""
        limit = 100 if self.max_epochs is None else int(self.max_epochs)
        return limit, 1e-3 if self.tol is None else float(self.tol)

    def generator(self) -> np.random.Generator:
        """The one door through which randomness comes in."""
        seed = 0 if self.random_state is None else self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = seed.randint(2**31)
        return np.random.default_rng(seed)

    def run(
        self,
        problem: Problem,
        state: State | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> Result:
        """Solve; a given state is continued (and certified first). Returns the best certified w."""
        self.check(problem)
        self.load(problem)
        self.configure(callbacks)
        warm = state is not None
        if state is None:
            state = self.init(problem)
        else:
            self._warm_start_from(problem, state)
        state.solver, state.outputs = self.name, problem.outputs_key
        state.memory = problem.remember(state.memory)
        run = Run(self, problem, state, callbacks, warm)
        try:
            for callback in callbacks:
                callback.on_start(run)
            state.memory = problem.remember(state.memory)  # a checkpoint brings its own
            run.remind()
            result = run.go()
        except BaseException:
            for callback in callbacks:
                callback.on_abort(run)
            raise
        finally:
            problem.structure.release()
        for callback in callbacks:
            callback.on_end(run, result)
        return result

    def _warm_start_from(self, problem: Problem, state: State) -> None:
        """Make a state of any solver, alpha or loss fit for this solver and problem."""
        if len(state.z) == 0:  # of a solver that keeps none
            state.z = problem.truth.copy()
        if len(state.z) != len(problem.truth) or len(state.w) != problem.dim:
            raise ValueError(
                f"the state has {len(state.z)} parts and {len(state.w)} weights, the problem"
                f" {len(problem.truth)} and {problem.dim}; start without it."
            )
        state.z, state.w = problem._all_parts(state.z), np.require(state.w, np.float64, ["C", "W"])
        if not np.isfinite(state.z).all() or state.w.ndim != 1:
            raise ValueError("the state has no weights, or parts that are not finite.")
        if state.outputs not in (0, problem.outputs_key):
            raise ValueError(
                "the state has outputs of another structure, of other caps say, which prove nothing"
                " here; start without it."
            )
        if state.z[problem.forbidden_parts].any():
            raise ValueError("the state has outputs that the problem forbids; start without it.")
        state.extra.pop("train_error", None)
        if state.solver not in ("", self.name):
            state.lag, state.clock, state.extra = np.empty(0), np.zeros(4), {}
        if self.certifies:
            state.w[:] = problem.weights(state.z)


def check_counts(problem: Problem, who: str, hint: str = "") -> None:
    """Fail unless the structure has a log-partition beside `marginals`: P needs both."""
    structure, layout = problem.structure, problem.layouts[0]
    if structure.compiled_function("marginals") is not None:
        return
    try:
        structure.log_partition(np.zeros(structure.n_parts(layout)), layout)
    except MissingAbilityError as error:
        raise MissingAbilityError(
            f"{who} needs `log_partition` beside `marginals`: {error}{hint}"
        ) from error


def _best(objective: str, domain: Domain | None) -> str:
    """What solver="auto" means."""
    if objective != "likelihood":
        return "bcfw"
    return "sdca" if domain is None or isinstance(domain, RealSpace) else "smoothed"


def resolve_solver(
    solver: str | Solver, objective: str = "margin", domain: Domain | None = None, **options: Any
) -> Solver:
    """A solver object from its short name; options fill in what it leaves open (None).

    "auto" is "bcfw" for margins, "sdca" for likelihoods, and "smoothed" for these in a domain.
    """
    if isinstance(solver, str) and solver == "auto":
        solver = _best(objective, domain)
    if not isinstance(solver, (str, Solver)):
        raise TypeError(f"solver must be a name or a Solver, found {type(solver).__name__}.")
    found: Solver = _by_name(solver)() if isinstance(solver, str) else clone(solver)
    for key, value in options.items():
        if getattr(found, key) is None:
            setattr(found, key, value)
    return found


def minimised_as(objective: str) -> str:
    """Which of `Solver.objectives` it is: slacks are margins over lists (`rescaling`)."""
    return "margin" if objective == "slack" else objective


def solver_classes() -> dict[str, type[Solver]]:
    """All solvers by their short names."""
    from maxmargin import solvers

    kinds = [getattr(solvers, name) for name in solvers.__all__]
    return {k.name: k for k in kinds if isinstance(k, type) and issubclass(k, Solver) and k.name}


def solvers_for(objective: str, structure: Structure | None = None) -> list[str]:
    """Short names of the solvers that can minimise it, with that structure if one is given."""
    return [
        name
        for name, kind in solver_classes().items()
        if minimised_as(objective) in kind.objectives
        and (structure is None or _serves(structure, kind))
    ]


def _serves(structure: Structure, kind: type[Solver]) -> bool:
    """Whether the structure has all abilities that the solver needs."""
    if kind.needs_expectations and not structure.marginals_are_exact:
        return False
    return all(any(structure.has(name) for name in names) for names in kind().requires)


def _by_name(name: str) -> Callable[[], Solver]:
    names = solver_classes()
    if name not in names:
        raise ValueError(f"solver={name!r} is unknown; use one of {sorted(names)} or a Solver.")
    return names[name]
