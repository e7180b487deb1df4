"""The numba side of `compile`: numba is imported here, and nowhere else by way of signatures."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import update_wrapper
from types import FunctionType
from typing import Any

from numba import config, njit, types
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_lock import global_compiler_lock

from maxmargin._numba.compile import LazyFunction, Type
from maxmargin._numba.disk_cache import SourceCache
from maxmargin._numba.references import Reference


def numba_type(value: Any) -> Any:
    """What a `compile.Type` stands for, also within a tuple; other values as they are."""
    if isinstance(value, tuple):
        return tuple(map(numba_type, value))
    if not isinstance(value, Type):
        return value
    if value.arguments is None:
        return Reference if value.made_by == "Reference" else getattr(types, value.made_by)
    return numba_type(value.made_by)(*map(numba_type, value.arguments))


def make_dispatcher(lazy: LazyFunction) -> Any:
    """Do what `njit(signature, **options)` does, with a cache of our own, in one thread only.

    The lock is numba's, so that there is no other to wait for while this one is held.
    """
    with global_compiler_lock:
        if lazy.made is None:
            with _uncollected():
                lazy.made = lazy.function if config.DISABLE_JIT else _dispatcher(lazy)
        return lazy.made


@contextmanager
def _uncollected() -> Iterator[None]:
    """Put garbage collection off: numba makes so many objects that it takes a tenth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _Options(Flags):
    """Options of a function. Numba compares them at each call that it looks at, anew each time."""

    kept: dict[str, Any] | None = None

    def values(self) -> dict[str, Any]:
        if self.kept is None:
            self.kept = super().values()
        return self.kept

    def get_mangle_string(self) -> str:
        """Return the part of a function's name that stands for its options.

        Numba writes `fastmath` in the order of a set, which is another one in each process.
        """
        options = {**super().values(), "fastmath": sorted(self.fastmath.flags)}
        return hashlib.sha256(repr(sorted(options.items())).encode()).hexdigest()[:16]


class _StableNames(Compiler):
    """Numba's compiler, with names of functions that are the same in every process.

    So a function that was compiled in one process can call one that was compiled in another.
    """

    def _compile_core(self) -> Any:
        self.state.flags = _Options(self.state.flags)  # of which numba makes a copy
        return super()._compile_core()

    def define_pipelines(self) -> Any:
        identity = self.state.func_id
        stable = getattr(identity.func, "stable_id", None)
        if stable is not None:
            identity.unique_id = stable
            identity.unique_name = f"{identity.func_qualname}${stable}"
        return super().define_pipelines()


def _dispatcher(lazy: LazyFunction) -> Any:
    called = dict(lazy.function.__globals__)
    code, closure = lazy.function.__code__, lazy.function.__closure__
    function = FunctionType(code, called, closure=closure)
    dispatcher = njit(pipeline_class=_StableNames, **lazy.options)(
        update_wrapper(function, lazy.function)
    )
    for name in code.co_names:
        value = called.get(name)
        if isinstance(value, LazyFunction):
            called[name] = dispatcher if value is lazy else make_dispatcher(value)
    if lazy.signature is None:
        return dispatcher
    dispatcher._cache = SourceCache(lazy)
    function.stable_id = dispatcher._cache.digest
    dispatcher.compile(numba_type(lazy.signature))
    dispatcher.disable_compile()
    return dispatcher
