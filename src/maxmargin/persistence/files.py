"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

_PARTIAL = re.compile(r"\.[0-9a-f]{32}\.part")


def write_whole(path: str | os.PathLike, write: Callable[[BinaryIO], object]) -> None:
    """Let `write` fill a file: beside its place, synced to the disk, then renamed into it.

    An OSError says what happened; the file is then what it was before, if there was one.
    """
    given = Path(path).expanduser()
    target = Path(os.path.realpath(given))  # through a link, not over it
    partial = target.with_name(f".{uuid.uuid4().hex}.part")
    try:
        with partial.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
        _sync_folder(target.parent)
    except OSError as error:
        raise OSError(error.errno or errno.EIO, _reason(error, given, target)) from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def remove_partial(folder: Path) -> None:
    """Remove what a killed process was about to write. Nobody else may be writing there."""
    for path in folder.iterdir():
        if _PARTIAL.fullmatch(path.name):
            with contextlib.suppress(OSError):
                path.unlink()


def _sync_folder(folder: Path) -> None:
    """Make the new name last; the file is whole either way, so failures do not matter."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _reason(error: OSError, given: Path, target: Path) -> str:
    folder = str(given.parent)
    known = {
        errno.ENOENT: f"there is no folder {folder!r}; make it first",
        errno.ENOTDIR: f"{folder!r} is not a folder",
        errno.EISDIR: "it is a folder; name a file",
        errno.EACCES: f"the folder {folder!r} may not be written to",
        errno.EPERM: f"the folder {folder!r} may not be written to",
        errno.EROFS: f"the folder {folder!r} is on a read-only disk",
        errno.ENOSPC: "the disk is full",
        errno.EDQUOT: "your share of the disk is used up",
        errno.EFBIG: "the file would be larger than allowed here",
    }
    code = errno.EISDIR if target.is_dir() else error.errno
    reason = known.get(code or 0, str(error))
    return f"cannot save {str(given)!r}: {reason}. Nothing was changed."
