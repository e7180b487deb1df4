"""Compiled functions on disk, found again by what they were made from.

Numba's own cache looks at the one file that holds a function: it misses changes of functions called
from other files, and a damaged file makes every later run fail. Here a file's name depends on the
function, on all that it calls and on the constants they read, so that an unchanged function is
compiled once on a machine, whatever the clone or environment; its content is checked before it is
used; and a cache that cannot be written costs time only.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import sys
import tempfile
import time
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from llvmlite.binding import parse_assembly
from numba import config
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.registry import cpu_target
from numba.core.serialize import dumps, loads
from numba.misc.appdirs import AppDirs

from maxmargin._numba.compile import LazyFunction
from maxmargin._numba.digests import digest_function

#: changes with what is written to a file, or how code is made
_FORMAT = 3
#: Instructions up to which callers may copy a function. LLVM inlines some 50, and more the more
#: arguments that saves, of which arrays have seven each: at 150 passes were a tenth slower.
_SMALL = 400
_DIGEST_SIZE = 32
#: what no run has used for so long is removed
_UNUSED_SECONDS = 90 * 24 * 3600.0
_DAY = 24 * 3600.0
_log = logging.getLogger("maxmargin")


def cache_folder() -> Path:
    """Return where compiled functions are: NUMBA_CACHE_DIR, MAXMARGIN_CACHE or the user's cache."""
    named = config.CACHE_DIR or os.environ.get("MAXMARGIN_CACHE")
    named = named or AppDirs("maxmargin", appauthor=False).user_cache_dir
    try:
        return Path(named).expanduser() / "compiled"
    except RuntimeError:  # a user without a home, as in containers: nothing can be kept
        return Path(os.devnull) / "compiled"


def is_on_disk(lazy: LazyFunction) -> bool:
    """Tell whether a function was compiled before; one that is only copied need not be."""
    if lazy.signature is None:
        return True
    # not Path.exists, which raises where a folder may not be looked into
    return os.path.exists(SourceCache(lazy).path(cpu_target.target_context))


def can_write() -> bool:
    """Tell whether compiled functions can be kept."""
    try:
        _prepare_folder()
    except OSError:
        return False
    return os.access(cache_folder(), os.W_OK)


class SourceCache(NullCache):
    """The cache of one function, whose callees are compiled or loaded before it is.

    A callee is part of its caller's code only if it is small. Others are called by a name that
    depends on `digest` alone, so that it does not matter which process compiled them.
    """

    def __init__(self, lazy: LazyFunction):
        function = lazy.function
        self.digest = digest_function(lazy)[:24]
        self._options = lazy.options
        made_by = (sys.version, version("numba"), version("llvmlite"))
        made_for = (config.BOUNDSCHECK, config.OPT, config.LOOP_VECTORIZE, config.SLP_VECTORIZE)
        self._key = (self.digest, made_by, made_for, _FORMAT, _SMALL)
        place = ".".join(function.__module__.split(".")[-2:])
        self._name = re.sub(r"[<>]", "", f"{place}.{function.__qualname__}")

    @property
    def cache_path(self) -> str:
        return str(cache_folder())

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """Return what an earlier process compiled; None if there is nothing, or nothing sound."""
        target_context.refresh()
        path = self.path(target_context)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        digest, packed = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:]
        if hashlib.sha256(packed).digest() != digest:
            _log.warning("%s was damaged and is removed; compiling that function again", path)
            _remove(path)
            return None
        _mark_used(path)
        state = loads(packed)
        target_context.codegen()._engine._defined_symbols |= self._symbols(state[1])
        return CompileResult._rebuild(target_context, *state)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function for later processes, if the disk allows it."""
        _leave_out_body(data.library, data.fndesc)
        if data.lifted or data.library.has_dynamic_globals:  # refers to this process
            return
        packed = dumps(data._reduce())
        path = self.path(data.target_context)
        try:
            _prepare_folder()
            _write_whole(path, hashlib.sha256(packed).digest() + packed)
        except OSError as error:
            _tell_once(f"{path.parent}: {error.strerror or error}")

    def _symbols(self, description: Any) -> set[str]:
        """Return what a file defines; numba looks for it in what callers may copy alone."""
        names = {description.llvm_func_name}
        if not self._options.get("no_cpython_wrapper"):
            names.add(description.llvm_cpython_wrapper_name)
        if not self._options.get("no_cfunc_wrapper"):
            names.add(description.llvm_cfunc_wrapper_name)
        return names

    def path(self, target_context: Any) -> Path:
        key = repr((self._key, target_context.codegen().magic_tuple()))
        return cache_folder() / f"{self._name}-{hashlib.sha256(key.encode()).hexdigest()[:24]}.nbc"


def _leave_out_body(library: Any, description: Any) -> None:
    """Let callers of a large function call it, instead of optimising a copy of it each time.

    LLVM would not copy its instructions into theirs anyway, see its threshold of inlining.
    """
    function = library.get_function(description.llvm_func_name)
    instructions = (i for block in function.blocks for i in block.instructions)
    if next(islice(instructions, _SMALL, None), None) is not None:
        library._shared_module = parse_assembly("")


def _write_whole(path: Path, content: bytes) -> None:
    """Write a file so that other processes see all of it or nothing."""
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        _remove(Path(name))
        raise


@cache
def _prepare_folder() -> None:
    """Make the folder, and remove what has not been used for long."""
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        with suppress(OSError):  # another process may have removed it
            if time.time() - path.stat().st_mtime > _UNUSED_SECONDS:
                path.unlink()


def _mark_used(path: Path) -> None:
    with suppress(OSError):  # not ours to touch: it is then compiled again sooner
        if time.time() - path.stat().st_mtime > _DAY:
            os.utime(path)


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


@cache
def _tell_once(reason: str) -> None:
    _log.warning(
        "compiled functions cannot be kept (%s); all works, but every new process compiles them"
        " again. Name a folder that can be written with NUMBA_CACHE_DIR.",
        reason,
    )
