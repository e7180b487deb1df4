"""Engines: where the tasks of a round run, and how one is found by its name."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    TimeoutError as FutureTimeout,
)
from importlib import import_module
from typing import Any, ClassVar

from maxmargin.validation.options import Count, CountOrZero, PositiveOrInf, check_options

log = logging.getLogger("maxmargin")

#: engines by their short names; those of packages that may be missing are imported when asked for
_PLACES = {
    "serial": ("engines", "SerialEngine"),
    "executor": ("engines", "ExecutorEngine"),
    "ray": ("ray_engine", "RayEngine"),
    "dask": ("dask_engine", "DaskEngine"),
}
#: the oldest versions of their packages
_OLDEST = {"ray": (2, 9), "distributed": (2024, 1)}


class TaskLost(Exception):
    """A task has no result, since its worker died, hung or was cut off; it may be done again."""


class Engine:
    """Where tasks run. A subclass defines `_put`, `_submit`, `_result` and maybe the rest.

    A task is a pure function that returns a pair (kept, told): `kept` stays where it was computed,
    and `told` is what the driver reads.

    Parameters
    ----------
    n_workers : int, default=2
        Number of shards that are visited at the same time, which the results depend on. There may
        be more or fewer workers.
    rounds : int, default=2
        Number of rounds per pass over the samples. There are n_workers * rounds shards. With more
        rounds fewer passes are needed, and each costs more messages.
    scale : float or None, default=None
        How many times as far as they do the weights seem to move inside a visit, sigma' of CoCoA+,
        from 1 to n_workers; None means 1. The line search over all shards' directions follows in
        any case.
    retries : int, default=20
        How often a task is done again after its worker was lost.
    task_limit : float or None, default=None
        Seconds after which a task is taken for hung, and is done again by another worker; None
        means no limit.

    Notes
    -----
    The same seed, n_workers, rounds and scale give the same bits on every engine. With n_workers=1
    and rounds=1 these are the bits of a fit without an engine.
    """

    #: short name
    name: ClassVar[str] = ""
    #: epochs after which states are copied to the driver, lest lost ones are computed again from
    #: the start; 0 means never
    lineage: ClassVar[int] = 0

    def __init__(
        self,
        n_workers: Count = 2,
        rounds: Count = 2,
        *,
        scale: PositiveOrInf | None = None,
        retries: CountOrZero = 20,
        task_limit: PositiveOrInf | None = None,
    ):
        self.n_workers = n_workers
        self.rounds = rounds
        self.scale = scale
        self.retries = retries
        self.task_limit = task_limit
        check_options(self)
        if scale is not None and not 1 <= scale <= n_workers:
            raise ValueError(
                f"scale={scale} must be from 1 to n_workers={n_workers}: the weights of one shard"
                " move at least as far as they do, and at most as if all others did the same."
            )

    @property
    def n_shards(self) -> int:
        return int(self.n_workers) * int(self.rounds)

    def __deepcopy__(self, memo: Any) -> Engine:
        """Itself: estimators are cloned, the cluster is not."""
        return self

    def open(self) -> None:
        """Get ready; tasks of an engine that is closed open it again."""

    def close(self) -> None:
        """Release all that this engine started."""

    def put(self, value: Any) -> Any:
        """Return a reference to a value that tasks will get.

        Parameters
        ----------
        value : object
            Any object.

        Returns
        -------
        object
            The reference.
        """
        return value

    def run(
        self, function: Callable[..., tuple[Any, Any]], arguments: Sequence[tuple[Any, ...]]
    ) -> tuple[list[Any], list[Any]]:
        """Run one task for each tuple of arguments, and again those that are lost.

        Parameters
        ----------
        function : callable
            Pure function that returns a pair (kept, told).
        arguments : sequence of tuple
            Arguments of each task; references at their top level are replaced by values.

        Returns
        -------
        kept : list
            Reference to the first value of each task.
        told : list
            Second value of each task.
        """
        tasks = [self._submit(function, own) for own in arguments]
        kept, told = [], []
        for own, task in zip(arguments, tasks, strict=True):
            for attempt in range(int(self.retries) + 1):
                try:
                    first, second = self._result(task, self.task_limit)
                    break
                except TaskLost as error:
                    if attempt == self.retries:
                        raise RuntimeError(
                            f"a task was lost {attempt + 1} times ({error}). Look at the workers'"
                            " memory and logs, raise task_limit, or give smaller shards (rounds)."
                        ) from error
                    log.warning("a task is done again: %s", error)
                    self._recover()
                    task = self._submit(function, own)
            kept.append(first)
            told.append(second)
        return kept, told

    def fetch(self, reference: Any) -> Any:
        """Return the value of a reference.

        Parameters
        ----------
        reference : object
            What `put` or `run` returned.

        Returns
        -------
        object
            The value.
        """
        return reference

    def _submit(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        raise NotImplementedError

    def _result(self, task: Any, limit: float | None) -> tuple[Any, Any]:
        """What a task returned; a TaskLost if it must be done again."""
        raise NotImplementedError

    def _recover(self) -> None:
        """Be ready for tasks again, after one was lost."""


class SerialEngine(Engine):
    """Tasks one after the other in this process, for tests and to see what rounds cost."""

    name: ClassVar[str] = "serial"

    def _submit(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        return function(*arguments)

    def _result(self, task: Any, limit: float | None) -> tuple[Any, Any]:
        return task


class ExecutorEngine(Engine):
    """Tasks by an executor of `concurrent.futures`, as MPI and SLURM have them, too.

    Shards and states travel with each task unless the executor has threads: Ray and Dask keep them
    where they are.

    Parameters
    ----------
    executor : Executor or callable, default=None
        The executor, or a function that returns a new one, which is called again if a worker of the
        last one died; None means a `ProcessPoolExecutor` of n_workers.
    **options : dict
        Those of `Engine`.
    """

    name: ClassVar[str] = "executor"

    def __init__(self, executor: Executor | Callable[[], Executor] | None = None, **options: Any):
        super().__init__(**options)
        self.executor = executor
        self._started: Executor | None = None

    def _submit(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        if isinstance(self.executor, Executor):
            return self.executor.submit(function, *arguments)
        if self._started is None:
            make = self.executor
            self._started = make() if make else ProcessPoolExecutor(int(self.n_workers))
        try:
            return self._started.submit(function, *arguments)
        except BrokenExecutor:  # found out when a task is awaited
            return None

    def _result(self, task: Future | None, limit: float | None) -> tuple[Any, Any]:
        try:
            if task is None:
                raise BrokenExecutor("a worker died")
            return task.result(limit)
        except FutureTimeout:
            self._kill()
            raise TaskLost(f"a worker has not answered for {limit:g} s") from None
        except BrokenExecutor as error:
            if isinstance(self.executor, Executor):
                raise RuntimeError(
                    f"a worker of the executor died ({error}), and it cannot start others. Give"
                    " ExecutorEngine a function that returns a new executor instead."
                ) from error
            raise TaskLost("a worker died") from error

    def _kill(self) -> None:
        """End processes that do not answer; threads cannot be ended."""
        for process in list((getattr(self._started, "_processes", None) or {}).values()):
            process.kill()

    def _recover(self) -> None:
        if self._started is not None and getattr(self._started, "_broken", True):
            self.close()

    def close(self) -> None:
        if self._started is not None:
            self._started.shutdown(wait=True, cancel_futures=True)
        self._started = None


def check_version(package: str, found: str) -> None:
    """Raise an ImportError if the version of an engine's package is too old.

    Parameters
    ----------
    package : str
        Name of the package.
    found : str
        Its version.
    """
    numbers = tuple(int(own) for own in re.findall(r"\d+", found)[:2])
    if numbers < _OLDEST[package]:
        oldest = ".".join(map(str, _OLDEST[package]))
        raise ImportError(
            f"{package} {found} is installed, and its engine needs {oldest} or later: pip install"
            f' --upgrade "{package}>={oldest}"'
        )


def resolve_engine(engine: str | Engine | None, **options: Any) -> Engine | None:
    """Return an engine object for a short name.

    Parameters
    ----------
    engine : str, Engine or None
        "ray", "dask", "executor", "serial", or an engine.
    **options : dict
        Those of an engine that is given by its name.

    Returns
    -------
    Engine or None
        The engine; None for None.
    """
    if engine is None or isinstance(engine, Engine):
        return engine
    if engine not in _PLACES:
        raise ValueError(f"engine={engine!r} must be one of {sorted(_PLACES)}, an Engine or None.")
    module, name = _PLACES[engine]
    return getattr(import_module(f"maxmargin.parallel.{module}"), name)(**options)
