"""Engines: where workers run, and how one is found by its name."""

from __future__ import annotations

import logging
import multiprocessing
import multiprocessing.connection
import os
import re
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    TimeoutError as FutureTimeout,
)
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from multiprocessing import resource_tracker
from threading import Thread
from typing import Any, ClassVar

import numpy as np

from maxmargin.validation.options import Count, CountOrZero, PositiveOrInf, check_options

log = logging.getLogger("maxmargin")

#: engines by their short names; those of packages that may be missing are imported when asked for
_PLACES = {
    "serial": ("engines", "SerialEngine"),
    "threads": ("engines", "ThreadEngine"),
    "processes": ("engines", "ProcessEngine"),
    "ray": ("ray_engine", "RayEngine"),
    "dask": ("dask_engine", "DaskEngine"),
}
#: the oldest versions of their packages
_OLDEST = {"ray": (2, 9), "distributed": (2024, 1)}


class WorkerLost(Exception):
    """A worker died, hung or was cut off."""


class Engine(ABC):
    """Some workers. A subclass defines `submit`, `result`, and maybe the rest.

    Parameters
    ----------
    n_workers : int, default=2
        Number of workers. Samples in memory are cut into as many shards, which results depend on.
    rounds : int, default=4
        Number of rounds per pass over the samples, after each of which the workers' directions are
        joined. With more of them fewer passes are needed, and each costs more messages.
    retries : int, default=3
        How often in a row the same command may lose its worker.
    task_limit : float or None, default=None
        Seconds after which a worker is taken for hung, and replaced; None means no limit.
    round_limit : float or None, default=None
        Seconds after which a worker of several leaves out the other samples of its round, so that
        slow machines do not hold up fast ones; None means no limit. Bits then depend on how fast
        machines are, while the dual never falls and certificates are exact all the same.

    Notes
    -----
    The same seed, n_workers and rounds give the same bits on every engine, whatever workers are
    lost, unless there is a round_limit. With one worker these are the bits of a fit without an
    engine.
    """

    #: short name
    name: ClassVar[str] = ""

    def __init__(
        self,
        n_workers: Count = 2,
        rounds: Count = 4,
        *,
        retries: CountOrZero = 3,
        task_limit: PositiveOrInf | None = None,
        round_limit: PositiveOrInf | None = None,
    ):
        self.n_workers = n_workers
        self.rounds = rounds
        self.retries = retries
        self.task_limit = task_limit
        self.round_limit = round_limit
        check_options(self)

    def __deepcopy__(self, memo: Any) -> Engine:
        """Itself: estimators are cloned, the cluster is not."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Its options: another process starts workers of its own."""
        return {name: value for name, value in vars(self).items() if name[0] != "_"}

    def __setstate__(self, options: dict[str, Any]) -> None:
        type(self).__init__(self, **options)

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.__getstate__().items())
        return f"{type(self).__name__}({options})"

    @abstractmethod
    def submit(self, worker: int, function: Callable[..., Any], *arguments: Any) -> Any:
        """Let a worker begin a call.

        Parameters
        ----------
        worker : int
            Number of the worker, from 0.
        function : callable
            Function of a module.
        *arguments : object
            Its arguments.

        Returns
        -------
        object
            What `result` takes.
        """

    @abstractmethod
    def result(self, future: Any) -> Any:
        """Return what a call returned, or raise what it raised.

        Parameters
        ----------
        future : object
            What `submit` returned.

        Returns
        -------
        object
            Value of the call.

        Raises
        ------
        WorkerLost
            If there is none, since the worker is lost.
        """

    def restart(self, worker: int) -> None:  # noqa: B027
        """Replace a worker that is lost.

        Parameters
        ----------
        worker : int
            Its number.
        """

    def map(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]
    ) -> Iterator[Any]:
        """Make calls that change nothing, one of each worker at a time.

        Parameters
        ----------
        function : callable
            Function of a module.
        arguments : sequence of tuple
            Arguments of each call.

        Yields
        ------
        object
            What each call returned, in order.
        """
        width = int(self.n_workers)
        for first in range(0, len(arguments), width):
            calls = [
                partial(self.submit, worker, function, *own)
                for worker, own in enumerate(arguments[first : first + width])
            ]
            futures = [call() for call in calls]
            for worker, (call, future) in enumerate(zip(calls, futures, strict=True)):
                yield self.wait(worker, future, call)

    def wait(self, worker: int, future: Any, again: Callable[[], Any], what: str = "a file") -> Any:
        """Return what a call returned, and make it again where its worker is lost.

        Parameters
        ----------
        worker : int
            Number of the worker.
        future : object
            What `submit` returned.
        again : callable
            Makes the call again.
        what : str, default="a file"
            What the call is of, for the log and for errors.

        Returns
        -------
        object
            Value of the call.
        """
        for lost in range(1, int(self.retries) + 2):
            try:
                return self.result(future)
            except WorkerLost as error:
                self.restart(worker)  # the last time, too: what hangs would hold up `close`
                if lost > self.retries:
                    raise RuntimeError(
                        f"{what} lost its worker {lost} times in a row ({error}). If it has not"
                        " enough memory, give smaller files, or more workers; if it is slow, a"
                        " longer task_limit."
                    ) from error
                log.warning("%s is computed again: %s", what, error)
                future = again()
            except MemoryError as error:  # another worker would not have more
                raise MemoryError(
                    f"{what} does not fit into the memory of its worker; give smaller files, or"
                    " more workers."
                ) from error
        raise AssertionError

    def close(self) -> None:  # noqa: B027
        """End all workers that this engine started; the next call starts others."""


