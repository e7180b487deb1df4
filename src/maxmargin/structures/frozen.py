"""Layouts that cannot change: compiled code trusts what their constructors checked."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from maxmargin.validation.learned import Checked


class Frozen(Checked):
    """An object that the arguments of its constructor tell wholly. Equal if these are equal.

    The constructor stores checked copies of its arguments, see `read_only`. Copies, pickles and
    model files hold the arguments only, and go through the constructor again.
    """

    #: attributes that are arguments of the constructor
    fields: ClassVar[tuple[str, ...]] = ()

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.fields}

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.__getstate__())

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__:
            raise AttributeError(
                f"a {type(self).__name__} is frozen: make a new one to change {name}."
            )
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a {type(self).__name__} is frozen: {name} cannot be deleted.")

    def _key(self) -> tuple[Any, ...]:
        return tuple(_comparable(value) for value in self.__getstate__().values())

    @cached_property
    def _hash(self) -> int:
        return hash((type(self), self._key()))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other) or not isinstance(other, Frozen):
            return NotImplemented
        return self._hash == other._hash and self._key() == other._key()


def _rebuild(cls: type[Frozen], arguments: dict[str, Any]) -> Frozen:
    return cls(**arguments)


def _comparable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    if sparse.issparse(value):
        return value.shape, *(_comparable(a) for a in (value.indptr, value.indices, value.data))
    return value


def read_only(values: Any) -> Any:
    """The same array, or CSR matrix, which can no longer be written to."""
    arrays = (values.indptr, values.indices, values.data) if sparse.issparse(values) else (values,)
    for array in arrays:
        array.setflags(write=False)
    return values
