"""How far reading, statistics and predictions have come: a bar in a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxmargin.cli.text import visible_text
from maxmargin.progress import listen_to_progress

if TYPE_CHECKING:
    from maxmargin.cli.console import Console

#: seconds between two lines, and until a bar comes up
EVERY, DELAY = 10.0, 1.0


class Steps:
    """A listener of `maxmargin.progress`, for people who wait."""

    def __init__(self, console: Console):
        self._console = console
        self._bar: Any = None
        self._activity = ""
        self._things: dict[str, tuple[int, int]] = {}
        self._began, self._told = 0.0, -1.0

    def __call__(self, activity: str, thing: str, done: int, total: int, unit: str) -> None:
        if self._console.quiet or sys.stderr is None:
            return
        if activity != self._activity or done < self._things.get(thing, (0, 0))[0]:
            self.close()
            self._activity, self._began = activity, time.monotonic()
            if self._told < 0:  # else, lines come as often where each activity is short
                self._told = self._began
        self._things[thing] = done, total
        done, total = map(sum, zip(*self._things.values(), strict=True))
        if sys.stderr.isatty():
            self._draw(done, total, unit)
        elif time.monotonic() - self._told >= EVERY and 0 < done < total:
            self._told = time.monotonic()
            left = (self._told - self._began) * (total - done) / max(done, 1)
            print(f"{self._description()}: {_amount(done, total, unit)}, {_time(left)} left",
                  file=sys.stderr, flush=True)  # fmt: skip
        if done >= total:
            self.close()

    def _description(self) -> str:
        names = " ".join(Path(thing).name for thing in self._things)
        return visible_text(f"{self._activity} {names}")

    def _draw(self, done: int, total: int, unit: str) -> None:
        if self._bar is None:
            # a bar is rare, and all commands begin by importing this module
            from tqdm import tqdm  # noqa: PLC0415

            self._bar = tqdm(
                total=total, desc=self._description(), unit=unit, unit_scale=True, delay=DELAY,
                leave=False, file=sys.stderr,
            )  # fmt: skip
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        """Take the bar away; what comes next is another activity."""
        if self._bar is not None:
            self._bar.close()
        self._bar, self._activity, self._things = None, "", {}


def _amount(done: int, total: int, unit: str) -> str:
    if unit == "B":
        return f"{done / 1e6:.0f} of {total / 1e6:.0f} MB"
    if unit == " files":
        return f"{done:,} of {total:,}{unit}"
    return f"{100 * done / total:.0f} %"


def _time(seconds: float) -> str:
    minutes = round(seconds) // 60
    return f"{minutes} min {round(seconds) % 60} s" if minutes else f"{seconds:.0f} s"


@contextmanager
def show_steps(console: Console) -> Iterator[None]:
    """Tell of all steps within, unless the console is to be quiet."""
    listener = Steps(console)
    with listen_to_progress(listener):
        try:
            yield
        finally:
            listener.close()
