"""One number for all that objects consist of: options, arrays, and functions by their code."""

from __future__ import annotations

import functools
import inspect
import secrets
import sys
import types
from collections.abc import Iterator
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

#: packages whose functions and classes are known by their names
_NAMED = ("builtins", "maxmargin", "numpy", "scipy", "sklearn")
_NUMBERS, _PROCESS = count(), secrets.token_hex(8)


def fingerprint(*values: Any) -> int:
    """The same in all processes for what is equal, another one, but for chance, for what is not.

    Functions and classes count by their code, with all that they refer to: defaults, closures and
    globals, and what they take from modules that are not installed as packages. What cannot be
    looked into (an object of compiled code, say) is never the same twice.
    """
    return int.from_bytes(_digest(values, {})[:6], "little") or 1


def _digest(value: Any, known: dict[int, tuple[Any, bytes]]) -> bytes:
    """Known : of objects by their addresses, which are kept, lest another one get the address."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
        return _joined(type(value).__name__.encode(), repr(value).encode())
    if isinstance(value, np.ndarray) and value.dtype != object:
        return _joined(value.dtype.str.encode(), repr(value.shape).encode(), value.tobytes())
    if id(value) not in known:
        known[id(value)] = (value, b"around")  # met again within itself
        parts = [_digest(own, known) for own in _inside(value)]
        if isinstance(value, set | frozenset):
            parts.sort()
        known[id(value)] = (value, _joined(type(value).__name__.encode(), *parts))
    return known[id(value)][1]


def _joined(*parts: bytes) -> bytes:
    found = blake2b(digest_size=16)
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.digest()


def _inside(value: Any) -> Iterator[Any]:
    """What an object consists of."""
    if isinstance(value, list | tuple | set | frozenset):
        yield from value
    elif isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, np.ndarray):
        yield from (value.shape, *value.ravel())
    elif sparse.issparse(value):
        own = value.tocsr()
        yield from (own.shape, own.indptr, own.indices, own.data)
    elif isinstance(value, types.ModuleType):
        yield value.__name__
    elif isinstance(value, types.CodeType):
        yield from (value.co_code, value.co_names, value.co_consts)
    elif isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
        yield from _definition(value)
    elif isinstance(value, types.MethodType | staticmethod | classmethod):
        yield from (getattr(value, "__self__", None), value.__func__)
    elif isinstance(value, property):
        yield from (value.fget, value.fset)
    elif isinstance(value, functools.cached_property):
        yield value.func
    elif isinstance(value, functools.partial):
        yield from (value.func, value.args, value.keywords)
    elif hasattr(value, "__wrapped__") or hasattr(value, "py_func"):  # cached, or compiled by numba
        yield inspect.unwrap(getattr(value, "py_func", value))
    else:
        yield type(value)
        yield from _state(value)


def _definition(value: Any) -> Iterator[Any]:
    """A function or class: its name, and its code where that is not of a package known by name."""
    yield from (value.__module__, value.__qualname__)
    if str(value.__module__).split(".")[0] in _NAMED:
        return
    if isinstance(value, type):
        yield value.__bases__
        for name, own in vars(value).items():
            if callable(own) or not name.startswith("__"):
                yield from (name, own)
    elif isinstance(value, types.FunctionType):
        yield from (value.__code__, value.__defaults__, value.__kwdefaults__)
        yield [cell.cell_contents for cell in value.__closure__ or () if _filled(cell)]
        names = [name for code in _codes(value.__code__) for name in code.co_names]
        yield from _named(names, value.__globals__, set())


def _named(names: list[str], place: dict[str, Any], seen: set[int]) -> Iterator[dict[str, Any]]:
    """What has one of the names in a place, and in the modules of a project that are found."""
    found = {name: place[name] for name in names if name in place}
    yield found
    for module in filter(_is_own, found.values()):
        if id(module) not in seen:
            seen.add(id(module))
            yield from _named(names, vars(module), seen)


def _is_own(value: Any) -> bool:
    """Whether it is a module that may change: of a project, not of an installed package."""
    if not isinstance(value, types.ModuleType):
        return False
    top, folders = value.__name__.split(".")[0], Path(getattr(value, "__file__", None) or "").parts
    installed = {"site-packages", "dist-packages"} & set(folders)
    return not (top in _NAMED or top in sys.stdlib_module_names or installed)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code and that of all functions in it."""
    yield code
    for own in code.co_consts:
        if isinstance(own, types.CodeType):
            yield from _codes(own)


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _state(value: Any) -> Iterator[Any]:
    """What an object is made from, as for a copy."""
    if isinstance(value, BaseEstimator):
        yield value.get_params(deep=False)
        return
    try:
        found = value.__reduce_ex__(4)
    except Exception:  # whatever an object says that cannot be copied
        yield f"unknown {next(_NUMBERS)} {_PROCESS}"
        return
    yield from found if isinstance(found, str) else found[:3]
    for items in found[3:5] if isinstance(found, tuple) else ():
        yield None if items is None else list(items)
