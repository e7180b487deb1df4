"""Where output goes: results to stdout, everything else to stderr; how much of it was asked for."""

from __future__ import annotations

import json
import logging
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, TextIO

import click

from maxmargin.cli.steps import show_steps
from maxmargin.cli.text import visible_text
from maxmargin.tasks.documents import finite_values


@dataclass
class Console:
    """What the user wants to be told, and the ways to tell it.

    json : stdout gets one JSON document and nothing else. began : when the command did.
    """

    quiet: bool = False
    verbose: int = 0
    json: bool = False
    began: float = field(default_factory=time.monotonic)

    def seconds(self) -> float:
        """Since the command began."""
        return time.monotonic() - self.began

    def say(self, text: str = "") -> None:
        """For people, on stdout; `text` must be fit for a terminal already."""
        if not self.json:
            print(text, flush=True)

    def chat(self, text: str = "") -> None:
        """As `say`, but not with --quiet."""
        if not self.quiet:
            self.say(text)

    def emit_json(self, document: Any) -> None:
        """The one document of --json; without it, nothing."""
        if self.json:
            # ASCII: whatever the locale, no character of the data can act on a terminal.
            print(json.dumps(finite_values(document), indent=2, allow_nan=False), flush=True)

    def note(self, text: str) -> None:
        """A line on stderr, unless --quiet."""
        if not self.quiet:
            print(f"maxmargin: {visible_text(text)}", file=sys.stderr, flush=True)

    def status(self, text: str) -> None:
        """What is being done, for those who wait at a terminal."""
        if sys.stderr is not None and sys.stderr.isatty():
            self.note(text)

    def warn(self, text: str) -> None:
        """A line on stderr that --quiet does not take away."""
        print(f"maxmargin: warning: {visible_text(text)}", file=sys.stderr, flush=True)

    def error(self, text: str) -> None:
        """Why the command ends."""
        one_line = " ".join(text.split("\n"))
        print(f"maxmargin: error: {visible_text(one_line)}", file=sys.stderr, flush=True)


def current_console() -> Console:
    """The console of the command at work."""
    return click.get_current_context().ensure_object(Console)


class _Handler(logging.Handler):
    """Log lines on stderr, above a progress bar and not through it."""

    def emit(self, record: logging.LogRecord) -> None:
        line = f"maxmargin: {visible_text(record.getMessage())}"
        tqdm = sys.modules.get("tqdm")
        if tqdm is None:
            print(line, file=sys.stderr)
        else:
            tqdm.tqdm.write(line, file=sys.stderr)


@contextmanager
def show_log() -> Iterator[None]:
    """Show the library's log: from warnings on, unless `listen_to_log` says otherwise."""
    log, handler = logging.getLogger("maxmargin"), _Handler()
    before = log.level
    log.addHandler(handler)
    log.setLevel(logging.WARNING)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


def listen_to_log(console: Console) -> None:
    """Take as much of the log as was asked for."""
    level = logging.ERROR if console.quiet else logging.WARNING
    logging.getLogger("maxmargin").setLevel(logging.INFO if console.verbose else level)


@contextmanager
def streams_that_take_anything() -> Iterator[None]:
    """Escape what the locale cannot show, instead of failing in the middle of a table."""
    changed: list[tuple[Any, str]] = []
    for stream in (sys.stdout, sys.stderr):
        errors = getattr(stream, "errors", None)
        if hasattr(stream, "reconfigure") and errors in ("strict", "surrogateescape"):
            changed.append((stream, errors))
            stream.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        for stream, errors in changed:
            if not stream.closed:
                stream.reconfigure(errors=errors)


@contextmanager
def warnings_in_one_line(console: Console) -> Iterator[None]:
    """Python's warnings as lines for people."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, DeprecationWarning | PendingDeprecationWarning):
            return
        console.warn(" ".join(str(message).split()))

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


@contextmanager
def at_work(console: Console) -> Iterator[None]:
    """All of the above, around one command."""
    with ExitStack() as stack:
        stack.enter_context(streams_that_take_anything())
        stack.enter_context(show_log())
        stack.enter_context(warnings_in_one_line(console))
        stack.enter_context(show_steps(console))
        yield
