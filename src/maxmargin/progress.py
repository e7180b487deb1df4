"""How far long work has come, told to whoever listens; nothing is printed here."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, TypeVar, cast

#: called with what is done, on what, how much of it is done, how much there is, and of which unit
Listener = Callable[[str, str, int, int, str], None]
_listeners: list[Listener] = []
T = TypeVar("T")


@contextmanager
def listen_to_progress(listener: Listener) -> Iterator[None]:
    """Within, the listener is told of all steps."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def tell_progress(activity: str, thing: str, done: int, total: int, unit: str) -> None:
    """So much of something is done."""
    for listener in _listeners:
        listener(activity, thing, done, total, unit)


def watch_files(items: Iterable[T], activity: str, thing: str, total: int) -> Iterator[T]:
    """Pass on what there is of each file, and tell how many files are done."""
    tell_progress(activity, thing, 0, total, " files")
    for done, own in enumerate(items, start=1):
        yield own
        tell_progress(activity, thing, done, total, " files")


def open_watched(path: str | os.PathLike, activity: str = "reading") -> BinaryIO:
    """A file to read from, opened, which tells how far it was read; not so of pipes."""
    return cast(BinaryIO, io.BufferedReader(_Watched(os.fspath(path), activity)))


class _Watched(io.FileIO):
    def __init__(self, path: str, activity: str):
        super().__init__(path, "rb")
        found = os.fstat(self.fileno())
        self._size = found.st_size if stat.S_ISREG(found.st_mode) else 0
        self._activity = activity

    def readinto(self, buffer: Any, /) -> int | None:
        count = super().readinto(buffer)
        if self._size and _listeners:
            tell_progress(self._activity, str(self.name), self.tell(), self._size, "B")
        return count
