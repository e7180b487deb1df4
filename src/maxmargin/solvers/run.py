"""A solver at work: the one loop that all share, of epochs, certificates and callbacks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin._numba.compile import delay_signals
from maxmargin.callbacks import Callback
from maxmargin.domains import RealSpace
from maxmargin.exceptions import TimeIsUp
from maxmargin.memory import CompactArray
from maxmargin.problem import Problem
from maxmargin.result import History, Record, Result, State, Status, describe_rounding
from maxmargin.solvers.identity import run_identity

if TYPE_CHECKING:
    from maxmargin.solvers.base import Solver

#: of an objective: rounding errors below are of no concern
_NEGLIGIBLE = 1e-6


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
        self.max_epochs, self.tol = limits_of(solver)
        self.history = History()
        self.status: Status | None = None
        self.message = ""
        self.primal, self.dual = float("inf"), -float("inf")
        self._best: np.ndarray | CompactArray | None = None
        self.newest = state.w
        self.chosen: np.ndarray | None = None
        self.origin = "weights chosen by a callback"
        self.started = time.perf_counter()
        #: epochs of the next certificate and of the last one
        self.next_certificate, self.last_certificate = 1, 0
        #: which of the solver's candidates was the best at the last certificate of them all
        self.winner: int | None = None
        #: what rounding may add to the best objective
        self._rounded = 0.0
        #: calls of the oracle and their seconds that were counted when last looked at
        self._counted = problem.oracle.n_calls, problem.oracle.seconds
        #: `n_oracle` of the state then, and seconds of the oracle in this run
        self._n_oracle, self._waited = state.n_oracle, 0.0

    @property
    def best(self) -> np.ndarray | None:
        """The weights of the best objective; mostly an array of its own, made at each call."""
        return self._best.expand() if isinstance(self._best, CompactArray) else self._best

    @best.setter
    def best(self, w: np.ndarray | None) -> None:
        # weights may be many: those that nobody else holds are kept small
        self._best = None if w is None else CompactArray(w)
        self._rounded = 0.0 if w is None else self.problem.rounding(w)

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    @property
    def target(self) -> float:
        """The gap at which the run ends: tol |P(w)|, or what rounding hides of a gap."""
        if self.tol == 0 or self._best is None:
            return 0.0
        return max(self.tol * abs(self.primal), self._rounded)

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Of what this is a run, for checkpoints."""
        return run_identity(self.solver, self.problem)

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
            self._n_oracle = self.state.n_oracle
            if self.resumed is not None:  # it was probed and counted before
                self._counted = self.problem.oracle.n_calls, self.problem.oracle.seconds
            if self.warm and self.resumed is None:
                self._recall()
                self._certify()
            while self.status is None and self.state.epoch < self.max_epochs:
                self._epoch()
            for callback in self.callbacks:
                callback.on_last(self)
        except KeyboardInterrupt:
            self.stop(Status.INTERRUPTED, "the best certified result is kept")
        except TimeIsUp:
            self.stop(Status.TIME_LIMIT, "ended between two calls of the oracle")
        self.problem.oracle.deadline = np.inf
        if self.status is None:
            self.stop(Status.MAX_EPOCHS)
        if self.status is not Status.FAILED:
            self.newest = self.state.w  # frees the one before
            self.solver._finalize(self.problem, self.state)
            if self._may_certify_again():
                self._certify(last=True)
            elif self.solver.certifies:  # the best objective stands; the bound costs no calls
                self.dual = max(self.dual, self._bound())
        self._count_calls()
        return self._result()

    def _may_certify_again(self) -> bool:
        """Whether calls of the oracle are cheap, or there is something new to certify, and time."""
        if not self.problem.oracle.is_expensive:
            return True
        known = self.last_certificate == self.state.epoch and self._best is not None
        return not known and self.status is not Status.TIME_LIMIT

    def _count_calls(self) -> None:
        """Let n_oracle be all calls, where these are made from Python."""
        oracle = self.problem.oracle
        calls, seconds = self._counted
        self._counted = oracle.n_calls, oracle.seconds
        self._waited += oracle.seconds - seconds
        if oracle.compiled_function("maximize") is None:
            self.state.n_oracle = self._n_oracle + oracle.n_calls - calls
        self._n_oracle = self.state.n_oracle

    def _recall(self) -> None:
        """Begin with the best weights of the run that is continued."""
        best = self.state.best
        if self.solver.certifies and best is not None and self.problem.domain.contains(best):
            self.best = best
            self.primal = self.problem.primal(best)

    def _epoch(self) -> None:
        state, self.newest = self.state, self.state.w  # frees the one before
        begun = time.perf_counter()
        with self._guard():
            self.solver.epoch(self.problem, state)
            state.seconds += time.perf_counter() - begun
            state.epoch += 1
        self._count_calls()
        if not np.isfinite(state.w @ state.w):
            self.stop(
                Status.FAILED,
                f"the weights are not finite after epoch {state.epoch}; scale the features down",
            )
            return
        termination = self.solver._termination(state)
        if self._due() or termination is not None:
            self._certify()
        if termination is not None:
            self.stop(*termination)
        for callback in self.callbacks:
            callback.on_epoch(self)

    def _guard(self) -> AbstractContextManager[None]:
        """Let signals wait where an epoch is compiled; one in Python can be left at any moment."""
        compiled = self.problem.oracle.compiled_function("maximize") is not None
        return delay_signals() if compiled else nullcontext()

    def _due(self) -> bool:
        epoch, every = self.state.epoch, self.solver.check_every
        if every is not None:
            return epoch % every == 0
        if not self.solver.certifies:
            return True
        return epoch >= self.next_certificate or (
            self._promising() and epoch >= 1.1 * self.last_certificate
        )

    def _promising(self) -> bool:
        return self.solver.estimate(self.state) <= 1.5 * self.target

    def _certify(self, last: bool = False) -> None:
        state, problem = self.state, self.problem
        self.last_certificate, self.next_certificate = (
            state.epoch,
            max(state.epoch + 1, int(1.5 * state.epoch)),
        )
        newest, self.newest = float("nan"), state.w  # frees the one before
        if self.solver.certifies:
            tried = self.solver._take_candidates(problem, state)
            guessed = np.isfinite(self.solver.estimate(state)) and not self._promising()
            if self.winner is not None and len(tried) > 1 and guessed and not last:
                tried = [tried[self.winner]]  # far from the end, trust the kind that won before
            values = [self.solver.objective(problem, state, w) for w in tried]
            newest = min(values)
            self.newest = tried[int(np.argmin(values))]
            if len(tried) > 1:
                self.winner = int(np.argmin(values))
            if self._best is None or newest < self.primal:
                self.primal, self.best = newest, self.newest
            self.dual = max(self.dual, self._bound())
        else:
            self.newest = self.solver.candidates(problem, state)[0]
            if not isinstance(problem.domain, RealSpace):  # averages are outside by rounding
                self.newest = problem.domain.project(self.newest)
            self.primal, self.best = newest, self.newest
        self._record(newest)
        self.solver._certified(state)
        if problem.oracle.gap_is_proof and self.gap < -self._unsure():
            name = type(problem.structure).__name__
            self.status = Status.FAILED
            self.message = f"the bound is above the objective: {name}.maximize misses maxima"
            return
        if self.status not in (None, Status.MAX_EPOCHS):
            return
        if self.is_proven():
            self.status = Status.CONVERGED
        elif self.tol > 0 and self.gap <= self._rounded:
            self.status = Status.ROUNDING
            self.message = describe_rounding(self._rounded)

    def _bound(self) -> float:
        """What the state proves, or 0: that is D at the truth, and no hinge is below it.

        Where W has no bounds and there is no penalty, 0 is said only once it is reached.
        """
        found = self.solver.bound(self.problem, self.state)
        reached = self.primal <= self._rounded
        return max(found, 0.0) if found > -np.inf or reached else found

    def _unsure(self) -> float:
        """How far a bound may be above the objective by rounding."""
        if self._best is None or not np.isfinite(self.gap):
            return np.inf
        return 1e-9 * (abs(self.primal) + abs(self.dual)) + self._rounded

    def is_proven(self) -> bool:
        """Whether the gap is at the tolerance, or the solver knows that it has converged."""
        known = self.tol > 0 and self._best is not None
        if known and (self._is_within_tol(self.primal, self._rounded) or self._is_zero()):
            return True
        if not self.solver._has_converged(self.state):
            return False
        # which is no proof where scores are too large; of a perceptron the objective is NaN
        return not self._rounded > max(self.tol, _NEGLIGIBLE) * abs(self.primal)

    def _is_within_tol(self, primal: float, rounded: float) -> bool:
        """Whether the gap and what rounding may add to it are at most tol |P(w)|."""
        gap = primal - self.dual
        if not gap <= self.tol * abs(primal):
            return False
        return gap + rounded + self.problem.rounding_of_bound(gap) <= self.tol * abs(primal)

    def _is_zero(self) -> bool:
        """Whether nothing but rounding is left of an objective whose minimum may be 0."""
        small = self._rounded <= _NEGLIGIBLE * self.problem.size_of_losses
        return small and self.gap <= self._rounded and self.problem.alpha * self.primal == 0

    def _record(self, primal: float) -> None:
        self._count_calls()
        state = self.state
        timed = {"oracle_seconds": self._waited} if self.problem.oracle.is_expensive else {}
        record = Record(
            epoch=state.epoch,
            seconds=state.seconds,
            n_oracle=state.n_oracle,
            n_project=state.n_project,
            primal=primal,
            dual=self.dual,
            gap=primal - self.dual,
            norm_w=float(np.linalg.norm(self.newest)),
        ).with_metrics(
            **self.solver.metrics(self.problem, state, primal),
            **self.problem.oracle.take_metrics(),
            **timed,
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

    def annotate(self, **metrics: Any) -> None:
        """Add metrics to the newest record."""
        self.history[-1] = self.history[-1].with_metrics(**metrics)

    def _result(self) -> Result:
        self.newest = self.state.w
        best = self.best if self._best is not None else self.state.w
        assert best is not None
        if self.solver.certifies:
            self.state.best = best
        primal = self.primal
        if self.chosen is not None:
            best = self.chosen
            if self.solver.certifies:
                primal = self.problem.primal(best)
                rounded = self.problem.rounding(best)
                if self.status is Status.CONVERGED and not self._is_within_tol(primal, rounded):
                    self.status = Status.STOPPED
            self.message = "; ".join(filter(None, [self.message, self.origin]))
        dual = self._honest_bound(primal, best)
        if primal < dual <= primal + self._unsure():  # by rounding
            dual = primal
        return Result(
            w=best,
            primal=primal,
            dual=dual,
            gap=primal - dual,
            status=self.status or Status.FAILED,
            n_epochs=self.state.epoch,
            history=self.history,
            state=self.state,
            exact=self.problem.oracle.gap_is_proof,
            message=self.message,
        )

    def _honest_bound(self, primal: float, w: np.ndarray) -> float:
        """The bound, less rounding errors of it and of P(w) where these hide whether it proves tol.

        It remains 0 where it was more: that is D at the truth, without rounding.
        """
        if not self.solver.certifies or self.status is Status.CONVERGED or self.dual <= 0:
            return self.dual
        rounded = self.problem.rounding(w) + self.problem.rounding_of_bound(primal - self.dual)
        small = rounded <= max(self.tol, _NEGLIGIBLE) * abs(primal)
        if small and self.status is not Status.ROUNDING:
            return self.dual
        return max(self.dual - rounded, 0.0)


def limits_of(solver: Solver) -> tuple[int, float]:
    """`max_epochs` and `tol` of a solver, with their defaults."""
    limit = 100 if solver.max_epochs is None else int(solver.max_epochs)
    return limit, 1e-3 if solver.tol is None else float(solver.tol)
