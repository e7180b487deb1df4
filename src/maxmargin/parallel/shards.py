"""The shards of a run as the driver knows them: where each is, and how a lost one is had again."""

from __future__ import annotations

import os
import platform
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import psutil

from maxmargin.oracles.checked import Counted
from maxmargin.parallel.engines import Engine, WorkerLost
from maxmargin.parallel.worker import Missing, Plan, Visit, forget_shards, load_and_run, run_command
from maxmargin.problem import Problem
from maxmargin.progress import watch_files

#: bytes of commands since the last snapshot of a shard, from which on there is another one
JOURNAL_BYTES = 1 << 27
#: commands that need no state
_STATELESS = ("describe", "evaluate", "apply", "likelihood", "check_saved")


class ShardRecord:
    """What the driver knows of a shard."""

    def __init__(self, key: str, source: Any, plan: Plan | None):
        self.key, self.source, self.plan = key, source, plan
        #: stretches of the weights that it touches
        self.begins = self.ends = np.empty(0, dtype=np.uint32)
        #: a dual point to start from, or the file of the last snapshot; the version that it is of
        self.start: dict[str, np.ndarray] | Path | None = None
        self.first = 0
        #: commands since
        self.journal: list[tuple[str, tuple[Any, ...]]] = []
        self.journal_bytes = 0
        self.is_parked = True
        #: whether a worker was sent its samples, which are large, unlike the name of a file
        self.is_sent = False

    @property
    def version(self) -> int:
        return self.first + len(self.journal)

    def count(self) -> int:
        """How many weights it touches."""
        return int(self.ends.sum(dtype=np.int64) - self.begins.sum(dtype=np.int64))

    def places(self) -> np.ndarray:
        """The places of the weights that it touches, in order."""
        widths = (self.ends - self.begins).astype(np.int64)
        steps = np.ones(self.count(), dtype=np.uint32)  # summed in place: they may be many
        if len(steps):
            steps[np.cumsum(widths[:-1])] = self.begins[1:] - self.ends[:-1] + 1
            steps[0] = self.begins[0]
        return np.cumsum(steps, dtype=np.uint32, out=steps)

    def read_start(self) -> dict[str, np.ndarray] | None:
        """What it starts from."""
        if not isinstance(self.start, Path):
            return self.start
        with np.load(self.start, allow_pickle=False) as file:
            return dict(file)

    def begin_from(self, start: dict[str, np.ndarray] | Path | None) -> None:
        """Let the present version be this one."""
        self.first, self.start, self.journal, self.journal_bytes = self.version, start, [], 0


