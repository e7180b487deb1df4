"""The one loop that all solvers share: epoch, certify, callbacks, status."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone

from maxmargin.callbacks import Callback
from maxmargin.domains import Domain, RealSpace
from maxmargin.exceptions import MissingAbilityError
from maxmargin.problem import Problem
from maxmargin.result import History, Record, Result, State, Status
from maxmargin.solvers.identity import identity
from maxmargin.structures import Structure
from maxmargin.validation import is_number


class Solver(BaseEstimator):
    """Options in the constructor, `init`, `epoch`, and one inherited `run`.

    A subclass defines `init(problem) -> State` and `epoch(problem, state)`, which changes the state
    in place. If its state bounds the optimum, it says so by `bound` and `candidates`.

    Common options: max_epochs (100), tol (1e-3, on gap / |primal|), random_state (0). None leaves
    them to the estimator. check_every: epochs between certificates; None means after half as many
    epochs again each time, and when the solver's own estimate says that it may be done.
    """

    #: each inner tuple names abilities of which the structure must have one
    requires: ClassVar[tuple[tuple[str, ...], ...]] = (("maximize",),)
    #: whether `tilt` must give expectations, and not an approximation of them
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
        """Load the kernels of a pass, so that its time is not theirs."""
        from maxmargin.kernels.compile import loading

        with loading():
            problem.structure.kernel("maximize")
            for name in self.kernels():
                import_module(f"maxmargin.kernels.{name}")

    def kernels(self) -> tuple[str, ...]:
        """Modules below maxmargin.kernels that an epoch uses."""
        return ("batch",)

    def candidates(self, problem: Problem, state: State) -> list[np.ndarray]:
        """Weights worth a certificate: the last ones, averages."""
        return [state.w]

    def answer(self, state: State) -> np.ndarray:
        """The weights to return if nothing is certified."""
        return state.w

    def done(self, state: State) -> bool:
        """Whether a solver without certificates has nothing left to do."""
        return False

    def bound(self, problem: Problem, state: State) -> float:
        """A lower bound on the objective; -inf if the solver has none."""
        return problem.dual(state.z, state.w)

    def facts(self, problem: Problem, state: State, primal: float) -> dict[str, float]:
        """More numbers for the record of a certificate; primal: the objective of `candidates`."""
        return {}

    def estimate(self, state: State) -> float:
        """A guess of the gap that costs nothing; inf if there is none."""
        return float("inf")

    def certified(self, state: State) -> None:
        """Called after a certificate of this state."""

    def settle(self, problem: Problem, state: State) -> None:
        """Called before the last certificate: remove what rounding has added up."""

    def check_restored(self, problem: Problem, fresh: State, state: State) -> None:
        """A ValueError if a state from a file, of the right sizes, has what kernels must not see.

        fresh : what `init` returns.
        """

    def check(self, problem: Problem) -> None:
        """Fail before the first pass, and say the cure."""
        structure = problem.structure
        for names in self.requires:
            if not any(structure.has(name) for name in names):
                wanted = " or ".join(f"`{name}`" for name in names)
                kind = type(structure).__name__
                raise MissingAbilityError(
                    f"{type(self).__name__} needs {wanted}, which {kind} cannot do."
                    f" Define {kind}.{names[0]}, or choose another solver."
                )
        if problem.alpha < 0 or not np.isfinite(problem.alpha):
            raise ValueError(f"alpha={problem.alpha} must be a finite number, 0 or more.")
        self._check_objective(problem.objective, structure)
        likelihood = problem.objective == "likelihood"
        if likelihood:
            check_counts(problem, f'{type(self).__name__} with objective="likelihood"')
        if self.needs_penalty and problem.alpha == 0:
            cure = (
                ": without it, likelihoods mostly have no maximum."
                if likelihood
                else ', or use solver="dual-extragradient", which works without, or'
                ' solver="perceptron", which knows no penalty.'
            )
            raise ValueError(
                f"{type(self).__name__} needs alpha > 0; give a small one (1e-4){cure}"
            )
        if not self.any_domain and not isinstance(problem.domain, RealSpace):
            raise ValueError(
                f"{type(self).__name__} does not say that it keeps w in a"
                f" {type(problem.domain).__name__} (any_domain = True); use one that does, such as"
                f' solver="{"smoothed" if likelihood else "bcfw"}", or domain=None.'
            )
        self._check_limits()

    def _check_objective(self, objective: str, structure: Structure) -> None:
        if objective in self.objectives:
            return
        able = [f'"{name}"' for name in solvers_for(objective, structure)]
        raise ValueError(
            f'{type(self).__name__} cannot minimise objective="{objective}"; solvers that can:'
            f' {", ".join(able)}, or solver="auto".'
        )

    def _check_limits(self) -> None:
        for name, least in (("max_epochs", 0), ("check_every", 1)):
            value = getattr(self, name)
            if value is None:
                continue
            if not is_number(value, whole=True) or value < least:
                raise ValueError(f"{name}={value!r} must be a whole number, {least} or more.")
        if self.tol is not None and not (is_number(self.tol) and self.tol >= 0):
            raise ValueError(f"tol={self.tol!r} must be a number, 0 or more (0: never stop early).")

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
        warm = state is not None
        if state is None:
            state = self.init(problem)
        else:
            self._adopt(problem, state)
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
        for callback in callbacks:
            callback.on_end(run, result)
        return result

    def _adopt(self, problem: Problem, state: State) -> None:
        """Make a state of any solver, alpha or loss fit for this solver and problem."""
        if len(state.z) == 0:  # of a solver that keeps none
            state.z = problem.truth.copy()
        if len(state.z) != len(problem.truth) or len(state.w) != problem.dim:
            raise ValueError(
                f"the state has {len(state.z)} parts and {len(state.w)} weights, the problem"
                f" {len(problem.truth)} and {problem.dim}; start without it."
            )
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


class Run:
    """A solver at work on a problem. Callbacks see this."""

    def __init__(
        self,
        solver: Solver,
        problem: Problem,
        state: State,
        callbacks: Sequence[Callback],
        warm: bool = False,
    ):
        self.solver, self.problem, self.state = solver, problem, state
        #: whether the state was given
        self.warm = warm
        #: what callbacks remember, if the run goes on from a checkpoint
        self.resumed: list[tuple[str, dict[str, Any]]] | None = None
        self.callbacks = list(callbacks)
        self.max_epochs, self.tol = solver.limits()
        self.history = History()
        self.status: Status | None = None
        self.message = ""
        self.primal, self.dual = float("inf"), -float("inf")
        self.best: np.ndarray | None = None
        self.newest = state.w
        self.chosen: np.ndarray | None = None
        self.origin = "weights chosen by a callback"
        self.started = time.perf_counter()
        self._next, self._last = 1, 0
        self._winner: int | None = None

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Of what this is a run, for checkpoints."""
        return identity(self.solver, self.problem)

    def remind(self) -> None:
        """Give callbacks their memories back, in order, if the run goes on from a checkpoint."""
        if self.resumed is None:
            return
        left = list(self.resumed)
        for callback in self.callbacks:
            name = type(callback).__name__
            at = next((i for i, (own, _) in enumerate(left) if own == name), None)
            callback.recall(self, None if at is None else left.pop(at)[1])

    def stop(self, status: Status, message: str = "") -> None:
        """Ask the run to end after this epoch."""
        if self.status is None:
            self.status, self.message = status, message

    def choose(self, w: np.ndarray) -> None:
        """Return these weights (picked on validation data, say) instead of the best objective's."""
        self.chosen = w.copy()

    def go(self) -> Result:
        """The loop."""
        try:
            self.problem.probe()
            if self.warm and self.resumed is None:
                self._recall()
                self._certify()
            while self.status is None and self.state.epoch < self.max_epochs:
                self._epoch()
            for callback in self.callbacks:
                callback.on_last(self)
        except KeyboardInterrupt:
            self.stop(Status.STOPPED, "interrupted; the best certified result is kept")
        if self.status is None:
            self.stop(Status.MAX_EPOCHS)
        if self.status is not Status.FAILED:
            self.solver.settle(self.problem, self.state)
            self._certify(last=True)
        return self._result()

    def _recall(self) -> None:
        """Begin with the best weights of the run that is continued."""
        best = self.state.best
        if self.solver.certifies and best is not None and self.problem.domain.contains(best):
            self.best = best.copy()
            self.primal = self.problem.primal(self.best)

    def _epoch(self) -> None:
        state = self.state
        begun = time.perf_counter()
        with self._guard():
            self.solver.epoch(self.problem, state)
            state.seconds += time.perf_counter() - begun
            state.epoch += 1
        if not np.isfinite(state.w @ state.w):
            self.stop(Status.FAILED, f"the weights are not finite after epoch {state.epoch}")
            return
        if self._due():
            self._certify()
        for callback in self.callbacks:
            callback.on_epoch(self)

    def _guard(self) -> AbstractContextManager[None]:
        """Let signals wait where an epoch is compiled; one in Python can be left at any moment."""
        from maxmargin.kernels.compile import uninterrupted

        compiled = self.problem.structure.kernel("maximize") is not None
        return uninterrupted() if compiled else nullcontext()

    def _due(self) -> bool:
        epoch, every = self.state.epoch, self.solver.check_every
        if every is not None:
            return epoch % every == 0
        if not self.solver.certifies:
            return True
        return epoch >= self._next or (self._promising() and epoch >= 1.1 * self._last)

    def _promising(self) -> bool:
        return self.solver.estimate(self.state) <= 1.5 * self.tol * abs(self.primal)

    def _certify(self, last: bool = False) -> None:
        state, problem = self.state, self.problem
        self._last, self._next = state.epoch, max(state.epoch + 1, int(1.5 * state.epoch))
        newest = float("nan")
        if self.solver.certifies:
            tried = self.solver.candidates(problem, state)
            guessed = np.isfinite(self.solver.estimate(state)) and not self._promising()
            if self._winner is not None and len(tried) > 1 and guessed and not last:
                tried = [tried[self._winner]]  # far from the end, trust the kind that won before
            values = [problem.primal(w) for w in tried]
            newest = min(values)
            self.newest = tried[int(np.argmin(values))]
            if len(tried) > 1:
                self._winner = int(np.argmin(values))
            if self.best is None or newest < self.primal:
                self.primal, self.best = newest, self.newest.copy()
            self.dual = max(self.dual, self.solver.bound(problem, state))
        else:
            self.newest = self.solver.answer(state)
            if not isinstance(problem.domain, RealSpace):  # averages are outside by rounding
                self.newest = problem.domain.project(self.newest)
            self.primal, self.best = newest, self.newest.copy()
        self._record(newest)
        self.solver.certified(state)
        if problem.structure.is_exact and self.gap < -1e-9 * (abs(self.primal) + abs(self.dual)):
            name = type(problem.structure).__name__
            self.status = Status.FAILED
            self.message = f"the bound is above the objective: {name}.maximize misses maxima"
            return
        if self._proven() and self.status in (None, Status.MAX_EPOCHS):
            self.status = Status.CONVERGED

    def _proven(self) -> bool:
        proven = self.tol > 0 and self.gap <= self.tol * abs(self.primal)
        return proven or self.solver.done(self.state)

    def _record(self, primal: float) -> None:
        state = self.state
        record = Record(
            epoch=state.epoch,
            seconds=state.seconds,
            n_oracle=state.n_oracle,
            n_project=state.n_project,
            primal=primal,
            dual=self.dual,
            gap=primal - self.dual,
            norm_w=float(np.linalg.norm(self.newest)),
            train_error=state.extra.get("train_error", float("nan")),
            extra=self.solver.facts(self.problem, state, primal),
        )
        if self.history and self.history[-1].epoch == state.epoch:
            # The last epoch, certified once more without rounding: callbacks have seen it.
            last = self.history[-1]
            best = min(last.primal, primal)
            self.history[-1] = replace(
                last,
                primal=best,
                dual=self.dual,
                gap=best - self.dual,
                norm_w=record.norm_w if primal <= last.primal else last.norm_w,
                extra=last.extra | record.extra,
            )
            return
        self.history.append(record)
        for callback in self.callbacks:
            callback.on_record(self, record)

    def annotate(self, **facts: Any) -> None:
        """Add facts to the newest record."""
        self.history[-1] = self.history[-1].with_facts(**facts)

    def _result(self) -> Result:
        best = self.state.w if self.best is None else self.best
        if self.solver.certifies:
            self.state.best = best
        primal = self.primal
        if self.chosen is not None:
            best = self.chosen
            if self.solver.certifies:
                primal = self.problem.primal(best)
                if self.status is Status.CONVERGED and primal - self.dual > self.tol * abs(primal):
                    self.status = Status.STOPPED
            self.message = "; ".join(filter(None, [self.message, self.origin]))
        return Result(
            w=best,
            primal=primal,
            dual=self.dual,
            gap=primal - self.dual,
            status=self.status or Status.FAILED,
            n_epochs=self.state.epoch,
            history=self.history,
            state=self.state,
            exact=self.problem.structure.is_exact,
            message=self.message,
        )


def check_counts(problem: Problem, who: str, cure: str = "") -> None:
    """Fail unless the structure has a log-partition beside `tilt`, without which P is not known."""
    structure, shape = problem.structure, problem.shapes[0]
    if structure.kernel("tilt") is not None:
        return
    try:
        structure.log_partition(np.zeros(structure.n_parts(shape)), shape)
    except MissingAbilityError as error:
        raise MissingAbilityError(
            f"{who} needs `log_partition` beside `tilt`: {error}{cure}"
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
        if objective in kind.objectives and (structure is None or _serves(structure, kind))
    ]


def _serves(structure: Structure, kind: type[Solver]) -> bool:
    """Whether the structure has all abilities that the solver needs."""
    if kind.needs_expectations and not structure.tilt_is_expectation:
        return False
    return all(any(structure.has(name) for name in names) for names in kind().requires)


def _by_name(name: str) -> Callable[[], Solver]:
    names = solver_classes()
    if name not in names:
        raise ValueError(f"solver={name!r} is unknown; use one of {sorted(names)} or a Solver.")
    return names[name]
