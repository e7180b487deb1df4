"""Arrays of a file as a task declares them: names, axes, types, and where samples begin."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from maxmargin.formats.npz import Arrays

#: beyond all numbers of nodes, rows and samples; sums of a few of them fit into 64 bits
MAX_INTEGER = 2**60


@dataclass(frozen=True)
class Array:
    """One array of a file.

    Parameters
    ----------
    name : str
        Its name in the file.
    axes : tuple of str or int
        What each axis counts. Axes of the same name have the same length in all arrays of a file;
        an integer is the length itself.
    kind : {"features", "integers", "labels", "flags", "names"}
        What its entries are. Features may also be given as a CSR matrix.
    meaning : str
        What it holds, for help and error messages.
    optional : bool
        Whether files may leave it out.
    may_be_empty : bool
        Whether axes may have length 0.
    least : int or None
        The smallest integer allowed.
    """

    name: str
    axes: tuple[str | int, ...]
    kind: str
    meaning: str
    optional: bool = False
    may_be_empty: bool = False
    least: int | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The name alone; `Parts` have several."""
        return (self.name,)

    @property
    def hint(self) -> str:
        """Name, axes and meaning, e.g. "y (rows,), one label for each row"."""
        axes = ", ".join(map(str, self.axes)) + "," * (len(self.axes) == 1)
        text = f"{self.name} ({axes}), {self.meaning}"
        if self.kind == "features":
            four = [f"{self.name}_{part}" for part in ("data", "indices", "indptr", "shape")]
            text += f", or {', '.join(four[:3])} and {four[3]} of a CSR matrix"
        return text

    def _read(self, arrays: Arrays, sizes: dict[str, int]) -> Any:
        """The array, checked; lengths of its axes are compared with sizes, new ones added."""
        value = self._read_entries(arrays)
        if 0 in value.shape and not self.may_be_empty:
            counts = zip(value.shape, ("rows", "columns"), strict=False)
            shape = " and ".join(f"{n} {what}" for n, what in counts)
            raise arrays.wrong(self.name, f"has {shape}; give {self.hint}")
        for axis, length in zip(self.axes, value.shape, strict=True):
            if isinstance(axis, int) and length != axis:
                error = f"has {length} columns, expected {axis}"
            elif isinstance(axis, str) and sizes.setdefault(axis, length) != length:
                error = f"has {length} {_KINDS[self.kind].unit} for {sizes[axis]} {axis}"
            else:
                continue
            raise arrays.wrong(self.name, f"{error}; give {self.hint}")
        return value

    def _read_entries(self, arrays: Arrays) -> Any:
        """The array, its type and its entries checked; integers as int64."""
        if self.kind == "features":
            return arrays.matrix(self.name, f"give {self.hint}")
        if self.may_be_empty and self.name in arrays and arrays[self.name].size == 0:
            # of any type and width, as numpy makes an array of an empty list
            width = [axis for axis in self.axes[1:] if isinstance(axis, int)]
            return np.zeros((0, *width), dtype=np.int64)
        kind = _KINDS[self.kind]
        value = arrays.need(self.name, len(self.axes), kind.dtypes, f"give {self.hint}")
        wrong = self._find_wrong(value)
        if wrong.any():
            place = np.argwhere(wrong)[0].tolist()
            expected = kind.expected
            if self.kind == "integers":
                expected += f" from {'-2^60' if self.least is None else self.least} to 2^60"
            raise arrays.wrong(
                self.name,
                f"has {value[tuple(place)].item()!r} at {place}, expected {expected};"
                f" give {self.hint}",
            )
        return value.astype(np.int64) if self.kind == "integers" else value

    def _find_wrong(self, value: np.ndarray) -> np.ndarray:
        """A mask of the entries that are not of the kind."""
        if self.kind == "integers":
            least = -MAX_INTEGER if self.least is None else self.least
            return (value < least) | (value > MAX_INTEGER)
        if self.kind == "flags":
            return (value != 0) & (value != 1)
        if self.kind == "names":
            return ~np.isin(np.arange(len(value)), np.unique(value, return_index=True)[1])
        return ~np.isfinite(value) if value.dtype.kind == "f" else np.zeros(value.shape, bool)


class _Kind(NamedTuple):
    """Types allowed, as letters of numpy; what entries are called, and what they must be."""

    dtypes: str
    unit: str
    expected: str


_KINDS = {
    "features": _Kind("biuf", "rows", "finite numbers"),
    "integers": _Kind("iu", "numbers", "integers"),
    "labels": _Kind("biufU", "labels", "labels that are finite"),
    "flags": _Kind("biuf", "rows", "0 or 1"),
    "names": _Kind("iuU", "names", "no name twice"),
}


class Counted(NamedTuple):
    """An axis along which samples stand one after another.

    Parameters
    ----------
    axis : str
        Its name.
    counts : str
        Name of the array (n,) of how many entries each sample has.
    pointers : str
        Name of the array (n + 1,), which may stand for `counts`, of where each sample begins and
        the last one ends; "" if there is none.
    least : int
        How many entries a sample has at least.
    """

    axis: str
    counts: str
    pointers: str = ""
    least: int = 1