class SerialEngine(Engine):
    """Calls one after the other in this process, for tests and to see what rounds cost."""

    name: ClassVar[str] = "serial"

    def submit(self, worker: int, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)

    def result(self, future: Any) -> Any:
        return future


class ExecutorEngine(Engine):
    """Calls by an executor of `concurrent.futures`, as those of MPI and SLURM are.

    It does not say which of its processes makes a call. One that lacks a shard is sent it, and
    repeats what was done to it: right, but slower than engines that know their workers.

    Parameters
    ----------
    executor : Executor
        The executor.
    **options : dict
        Those of `Engine`.
    """

    name: ClassVar[str] = "executor"

    def __init__(self, executor: Executor, **options: Any):
        super().__init__(**options)
        self.executor = executor

    def _executor(self, worker: int) -> Executor:
        return self.executor

    def submit(self, worker: int, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return self._executor(worker).submit(function, *arguments)
        except BrokenExecutor:  # found out when it is awaited
            return None

    def result(self, future: Future | None) -> Any:
        try:
            if future is None:
                raise BrokenExecutor
            return future.result(self.task_limit)
        except FutureTimeout:
            if future is not None and future.done():  # an error of the call
                raise
            raise WorkerLost(f"a worker has not answered for {self.task_limit:g} s") from None
        except BrokenExecutor as error:
            raise WorkerLost("a worker died") from error

    def restart(self, worker: int) -> None:
        raise RuntimeError(
            f"a worker is lost, and {type(self).__name__} cannot start others; use ProcessEngine,"
            " RayEngine or DaskEngine, or go on from a Checkpoint."
        )


class _PoolEngine(ExecutorEngine):
    """An executor of its own for each worker, which so keeps its shards."""

    def __init__(self, n_workers: Count = 2, **options: Any):
        Engine.__init__(self, n_workers, **options)
        self._pools: dict[int, Any] = {}

    @abstractmethod
    def _make_pool(self, worker: int) -> Executor: ...

    def _executor(self, worker: int) -> Executor:
        if worker not in self._pools:
            self._pools[worker] = self._make_pool(worker)
        return self._pools[worker]

    def close(self) -> None:
        for pool in self._pools.values():
            pool.shutdown(wait=True, cancel_futures=True)
        self._pools = {}


class ThreadEngine(_PoolEngine):
    """Threads of this process: compiled passes run side by side.

    Parameters
    ----------
    n_workers : int, default=2
        Number of threads.
    **options : dict
        Those of `Engine`.
    """

    name: ClassVar[str] = "threads"

    def _make_pool(self, worker: int) -> Executor:
        return ThreadPoolExecutor(1, f"maxmargin-{worker}")


class ProcessEngine(_PoolEngine):
    """Processes of this machine, each of which keeps its shards.

    They are spawned: a script that uses them must begin its work below
    ``if __name__ == "__main__":``.

    Parameters
    ----------
    n_workers : int, default=2
        Number of processes.
    **options : dict
        Those of `Engine`.
    """

    name: ClassVar[str] = "processes"
    _has_answered = False

    def _make_pool(self, worker: int) -> Executor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(1, mp_context=context, initializer=_leave_ends_to_parent)

    def submit(self, worker: int, function: Callable[..., Any], *arguments: Any) -> Any:
        with _spawning():
            return super().submit(worker, function, *arguments)

    def result(self, future: Future | None) -> Any:
        found = super().result(future)
        self._has_answered = True
        return found

    def restart(self, worker: int) -> None:
        pool = self._pools.pop(worker)
        for process in list((pool._processes or {}).values()):
            process.kill()
        pool.shutdown(wait=True, cancel_futures=True)
        if not self._has_answered:  # nor would another one
            raise RuntimeError(
                "a process died before its first answer. Does the script begin its work below"
                ' `if __name__ == "__main__":`, as processes need that read it anew? If it does, is'
                ' there enough memory? engine="threads" needs neither.'
            )


@contextmanager
def _spawning() -> Iterator[None]:
    """Processes begun within know their start method, and are not reached by Ctrl-C meanwhile."""
    method = multiprocessing.get_start_method()
    foreign = method not in multiprocessing.get_all_start_methods()  # as in workers of joblib
    if foreign:
        multiprocessing.set_start_method("spawn", force=True)
    mask = None
    if hasattr(signal, "pthread_sigmask"):
        resource_tracker.ensure_running()  # since that, too, lets signals pass again
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if foreign:
            multiprocessing.set_start_method(method, force=True)


def _leave_ends_to_parent() -> None:
    """Let this process end when the one that spawned it does, however that ends, and not before.

    Ctrl-C reaches all processes of a terminal.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=_await_end, args=(parent.sentinel,), daemon=True).start()


def _await_end(sentinel: int) -> None:
    multiprocessing.connection.wait([sentinel])
    os._exit(1)


def with_own_arrays(value: Any) -> Any:
    """Return the same with copies of arrays that are read-only, as those in shared memory are.

    Parameters
    ----------
    value : object
        Array, or tuples, lists and dicts of such; anything else is returned as it is.

    Returns
    -------
    object
        What compiled functions take.
    """
    if isinstance(value, np.ndarray):
        return value if value.flags.writeable else value.copy()
    if isinstance(value, dict):
        return {name: with_own_arrays(own) for name, own in value.items()}
    if isinstance(value, tuple | list):
        parts = [with_own_arrays(own) for own in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


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
        "threads", "processes", "ray", "dask", "serial", or an engine.
    **options : dict
        Those of an engine that is given by its name.

    Returns
    -------
    Engine or None
        The engine; None for None.
    """
    if engine is None or isinstance(engine, Engine):
        return engine
    if not isinstance(engine, str) or engine not in _PLACES:
        raise ValueError(f"engine={engine!r} must be one of {sorted(_PLACES)}, an Engine or None.")
    module, name = _PLACES[engine]
    return getattr(import_module(f"maxmargin.parallel.{module}"), name)(**options)
