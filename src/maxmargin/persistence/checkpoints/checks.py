"""Whether a snapshot may be handed to compiled code, which checks nothing itself."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.result import State

if TYPE_CHECKING:
    from maxmargin.persistence.checkpoints.snapshot import Snapshot
    from maxmargin.solvers.run import Run


def check_snapshot(run: Run, fresh: State, snapshot: Snapshot) -> None:
    """A ValueError or TypeError says what does not fit a run that has just begun (fresh)."""
    check_state(fresh, snapshot.state)
    dim = run.problem.dim
    for name in ("best", "newest", "chosen"):
        _check_weights(name, getattr(snapshot, name), dim, missing=True)
    for name in ("primal", "dual", "wall"):
        _check_type(name, getattr(snapshot, name), float)
    if not 0 <= snapshot.wall < np.inf:
        raise ValueError("its time is impossible")
    if snapshot.primal == -np.inf or snapshot.dual == np.inf:
        raise ValueError("its bounds are infinite")
    if run.solver.certifies and (np.isnan(snapshot.primal) or np.isnan(snapshot.dual)):
        raise ValueError("its bounds are not numbers")
    for name, least in (("next", 1), ("last", 0)):
        _check_count(name, getattr(snapshot, name), least)
    _check_memories(run, snapshot.memories)
    state = type(fresh)(**snapshot.state)
    run.solver.check_restored(run.problem, fresh, state)
    if snapshot.winner is not None:
        _check_count("winner", snapshot.winner)
        winner = snapshot.winner
        if winner > 1 and winner >= len(run.solver.candidates(run.problem, state)):
            raise ValueError("winner is out of range")


def check_state(fresh: State, state: Any) -> None:
    """That each field is what its declaration says (`state_field`)."""
    for field in fields(fresh):
        name, rule = field.name, field.metadata
        if name not in state:
            raise ValueError(f"its state lacks {name!r}")
        found, like = state[name], getattr(fresh, name)
        check = rule.get("check", "like")
        if check == "weights":
            _check_weights(name, found, len(fresh.w), missing=True)
        elif check == "count":
            _check_count(name, found)
        elif check == "same" and found != like:
            raise ValueError(f"its state has another {name}")
        else:
            _check_like(name, found, like, check != "layout", rule.get("grows", False))
        if check == "positive" and found < 0:
            raise ValueError(f"{name} is negative")
    if len(state) > len(fields(fresh)):
        raise ValueError("its state has fields of another solver")


def _check_like(
    name: str, found: Any, fresh: Any, numbers: bool = True, grows: bool = False
) -> None:
    """The same kind of thing: arrays of the same type and shape, tuples of such.

    numbers : refuse NaN, and infinities unless a run begins with some. grows : arrays of one
    dimension may have any length, which the solver looks at (`check_restored`).
    """
    if isinstance(fresh, np.ndarray):
        if not isinstance(found, np.ndarray):
            raise TypeError(f"{name} is not an array")
        expected = found.shape if grows and found.ndim == fresh.ndim == 1 else fresh.shape
        if (found.dtype, found.shape) != (fresh.dtype, expected):
            raise ValueError(
                f"{name} is {found.dtype} {found.shape}, expected {fresh.dtype} {fresh.shape}"
            )
        if not found.flags.c_contiguous or not found.flags.writeable:
            raise ValueError(f"{name} is not laid out as it should be")
        if numbers and found.dtype.kind == "f":
            _check_numbers(name, found, fresh)
    elif isinstance(fresh, tuple):
        if type(found) is not type(fresh) or len(found) != len(fresh):
            raise TypeError(f"{name} is not a {type(fresh).__name__} of {len(fresh)}")
        for i, (own, other) in enumerate(zip(found, fresh, strict=True)):
            _check_like(f"{name}[{i}]", own, other, numbers, grows)
    elif isinstance(fresh, float | np.floating):
        if not isinstance(found, float | np.floating):
            raise TypeError(f"{name} is not a number")
        _check_numbers(name, found, fresh)
    elif type(found) is not type(fresh):
        raise TypeError(f"{name} is a {type(found).__name__}, not a {type(fresh).__name__}")


def _check_numbers(name: str, found: Any, fresh: Any) -> None:
    if np.isnan(found).any() and not np.isnan(fresh).any():
        raise ValueError(f"{name} has entries that are not numbers")
    if np.isinf(found).any() and not np.isinf(fresh).any():
        raise ValueError(f"{name} has infinite entries")


def _check_weights(name: str, found: Any, dim: int, missing: bool = False) -> None:
    if missing and found is None:
        return
    _check_like(name, found, np.empty(dim))
    _check_finite(name, found)


def _check_finite(name: str, found: np.ndarray) -> None:
    if not np.isfinite(found).all():
        raise ValueError(f"{name} is not finite")


def _check_type(name: str, found: Any, kind: type) -> None:
    if type(found) is not kind:
        raise TypeError(f"{name} is a {type(found).__name__}, not a {kind.__name__}")


def _check_count(name: str, found: Any, least: int = 0) -> None:
    _check_type(name, found, int)
    if not least <= found < 2**62:
        raise ValueError(f"{name} is out of range")


def _check_memories(run: Run, memories: Any) -> None:
    if not isinstance(memories, list):
        raise TypeError("memories is not a list")
    for name, memory in memories:
        if not isinstance(memory, dict):
            raise TypeError("a memory is not a dict")
        if name not in [type(callback).__name__ for callback in run.callbacks]:
            raise ValueError(f"it was written with the callback {str(name)[:80]}; give it again")