@dataclass(frozen=True)
class Parts:
    """Which entries of the axes belong to which sample.

    Parameters
    ----------
    counted : tuple of Counted
        The axes; a file gives all of them or none.
    samples : str
        What samples are called.
    required : bool
        Whether files must say it; one that does not is a single sample.
    """

    counted: tuple[Counted, ...]
    samples: str = "samples"
    required: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all arrays that say it."""
        return tuple(name for own in self.counted for name in own[1:3] if name)

    @property
    def hint(self) -> str:
        """Names, axes and meaning."""
        axes, counts, pointers = (
            " and ".join(column) for column in zip(*(own[:3] for own in self.counted), strict=True)
        )
        text = f"{counts} ({self.samples},), how many {axes} each of the {self.samples} has"
        if self.counted[0].pointers:
            text += (
                f", or {pointers} ({self.samples} + 1,), where each begins and the last one ends"
            )
        return text if self.required else f"{text} (neither for a single sample)"

    def _read(self, arrays: Arrays, sizes: dict[str, int]) -> dict[str, list[int]]:
        """For each axis, where samples begin and the last one ends; their number goes to sizes."""
        given = [name for name in self.names if name in arrays]
        if not given and not self.required:
            sizes.setdefault(self.samples, 1)
            return {own.axis: [0, sizes[own.axis]] for own in self.counted}
        found = {}
        for own in self.counted:
            either = [name for name in (own.pointers, own.counts) if name]
            names = [name for name in either if name in arrays]
            if len(names) == 2:
                raise arrays.wrong(names[1], f"says what {names[0]} says, too; give one of them.")
            if given and not names:
                raise arrays.wrong(
                    given[0], f"found without {' or '.join(either)}; give {self.hint}"
                )
            name = names[0] if names else own.counts
            found[own.axis] = self._read_starts(arrays, name, own, sizes[own.axis])
            n = len(found[own.axis]) - 1
            if sizes.setdefault(self.samples, n) != n:
                expected = f"is of {n} {self.samples}, expected {sizes[self.samples]}"
                raise arrays.wrong(name, f"{expected}; give {self.hint}")
        return found

    def _read_starts(self, arrays: Arrays, name: str, own: Counted, total: int) -> list[int]:
        """Where samples begin and the last one ends, from pointers or counts."""
        value = arrays.need(name, 1, "iu", f"give {self.hint}")
        if value.size and (int(value.min()) < 0 or int(value.max()) > total):
            raise arrays.wrong(name, f"expected integers from 0 to {total}; give {self.hint}")
        value = value.astype(np.int64)
        starts = value if name == own.pointers else np.concatenate([[0], np.cumsum(value)])
        if name != own.pointers and starts[-1] != total:
            raise arrays.wrong(name, f"adds up to {starts[-1]}, expected {total}; give {self.hint}")
        if len(starts) < 2 or starts[0] != 0 or starts[-1] != total:
            raise arrays.wrong(name, f"does not lead from 0 to {total}; give {self.hint}")
        steps = np.diff(starts)
        if steps.min() < own.least:
            i, least = int(steps.argmin()), int(steps.min())
            error = f"sample {i} has {least} {own.axis}; {own.least} or more is needed."
            raise arrays.wrong(name, error)
        return starts.tolist()


@dataclass
class Contents:
    """The checked arrays of one file.

    Parameters
    ----------
    arrays : Arrays
        All arrays of the file, and its name for messages.
    values : dict of str to numpy.ndarray or scipy.sparse.csr_array
        Those that were declared and are there.
    starts : dict of str to list of int
        For each axis, where the samples begin and the last one ends.
    """

    arrays: Arrays
    values: dict[str, Any]
    starts: dict[str, list[int]]

    def split(self, name: str, axis: str) -> list[Any]:
        """Cut an array into those of the samples; None for each if the file does not have it."""
        value = self.values.get(name)
        parts = pairwise(self.starts[axis])
        return [None if value is None else value[a:b] for a, b in parts]

    def split_labels(self, name: str, axis: str) -> list[Any] | None:
        """Cut an array as `split` does; None if the file does not have it."""
        return self.split(name, axis) if name in self.values else None

    def make_each(
        self, blamed: str, make: Callable[..., Any], rows: Iterable[tuple[Any, ...]]
    ) -> list[Any]:
        """Call make(*row) for each sample; errors name the array to blame and the sample."""
        found = []
        for i, row in enumerate(rows):
            try:
                found.append(make(*row))
            except ValueError as error:
                raise self.arrays.wrong(blamed, f"sample {i}: {error}") from error
        return found


def read_contents(arrays: Arrays, declared: Sequence[Array | Parts]) -> Contents:
    """Check the arrays of a file.

    Parameters
    ----------
    arrays : Arrays
        The arrays of the file.
    declared : sequence of Array and Parts
        What to look for, in this order; axes of `Parts` come before them.

    Returns
    -------
    Contents
        The arrays that are there, and where samples begin.
    """
    sizes: dict[str, int] = {}
    found = Contents(arrays, {}, {})
    for own in declared:
        if isinstance(own, Parts):
            found.starts |= own._read(arrays, sizes)
        elif not own.optional or own.name in arrays or f"{own.name}_data" in arrays:
            found.values[own.name] = own._read(arrays, sizes)
    return found


def check_spelling(arrays: Arrays, known: Sequence[Array | Parts]) -> None:
    """Fail if an array that is left aside is one that is missing, but for its spelling.

    Parameters
    ----------
    arrays : Arrays
        The arrays of the file.
    known : sequence of Array and Parts
        All that such files may have.
    """
    names = [name for own in known for name in own.names]
    matrices = tuple(f"{own.names[0]}_" for own in known if getattr(own, "kind", "") == "features")
    missing = [name for name in names if name not in arrays and f"{name}_data" not in arrays]
    for name in arrays:
        near = difflib.get_close_matches(name, missing, 1, 0.8)
        if near and name not in names and not name.startswith(matrices):
            error = f"is not known; did you mean {near[0]!r}? Rename it, or leave it out."
            raise arrays.wrong(name, error)
