"""How an estimator's training is given to an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from maxmargin.callbacks import Callback
from maxmargin.parallel.driver import Rounds
from maxmargin.parallel.engines import resolve_engine
from maxmargin.parallel.sums import SummedProblem
from maxmargin.problem import Problem
from maxmargin.result import Result, State
from maxmargin.solvers import Solver, solver_classes


def run_on_engine(
    engine: Any,
    solver: Solver,
    problem: Problem,
    state: State | None = None,
    callbacks: Sequence[Callback] = (),
) -> Result:
    """Solve a problem where an engine computes.

    Parameters
    ----------
    engine : str, Engine or None
        The engine; one that is given by its name ends with the run. None means this process.
    solver : Solver
        A solver.
    problem : Problem
        The training problem.
    state : State, default=None
        State to continue from.
    callbacks : sequence of Callback, default=()
        Callbacks of the run.

    Returns
    -------
    Result
        What `Solver.run` returns.
    """
    found = resolve_engine(engine)
    if found is None:
        return solver.run(problem, state, callbacks)
    check_engine(engine, solver)
    try:
        if solver.requires.shards == "rounds":
            return Rounds(solver, found).run(problem, state, callbacks)
        problem = SummedProblem.of(problem, found)
        try:
            return solver.run(problem, state, callbacks)
        finally:
            problem.shards.forget()
    finally:
        if isinstance(engine, str):
            found.close()


def check_engine(engine: Any, solver: Solver) -> None:
    """Raise a ValueError if a solver cannot work on shards.

    Parameters
    ----------
    engine : str, Engine or None
        The engine; None means that it need not.
    solver : Solver
        A solver.
    """
    if engine is not None and not solver.requires.shards:
        able = [name for name, kind in solver_classes().items() if kind().requires.shards]
        raise ValueError(
            f"{type(solver).__name__} works in one process only; leave out engine, or use one of"
            f" {', '.join(able)}."
        )
