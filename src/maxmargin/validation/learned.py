"""What objects learned, as model files hold it: declared once, checked after loading.

A class declares what its objects learn by annotations in its body, without values:
`classes_: np.ndarray`. A file may set these and the arguments of the constructor, nothing else, and
each must fit its annotation. Whether they go together is for the class's own `validate` to say,
which every class that a file may name has.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection
from functools import cache
from typing import Any, ClassVar, get_origin, get_type_hints

import numpy as np

from maxmargin.validation.docstrings import complete_docstring, complete_methods
from maxmargin.validation.options import check_option

#: keys with equal hashes that a dict may have: looking one up takes as many comparisons
MOST_ALIKE = 100
_MISSING = object()


class Checked:
    """An object that model files may hold: made by its constructor, then asked to `validate`."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        complete_docstring(cls)
        complete_methods(cls)

    def validate(self) -> None:
        """Raise ValueError unless what was learned goes together.

        Called after loading, when options and types are known to be as declared. Compiled code
        checks nothing, so all that it relies on is checked here.
        """


@cache
def arguments_of(cls: Any) -> tuple[str, ...]:
    """The names of the constructor's arguments."""
    return tuple(inspect.signature(cls).parameters)


@cache
def learned_attributes(cls: Any) -> dict[str, Any]:
    """The annotations of what objects of a class learn, by name."""
    return {
        name: hint
        for name, hint in get_type_hints(cls, include_extras=True).items()
        if name not in arguments_of(cls) and get_origin(hint) is not ClassVar and is_free(cls, name)
    }


def is_free(cls: Any, name: str) -> bool:
    """Whether an attribute of that name would hide nothing of the class: no method, no constant."""
    return inspect.getattr_static(cls, name, _MISSING) is _MISSING


def check_learned(own: Any) -> None:
    """Raise ValueError if something learned is not what its annotation says."""
    cls: Any = type(own)
    for name, hint in learned_attributes(cls).items():
        if name in vars(own):
            check_option(f"{cls.__name__}: {name}", vars(own)[name], hint)


def check_array(
    name: str,
    found: Any,
    dtype: Any = np.float64,
    shape: tuple[int | None, ...] = (None,),
    low: float = -np.inf,
    high: float = np.inf,
    any_order: bool = False,
) -> None:
    """Raise ValueError unless found is an array as compiled code takes it, of finite numbers.

    Parameters
    ----------
    name : str
        What it is called in errors.
    found : object
    dtype : numpy dtype
    shape : tuple of int or None
        None stands for any length.
    low, high : float
        Between which its numbers are, both included.
    any_order : bool
        Whether it may be laid out column by column, which compiled code does not take.
    """
    kind = np.dtype(dtype)
    fitting = type(found) is np.ndarray and found.dtype == kind and found.ndim == len(shape)
    if not fitting or any(
        own not in (None, size) for own, size in zip(shape, found.shape, strict=True)
    ):
        sizes = ", ".join("any" if size is None else str(size) for size in shape)
        raise ValueError(f"{name} is not an array of {kind} of shape ({sizes})")
    if not (found.flags.c_contiguous or any_order):
        raise ValueError(f"{name} is not laid out row by row")
    if kind.kind in "fiu" and not ((found >= low) & (found <= high) & np.isfinite(found)).all():
        wanted = f"from {low:g} to {high:g}" if low > -np.inf or high < np.inf else "finite"
        raise ValueError(f"{name} has numbers that are not {wanted}")


def check_hashes(keys: Collection[Any]) -> None:
    """Raise ValueError if so many keys have one hash that a dict of them takes for ever."""
    hashes = np.sort(np.fromiter(map(hash, keys), dtype=np.int64, count=len(keys)))
    if (hashes[MOST_ALIKE:] == hashes[:-MOST_ALIKE]).any():
        raise ValueError(f"more than {MOST_ALIKE} keys have the same hash")
