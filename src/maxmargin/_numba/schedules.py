"""Functions that are not on disk yet, compiled by several processes at a time.

A helper is a Python of its own that is told the name of a function, compiles it into the cache on
disk, says so and waits for the next. Whatever becomes of it, this process can do without: what is
not found on disk it compiles itself. Helpers end when this process closes their input, or ends.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from numba import config

from maxmargin._numba.compile import LazyFunction
from maxmargin._numba.disk_cache import cache_folder, can_write, is_on_disk

_FEW = 6  # starting a helper takes as long as compiling some three functions
_MOST_HELPERS = 3  # a helper takes 200 MB
_TOLD_EVERY = 5.0  # seconds
_PATIENCE = 60.0  # seconds in which no helper finishes anything: they hang
_ROOT = Path(__file__).parents[2]
_log = logging.getLogger("maxmargin")


@contextmanager
def compile_functions(functions: Iterable[LazyFunction]) -> Iterator[None]:
    """Let helpers compile functions and those that they call; at the end this process joins in."""
    wanted = [] if config.DISABLE_JIT else list(functions)
    schedule = Schedule(wanted)
    helpers: list[_Helper] = []
    try:
        with suppress(OSError):  # not here: this process does it alone
            while len(helpers) < _count_helpers(schedule):
                helpers.append(_Helper(schedule))
        yield
        while (lazy := schedule.take(_PATIENCE)) is not None:
            lazy.compile()
            schedule.finish(lazy)
    finally:
        schedule.end()
        for helper in helpers:
            helper.end()
    for lazy in wanted:
        lazy.compile()


class Schedule:
    """What is not compiled yet of some functions and their callees, handed out callees first."""

    def __init__(self, functions: list[LazyFunction]):
        self._callees = _find_missing(functions)
        self._urgency = _measure_urgency(self._callees)
        self._waiting = set(self._callees)
        self._unfinished = set(self._callees)
        self._changed = threading.Condition()
        self._told = time.monotonic()

    def __len__(self) -> int:
        return len(self._callees)

    def take(self, patience: float | None = None) -> LazyFunction | None:
        """Return a function whose callees are compiled, once there is one; None if all are.

        Given is not finished: a helper may fail, and give its function back. patience : seconds
        without news after which what others were given is handed out again.
        """
        with self._changed:
            while self._unfinished:
                ready = [f for f in self._waiting if not self._callees[f] & self._unfinished]
                if ready:
                    chosen = max(ready, key=lambda f: (self._urgency[f], f.__qualname__))
                    self._waiting.remove(chosen)
                    return chosen
                if not self._changed.wait(patience):
                    self._waiting |= self._unfinished
            return None

    def finish(self, lazy: LazyFunction) -> None:
        """Take note that a function is compiled."""
        with self._changed:
            self._unfinished.discard(lazy)
            self._changed.notify_all()
            if time.monotonic() > self._told + _TOLD_EVERY:
                self._told = time.monotonic()
                done = len(self) - len(self._unfinished)
                _log.warning("compiled %d of %d functions, first use only", done, len(self))

    def end(self) -> None:
        """Hand out no more."""
        with self._changed:
            self._unfinished.clear()
            self._changed.notify_all()

    def give_back(self, lazy: LazyFunction) -> None:
        """Take note that a function must be compiled by another."""
        with self._changed:
            self._waiting.add(lazy)
            self._changed.notify_all()


def _find_missing(functions: list[LazyFunction]) -> dict[LazyFunction, set[LazyFunction]]:
    """Return which functions are to be compiled, and which functions each of them calls."""
    missing: dict[LazyFunction, set[LazyFunction]] = {}
    left = list(functions)
    while left:
        lazy = left.pop()
        if lazy in missing or lazy.made is not None or is_on_disk(lazy):
            continue
        missing[lazy] = set(lazy.callees) - {lazy}
        left += missing[lazy]
    return missing


def _measure_urgency(callees: dict[LazyFunction, set[LazyFunction]]) -> dict[LazyFunction, int]:
    """Return how much code, at least, is compiled one after the other from a function on."""
    callers: dict[LazyFunction, list[LazyFunction]] = {f: [] for f in callees}
    for caller, called in callees.items():
        for other in called & callees.keys():
            callers[other].append(caller)
    urgency: dict[LazyFunction, int] = {}

    def measure(lazy: LazyFunction) -> int:
        if lazy not in urgency:
            size = len(lazy.function.__code__.co_code)
            urgency[lazy] = size + max(map(measure, callers[lazy]), default=0)
        return urgency[lazy]

    for lazy in callees:
        measure(lazy)
    return urgency


def _count_helpers(schedule: Sized) -> int:
    """Return how many helpers are worth their start; none where they cannot be or give nothing."""
    if len(schedule) < _FEW or not sys.executable or hasattr(sys, "frozen") or not can_write():
        return 0
    return min(_cores() - 1, _MOST_HELPERS, len(schedule) // _FEW)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Helper:
    """A process that compiles functions of a schedule, and a thread that hands them to it."""

    def __init__(self, schedule: Schedule):
        self._process = _start_process()
        self._thread = threading.Thread(target=self._work, args=(schedule,), daemon=True)
        self._thread.start()

    def _work(self, schedule: Schedule) -> None:
        while (lazy := schedule.take()) is not None:
            name = f"{lazy.__module__} {lazy.__qualname__}\n"
            if self._choose_name(name) != name:
                schedule.give_back(lazy)
                return
            schedule.finish(lazy)

    def _choose_name(self, name: str) -> str:
        process: Any = self._process
        try:
            process.stdin.write(name)
            process.stdin.flush()
            return process.stdout.readline()
        except OSError:  # it has ended
            return ""

    def end(self) -> None:
        self._process.kill()
        self._thread.join()
        self._process.communicate()  # closes the pipes


def _start_process() -> subprocess.Popen:
    folders = [str(_ROOT), os.environ.get("PYTHONPATH", "")]
    return subprocess.Popen(
        [sys.executable, "-P", "-W", "ignore", "-m", "maxmargin._numba.helper"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, folders)),
            "NUMBA_CACHE_DIR": str(cache_folder().parent),
        },
        # A Ctrl-C then reaches this process alone, which ends the helper if it must.
        start_new_session=True,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )
