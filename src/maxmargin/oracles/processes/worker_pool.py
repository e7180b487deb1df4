"""Processes that call an oracle: several at a time, and ended if it takes too long."""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from maxmargin.exceptions import InfeasibleError, OracleError
from maxmargin.oracles.outputs import TimedOut
from maxmargin.oracles.processes.worker_process import BEGUN, LEFT, receive_message, write_message

#: seconds without a question after which a worker ends itself
IDLE = 20.0
#: seconds that a worker may take to import what the oracle or its arguments need
START = 120.0
_PROGRAM = Path(__file__).with_name("worker_process.py")
#: one thread of each library in each worker: there are as many workers as asked for
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Worker:
    """One process; what it says arrives in `inbox` as pairs (worker, message or None)."""

    def __init__(self, payload: bytes, inbox: queue.SimpleQueue, is_timed: bool):
        self.process = subprocess.Popen(
            [sys.executable, str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=dict.fromkeys(_THREADS, "1") | dict(os.environ),
        )
        self.ready, self.task = False, -1
        self.deadline = time.monotonic() + START
        threading.Thread(target=_pump, args=(self.process, self, inbox), daemon=True).start()
        self.say((list(map(str, sys.path)), IDLE, is_timed))
        self._write(payload)

    def say(self, message: Any) -> None:
        self._write(pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL))

    def _write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        with suppress(OSError):  # it is gone; the thread that listens says so
            write_message(self.process.stdin, data)

    def kill(self) -> None:
        kill_process(self.process)


def kill_process(process: subprocess.Popen) -> None:
    """Kill a process that we started, and wait until it is gone."""
    process.kill()
    process.wait()
    if process.stdin is not None:
        with suppress(OSError):  # what could not be written is lost anyway
            process.stdin.close()


def _pump(process: subprocess.Popen, worker: Worker, inbox: queue.SimpleQueue) -> None:
    with process.stdout as stream:  # type: ignore[union-attr]
        while (data := receive_message(stream)) is not None:
            inbox.put((worker, data))
    inbox.put((worker, None))


def _end_all(workers: list[Worker]) -> None:
    for worker in workers:
        worker.kill()
    workers.clear()


