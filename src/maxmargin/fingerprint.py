"""One number for all that objects consist of: options, arrays, and functions by their code."""

from __future__ import annotations

import copyreg
import dis
import functools
import inspect
import secrets
import sys
import sysconfig
import types
from collections import ChainMap
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import blake2b
from importlib.machinery import ModuleSpec
from importlib.util import resolve_name
from itertools import accumulate, count
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

#: packages whose functions and classes are known by their names, as those of Python itself
_NAMED = ("builtins", "maxmargin", "numpy", "scipy", "sklearn")
_PYTHON = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
_NUMBERS, _PROCESS = count(), secrets.token_hex(8)
_WRAPPERS = ("functools", "numba.")  # of functions that are cached or compiled
_PLAIN = (type(None), bool, int, float, complex, str, bytes)


def fingerprint(*values: Any) -> int:
    """The same in all processes for what is equal, another one, but for chance, for what is not.

    Functions and classes count by their code, with all that they refer to: defaults, closures and
    globals, and what they take from modules that are not installed as packages, those that they
    import within themselves, too (by their files as long as they are not loaded). Objects count by
    all attributes that copies of them have: not by values of a `functools.cached_property`, nor by
    what their `__getstate__` leaves out. What cannot be looked into (an object of compiled code,
    say) is never the same twice.

    Not seen are names that are made at run time (`getattr(module, "LIM" + "IT")`, or
    `import_module(name)`), files that functions read, and changes to installed packages.

    Parameters
    ----------
    *values : object

    Returns
    -------
    int
        From 1 to 2**48 - 1.
    """
    try:
        found = _digest(values, {})
    except RecursionError:  # too deep to be looked into
        found = _digest(_unknown(), {})
    return int.from_bytes(found[:6], "little") or 1


def own_attributes(value: BaseEstimator) -> dict[str, Any]:
    """Options, and what else was set on an object, but for what it finds by itself.

    Parameters
    ----------
    value : BaseEstimator

    Returns
    -------
    dict of str to object
        The options first.
    """
    options = value.get_params(deep=False)
    try:
        kept = _lasting(type(value), value.__getstate__())
    except Exception:  # whatever an object says that cannot be copied
        kept = _unknown()
    others = kept if isinstance(kept, dict) else {"": kept}
    return options | {name: own for name, own in others.items() if name not in options}


def _unknown() -> str:
    return f"unknown {next(_NUMBERS)} {_PROCESS}"


def _digest(value: Any, known: dict[int, tuple[Any, bytes]]) -> bytes:
    """Known : of objects by their addresses, which are kept, lest another one get the address."""
    if type(value) in _PLAIN or isinstance(value, np.generic):
        return _joined(type(value).__name__.encode(), repr(value).encode())
    if type(value) in (np.ndarray, np.memmap) and not value.dtype.hasobject:
        kind = f"{value.dtype.str}{value.dtype.names or ''}"
        return _joined(kind.encode(), repr(value.shape).encode(), value.tobytes())
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
    if type(value) in (list, tuple, set, frozenset):
        yield from value
    elif type(value) is dict:
        yield from value.items()
    elif isinstance(value, set | frozenset):  # in no order, which copies do not say
        yield from (type(value), getattr(value, "__dict__", None), *value)
    elif type(value) is np.ndarray and value.dtype == object:
        yield from (value.shape, *value.ravel())
    elif sparse.issparse(value):
        own = value.tocsr()
        yield from (own.shape, own.indptr, own.indices, own.data)
    elif isinstance(value, types.ModuleType):
        yield value.__name__
        if _is_own(value):
            yield from _contents(value)
    elif isinstance(value, types.CodeType):
        yield from (value.co_code, value.co_names, value.co_consts, value.co_exceptiontable)
    elif isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
        yield from _definition(value)
    elif isinstance(value, types.MethodType | staticmethod | classmethod):
        yield from (getattr(value, "__self__", None), value.__func__)
    elif isinstance(value, property):
        yield from (value.fget, value.fset)
    elif isinstance(value, functools.cached_property):
        yield value.func
    elif isinstance(value, functools.partial):
        yield from (value.func, value.args, value.keywords, vars(value))
    elif hasattr(value, "__wrapped__") and type(value).__module__.startswith(_WRAPPERS):
        yield value.__wrapped__
    else:
        yield type(value)
        yield from _state(value)


def _definition(value: Any) -> Iterator[Any]:
    """A function or class: its name, and its code where that is not of a package known by name."""
    yield from (value.__module__, value.__qualname__)
    if isinstance(value, types.BuiltinFunctionType):
        yield value.__self__  # an object, if it is a method, or a module
    elif _is_named(value.__module__):
        return
    elif isinstance(value, type):
        yield from (value.__bases__, type(value), *_contents(value))
    else:
        yield from (value.__code__, value.__defaults__, value.__kwdefaults__, vars(value))
        cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        closure = {name: cell.cell_contents for name, cell in cells if _filled(cell)}
        codes = list(_codes(value.__code__))
        names = [*closure, *(name for code in codes for name in code.co_names)]
        names += [own for code in codes for own in code.co_consts if isinstance(own, str)]
        place, seen = value.__globals__, set[Any]()
        yield from _objects_named(names, ChainMap(closure, place), seen)
        package = place.get("__package__") or str(place.get("__name__")).rpartition(".")[0]
        yield from _imported(names, codes, package, seen)


