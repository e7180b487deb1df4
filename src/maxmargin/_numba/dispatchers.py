"""The numba side of `compile`: numba is imported here, and nowhere else by way of signatures."""

from __future__ import annotations

from functools import update_wrapper
from types import FunctionType
from typing import Any

from numba import config, njit, types
from numba.core.compiler_lock import global_compiler_lock

from maxmargin._numba.compile import LazyFunction, Type
from maxmargin._numba.disk_cache import SourceCache


def numba_type(value: Any) -> Any:
    """What a `compile.Type` stands for, also within a tuple; other values as they are."""
    if isinstance(value, tuple):
        return tuple(map(numba_type, value))
    if not isinstance(value, Type):
        return value
    if value.arguments is None:
        return getattr(types, value.made_by)
    return numba_type(value.made_by)(*map(numba_type, value.arguments))


def make_dispatcher(lazy: LazyFunction) -> Any:
    """Do what `njit(signature, **options)` does, with a cache of our own, in one thread only.

    The lock is numba's, so that there is no other to wait for while this one is held.
    """
    with global_compiler_lock:
        if lazy.made is None:
            lazy.made = lazy.function if config.DISABLE_JIT else _dispatcher(lazy)
        return lazy.made


def _dispatcher(lazy: LazyFunction) -> Any:
    called = dict(lazy.function.__globals__)
    code, closure = lazy.function.__code__, lazy.function.__closure__
    function = FunctionType(code, called, closure=closure)
    dispatcher = njit(**lazy.options)(update_wrapper(function, lazy.function))

    def compile_called() -> None:
        """Give the function dispatchers in place of lazy functions."""
        for name in code.co_names:
            value = called.get(name)
            if isinstance(value, LazyFunction):
                called[name] = dispatcher if value is lazy else make_dispatcher(value)

    if lazy.signature is None:
        compile_called()
        return dispatcher
    dispatcher._cache = SourceCache(lazy.function, lazy.options, compile_called)
    dispatcher.compile(numba_type(lazy.signature))
    dispatcher.disable_compile()
    return dispatcher
