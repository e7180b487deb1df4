"""What watches a run for its folder: the history, line by line, and signals."""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
import warnings
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from maxmargin.callbacks import Callback
from maxmargin.persistence.files import write_whole
from maxmargin.result import Record, Result, Status
from maxmargin.tasks.documents import finite_values

if TYPE_CHECKING:
    from maxmargin.solvers.run import Run

log = logging.getLogger("maxmargin")

_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)


class HistoryLines(Callback):
    """Append each record to a file as it comes. Give it after the Checkpoint, which goes first.

    A run that goes on from a checkpoint begins with that checkpoint's records, so that none is
    there twice. A line that cannot be written is a warning; it is tried again with the next one.
    """

    def __init__(self, path: Path):
        self.path = path

    def on_start(self, run: Run) -> None:
        self._written: list[Record] = []
        self._warned = False
        self._rewrite(run)

    def on_epoch(self, run: Run) -> None:
        new = run.history[len(self._written) :]
        if new and self._append("".join(map(line_of, new)).encode()):
            self._written += new

    def on_end(self, run: Run, result: Result) -> None:
        if self._written != list(run.history):  # the last record is certified once more
            self._rewrite(run)

    def _rewrite(self, run: Run) -> None:
        raw = "".join(map(line_of, run.history)).encode()
        try:
            write_whole(self.path, lambda file: file.write(raw))
            self._written = list(run.history)
        except OSError as error:
            self._failed(error)

    def _append(self, raw: bytes) -> bool:
        try:
            handle = os.open(self.path, _APPEND, 0o666)
        except OSError as error:
            return self._failed(error)
        try:
            size = os.fstat(handle).st_size
            if os.write(handle, raw) == len(raw):
                return True
            os.ftruncate(handle, size)  # half a line is none
            return False
        except OSError as error:
            return self._failed(error)
        finally:
            os.close(handle)

    def _failed(self, error: OSError) -> bool:
        if not self._warned:
            self._warned = True
            reason = error.strerror or str(error)
            warnings.warn(
                f"the history cannot be written to {str(self.path)!r}: {reason}. Training goes on.",
                RuntimeWarning,
                stacklevel=2,
            )
        return False


def line_of(record: Record) -> str:
    """A record as a line of JSON."""
    return json.dumps(finite_values(record.metrics()), allow_nan=False) + "\n"


class AtOnce(BaseException):
    """A second signal: leave everything as the last checkpoint has it."""


class Interrupts(Callback):
    """End the run after the epoch in which SIGINT or SIGTERM comes; the second time, at once.

    A context manager: handlers are there only within, and only in the main thread. Where no solver
    is at work, a signal is a KeyboardInterrupt. A signal that is ignored stays so: shells start
    background jobs of scripts with SIGINT ignored, so that Ctrl-C does not reach them.
    """

    def __init__(self) -> None:
        self.signal: int | None = None
        self._running = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) not in (signal.SIG_IGN, None):  # None: not Python's
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self._running:
            raise KeyboardInterrupt
        if self.signal is not None:
            raise AtOnce
        self.signal = number
        log.warning("the run ends after this epoch; interrupt again to end it at once")

    def on_start(self, run: Run) -> None:
        self._running = True

    def on_epoch(self, run: Run) -> None:
        if self.signal is not None:
            name = signal.Signals(self.signal).name
            run.stop(Status.INTERRUPTED, f"by {name}; the run can be resumed")

    def on_end(self, run: Run, result: Result) -> None:
        self._running = False

    def on_abort(self, run: Run) -> None:
        self._running = False
