"""Digests of what the machine code of a compiled function depends on."""

from __future__ import annotations

import hashlib
from functools import cache
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import types
from numba.core.typing.templates import Signature
from numba.extending import _Intrinsic

from maxmargin._numba.compile import LazyFunction, Type

_PLAIN = (bool, int, float, str, bytes, np.generic, type(None), type(...), types.Type, Signature)
_CODE_FIELDS = (
    "co_code", "co_consts", "co_names", "co_varnames", "co_freevars", "co_argcount", "co_flags",
    "co_exceptiontable",
)  # fmt: skip


@cache
def digest_function(lazy: LazyFunction) -> str:
    """Digest a function's module, bytecode, options, signature, constants, and its callees.

    All is taken from memory: a file may have changed since it was imported.
    """
    # files name modules: what has moved to another one is other code
    parts = lazy.function.__module__, lazy.function, lazy.signature, lazy.options
    return hashlib.sha256(repr(_describe(parts, lazy)).encode()).hexdigest()


def _describe(value: Any, within: LazyFunction) -> Any:
    """Return what `repr` shows of a value, the same in all processes."""
    if isinstance(value, LazyFunction):
        return "itself" if value is within else digest_function(value)
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, type | BuiltinFunctionType | np.ufunc):
        return value.__module__, value.__qualname__, getattr(value, "_fields", ())
    if isinstance(value, set | frozenset):
        return sorted(map(repr, value))
    return [_describe(part, within) for part in _take_apart(value, within)]


def _take_apart(value: Any, within: LazyFunction) -> Any:
    if isinstance(value, tuple | list):
        return value
    if isinstance(value, dict):
        return sorted(value.items())
    if isinstance(value, Type):
        return value.made_by, value.arguments
    if isinstance(value, CodeType):
        return [getattr(value, field) for field in _CODE_FIELDS]
    if isinstance(value, FunctionType):
        read = {name: value.__globals__.get(name) for name in value.__code__.co_names}
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        code = value.__code__
        if code.co_consts[:1] == (value.__doc__,):  # other words make no other machine code
            code = code.replace(co_consts=(None, *code.co_consts[1:]))
        return code, read, cells, value.__defaults__
    if isinstance(value, _Intrinsic):
        return [value._defn]
    name = within.function.__qualname__
    raise TypeError(f"{name} reads {value!r}, which compiled functions cannot depend on.")