class ShardSet:
    """All shards of a run; commands to them are repeated until they are done."""

    def __init__(
        self, engine: Engine, oracle: Counted, sources: Sequence[Any], plans: Iterable[Plan | None]
    ):
        name = uuid4().hex
        self.engine, self.oracle = engine, oracle
        self.records = [
            ShardRecord(f"{name}-{k}", source, plan)
            for k, (source, plan) in enumerate(zip(sources, plans, strict=True))
        ]
        self._folder: Any = None

    def __len__(self) -> int:
        return len(self.records)

    def describe(self, with_sizes: bool = False) -> list[tuple[Any, ...]]:
        """Learn which weights shards touch; what `Problem.rounding` needs of each, if asked for."""
        told: Iterator[Any] = self._answers("describe", lambda k: (with_sizes,), changes=False)
        if with_sizes:  # shards are files
            told = watch_files(told, "making", "features", len(self))
        found = list(told)
        for own, (begins, ends, *_) in zip(self.records, found, strict=True):
            own.begins, own.ends = begins, ends
        return found

    def call(
        self,
        name: str,
        arguments: Callable[[int], tuple[Any, ...]] = lambda k: (),
        chosen: Sequence[int] | None = None,
        changes: bool = True,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> list[Any]:
        """Run a command on some shards, one of each worker at a time; what each returned.

        arguments : of a shard. changes : whether the command changes the shard. meanwhile : what
        the driver does while the first are computed.
        """
        return list(self._answers(name, arguments, chosen, changes, meanwhile))

    def _answers(
        self,
        name: str,
        arguments: Callable[[int], tuple[Any, ...]],
        chosen: Sequence[int] | None = None,
        changes: bool = True,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> Iterator[Any]:
        if self.oracle.compiled_function("maximize") is None:
            self.oracle.check_time()  # workers do not know when it is over
        order, width = list(range(len(self)) if chosen is None else chosen), self.engine.n_workers
        for group in (order[a : a + width] for a in range(0, len(order), width)):
            commands = [(name, arguments(k), changes) for k in group]
            futures = [self._submit(k, own) for k, own in zip(group, commands, strict=True)]
            meanwhile()
            for k, own, future in zip(group, commands, futures, strict=True):
                yield self._wait(k, own, future)

    def _submit(self, k: int, command: tuple[Any, ...], load: bool = False) -> Any:
        own, worker = self.records[k], k % int(self.engine.n_workers)
        stateless = command[0] in _STATELESS
        rest = (own.key, None if stateless else own.version, *command)
        if not load and (own.is_sent if stateless else not own.is_parked):
            return self.engine.submit(worker, run_command, *rest)
        state: tuple[Any, ...] = (None, None, 0, [])
        if not stateless:
            state = (own.plan, own.read_start(), own.first, own.journal)
        source = None if own.is_sent and not load else own.source
        return self.engine.submit(worker, load_and_run, source, *state, *rest)

    def _wait(self, k: int, command: tuple[Any, ...], future: Any) -> Any:
        name, arguments, changes = command
        own, worker = self.records[k], k % int(self.engine.n_workers)

        def again() -> Any:
            return self._submit(k, command, load=True)

        found = self.engine.wait(worker, future, again, f"shard {k}")
        if isinstance(found, Missing):
            found = self.engine.wait(worker, again(), again, f"shard {k}")
        found, counts = found
        self.oracle.add_counts(*counts)
        own.is_sent = isinstance(own.source, Problem)
        if name not in _STATELESS:
            own.is_parked = name == "park"
        if isinstance(found, Visit) and found.n_parts:  # as far, whatever the clock says then
            arguments = (*arguments[:-1], found.n_parts)
        if changes:
            own.journal.append((name, arguments))
            own.journal_bytes += sum(map(size_of_arrays, arguments))
        return found

    def snapshot(self, k: int) -> dict[str, np.ndarray]:
        """The state of a shard; workers do not take up one that is parked."""
        own = self.records[k]
        start = None if own.journal or not own.is_parked else own.read_start()
        return start or self.call("snapshot", chosen=[k], changes=False)[0]

    def save(self, k: int, park: bool) -> None:
        """Have a snapshot of a shard, lest much is to be repeated; park : and keep no other."""
        own = self.records[k]
        # calls of an oracle in Python take long and may be interrupted: a shard is made anew then
        is_slow = self.oracle.is_expensive and self.oracle.compiled_function("maximize") is None
        if not (park or is_slow) and own.journal_bytes < JOURNAL_BYTES:
            return
        self._folder = self._folder or make_folder(Path(tempfile.gettempdir()), "maxmargin-")
        path = Path(self._folder.name) / f"{k}-{own.version}.npz"
        np.savez(path, **self.call("park" if park else "snapshot", chosen=[k], changes=False)[0])
        if isinstance(own.start, Path):
            own.start.unlink()
        own.begin_from(path)

    def forget(self) -> None:
        """Free all that workers and the disk hold."""
        keys = [own.key for own in self.records]
        for worker in range(min(int(self.engine.n_workers), len(self))):
            with suppress(WorkerLost):
                self.engine.result(self.engine.submit(worker, forget_shards, keys))
        if self._folder is not None:
            self._folder.cleanup()
        self.records = []


def make_folder(parent: Path, prefix: str) -> tempfile.TemporaryDirectory[str]:
    """A temporary folder; those of processes of this machine that were killed are removed."""
    own = f"{prefix}{platform.node()}-"
    for other in parent.glob(f"{prefix}*"):
        # whole, since names of other machines may begin like that of this one
        found = re.fullmatch(re.escape(own) + r"(\d+)-\w+", other.name)
        if found and not psutil.pid_exists(int(found[1])):
            shutil.rmtree(other, ignore_errors=True)
    return tempfile.TemporaryDirectory(dir=parent, prefix=f"{own}{os.getpid()}-")


def size_of_arrays(value: Any) -> int:
    """Bytes of all arrays in it."""
    if isinstance(value, tuple | list):
        return sum(map(size_of_arrays, value))
    return value.nbytes if isinstance(value, np.ndarray) else 0


def split_problem(problem: Problem, n_shards: int) -> list[Problem]:
    """Contiguous ranges of samples, of about as many parts each."""
    n = min(int(n_shards), problem.n)
    goals = np.linspace(0, int(problem.part_ptr[-1]), n + 1)[1:-1]
    cuts = np.searchsorted(problem.part_ptr, goals)
    low = np.maximum.accumulate(np.maximum(cuts - np.arange(1, n), 0)) + np.arange(1, n)
    cuts = np.minimum(low, problem.n - n + np.arange(1, n))
    bounds = [0, *cuts.tolist(), problem.n]
    return [problem.part(first, last) for first, last in pairwise(bounds)]