def _contents(value: Any) -> Iterator[Any]:
    """What a class or a module has, with the file of a module that is compiled."""
    for name, own in vars(value).items():
        if name != "_abc_impl" and (callable(own) or not name.startswith("__")):
            yield from (name, own)
    file = getattr(value, "__file__", None)
    if isinstance(value, types.ModuleType) and file and not file.endswith(".py"):
        yield Path(file).read_bytes()


def _objects_named(names: list[str], place: Mapping[str, Any], seen: set[Any]) -> Iterator[Any]:
    """What has one of the names in a place, and in the modules of a project that are found."""
    found = {name: place[name] for name in names if name in place}
    modules = [own for own in found.values() if _is_own(own)]
    yield {name: own.__name__ if _is_own(own) else own for name, own in found.items()}
    for module in modules:
        if id(module) not in seen:
            seen.add(id(module))
            yield from _objects_named(names, vars(module), seen)


def _imported(
    names: list[str], codes: list[types.CodeType], package: str, seen: set[Any]
) -> Iterator[Any]:
    """What has one of the names in modules that code imports; the files of those not loaded."""
    for found in (
        own for code in codes for name in _imports(code, package) for own in _modules_on_path(name)
    ):
        if isinstance(found, types.ModuleType):
            yield from _objects_named([*names, found.__name__], {found.__name__: found}, seen)
        elif found.has_location and found.name not in seen:
            seen.add(found.name)
            source = Path(found.origin).read_bytes()
            yield from (found.name, source)
            with suppress(SyntaxError, ValueError):  # no source but compiled, say
                inner = list(_codes(compile(source, found.origin, "exec")))
                yield from _imported(names, inner, found.parent, seen)


def _imports(code: types.CodeType, package: str) -> Iterator[str]:
    """Full names of modules that code imports, and of what it takes from them: modules, maybe."""
    steps = [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]
    for level, taken, step in zip(steps, steps[1:], steps[2:], strict=False):
        if step.opname == "IMPORT_NAME":
            with suppress(ImportError):  # within no package: the import itself will fail
                name = resolve_name("." * level.argval + step.argval, package)
                yield from (name, *(f"{name}.{own}" for own in taken.argval or ()))


def _modules_on_path(name: str) -> Iterator[Any]:
    """The modules of a project on the way to one, or the specs of those that are not loaded."""
    path = None
    for full in accumulate(name.split("."), "{}.{}".format):
        found: Any = None if _is_named(full) else sys.modules.get(full)
        if found is None and not _is_named(full):  # importlib's find_spec would load packages
            specs = (finder.find_spec(full, path) for finder in sys.meta_path)
            found = next(filter(None, specs), None)
        if _is_own(found):
            yield found
        path = getattr(found, "__path__", getattr(found, "submodule_search_locations", None))
        if path is None:
            return


def _is_own(value: Any) -> bool:
    """Whether it is a module that may change, or its spec: not of an installed package."""
    if isinstance(value, ModuleSpec):
        name, file = value.name, value.origin
    elif isinstance(value, types.ModuleType):
        name, file = value.__name__, getattr(value, "__file__", None)
    else:
        return False
    installed = {"site-packages", "dist-packages"} & set(Path(file or "").parts)
    return not (_is_named(name) or installed)


def _is_named(module: str | None) -> bool:
    """Whether all in a module is known by name; one may have the name of one of Python's."""
    top = str(module).split(".")[0]
    if top not in sys.stdlib_module_names:
        return top in _NAMED
    file = getattr(sys.modules.get(top), "__file__", None)
    return file is None or file.startswith(_PYTHON)


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
        yield own_attributes(value)
        return
    if type(value).__qualname__ == "Result" and type(value).__module__ == "maxmargin.result":
        yield value.w  # the rest is how it was found, and in which time
        return
    try:
        reduced = copyreg.dispatch_table.get(type(value))  # before the object's own, as copy does
        found = value.__reduce_ex__(4) if reduced is None else reduced(value)
    except Exception:  # whatever an object says that cannot be copied
        yield _unknown()
        return
    if isinstance(found, str):  # its name
        yield from (found, sys.modules.get(getattr(value, "__module__", "")))
        return
    yield from (*found[:2], *(_lasting(type(value), own) for own in found[2:3]))
    for items in found[3:5]:
        yield None if items is None else list(items)
    if isinstance(value, np.ndarray):
        yield getattr(value, "__dict__", None)


def _lasting(cls: type, state: Any) -> Any:
    """The state of an object of a class, by name, without what it has found and can find again."""
    if isinstance(state, tuple) and len(state) == 2:  # of attributes and slots
        return tuple(_lasting(cls, own) for own in state)
    if not isinstance(state, dict):
        return state
    return {
        name: state[name]
        for name in sorted(state, key=str)
        if not isinstance(inspect.getattr_static(cls, str(name), None), functools.cached_property)
    }
