"""The callback that writes checkpoints and goes on from them."""

from __future__ import annotations

import errno
import logging
import os
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin.callbacks import Callback
from maxmargin.persistence import save
from maxmargin.persistence.checkpoints.snapshot import (
    Snapshot,
    read_snapshot,
    restore_run,
    take_snapshot,
)
from maxmargin.result import Status
from maxmargin.validation.options import Count, NonNegativeOrInf, check_options

if TYPE_CHECKING:
    from maxmargin.solvers.run import Run

log = logging.getLogger("maxmargin")

#: writing takes at most this fraction of the time, 1 / n
SHARE = 20


class Checkpoint(Callback):
    """Keep the run in a file, so that it can go on after a crash, to the same bits.

    Written after epochs, when they are due, and after the last one. A run that goes on may have
    another max_epochs, tol or time limit; with a larger max_epochs it ends as if it had had that
    from the start. Any other difference is a ValueError, and a damaged file a ModelFileError.

    A checkpoint that cannot be written, because the disk is full say, is a warning: the last one
    stays whole, training goes on, and the next one is tried when it is due.

    Parameters
    ----------
    path : the file; its folder must exist.
    seconds : write when this many seconds have passed since the last time. If writing takes more
        than a twentieth of that, it is done less often.
    epochs : write after this many epochs, too, whatever it costs; None means never.
    resume : go on from the file if there is one.

    Attributes
    ----------
    n_written_, seconds_written_ : how often it was written, and how long that took in all.
    error_ : why the last checkpoint could not be written; None if it was.
    """

    def __init__(
        self,
        path: str | os.PathLike,
        seconds: NonNegativeOrInf = 60.0,
        epochs: Count | None = None,
        resume: bool = False,
    ):
        self.path = path
        self.seconds = seconds
        self.epochs = epochs
        self.resume = resume

    def on_start(self, run: Run) -> None:
        self._check()
        self.n_written_, self.seconds_written_ = 0, 0.0
        self.error_: str | None = None
        take_snapshot(run).check_savable()
        path = Path(self.path).expanduser()
        self._saved: int | None = None
        if self.resume and path.exists():
            restore_run(run, read_snapshot(path), path)
            self._saved = run.state.epoch
            log.info("going on after epoch %d, from %s", run.state.epoch, path)
        self._epoch, self._moment, self._cost = run.state.epoch, time.perf_counter(), 0.0

    def _check(self) -> None:
        check_options(self)
        folder = Path(self.path).expanduser().parent
        if not folder.is_dir():
            raise FileNotFoundError(
                errno.ENOENT,
                f"cannot keep checkpoints in {str(folder)!r}: there is no such folder; make it"
                " first",
            )

    def on_epoch(self, run: Run) -> None:
        if self._due(run):
            self._save(run)

    def on_last(self, run: Run) -> None:
        if self._saved != run.state.epoch:
            self._save(run)

    def _due(self, run: Run) -> bool:
        if self.epochs is not None and run.state.epoch - self._epoch >= self.epochs:
            return True
        return time.perf_counter() - self._moment >= max(self.seconds, (SHARE - 1) * self._cost)

    def _save(self, run: Run) -> None:
        if run.status is Status.FAILED:  # it would fail again; what came before may be of use
            return
        begun = time.perf_counter()
        try:
            save(take_snapshot(run, packed=True), self.path, level=1)
        except OSError as error:
            self._failed(error)
        else:
            self.n_written_ += 1
            self.error_, self._saved = None, run.state.epoch
        self._epoch, self._moment = run.state.epoch, time.perf_counter()
        self._cost = self._moment - begun
        self.seconds_written_ += self._cost

    def _failed(self, error: OSError) -> None:
        """Say so once for each reason: a full disk stays full for a while."""
        reason = str(error.strerror or error)
        if reason != self.error_:
            self.error_ = reason
            warnings.warn(
                f"no checkpoint was written: {reason} Training goes on, and tries again later.",
                RuntimeWarning,
                stacklevel=2,
            )

    def __getstate__(self) -> dict[str, Any]:
        """Its options: what belongs to one run stays with that run."""
        return {k: v for k, v in self.__dict__.items() if not k.startswith("_")}


__all__ = ["Checkpoint", "Snapshot"]
