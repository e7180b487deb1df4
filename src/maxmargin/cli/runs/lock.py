"""One process at a time in a folder."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import stat
from pathlib import Path

from filelock import lock_descriptor

from maxmargin.cli.runs.errors import LockedError

#: not through a link, nor waiting for somebody at the other end of a pipe
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class Lock:
    """A lock on a file, which ends with its process however that ends.

    The lock itself is filelock's, on a file opened here: its own `FileLock` would make a missing
    folder, and take a folder that was moved away in the meantime for the one asked for.

    The file says who holds it, for people; it stays when the lock is given up, and then means
    nothing.
    """

    def __init__(self, path: Path):
        self.path = path
        self._handle: int | None = None
        self._depth = 0

    def __enter__(self) -> Lock:
        if self._depth == 0:
            self._take()
        self._depth += 1
        return self

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if self._depth == 0 and self._handle is not None:
            self._write(b"")
            self._close()

    def _take(self) -> None:
        folder = str(self.path.parent)
        try:
            handle = os.open(self.path, _FLAGS, 0o666)
        except OSError as error:
            reason = error.strerror or str(error)
            raise OSError(
                error.errno,
                f"cannot write to the run folder {folder!r}: {reason}. Nothing was changed.",
            ) from error
        free = True
        with contextlib.suppress(OSError):  # without locks on this file system: better than no run
            free = lock_descriptor(handle, blocking=False)
        if not free:
            holder = _holder(handle)
            os.close(handle)
            raise LockedError(
                f"the run folder {folder!r} is in use by {holder}. Wait for it to end, or stop it;"
                " two processes cannot share a run."
            )
        self._handle = handle
        if not self._is_there():
            self._close()
            raise LockedError(f"the run folder {folder!r} was replaced just now. Try again.")
        self._write(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode())

    def _is_there(self) -> bool:
        """Whether the file locked is still the one in the folder."""
        assert self._handle is not None
        with contextlib.suppress(OSError):
            return os.path.samestat(os.fstat(self._handle), os.stat(self.path))
        return False

    def _close(self) -> None:
        assert self._handle is not None
        os.close(self._handle)
        self._handle = None

    def _write(self, holder: bytes) -> None:
        """Say who holds it; not if the file has other names, under which it may be anything."""
        assert self._handle is not None
        with contextlib.suppress(OSError):  # a full disk: the lock holds without its name
            found = os.fstat(self._handle)
            if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
                os.ftruncate(self._handle, 0)
                os.write(self._handle, holder)


def _holder(handle: int) -> str:
    try:
        holder = json.loads(os.read(handle, 1000))
        return f"process {int(holder['pid'])} on {str(holder['host'])[:100]}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
