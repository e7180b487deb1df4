"""How functions are compiled: explicit signatures, cached on disk, free of the interpreter lock."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from numba import config, njit, types
from numba.core import typeinfer

from maxmargin._numba.disk_cache import SourceCache

FLOATS = types.Array(types.float64, 1, "C")
INTS = types.Array(types.int64, 1, "C")
SHORTS = types.Array(types.int32, 1, "C")

# Every ability of a structure has this one signature:
#   value = ability(theta, layout, out, work, iwork)
# theta (n_parts,) in; out (n_parts,) written; work and iwork are scratch of the sizes that the
# structure names. A projection finds what it left in work[:warm_size] at its last call for this
# sample, or zeros, and leaves it there anew; so does `maximize` with work[:memory_size]. `value`
# is the score, the log-partition or the residual; NaN means failure.
ABILITY = types.float64(FLOATS, INTS, FLOATS, FLOATS, INTS)
POINTER = types.FunctionType(ABILITY)

_OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
_SLOW = 1.5  # seconds of loading after which the user is told that code is being compiled
_told = threading.Event()


def ability(function: Callable) -> Any:
    """An ability of a structure: called from Python, and by pointer from the passes."""
    return _compile(function, ABILITY, _OPTIONS)


def compiled_function(signature: Any) -> Callable[[Callable], Any]:
    """A function that Python calls; with an explicit signature, so found in the disk cache."""
    options = {**_OPTIONS, "no_cfunc_wrapper": True}
    return lambda function: _compile(function, signature, options)


def piece(signature: Any, reorder: bool = False, no_nan: bool = False) -> Callable:
    """A piece that only other compiled functions call: without its way in from Python, quicker to
    compile.

    reorder : sums may be taken in any order (the same one at every call), for speed.
    no_nan : nothing in it is ever NaN, so that maxima may be taken in any order; -inf may be.
    """
    freedoms = {"contract"} | ({"reassoc"} if reorder else set())
    freedoms |= {"nnan", "nsz"} if no_nan else set()
    options = {
        **_OPTIONS, "fastmath": freedoms, "no_cfunc_wrapper": True, "no_cpython_wrapper": True,
    }  # fmt: skip
    return lambda function: _compile(function, signature, options)


def _compile(function: Callable, signature: Any, options: dict[str, Any]) -> Any:
    """Do what `njit(signature, **options)` does, with a cache of our own."""
    dispatcher = njit(**options)(function)
    if config.DISABLE_JIT:
        return dispatcher
    dispatcher._cache = SourceCache(function, options)
    with typeinfer.register_dispatcher(dispatcher):
        dispatcher.compile(signature)
        dispatcher.disable_compile()
    return dispatcher


def inlined(function: Callable) -> Any:
    """A small function that is copied into its callers: calls with many arrays are not free."""
    return njit(inline="always", error_model="numpy", fastmath={"contract"})(function)


def tuple_type(cls: type, fields: dict[str, Any]) -> types.NamedTuple:
    """The numba type of a NamedTuple of arrays."""
    return types.NamedTuple(tuple(fields[name] for name in cls._fields), cls)


@contextmanager
def loading():
    """Say once that code is being compiled, if loading them takes more than a moment.

    Signals wait meanwhile, see `uninterrupted`.
    """
    timer = threading.Timer(_SLOW, _tell)
    timer.daemon = True
    timer.start()
    try:
        with uninterrupted():
            yield
    finally:
        timer.cancel()


def _tell() -> None:
    if not _told.is_set():
        _told.set()
        logging.getLogger("maxmargin").warning(
            "compiling, once for each kind of solver and structure"
        )


@contextmanager
def uninterrupted():
    """Handle SIGINT and SIGTERM after this, or at once if a second one comes.

    Kernels run to their end anyway, but a handler that raises on the way to them does harm. While
    LLVM asks Python for code, ctypes swallows the exception, LLVM has no code, and numba writes to
    address 0; while numba takes up a function's pointer, another exception comes out, or none.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting, before = [], {}

    def keep(number, frame):
        if waiting:
            before[number](number, frame)
        else:
            waiting.append((number, frame))

    for number in (signal.SIGINT, signal.SIGTERM):
        if callable(signal.getsignal(number)):
            before[number] = signal.signal(number, keep)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number, frame in waiting:
            before[number](number, frame)
