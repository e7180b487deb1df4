"""How functions are compiled: explicit signatures, cached on disk, free of the interpreter lock."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any


class Type:
    """A type of numba or a signature, by name or by what makes it: importing numba takes long.

    See `dispatchers.numba_type`.
    """

    def __init__(self, made_by: str | Type, arguments: tuple[Any, ...] | None = None):
        self.made_by, self.arguments = made_by, arguments

    def __call__(self, *arguments: Any) -> Type:
        return Type(self, arguments)


class _Types:
    def __getattr__(self, name: str) -> Type:
        return Type(name)


#: `numba.types` for signatures
types: Any = _Types()

FLOATS = types.Array(types.float64, 1, "C")
INTS = types.Array(types.int64, 1, "C")
SHORTS = types.Array(types.int32, 1, "C")
HALVES = types.Array(types.uint16, 1, "C")
PLACES = types.Array(types.uint32, 1, "C")

# Every ability of a structure has this one signature:
#   value = ability(theta, layout, out, work, iwork)
# theta (n_parts,) in; out (n_parts,) written; work and iwork are scratch of the sizes that the
# structure names. A projection finds what it left in work[:warm_size] at its last call for this
# sample, or zeros, and leaves it there anew; so does `maximize` with work[:memory_size]. `value`
# is the score, the log-partition or the residual; NaN means failure.
ABILITY = types.float64(FLOATS, INTS, FLOATS, FLOATS, INTS)
POINTER = types.FunctionType(ABILITY)

# No counts of references ("_nrt"): arrays belong to the caller in Python, and to count them again
# at each call with dozens of arrays took half the time of passes over small samples. So functions
# may not make arrays, nor do with whole arrays what makes some (see `arrays`), unless they say
# `allocates`.
_OPTIONS = {"_nrt": False, "nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
_SLOW = 1.5  # seconds of loading after which the user is told that code is being compiled
_told = threading.Event()


def compile_ability(function: Callable) -> Any:
    """An ability of a structure: called from Python, and by pointer from the passes."""
    return LazyFunction(function, ABILITY, _OPTIONS)


def compiled_function(signature: Any, allocates: bool = False) -> Callable[[Callable], Any]:
    """A function that Python calls; with an explicit signature, so found in the disk cache.

    allocates : it makes arrays of its own.
    """
    options = {**_OPTIONS, "_nrt": allocates, "no_cfunc_wrapper": True}
    return lambda function: LazyFunction(function, signature, options)


def compile_internal(
    signature: Any, reorder: bool = False, no_nan: bool = False, allocates: bool = False
) -> Callable:
    """A function that only other compiled functions call, which is quicker to compile.

    reorder : sums may be taken in any order (the same one at every call), for speed.
    no_nan : nothing in it is ever NaN, so that maxima may be taken in any order; -inf may be.
    allocates : it makes arrays of its own.
    """
    freedoms = {"contract"} | ({"reassoc"} if reorder else set())
    freedoms |= {"nnan", "nsz"} if no_nan else set()
    options = {
        **_OPTIONS, "_nrt": allocates, "fastmath": freedoms, "no_cfunc_wrapper": True,
        "no_cpython_wrapper": True,
    }  # fmt: skip
    return lambda function: LazyFunction(function, signature, options)


def compile_inlined(function: Callable) -> Any:
    """A small function that is copied into its callers: calls with many arrays are not free."""
    options = {"inline": "always", "error_model": "numpy", "fastmath": {"contract"}}
    return LazyFunction(function, None, options)


def tuple_type(cls: type, fields: dict[str, Any]) -> Type:
    """The numba type of a NamedTuple of arrays, see `references`."""
    return types.Reference(cls, tuple(fields[name] for name in cls._fields))


class LazyFunction:
    """A function that is compiled, or found on disk, when it is first needed.

    That is when Python calls it or asks for its `dispatcher`, or when a function that calls it is
    compiled.

    signature : None for a function that is only copied into others. options : of `numba.njit`.
    """

    def __init__(self, function: Callable, signature: Any, options: dict[str, Any]):
        update_wrapper(self, function, updated=())  # a dict of its own would make calls slower
        self.function, self.signature, self.options = function, signature, options
        self.made: Any = None

    def __call__(self, *args: Any) -> Any:
        return (self.made or self.compile())(*args)

    def __reduce__(self) -> str:
        return self.function.__qualname__

    @property
    def dispatcher(self) -> Any:
        """What numba makes of the function; passes take abilities as this, for their pointers."""
        return self.made or self.compile()

    def compile(self) -> Any:
        """Compile the function unless it is, and return its dispatcher."""
        if self.made is not None:
            return self.made
        # by name, because numba takes half a second to import, and much is done without
        dispatchers = import_module("maxmargin._numba.dispatchers")
        with announce_compilation():
            return dispatchers.make_dispatcher(self)

    @property
    def callees(self) -> list[LazyFunction]:
        """The compiled functions that it calls, also in what is copied into it."""
        found: list[LazyFunction] = []
        for name in self.function.__code__.co_names:
            other = self.function.__globals__.get(name)
            if isinstance(other, LazyFunction):
                found += other.callees if other.signature is None else [other]
        return found

    @property
    def called_from_python(self) -> bool:
        """Whether it is not a mere piece of others."""
        return self.signature is not None and not self.options.get("no_cpython_wrapper")


def functions_of(module: str) -> list[LazyFunction]:
    """List what Python calls of the names in a module of maxmargin._numba."""
    values = vars(import_module(f"maxmargin._numba.{module}")).values()
    return [v for v in values if isinstance(v, LazyFunction) and v.called_from_python]


def list_modules() -> list[str]:
    """List the modules of maxmargin._numba."""
    prefix = "maxmargin._numba."
    found = walk_packages([str(Path(__file__).parent)], prefix)
    return [module.name.removeprefix(prefix) for module in found if not module.ispkg]


@contextmanager
def compile_modules(*names: str) -> Iterator[None]:
    """Compile what Python calls of modules of maxmargin._numba, in several processes.

    Other processes begin at once; this one joins them at the end of the block, after what it
    compiles within.
    """
    schedules = import_module("maxmargin._numba.schedules")
    with schedules.compile_functions([f for name in names for f in functions_of(name)]):
        yield


@contextmanager
def announce_compilation() -> Iterator[None]:
    """Say once that code is being compiled, if loading it takes more than a moment.

    Signals wait meanwhile, see `delay_signals`.
    """
    timer = threading.Timer(_SLOW, _tell)
    timer.daemon = True
    timer.start()
    try:
        with delay_signals():
            yield
    finally:
        timer.cancel()


def _tell() -> None:
    if not _told.is_set():
        _told.set()
        logging.getLogger("maxmargin").warning("compiling, first use only")


@contextmanager
def delay_signals() -> Iterator[None]:
    """Handle SIGINT and SIGTERM after this, or at once if a second one comes.

    Compiled functions run to their end anyway, but a handler that raises on the way to them does
    harm. While LLVM asks Python for code, ctypes swallows the exception, LLVM has no code, and
    numba writes to address 0; while numba takes up a function's pointer, another exception comes
    out, or none.
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
