"""Compiled functions on disk, found again by the content of the sources they were made from.

Numba's own cache looks at the one file that holds a function: it misses changes of functions called
from other files, and a damaged file makes every later run fail. Here a file's name depends on the
sources of the module and of the compiled modules that it imports, so that an unchanged function is
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
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from numba import config
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps, loads
from numba.misc.appdirs import AppDirs

#: modules whose sources become part of the code of those who import them
_IMPORTS = re.compile(r"^from maxmargin\._numba([\w.]*) import ([\w, ]+|\([^)]*\))", re.MULTILINE)
_PACKAGE = Path(__file__).parent
_DIGEST_SIZE = 32
#: what no run has used for so long is removed
_UNUSED_SECONDS = 90 * 24 * 3600.0
_DAY = 24 * 3600.0
_log = logging.getLogger("maxmargin")


def cache_folder() -> Path:
    """Return where compiled functions are: NUMBA_CACHE_DIR, MAXMARGIN_CACHE or the user's cache."""
    named = config.CACHE_DIR or os.environ.get("MAXMARGIN_CACHE")
    named = named or AppDirs("maxmargin", appauthor=False).user_cache_dir
    return Path(named).expanduser() / "compiled"


@cache
def source_digest(path: Path) -> bytes:
    """Digest a source file and, in turn, the files of compiled functions that it imports."""
    content = path.read_text(encoding="utf-8")
    digest = hashlib.sha256(content.encode())
    for module in imported_modules(content):
        digest.update(source_digest(module))
    return digest.digest()


def imported_modules(source: str) -> list[Path]:
    """List the files of compiled functions that a source file imports."""
    found = set()
    for dotted, names in _IMPORTS.findall(source):
        place = _PACKAGE.joinpath(*dotted.split(".")[1:])
        if place.is_dir():
            found |= {place / f"{name}.py" for name in re.findall(r"(\w+)(?: as \w+)?", names)}
        else:
            found.add(place.with_suffix(".py"))
    return sorted(found)


class SourceCache(NullCache):
    """The cache of one function.

    Parameters
    ----------
    function : callable
        The Python function that is compiled.
    options : dict
        How it is compiled; other options are another file.
    missing : callable
        Called if it is not found, before it is compiled.
    """

    def __init__(self, function: Any, options: dict[str, Any], missing: Callable[[], None]):
        self._missing = missing
        code = function.__code__
        path = Path(code.co_filename)
        how = sorted((k, sorted(v) if isinstance(v, set) else v) for k, v in options.items())
        made_by = (sys.version, version("numba"), version("llvmlite"))
        made_for = (config.BOUNDSCHECK, config.OPT)
        self._name = f"{path.parent.name}.{path.stem}.{function.__qualname__}".replace(
            "<locals>", ""
        )
        sources = source_digest(path), source_digest(_PACKAGE / "dispatchers.py")
        self._key = repr((sources, code.co_firstlineno, how, made_by, made_for))

    @property
    def cache_path(self) -> str:
        return str(cache_folder())

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """Return what an earlier process compiled; None if there is nothing, or nothing sound."""
        found = self._load(sig, target_context)
        if found is None:
            self._missing()
        return found

    def _load(self, sig: Any, target_context: Any) -> CompileResult | None:
        target_context.refresh()
        path = self._path(sig, target_context.codegen())
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
        return CompileResult._rebuild(target_context, *loads(packed))

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function for later processes, if the disk allows it."""
        if data.lifted or data.library.has_dynamic_globals:  # refers to this process
            return
        packed = dumps(data._reduce())
        path = self._path(sig, data.codegen)
        try:
            _prepare_folder()
            _write_whole(path, hashlib.sha256(packed).digest() + packed)
        except OSError as error:
            _tell_once(f"{path.parent}: {error.strerror or error}")

    def _path(self, sig: Any, codegen: Any) -> Path:
        key = repr((self._key, str(sig), codegen.magic_tuple()))
        return cache_folder() / f"{self._name}-{hashlib.sha256(key.encode()).hexdigest()[:24]}.nbc"


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
