"""From a model to a tree that JSON can hold, with its arrays set aside."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from maxmargin.persistence.objects import learned_state, options_of
from maxmargin.persistence.registry import name_of
from maxmargin.result import State

#: levels of lists and objects inside each other, when writing and when reading
MAX_DEPTH = 60
#: shorter lists of numbers or texts stay in the header, where people can read them
FEW = 32
#: bits of an integer; far below the length at which Python refuses to read one
MAX_BITS = 8192
#: generators whose state can be checked when it is read
GENERATORS = ("PCG64", "MT19937")
#: kinds of dtype that are stored as they are
PLAIN_KINDS = "biufcSmM"

Path = tuple[str, ...]


class Encoder:
    """Encodes one model; `arrays` are its arrays, each once, whoever shares it."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self._members: dict[tuple[Any, ...], str] = {}
        self._kinds: dict[type, Callable[[Any, Path], Any]] = {
            type(None): lambda value, path: value,
            bool: lambda value, path: value,
            str: lambda value, path: value,
            int: self._int,
            float: self._float,
            bytes: lambda value, path: {"is": "bytes", "hex": value.hex()},
            list: self._list,
            tuple: lambda value, path: {"is": "tuple", "items": self._list(value, path)},
            dict: self._dict,
            set: self._set,
            frozenset: self._set,
            np.ndarray: self._array,
            np.memmap: self._array,
            sparse.csr_array: self._csr,
            sparse.csr_matrix: self._csr,
            np.random.Generator: self._generator,
            np.random.RandomState: self._generator,
        }

    def encode(self, value: Any, path: Path) -> Any:
        """The value as a tree; path says where it is, for errors."""
        if len(path) > MAX_DEPTH:
            where = ".".join(path[:4])
            raise TypeError(f"{where}... is nested too deeply to be saved, or contains itself.")
        kind = self._kinds.get(type(value))
        if kind is not None:
            return kind(value, path)
        if isinstance(value, np.generic):
            return self._scalar(value, path)
        return self.encode_object(value, path)

    # -- objects -----------------------------------------------------------------------------------
    def encode_object(self, value: Any, path: Path) -> dict[str, Any]:
        """An object of a registered class; anything else is a TypeError."""
        if isinstance(value, State):  # without what only its solver understands
            value = value.as_class(State)
        name = name_of(type(value))
        if name is None:
            raise _refusal(value, path)
        node: dict[str, Any] = {"is": "object", "class": name}
        if isinstance(value, BaseEstimator):
            node["options"] = self._encode_named(options_of(value), path)
        node["facts"] = self._encode_named(learned_state(value), path)
        return node

    def _encode_named(self, values: dict[str, Any], path: Path) -> dict[str, Any]:
        return {name: self.encode(value, (*path, name)) for name, value in values.items()}

    # -- numbers and containers --------------------------------------------------------------------
    def _int(self, value: int, path: Path) -> int:
        if value.bit_length() > MAX_BITS:
            raise TypeError(f"{_where(path)} is an integer too long to be saved.")
        return value

    def _float(self, value: float, path: Path) -> Any:
        return value if math.isfinite(value) else {"is": "float", "value": repr(value)}

    def _list(self, value: list[Any] | tuple[Any, ...], path: Path) -> Any:
        packed = self._packed(value) if len(value) >= FEW else None
        if packed is not None:
            return packed
        return [self.encode(item, (*path, f"[{i}]")) for i, item in enumerate(value)]

    def _dict(self, value: dict[Any, Any], path: Path) -> dict[str, Any]:
        if all(isinstance(key, str) for key in value) and len(value) < FEW:
            values = [self.encode(item, (*path, f"[{key!r}]")) for key, item in value.items()]
        else:
            values = self._list(list(value.values()), (*path, "values()"))
        return {"is": "dict", "keys": self._list(list(value), (*path, "keys()")), "values": values}

    def _set(self, value: set[Any] | frozenset[Any], path: Path) -> dict[str, Any]:
        items = [self.encode(item, (*path, "item")) for item in value]
        items.sort(key=json.dumps)  # the order of a set changes from run to run
        return {"is": type(value).__name__, "items": items}

    def _packed(self, items: list[Any] | tuple[Any, ...]) -> dict[str, Any] | None:
        """Many texts, numbers, or tuples of integers, as arrays; None if they are neither."""
        kinds = set(map(type, items))
        if kinds == {str}:
            return self._texts(items)
        if kinds == {float}:
            return {"is": "floats", "member": self._member(np.array(items))}
        if kinds == {int}:
            if list(items) == list(range(items[0], items[0] + len(items))):
                return {"is": "count", "start": items[0], "length": len(items)}
            return self._ints("ints", items)
        same_length = kinds == {tuple} and len(set(map(len, items))) == 1
        if same_length and set(map(type, chain.from_iterable(items))) == {int}:
            return self._ints("int_tuples", items)
        return None

    def _ints(self, kind: str, items: Any) -> dict[str, Any] | None:
        try:
            return {"is": kind, "member": self._member(np.array(items, dtype=np.int64))}
        except OverflowError:
            return None

    def _texts(self, items: Any) -> dict[str, Any]:
        """All texts in one buffer of UTF-8, and how many characters each has."""
        text = "".join(items).encode("utf-8", "surrogatepass")
        lengths = np.fromiter(map(len, items), dtype=np.int64, count=len(items))
        lengths = lengths.astype(np.min_scalar_type(int(lengths.max())))
        characters = self._member(np.frombuffer(text, dtype=np.uint8))
        return {"is": "texts", "text": characters, "lengths": self._member(lengths)}

    # -- numpy and scipy ---------------------------------------------------------------------------
    def _member(self, array: np.ndarray) -> str:
        name = f"a{len(self.arrays)}.npy"
        self.arrays.append(array)
        return name

    def _array(self, value: np.ndarray, path: Path) -> dict[str, Any]:
        kind = value.dtype.kind
        shape = list(value.shape)
        if kind == "O":
            items = self._list(value.ravel().tolist(), path)
            return {"is": "object_array", "shape": shape, "items": items}
        if kind == "U":
            texts = self._list(value.ravel().tolist(), path)
            return {"is": "text_array", "dtype": value.dtype.str, "shape": shape, "items": texts}
        if kind not in PLAIN_KINDS or value.dtype.names or value.dtype.itemsize == 0:
            raise TypeError(
                f"{_where(path)} is an array of dtype {value.dtype}, which cannot be saved;"
                " use numbers, bools or str."
            )
        # by their memory, so that views which objects share are written once
        key = value.__array_interface__["data"][0], value.shape, value.strides, value.dtype
        if key not in self._members:
            self._members[key] = self._member(value)
        return {"is": "array", "member": self._members[key]}

    def _scalar(self, value: np.generic, path: Path) -> dict[str, Any]:
        if type(value) in (np.str_, np.bytes_):
            plain = value.item()
            return {"is": "scalar", "dtype": value.dtype.kind, "value": self.encode(plain, path)}
        if value.dtype.kind not in PLAIN_KINDS:
            raise _refusal(value, path)
        return {"is": "scalar", "dtype": value.dtype.str, "value": value.tobytes().hex()}

    def _csr(self, value: Any, path: Path) -> dict[str, Any]:
        return {
            "is": type(value).__name__,
            "shape": [int(size) for size in value.shape],
            "data": self._array(value.data, path),
            "indices": self._array(value.indices, path),
            "indptr": self._array(value.indptr, path),
        }

    def _generator(
        self, value: np.random.Generator | np.random.RandomState, path: Path
    ) -> dict[str, Any]:
        if isinstance(value, np.random.Generator):
            kind, state = "generator", value.bit_generator.state
        else:
            kind, state = "random_state", value.get_state(legacy=False)
        name = state["bit_generator"]
        if name not in GENERATORS:
            raise TypeError(
                f"{_where(path)} is a generator of kind {name}, which cannot be saved; use"
                " numpy.random.default_rng, or an integer as seed."
            )
        return {"is": kind, "state": self._dict(dict(state), path)}


