"""Stand-in: atomic files and a lock."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class RunError(Exception):
    """A folder cannot be used."""


class LockedError(RunError):
    """Another process is at work in the folder."""


def write_bytes(path: Path, content: bytes) -> None:
    """Write all or nothing."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_json(path: Path, doc: Any) -> None:
    """Write all or nothing."""
    write_bytes(path, json.dumps(doc, indent=1, allow_nan=False).encode() + b"\n")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock."""
    with (folder / ".lock").open("a+") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise LockedError(f"{folder} is in use by another process.") from None
        yield