class Workers:
    """Up to `count` processes that call `function`, started when needed.

    function : any that cloudpickle can send; with_layout : whether it takes (theta, layout).
    time_limit : seconds per call, or None; loading what the call needs is not counted. They end
    with this object, with this process, when `close` is called, or by themselves when nothing was
    asked for a while.
    """

    def __init__(self, function: Any, with_layout: bool, count: int, time_limit: float | None):
        self.count, self.time_limit = count, time_limit
        self._function = function, with_layout
        self._workers: list[Worker] = []
        self._inbox: queue.SimpleQueue = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._finalizer = weakref.finalize(self, _end_all, self._workers)

    @cached_property
    def _payload(self) -> bytes:
        return _sent(*self._function)

    def close(self) -> None:
        """End all processes; the next call starts new ones."""
        _end_all(self._workers)

    def map(self, items: Sequence[tuple[Any, Any]]) -> Generator[Any]:
        """What the function returns for each (theta, layout), in order; or `TimedOut`.

        What it raises is raised here when its turn comes.
        """
        with self._lock:
            try:
                yield from _in_order(self._outcomes(items), len(items))
            finally:  # after an error or an interrupt, what is under way is of no use
                for worker in [w for w in self._workers if w.task >= 0]:
                    self._drop(worker)

    def _outcomes(self, items: Sequence[tuple[Any, Any]]) -> Iterator[tuple[int, Any]]:
        """(number, outcome) as they come."""
        waiting = list(range(len(items)))[::-1]
        left = len(items)
        while left:
            self._hand_out(items, waiting)
            worker, data = self._next_event()
            task = worker.task
            if worker not in self._workers:
                continue  # ended before, on purpose
            if not worker.ready:
                self._greet(worker, data)
            elif data == BEGUN:
                worker.deadline = time.monotonic() + (self.time_limit or float("inf"))
            elif data == LEFT or task < 0:  # it had nothing to do for a while
                waiting += [task] * (task >= 0)  # asked at the moment when it left
                self._drop(worker)
            else:
                left -= 1
                yield task, self._outcome(worker, data)

    def _hand_out(self, items: Sequence[tuple[Any, Any]], waiting: list[int]) -> None:
        busy = sum(w.task >= 0 for w in self._workers)
        while len(self._workers) < min(self.count, busy + len(waiting)):
            self._workers.append(Worker(self._payload, self._inbox, self.time_limit is not None))
        for worker in self._workers:
            if waiting and worker.ready and worker.task < 0:
                worker.task = waiting.pop()
                worker.deadline = float("inf")
                if self.time_limit is not None:  # until it says that the call has begun
                    worker.deadline = time.monotonic() + START
                worker.say(items[worker.task])

    def _next_event(self) -> tuple[Worker, Any]:
        """What the next worker says; (worker, TimedOut) if its time is over first."""
        while True:
            waited = [w for w in self._workers if w.task >= 0 or not w.ready]
            first = min(waited, key=lambda w: w.deadline)
            left = first.deadline - time.monotonic()
            try:
                return self._inbox.get(timeout=None if left == float("inf") else max(left, 0.0))
            except queue.Empty:
                return first, TimedOut

    def _greet(self, worker: Worker, data: Any) -> None:
        """The first that a worker says: that it is ready, or why not."""
        message = None if data is None or data is TimedOut else pickle.loads(data)
        if message is not None and message[0] == "ready":
            worker.ready = True
            return
        self._drop(worker)
        why = f"{message[1]}: {message[2]}" if message else "it ended, or took too long"
        raise OracleError(
            f"a worker process cannot load the oracle ({why}). Define it in a module that can be"
            " imported there, or use n_jobs=None and time_limit=None."
        )

    def _outcome(self, worker: Worker, data: Any) -> Any:
        """What became of its task; the worker is free, or gone, then."""
        if data is TimedOut or data is None:
            code = None if data is TimedOut else worker.process.wait()
            self._drop(worker)
            if data is TimedOut:
                return TimedOut
            return OracleError(f"the process of the oracle died (exit code {code}).")
        worker.task = -1
        message = pickle.loads(data)
        return message[1] if message[0] == "output" else _raised(message)

    def _drop(self, worker: Worker) -> None:
        worker.kill()
        self._workers.remove(worker)


def _in_order(outcomes: Iterator[tuple[int, Any]], count: int) -> Iterator[Any]:
    known: dict[int, Any] = {}
    for number in range(count):
        while number not in known:
            done, outcome = next(outcomes)
            known[done] = outcome
        found = known.pop(number)
        if isinstance(found, Exception):
            raise found
        yield found


def _pickler() -> Any:
    """Cloudpickle, which joblib brings as a package of its own or, before 1.6, inside."""
    for name in ("cloudpickle", "joblib.externals.cloudpickle"):
        try:
            return import_module(name)
        except ImportError:
            continue
    return pickle


def _sent(function: Any, with_layout: bool) -> bytes:
    try:
        return _pickler().dumps((function, with_layout))
    except Exception as error:
        raise OracleError(
            f"the oracle cannot be sent to another process ({type(error).__name__}: {error}), which"
            " n_jobs and time_limit need. Open what it holds (files, locks, solvers) inside the"
            " function, or use n_jobs=None and time_limit=None."
        ) from error


def _raised(message: tuple) -> Exception:
    """What the oracle raised there, to be raised here."""
    _, name, words, text, kept = message
    cause: Exception = pickle.loads(kept) if kept is not None else RuntimeError(f"{name}: {words}")
    if isinstance(cause, InfeasibleError):
        return cause
    cause.add_note(f"in a worker process:\n{text}")
    error = OracleError(f"the oracle raised {name}: {words}")
    error.__cause__ = cause
    return error
