"""How much memory is free, how much this process uses, and what would not fit."""

from __future__ import annotations

import ctypes
import mmap
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil

resource: Any
try:
    import resource
except ImportError:  # Windows
    resource = None

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")
#: entries of a sample, from which on most pages of arrays that are mostly zero are so altogether
PAGED = 1 << 13
#: entries of long arrays that are worked on at a time; a multiple of 8
CHUNK = 1 << 18


def available_bytes() -> float:
    """Bytes that this machine has free; infinity if it does not tell."""
    try:
        return float(psutil.virtual_memory().available)
    except OSError:  # a sandbox without /proc
        return float("inf")


def resident_bytes() -> int:
    """Bytes that this process has in use now."""
    return int(psutil.Process().memory_info().rss)


def peak_bytes() -> int:
    """The most bytes that this process has had in use so far, or since `reset_peak`."""
    # psutil knows it on Windows only; ru_maxrss counts, on Linux, the process that started this one
    try:
        lines = STATUS.read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        pass
    if resource is None:
        return int(psutil.Process().memory_info().peak_wset)
    scale = 1 if sys.platform == "darwin" else 1024
    return scale * int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def reset_peak() -> bool:
    """Forget the peak so far; False where the system cannot."""
    try:
        CLEAR.write_text("5")
    except OSError:
        return False
    return True


def trim_heap() -> None:
    """Give back to the system what was freed, which the C library may keep for what comes next.

    Arrays below some 30 MB come from its heap, where small objects made later keep apart what was
    freed before: tens of megabytes after features were made.
    """
    with suppress(AttributeError, OSError, TypeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def sparse_zeros(size: int, n_samples: int) -> np.ndarray:
    """Zeros (size,), of that many samples, that take memory only where they are written.

    numpy's own arrays take it by two megabytes at a time where the system has pages of that size;
    that is faster, so samples of few entries have it.
    """
    if size < PAGED * max(n_samples, CHUNK // PAGED):
        return np.zeros(size)
    private = getattr(mmap, "MAP_PRIVATE", None)
    if private is None:  # Windows
        return np.zeros(size)
    mapped = mmap.mmap(-1, 8 * size, flags=private | mmap.MAP_ANONYMOUS)
    with suppress(AttributeError, OSError):  # not on all systems
        mapped.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(mapped)


def append_in_place(array: np.ndarray, more: np.ndarray) -> None:
    """Make an array (size,) longer; the system moves its pages, so that there are never two of it.

    Nobody else may hold it, or a part of it.
    """
    size = len(array)
    array.resize(size + len(more), refcheck=False)
    array[size:] = more


def cut_range(size: int, each: int) -> list[slice]:
    """Ranges of a long array, to be worked on one by one; the last one may be shorter."""
    return [slice(first, min(first + each, size)) for first in range(0, size, each)]


def add_scaled(target: np.ndarray, scale: float, values: np.ndarray) -> None:
    """Target += scale * values, without an array of all products."""
    for own in cut_range(len(target), CHUNK):
        target[own] += scale * values[own]


class CompactArray:
    """A copy of an array (size,) that takes little memory where most entries are zero.

    Every bit is kept, those of -0.0 as well.
    """

    def __init__(self, array: np.ndarray):
        bits, parts = np.ascontiguousarray(array).view(np.uint64), cut_range(len(array), CHUNK)
        self._size = len(array)
        self._mask: np.ndarray | None = None
        if 4 * int(np.count_nonzero(bits)) >= len(array):
            self._values = array.copy()
            return
        self._mask = np.concatenate([np.packbits(bits[own] != 0) for own in parts])
        self._values = np.concatenate([array[own][bits[own] != 0] for own in parts])

    def expand(self) -> np.ndarray:
        """The array."""
        if self._mask is None:
            return self._values
        found, done = np.zeros(self._size), 0
        for own in cut_range(self._size, CHUNK):
            part, mask = found[own], self._mask[own.start // 8 : -(-own.stop // 8)]
            where = np.unpackbits(mask, count=len(part)).view(bool)
            count = int(np.count_nonzero(where))
            part[where] = self._values[done : done + count]
            done += count
        return found


class SparsePoints:
    """Points of all samples, one after the other, by their non-zeros; slices of it are arrays.

    points : `Points` of the samples. part_ptr (n + 1): where each sample's parts begin.
    """

    def __init__(self, points: Any, part_ptr: np.ndarray):
        self.points, self.part_ptr = points, part_ptr

    def __len__(self) -> int:
        return int(self.part_ptr[-1])

    def __getitem__(self, own: slice) -> np.ndarray:
        """The points of some samples that stand side by side."""
        ptr, part, value = self.points
        start, stop, _ = own.indices(len(self))
        first, last = np.searchsorted(self.part_ptr, (start, stop), side="left")
        if self.part_ptr[[first, last]].tolist() != [start, stop] or own.step not in (None, 1):
            raise IndexError("slices must begin and end where samples do.")
        found, entries = np.zeros(stop - start), slice(ptr[first], ptr[last])
        starts = np.repeat(self.part_ptr[first:last] - start, np.diff(ptr[first : last + 1]))
        found[starts + part[entries]] = value[entries]
        return found


def refuse_bytes(need: float, what: str, hint: str) -> None:
    """Fail if this many bytes are not to be had."""
    free = available_bytes()
    if need > free:
        hint = "Use fewer coordinates, or fewer rows." if hint == "fewer" else hint
        raise MemoryError(
            f"{what} need about {need / 2**30:.3g} GiB of memory, {free / 2**30:.3g} GiB are free."
            f" {hint}"
        )
