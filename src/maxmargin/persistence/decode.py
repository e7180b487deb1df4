"""From the tree in a model file back to the model."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.exceptions import ModelFileError
from maxmargin.persistence.encode import GENERATORS, MAX_DEPTH
from maxmargin.persistence.members import array_type, text_type
from maxmargin.persistence.model_file import Contents
from maxmargin.persistence.objects import put_together
from maxmargin.persistence.registry import class_named
from maxmargin.validation.learned import check_hashes

#: about what Python takes for an item of a list with its text or number
ITEM_BYTES = 64
#: what parts that do not go together raise
WRONG_PARTS = (
    TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError, RecursionError,
)  # fmt: skip


def decode_model(path: str | os.PathLike, contents: Contents, oracle: Any = None) -> Any:
    """The model that a file holds; oracle : what a structure needs that no file holds."""
    try:
        return Decoder(contents.arrays, contents.allowance, oracle).decode(contents.tree)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)!r} cannot be loaded: {error}") from error
    except WRONG_PARTS as error:
        raise ModelFileError(
            f"{os.fspath(path)!r} cannot be loaded: its parts do not make a model ({error})."
        ) from error


class Decoder:
    """Decodes one model. `allowance` bounds what is allocated besides the arrays."""

    def __init__(self, arrays: dict[str, np.ndarray], allowance: int, oracle: Any = None):
        self._arrays = arrays
        self._oracle = oracle
        self._left = allowance
        self._depth = 0
        self._kinds: dict[str, Callable[..., Any]] = {
            "object": self._object,
            "float": self._float,
            "bytes": lambda hex: bytes.fromhex(hex),
            "tuple": lambda items: tuple(self._items(items)),
            "dict": self._dict,
            "set": lambda items: set(self._keys(items)),
            "frozenset": lambda items: frozenset(self._keys(items)),
            "floats": lambda member: self._numbers(member, "f", 1).tolist(),
            "ints": lambda member: self._numbers(member, "i", 1).tolist(),
            "int_tuples": lambda member: list(map(tuple, self._numbers(member, "i", 2).tolist())),
            "count": self._count,
            "texts": self._texts,
            "array": lambda member: self._arrays[member],
            "text_array": self._text_array,
            "object_array": self._object_array,
            "scalar": self._scalar,
            "csr_array": lambda **parts: self._csr(sparse.csr_array, **parts),
            "csr_matrix": lambda **parts: self._csr(sparse.csr_matrix, **parts),
            "generator": self._generator,
            "random_state": self._random_state,
        }

    def decode(self, node: Any) -> Any:
        """The value that a node of the tree stands for."""
        if node is None or isinstance(node, bool | int | float | str):
            return node
        if self._depth > MAX_DEPTH:
            raise ModelFileError("its parts are nested too deeply.")
        self._depth += 1
        try:
            if isinstance(node, list):
                return [self.decode(item) for item in node]
            kind = node.get("is")
            if not isinstance(kind, str) or kind not in self._kinds:
                raise ModelFileError(f"it has a part of the unknown kind {str(kind)[:40]!r}.")
            return self._kinds[kind](**{k: v for k, v in node.items() if k != "is"})
        finally:
            self._depth -= 1

    def _items(self, node: Any) -> list[Any]:
        items = self.decode(node)
        if not isinstance(items, list):
            raise ModelFileError("it has something else where a list belongs.")
        return items

    def _keys(self, node: Any) -> list[Any]:
        """Items that differ and can be told apart by their hashes."""
        items = self._items(node)
        check_hashes(items)
        if len(set(items)) != len(items):
            raise ModelFileError("it has a key twice.")
        return items

    def _size(self, size: Any) -> int:
        if type(size) is not int or size < 0:
            raise ModelFileError(f"it has the size {str(size)[:40]}, which is impossible.")
        return size

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ModelFileError("its lists take more memory than allowed; see max_bytes.")

    # -- objects -----------------------------------------------------------------------------------
    def _object(self, facts: Any, options: Any = None, **rest: Any) -> Any:
        name = rest.pop("class")
        if rest:
            raise ModelFileError("it has an object with unknown parts.")
        cls = class_named(name)
        given, learned = (
            {k: self.decode(v) for k, v in (part or {}).items()} for part in (options, facts)
        )
        return put_together(cls, given, learned, self._oracle)

    # -- numbers and containers --------------------------------------------------------------------
    def _float(self, value: str) -> float:
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[value]

    def _dict(self, keys: Any, values: Any) -> dict[Any, Any]:
        return dict(zip(self._keys(keys), self._items(values), strict=True))

    def _count(self, start: int, length: int) -> list[int]:
        self._spend(ITEM_BYTES * self._size(length))
        if not -(2**63) <= start < 2**63:
            raise ModelFileError("it counts beyond what numbers of 64 bits hold.")
        return list(range(start, start + length))

    def _numbers(self, member: str, kind: str, ndim: int) -> np.ndarray:
        array = self._arrays[member]
        if array.dtype.kind != kind or array.ndim != ndim:
            raise ModelFileError(f"{member} is not the list of numbers that it should be.")
        self._spend(ITEM_BYTES * (array.size + len(array)))
        return array

    def _texts(self, text: str, lengths: str) -> list[str]:
        raw, sizes = self._arrays[text], self._arrays[lengths]
        if raw.dtype != np.uint8 or raw.ndim != 1 or sizes.dtype.kind != "u" or sizes.ndim != 1:
            raise ModelFileError(f"{text} and {lengths} are not the texts that they should be.")
        self._spend(4 * len(raw) + ITEM_BYTES * len(sizes))
        everything = raw.tobytes().decode("utf-8", "surrogatepass")
        ends = [0, *np.cumsum(sizes, dtype=np.uint64).tolist()]
        if ends[-1] != len(everything):
            raise ModelFileError(f"{lengths} does not go with {text}.")
        return [everything[a:b] for a, b in pairwise(ends)]

    # -- numpy and scipy ---------------------------------------------------------------------------
    def _text_array(self, dtype: Any, shape: list[int], items: Any) -> np.ndarray:
        texts = self._items(items)
        kind = text_type(dtype)
        if not all(type(text) is str for text in texts):
            raise ModelFileError("it has something else where a text belongs.")
        self._spend(kind.itemsize * len(texts))
        return np.array(texts, dtype=kind).reshape([self._size(side) for side in shape])

    def _object_array(self, shape: list[int], items: Any) -> np.ndarray:
        values = self._items(items)
        array = np.empty(len(values), dtype=object)
        for i, value in enumerate(values):  # numpy would make lists inside into further axes
            array[i] = value
        return array.reshape([self._size(side) for side in shape])

    def _scalar(self, dtype: str, value: Any) -> np.generic:
        if dtype == "U":
            return np.str_(self.decode(value))
        if dtype == "S":
            return np.bytes_(self.decode(value))
        return np.frombuffer(bytes.fromhex(value), dtype=array_type(dtype), count=1)[0]

    def _csr(self, kind: Any, shape: list[int], data: Any, indices: Any, indptr: Any) -> Any:
        parts = [self.decode(part) for part in (data, indices, indptr)]
        if not all(isinstance(part, np.ndarray) and part.ndim == 1 for part in parts):
            raise ModelFileError("a sparse matrix lacks its arrays.")
        matrix = kind(tuple(parts), shape=tuple(self._size(side) for side in shape))
        matrix.check_format(full_check=True)
        return matrix

    def _generator(self, state: Any) -> np.random.Generator:
        generator_state = check_generator_state(self.decode(state))
        if generator_state["bit_generator"] not in GENERATORS:
            raise ModelFileError("it has a random generator of an unknown kind.")
        bits = getattr(np.random, generator_state["bit_generator"])(0)
        bits.state = generator_state
        return np.random.Generator(bits)

    def _random_state(self, state: Any) -> np.random.RandomState:
        found = np.random.RandomState(0)
        found.set_state(check_generator_state(self.decode(state)))
        return found


def check_generator_state(state: Any) -> dict[str, Any]:
    """The state of a random generator, if numpy may be given it: it trusts the position."""
    if state["bit_generator"] == "MT19937" and not 0 <= state["state"]["pos"] <= 624:
        raise ModelFileError("it has a random generator out of its range.")
    return state