def _where(path: Path) -> str:
    return ".".join(path).replace(".[", "[")


def _refusal(value: Any, path: Path) -> TypeError:
    """Why a value cannot be saved, and what to do."""
    kind, where = type(value), _where(path)
    if callable(value) and hasattr(value, "__qualname__"):
        if path[-1] == "kernel":
            return TypeError(
                f"{where} is {value.__qualname__!r}, a function: code is not saved. Use a named"
                " kernel, or make it an object of a class with __call__ and register that with"
                " maxmargin.persistence.register(cls), here and where the model is loaded."
            )
        return TypeError(
            f"{where} is {value.__qualname__!r}, a function or class: code is not saved. For costs"
            " of your own, define a Loss class and register it with"
            " maxmargin.persistence.register(cls)."
        )
    plain = next(
        (base for base in (dict, list, tuple, set, str, int) if isinstance(value, base)), None
    )
    if plain is not None and not hasattr(value, "_asdict"):
        return TypeError(
            f"{where} is a {kind.__module__}.{kind.__qualname__}, which cannot be saved; make it a"
            f" plain {plain.__name__}."
        )
    return TypeError(
        f"{where} is a {kind.__module__}.{kind.__qualname__}, which cannot be saved. If the class"
        " is yours, register it with maxmargin.persistence.register(cls), here and where the"
        " model is loaded; or save coef_ by yourself, e.g. with numpy.save."
    )
