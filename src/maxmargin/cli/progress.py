"""Progress of training on stderr: a bar in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import numpy as np

from maxmargin.callbacks import Callback, Logger, ProgressBar
from maxmargin.cli.console import Console

if TYPE_CHECKING:
    from maxmargin.result import Result
    from maxmargin.solvers.run import Run

EVERY = 10.0


class Lines(Callback):
    """A plain line every this many seconds, and one at the end: for logs of batch systems."""

    def __init__(self, description: str = "training", every: float = EVERY):
        self.description, self.every = description, every

    def on_start(self, run: Run) -> None:
        self._told = time.monotonic()

    def on_epoch(self, run: Run) -> None:
        if time.monotonic() - self._told >= self.every:
            self._told = time.monotonic()
            self._tell(run)

    def on_end(self, run: Run, result: Result) -> None:
        self._tell(run)

    def _tell(self, run: Run) -> None:
        gap = ""
        if np.isfinite(run.gap) and run.primal:
            gap = f", gap={100 * run.gap / abs(run.primal):.3g} %"
        print(
            f"{self.description}: epoch {run.state.epoch} of max {run.max_epochs},"
            f" {run.state.seconds:.1f} s{gap}",
            file=sys.stderr,
            flush=True,
        )


def make_callbacks(console: Console, description: str = "training") -> list[Callback]:
    """Callbacks that tell as much as was asked for."""
    if console.quiet:
        return []
    in_terminal = sys.stderr is not None and sys.stderr.isatty()
    bar = ProgressBar(description) if in_terminal else Lines(description)
    return [bar, Logger()] if console.verbose else [bar]
