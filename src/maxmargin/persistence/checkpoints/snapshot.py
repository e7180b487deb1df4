"""A run at the end of an epoch, taken apart and put together again."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, fields, replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.exceptions import ModelFileError
from maxmargin.persistence import load_as
from maxmargin.persistence.checkpoints.checks import check_snapshot
from maxmargin.persistence.checkpoints.sparse import pack_sparse, unpack_sparse
from maxmargin.persistence.encode import Encoder
from maxmargin.result import History, Record, State, Status
from maxmargin.validation.learned import Checked
from maxmargin.validation.options import CountOrZero, check_option

if TYPE_CHECKING:
    from maxmargin.problem import Problem
    from maxmargin.solvers.run import Run

#: of checkpoints: 1 had states without fields of their own, 2 caches with products of slots twice,
#: and checksums of samples that were packed otherwise
VERSION = 3
#: stands for the problem's own truth, which need not be kept twice
TRUTH = "<truth>"

_FIELDS: dict[str, Any] = {
    **dict.fromkeys(("identity", "state", "history"), dict),
    **dict.fromkeys(("primal", "dual", "wall"), Real),
    **dict.fromkeys(("best", "newest", "chosen"), np.ndarray | None),
    **dict.fromkeys(("next", "last", "version"), CountOrZero),
    "winner": CountOrZero | None,
    "memories": list[tuple[str, dict]],
}

#: checks of fields of a state that every run is given by the loop
_GIVEN = ("same", "layout")

_COLUMNS = [field.name for field in fields(Record) if field.name != "extra"]


@dataclass
class Snapshot(Checked):
    """Everything that the rest of a run depends on.

    identity : of the problem and the solver, see `solvers.identity`. state : of the solver, by
    name. history : its records, column by column. memories : what callbacks remember, by the names
    of their classes. newest : None if it is the state's w itself. wall : seconds since the start,
    certificates included.
    """

    identity: dict[str, Any]
    state: dict[str, Any]
    history: dict[str, Any]
    primal: float
    dual: float
    best: np.ndarray | None
    newest: np.ndarray | None
    chosen: np.ndarray | None
    next: int
    last: int
    winner: int | None
    wall: float
    memories: list[tuple[str, dict[str, Any]]]
    version: int = 1  # those of the first do not say

    def validate(self) -> None:
        """Types only: what must go with a run is looked at when that is there (`restore_run`)."""
        for field in fields(self):
            check_option(f"Snapshot: {field.name}", getattr(self, field.name), _FIELDS[field.name])

    def check_savable(self) -> None:
        """A TypeError now rather than after the first epochs."""
        Encoder().encode_object(self, ("run",))


def take_snapshot(run: Run, packed: bool = False) -> Snapshot:
    """The run as it is now; arrays are not copied.

    packed : long arrays that are mostly zero are written as such, unless their size is unknown to
    a reader.
    """
    state = {}
    unknown = sorted(vars(run.state).keys() - {field.name for field in fields(run.state)})
    if unknown:
        name = type(run.state).__name__
        raise TypeError(
            f"{name}.{unknown[0]} is not a field of {name}, so that checkpoints cannot keep it;"
            " declare it in a dataclass, by result.state_field."
        )
    gather = getattr(run.solver, "state_to_save", None)  # of solvers whose state is on workers
    whole = run.state if gather is None else gather(run.state)
    for field in fields(whole):
        value = getattr(whole, field.name)
        value = TRUTH if run.problem.is_truth(value) else value
        keep = not packed or field.metadata.get("grows")
        state[field.name] = value if keep else pack_sparse(value)
    remembered = [(type(c).__name__, c.memory()) for c in run.callbacks]
    return Snapshot(
        identity=run.identity,
        state=state,
        history=_columns(run.history),
        primal=float(run.primal),
        dual=float(run.dual),
        best=run.best,
        newest=None if run.newest is run.state.w else run.newest,
        chosen=run.chosen,
        next=run.next_certificate,
        last=run.last_certificate,
        winner=run.winner,
        wall=time.perf_counter() - run.started,
        memories=[(name, memory) for name, memory in remembered if memory is not None],
        version=VERSION,
    )


def read_snapshot(path: str | os.PathLike) -> Snapshot:
    """The checkpoint in a file; its parts are not checked yet."""
    try:
        found = load_as(path, "Snapshot")
    except ModelFileError as error:
        raise ModelFileError(f"{error} Remove the file to start afresh.") from error
    if found.version != VERSION:
        raise ModelFileError(
            f"{os.fspath(path)!r} is a checkpoint of format {found.version}; this version goes on"
            f" from format {VERSION} only. Remove the file to start afresh."
        )
    return found


def restore_run(run: Run, snapshot: Snapshot, path: Path) -> None:
    """Make the run what it was. Nothing is changed unless all of it fits."""
    _check_identity(run, snapshot, path)
    try:
        fresh = run.solver.init(run.problem) if run.warm else run.state
        # what the loop sets, not the solver
        given = [own.name for own in fields(fresh) if own.metadata.get("check") in _GIVEN]
        fresh = replace(fresh, **{name: getattr(run.state, name) for name in given})
        _fill_in(snapshot.state, fresh, run.problem)
        check_snapshot(run, fresh, snapshot)
        history = _records(snapshot.history)
    except (TypeError, ValueError, KeyError, AttributeError, IndexError, OverflowError) as error:
        raise ModelFileError(
            f"{str(path)!r} is not a checkpoint of this run, or is damaged ({error}). Remove it to"
            " start afresh."
        ) from error
    for name, value in snapshot.state.items():
        setattr(run.state, name, value)
    run.history = history
    run.primal, run.dual = snapshot.primal, snapshot.dual
    run.best, run.chosen = snapshot.best, snapshot.chosen
    run.newest = run.state.w if snapshot.newest is None else snapshot.newest
    run.next_certificate, run.last_certificate, run.winner = (
        snapshot.next,
        snapshot.last,
        snapshot.winner,
    )
    run.started = time.perf_counter() - snapshot.wall
    run.resumed = snapshot.memories
    if run.is_proven() and run.last_certificate == run.state.epoch:
        run.stop(Status.CONVERGED)


def _fill_in(state: dict[str, Any], fresh: State, problem: Problem) -> None:
    """Full arrays, as long as those of a run that has just begun."""
    for field in fields(fresh):
        value, like = state.get(field.name), getattr(fresh, field.name)
        if field.metadata.get("check") == "weights":
            like = fresh.w
        truth = isinstance(value, str) and value == TRUTH
        if field.name in state:
            state[field.name] = problem.truth if truth else unpack_sparse(value, like)


def _check_identity(run: Run, snapshot: Snapshot, path: Path) -> None:
    words = {
        "objective": "the objective differs",
        "structure": "another structure (options, attributes or code), or other layouts",
        "samples": "its samples are others: features, labels, losses or sample weights differ",
        "alpha": "alpha differs",
        "domain": "the domain of w differs",
        "solver": "the solver is another one",
        "options": "the options of the solver differ",
        "seed": "random_state differs",
    }
    now, then = run.identity, snapshot.identity
    if not isinstance(then, dict) or then.keys() != now.keys():
        raise ModelFileError(f"{str(path)!r} does not say which run it is of.")
    for name, value in now.items():
        if then[name] != value:
            shown = f" (now {value}, then {str(then[name])[:200]})" if name in _SHOWN else ""
            raise ValueError(
                f"{str(path)!r} is a checkpoint of another run: {words[name]}{shown}. Give what it"
                " was started with, or start without it."
            )


_SHOWN = ("objective", "alpha", "domain", "solver", "options", "seed")


# -- records, as columns: a run may have very many -------------------------------------------------
def _columns(history: History) -> dict[str, Any]:
    columns: dict[str, Any] = {name: [getattr(r, name) for r in history] for name in _COLUMNS}
    extra: dict[str, tuple[list[int], list[Any]]] = {}
    for i, record in enumerate(history):
        for name, value in record.extra.items():
            where, values = extra.setdefault(name, ([], []))
            where.append(i)
            values.append(float(value) if isinstance(value, float) else value)
    columns["extra"] = {name: list(pair) for name, pair in extra.items()}
    return columns


def _records(columns: dict[str, Any]) -> History:
    if set(columns) != {*_COLUMNS, "extra"}:
        raise ValueError("its records lack columns")
    rows = list(zip(*(columns[name] for name in _COLUMNS), strict=True))
    extra: list[dict[str, Any]] = [{} for _ in rows]
    for name, (where, values) in columns["extra"].items():
        for i, value in zip(where, values, strict=True):
            extra[i][str(name)] = value
    if not all(isinstance(v, int | float | np.number) for row in rows for v in row):
        raise ValueError("its records have something else than numbers")
    return History(
        Record(**dict(zip(_COLUMNS, row, strict=True)), extra=own)
        for row, own in zip(rows, extra, strict=True)
    )
