"""What a solver is, and how one is found by its name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator, clone

from maxmargin._numba.compile import compile_modules
from maxmargin.callbacks import Callback
from maxmargin.domains import Domain, RealSpace
from maxmargin.exceptions import MissingAbilityError
from maxmargin.problem import Problem
from maxmargin.result import Result, State, Status
from maxmargin.solvers.run import Run
from maxmargin.structures import Structure
from maxmargin.validation.learned import Checked
from maxmargin.validation.options import check_options

#: the solvers of the package by their short names; `maxmargin.solvers` imports them all
_KINDS: dict[str, type[Solver]] = {}

#: up to as many weights, 1-slack cutting planes call an oracle about as often as bcfw where samples
#: are many, and far less where they are few (`python -m benchmarks expensive_oracle`)
_FEW_WEIGHTS = 20

StateT = TypeVar("StateT", bound=State)
#: yields the samples of pieces, and takes the parts of each that are to be visited
Pieces = Generator[np.ndarray, Iterable[np.ndarray] | None, None]


@dataclass(frozen=True)
class Requires:
    """What a solver needs of a problem, and what it can minimise.

    Parameters
    ----------
    abilities : tuple of tuple of str, default=(("maximize",),)
        Each inner tuple names abilities of which the structure's oracle must have one.
    expectations : bool, default=False
        Whether `marginals` must give expectations, and not an approximation of them.
    penalty : bool, default=True
        Whether alpha must be positive.
    any_domain : bool, default=False
        Whether w may be kept in a domain other than all of R^d.
    objectives : tuple of str, default=("margin",)
        The objectives that it can minimise, see `Problem`.
    has_objective : bool, default=True
        Whether alpha and the loss matter to it.
    shards : {"rounds", "sums", ""}, default=""
        How it works on the shards of an engine, see `maxmargin.parallel`: by rounds, in which a
        piece of an epoch is run on each (`PiecewiseSolver`); by sums over all of them in
        `Problem.apply` and `Problem.likelihood`; or not at all.
    """

    abilities: tuple[tuple[str, ...], ...] = (("maximize",),)
    expectations: bool = False
    penalty: bool = True
    any_domain: bool = False
    objectives: tuple[str, ...] = ("margin",)
    has_objective: bool = True
    shards: str = ""

    def are_met_by(self, structure: Structure) -> bool:
        """Tell whether the structure's oracle has all abilities.

        Parameters
        ----------
        structure : Structure
            Structure of the outputs.

        Returns
        -------
        bool
            True if none is missing.
        """
        oracle = structure.oracle()
        if self.expectations and not oracle.marginals_are_exact:
            return False
        return all(any(oracle.has(name) for name in names) for names in self.abilities)


class Solver(Checked, BaseEstimator, Generic[StateT]):
    """Base class of solvers: options in the constructor, `init`, `epoch`, and an inherited `run`.

    A subclass defines `init(problem) -> State` and `epoch(problem, state)`, which changes the state
    in place. If its state bounds the optimum, it says so by `bound` and `candidates`. What it keeps
    from epoch to epoch besides w and z are fields of a dataclass of its own, `state_class`.

    Attributes
    ----------
    max_epochs : int, default=None
        Maximum number of epochs; None means the estimator's value, or 100.
    tol : float, default=None
        Tolerance on the relative gap, `gap / |primal|`; None means the estimator's value, or 1e-3.
    random_state : int, RandomState or Generator, default=None
        Seed of the random numbers; None means the estimator's value, or 0.
    check_every : int, default=None
        Number of epochs between certificates. None: each interval is half as long again as the one
        before, and certificates are also computed when the solver's own estimate of the gap is
        small.
    """

    #: what it needs of a problem, and what it can minimise
    requires: ClassVar[Requires] = Requires()
    #: whether `candidates` and `bound` give a certificate; without one, records are free
    certifies: ClassVar[bool] = True
    #: class of its states
    state_class: ClassVar[type[State]] = State
    #: short name
    name: ClassVar[str] = ""
    #: what it does, in a sentence for readers of reports
    summary: ClassVar[str] = ""

    max_epochs: int | None
    tol: float | None
    random_state: Any
    check_every: int | None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if isinstance(vars(cls).get("name"), str) and cls.__module__.startswith("maxmargin."):
            _KINDS[cls.name] = cls

    @abstractmethod
    def init(self, problem: Problem) -> StateT:
        """Return the state before the first epoch.

        Returns
        -------
        State
            The initial state.
        """

    @abstractmethod
    def epoch(self, problem: Problem, state: StateT) -> None:
        """Run one epoch, which changes the state in place.

        Parameters
        ----------
        problem : Problem
            The training problem.
        state : State
            The solver's state.
        """

    def prepare(self, problem: Problem) -> None:
        """Check that the solver can solve the problem, and load the compiled code of an epoch.

        Raises
        ------
        MissingAbilityError
            If the structure lacks an ability that the solver needs.
        ValueError
            If the solver does not support the problem's alpha, objective or domain.
        """
        self._check(problem)
        self._load(problem)

    def _load(self, problem: Problem) -> None:
        """Load the compiled code of an epoch, so that its time does not count."""
        with compile_modules(*(f"passes.{name}" for name in self._compiled_modules(problem))):
            problem.oracle.compiled_function("maximize")

    def _compiled_modules(self, problem: Problem) -> tuple[str, ...]:
        """The modules of `maxmargin._numba.passes` that an epoch uses."""
        return ("batch",)

    def candidates(self, problem: Problem, state: StateT) -> list[np.ndarray]:
        """Return the weights to certify, such as the last ones and averages.

        Returns
        -------
        list of ndarray
            Weight vectors.
        """
        return [state.w]

    def _take_candidates(self, problem: Problem, state: StateT) -> list[np.ndarray]:
        """The `candidates`, maybe in the place of what `_certified` renews, to save memory."""
        return self.candidates(problem, state)

    def _has_converged(self, state: StateT) -> bool:
        """Whether a solver has converged by what it knows, certificates aside."""
        return False

    def _termination(self, state: StateT) -> tuple[Status, str] | None:
        """How to end a run that further epochs cannot improve; None if it goes on or converged."""
        return None

    def bound(self, problem: Problem, state: StateT) -> float:
        """Return a lower bound on the objective.

        Returns
        -------
        float
            Lower bound; -inf if the solver has none.
        """
        return problem.dual(state.points, state.w)

    def objective(self, problem: Problem, state: StateT, w: np.ndarray) -> float:
        """Return the objective P(w) of a candidate.

        A solver may store what the oracle returns.

        Parameters
        ----------
        w : ndarray of shape (n_weights,)
            Weights.

        Returns
        -------
        float
            Objective.
        """
        return problem.primal(w)

    def metrics(self, problem: Problem, state: StateT, primal: float) -> dict[str, float]:
        """Return further numbers for the record of a certificate.

        Parameters
        ----------
        primal : float
            Best objective of the candidates.

        Returns
        -------
        dict
            Numbers by name.
        """
        return {}

    def estimate(self, state: StateT) -> float:
        """Return an estimate of the gap that needs no computation.

        Returns
        -------
        float
            Estimated gap; inf if there is none.
        """
        return float("inf")

    def _certified(self, state: StateT) -> None:
        """What is to be done after a certificate of this state."""

    def _configure(self, callbacks: Sequence[Callback]) -> None:
        """Read, before the run, what callbacks require within an epoch, such as a time limit."""

    def _finalize(self, problem: Problem, state: StateT) -> None:
        """Remove accumulated rounding errors before the last certificate."""

    def check_restored(self, problem: Problem, fresh: StateT, state: StateT) -> None:
        """Raise ValueError if a state read from a file is not safe for compiled code.

        Parameters
        ----------
        fresh : State
            State returned by `init`.
        state : State
            State read from a file, of the right sizes.
        """

    def _check(self, problem: Problem) -> None:
        """Raise an error, with a remedy, if the solver cannot solve the problem."""
        check_options(self)
        structure, oracle = problem.structure, problem.oracle
        for names in self.requires.abilities:
            if not any(oracle.has(name) for name in names):
                wanted = " or ".join(f"`{name}`" for name in names)
                kind = type(structure).__name__
                raise MissingAbilityError(
                    f"{type(self).__name__} needs {wanted}, which {kind} cannot do."
                    f" {oracle.hint_for(names[0])}, or choose another solver."
                )
        if problem.alpha < 0 or not np.isfinite(problem.alpha):
            raise ValueError(f"alpha={problem.alpha} must be a finite number, 0 or more.")
        self._check_objective(problem.objective, structure)
        likelihood = problem.objective == "likelihood"
        if likelihood:
            check_counts(problem, f'{type(self).__name__} with objective="likelihood"')
        if self.requires.penalty and problem.alpha == 0:
            hint = (
                ": without it, likelihoods mostly have no maximum."
                if likelihood
                else ', or use solver="dual-extragradient", which works without, or'
                ' solver="perceptron", which knows no penalty.'
            )
            raise ValueError(
                f"{type(self).__name__} needs alpha > 0; give a small one (1e-4){hint}"
            )
        if not self.requires.any_domain and not isinstance(problem.domain, RealSpace):
            raise ValueError(
                f"{type(self).__name__} does not say that it keeps w in a"
                f" {type(problem.domain).__name__} (Requires(any_domain=True)); use one that does,"
                f' such as solver="{"smoothed" if likelihood else "bcfw"}", or domain=None.'
            )

    def _check_objective(self, objective: str, structure: Structure) -> None:
        if minimised_as(objective) in self.requires.objectives:
            return
        able = [f'"{name}"' for name in solvers_for(objective, structure)]
        raise ValueError(
            f'{type(self).__name__} cannot minimise objective="{objective}"; solvers that can:'
            f' {", ".join(able)}, or solver="auto".'
        )

    def generator(self) -> np.random.Generator:
        """Return the random number generator that `random_state` stands for.

        Returns
        -------
        Generator
            Source of all random numbers of the solver.
        """
        seed = 0 if self.random_state is None else self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = seed.randint(2**31)
        return np.random.default_rng(seed)

    def run(
        self, problem: Problem, state: State | None = None, callbacks: Sequence[Callback] = ()
    ) -> Result:
        """Solve the problem.

        Parameters
        ----------
        state : State, default=None
            State to continue from, which is certified first; None starts a new run.
        callbacks : sequence of Callback, default=()
            Callbacks of the run.

        Returns
        -------
        Result
            The best certified weights and their certificate.
        """
        self.prepare(problem)
        self._configure(callbacks)
        warm = state is not None
        if state is None:
            state = self.init(problem)
            if self.certifies and not isinstance(problem.domain, RealSpace):  # 0 may be outside
                state.w[:] = problem.domain.project(state.w)
        else:
            state = self._warm_start_from(problem, state)
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
            problem.oracle.close()
        for callback in callbacks:
            callback.on_end(run, result)
        return result

    def _warm_start_from(self, problem: Problem, state: State) -> StateT:
        """A state of this solver for the problem, from one of any solver, alpha or loss."""
        if len(state.points) == 0:  # of a solver that keeps none
            state.z = problem.truth_copy()
        if len(state.points) != int(problem.part_ptr[-1]) or len(state.w) != problem.dim:
            raise ValueError(
                f"the state has {len(state.points)} parts and {len(state.w)} weights, the problem"
                f" {int(problem.part_ptr[-1])} and {problem.dim}; start without it."
            )
        z, state.w = (np.require(own, np.float64, ["C", "W"]) for own in (state.z, state.w))
        if isinstance(state.points, np.ndarray):
            state.z = z
        if z.ndim != 1 or state.w.ndim != 1 or not np.isfinite(z).all():
            raise ValueError("the state has no weights, or parts that are not finite.")
        if state.outputs not in (0, problem.outputs_key):
            raise ValueError(
                "the state has outputs of another structure, of other caps say, which prove nothing"
                " here; start without it."
            )
        if z[problem.forbidden_parts].any():
            raise ValueError("the state has outputs that the problem forbids; start without it.")
        if type(state) is not self.state_class or state.solver not in ("", self.name):
            state = state.as_class(self.state_class)
        state.reset_fields()
        if self.certifies:
            state.w[:] = problem.weights(state.points)
        return cast(StateT, state)


class PiecewiseSolver(Solver[StateT]):
    """Solver that runs its epochs in pieces, and so works on shards by rounds."""

    def epoch(self, problem: Problem, state: StateT) -> None:
        for _ in self.rounds(problem, state):
            pass

    @abstractmethod
    def rounds(self, problem: Problem, state: StateT, n_pieces: int | None = None) -> Pieces:
        """Run one epoch in pieces, between which w may be moved by others.

        Parameters
        ----------
        problem : Problem
            The training problem.
        state : State
            The solver's state.
        n_pieces : int or None, default=None
            Number of pieces of a pass over the samples; None means whole passes.

        Yields
        ------
        ndarray of int
            Samples of the piece that comes next, none of them twice; none before what ends the
            epoch. What is sent back are the parts of it to visit; None means all of it.
        """


def cut_order(order: np.ndarray, n_pieces: int | None) -> list[np.ndarray]:
    """Cut the samples of a pass in pieces that have none twice; None: all of them in one.

    Parameters
    ----------
    order : ndarray of int
        Samples in the order of their visits.
    n_pieces : int or None
        Number of pieces.

    Returns
    -------
    list of ndarray
        The pieces.
    """
    if n_pieces is None:
        return [order]
    pieces = np.array_split(order, max(1, min(n_pieces, len(order))))
    return [own[np.sort(np.unique(own, return_index=True)[1])] for own in pieces]


def check_counts(problem: Problem, who: str, hint: str = "") -> None:
    """Fail unless the structure has a log-partition beside `marginals`: P needs both."""
    oracle, layout = problem.oracle, problem.layouts[0]
    if oracle.compiled_function("marginals") is not None:
        return
    try:
        oracle.log_partition(np.zeros(problem.structure.n_parts(layout)), layout)
    except MissingAbilityError as error:
        raise MissingAbilityError(
            f"{who} needs `log_partition` beside `marginals`: {error}{hint}"
        ) from error


def _best(objective: str, domain: Domain | None, problem: Problem | None) -> str:
    """What solver="auto" means."""
    if objective != "likelihood":
        return "cutting-plane" if problem is not None and _has_few_weights(problem) else "bcfw"
    return "sdca" if domain is None or isinstance(domain, RealSpace) else "smoothed"


def _has_few_weights(problem: Problem) -> bool:
    """Whether the oracle is expensive, answers all calls, and there are few weights."""
    oracle = problem.oracle
    return oracle.is_expensive and not oracle.may_time_out and problem.dim <= _FEW_WEIGHTS


def resolve_solver(
    solver: str | Solver,
    objective: str = "margin",
    domain: Domain | None = None,
    problem: Problem | None = None,
    **options: Any,
) -> Solver:
    """Return a solver object for a short name.

    Parameters
    ----------
    solver : str or Solver
        Short name or solver. "auto" means "bcfw" for margins, or "cutting-plane" if the problem has
        an expensive oracle and few weights; "sdca" for likelihoods, and "smoothed" for likelihoods
        in a domain.
    objective : {"margin", "likelihood", "slack"}, default="margin"
        Objective to minimise; see `Problem`.
    domain : Domain, default=None
        Domain of the weights; None means R^d.
    problem : Problem, default=None
        Problem to solve, if "auto" may choose by it.
    **options : dict
        Values of options that the solver leaves open (None).

    Returns
    -------
    Solver
        The solver; a copy if an object was given.
    """
    if isinstance(solver, str) and solver == "auto":
        solver = _best(objective, domain, problem)
    if not isinstance(solver, (str, Solver)):
        raise TypeError(f"solver must be a name or a Solver, found {type(solver).__name__}.")
    found: Solver = _by_name(solver)() if isinstance(solver, str) else clone(solver)
    for key, value in options.items():
        if getattr(found, key) is None:
            setattr(found, key, value)
    return found


def minimised_as(objective: str) -> str:
    """Which of `Solver.objectives` it is; for slacks see `losses.slack_rescaling`."""
    return "margin" if objective == "slack" else objective


def solver_classes() -> dict[str, type[Solver]]:
    """Return all solvers by their short names.

    Returns
    -------
    dict of str to type
        Class of each solver of the package; solvers of your own are given as objects.
    """
    return dict(_KINDS)


def solvers_for(objective: str, structure: Structure | None = None) -> list[str]:
    """Short names of the solvers that can minimise it, with that structure if one is given."""
    return [
        name
        for name, kind in solver_classes().items()
        if minimised_as(objective) in kind().requires.objectives
        and (structure is None or kind().requires.are_met_by(structure))
    ]


def _by_name(name: str) -> Callable[[], Solver]:
    names = solver_classes()
    if name not in names:
        raise ValueError(f"solver={name!r} is unknown; use one of {sorted(names)} or a Solver.")
    return names[name]
