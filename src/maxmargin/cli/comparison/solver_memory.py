"""What a solver itself takes, beyond the packed data that all solvers share."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np

from maxmargin.problem import Problem
from maxmargin.result import State
from maxmargin.solvers import Solver


def solver_bytes(solver: Solver, problem: Problem, last: State) -> int:
    """The most bytes that the solver had at a time, for its state and its work space.

    Counted, not read off the process, whose peak is mostly that of making features: an epoch
    afresh under Python's own count of allocations, and what the state of the run has gained since.
    last : the state at the end of the run.
    """
    tracemalloc.start()
    try:
        state = solver.init(problem)
        solver.epoch(problem, state)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return int(peak + max(0, state_bytes(last) - state_bytes(state)))


def state_bytes(state: State) -> int:
    """Bytes of all arrays that a state holds, each counted once."""
    found: dict[int, int] = {}
    _look(vars(state), found)
    return sum(found.values())


def _look(thing: Any, found: dict[int, int]) -> None:
    if isinstance(thing, np.ndarray):
        own = thing if thing.base is None else thing.base  # a view holds the array it is of
        found[id(own)] = getattr(own, "nbytes", thing.nbytes)
    elif isinstance(thing, dict | list | tuple):
        for own in thing.values() if isinstance(thing, dict) else thing:
            _look(own, found)
