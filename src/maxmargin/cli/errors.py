"""What a user can put right, and the exit code and the line that each error gives."""

from __future__ import annotations

import errno
import linecache
import sys
import traceback
from types import TracebackType

import click

FAILED, USAGE, LOCKED, INTERRUPTED, BROKEN_PIPE = 1, 2, 3, 130, 141

#: errors of the machine rather than of what was asked for
_OF_THE_MACHINE = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE}


class UsageError(Exception):
    """A error in what was asked for; shown as one line, without a traceback."""


class RunFailed(Exception):
    """The command was right and its work failed."""


class Interrupted(Exception):
    """The user has stopped the work; the message says how to go on."""


def code_of(error: BaseException) -> int:
    """The exit code that tells scripts what kind of error it was."""
    if isinstance(error, click.ClickException | UsageError):
        return USAGE
    if isinstance(error, KeyboardInterrupt | Interrupted):
        return INTERRUPTED
    if _is_run_error(error):
        return LOCKED if isinstance(error, sys.modules["maxmargin.cli.runs"].LockedError) else USAGE
    if isinstance(error, OSError):
        return FAILED if error.errno in _OF_THE_MACHINE else USAGE
    return USAGE if isinstance(error, ValueError | TypeError) and is_told(error) else FAILED


def line_of(error: BaseException) -> str:
    """The error in one line, with what was noted about it on its way."""
    line = _describe(error)
    for note in getattr(error, "__notes__", ()):
        stop = "." if note[:1].isupper() and line[-1:].isalnum() else ""
        line += f"{stop} {note}"
    return line


def _describe(error: BaseException) -> str:
    if isinstance(error, click.ClickException):
        return _of_click(error)
    if isinstance(error, OSError) and error.strerror:
        named = f" {str(error.filename)!r}" if error.filename is not None else ""
        other = f" and {str(error.filename2)!r}" if error.filename2 is not None else ""
        cure = "; name its files" if isinstance(error, IsADirectoryError) else ""
        return f"cannot use{named}{other}: {error.strerror}{cure}" if named else error.strerror
    if isinstance(error, MemoryError):
        return "out of memory; use less data, or a machine with more"
    if is_told(error):
        return str(error) or type(error).__name__
    return f"{type(error).__name__}: {error} (this is a bug; show it with -v)"


def is_told(error: BaseException) -> bool:
    """Whether somebody wrote the message for the user, and not the interpreter for us.

    A ValueError, TypeError or ImportError is raised by a `raise` statement in the first case; in
    the second, its last frame is at an ordinary line of code.
    """
    if isinstance(error, UsageError | RunFailed | Interrupted | UnicodeError | OSError):
        return True
    if _is_run_error(error):
        return True
    return isinstance(error, ValueError | TypeError | ImportError) and _raised(error.__traceback__)


def _raised(frames: TracebackType | None) -> bool:
    if frames is None:
        return False
    while frames.tb_next is not None:
        frames = frames.tb_next
    line = linecache.getline(frames.tb_frame.f_code.co_filename, frames.tb_lineno)
    return not line or line.lstrip().startswith("raise ")  # no source at hand: take its word


def _is_run_error(error: BaseException) -> bool:
    """Without an import: an error of `runs` can only come up where it has been imported."""
    runs = sys.modules.get("maxmargin.cli.runs")
    return runs is not None and isinstance(error, runs.RunError)


def _of_click(error: click.ClickException) -> str:
    if isinstance(error, click.NoSuchOption):
        near = f"; did you mean {' or '.join(error.possibilities)}?" if error.possibilities else ""
        message = f"there is no option {error.option_name}{near}"
    else:
        message = error.format_message().strip().rstrip(".")
        message = message[:1].lower() + message[1:]
    context = getattr(error, "ctx", None)
    return f"{message} (see {context.command_path} --help)" if context else message


def trace_of(error: BaseException) -> str:
    """The traceback, for those who asked for it."""
    return "".join(traceback.format_exception(error))
