"""Options of estimators, structures, feature maps, solvers and losses: declared once, checked once.

A constructor's annotations are the declaration: `bias: bool`, `step: Literal["pairwise", ...]`,
`max_epochs: Count`, `domain: Domain | None`, or with what to do instead
`Annotated[float, Bounds(0), "For no bound give None."]`. `check_options` compares every option of
an object with them, and what is inside its options with their own. It is called wherever options
are about to be used: by `fit`, by packing, by solvers, by structures called by hand, and after
loading.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from functools import cache, lru_cache
from inspect import signature
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin.exceptions import OptionError

#: sizes above this overflow in compiled code
_LARGEST = 2**62
_PLAIN = (bool, int, float, str, NoneType)
#: whose members are looked at
_CONTAINERS = (list, tuple, Sequence, Collection, dict, Mapping)


class Bounds(NamedTuple):
    """Which numbers an option may be: low <= x <= high, without the ends where they are open."""

    low: float = -np.inf
    high: float = np.inf
    open_low: bool = False
    open_high: bool = False
    infinite: bool = False

    def contain(self, value: Any) -> bool:
        """Whether a number lies within; NaN never does."""
        above = value > self.low if self.open_low else value >= self.low
        below = value < self.high if self.open_high else value <= self.high
        endless = self.infinite and isinstance(value, float | np.floating)
        return bool(above and below and (endless or _is_finite(value)))

    def __str__(self) -> str:
        words = []
        if self.low > -np.inf:
            words.append(f"{'above' if self.open_low else 'at least'} {self.low:.15g}")
        if self.high < np.inf:
            words.append(f"{'below' if self.open_high else 'at most'} {self.high:.15g}")
        return " and ".join(words)


#: annotations of common options
Count = Annotated[int, Bounds(1)]
CountOrZero = Annotated[int, Bounds(0)]
#: of lengths in two spaces: their squares must be numbers
Ratio = Annotated[float, Bounds(1e-100, 1e100)]
#: of nodes, labels and the like, whose products are sizes of arrays
Size = Annotated[int, Bounds(1, 2**31 - 1)]
Positive = Annotated[float, Bounds(0, open_low=True)]
PositiveOrInf = Annotated[float, Bounds(0, open_low=True, infinite=True)]
NonNegative = Annotated[float, Bounds(0)]
#: alpha, which people would like to be chosen for them
Penalty = Annotated[
    float,
    Bounds(0),
    "Choose it on held-out samples, by scikit-learn's GridSearchCV or by paths.alpha_path.",
]
NonNegativeOrInf = Annotated[float, Bounds(0, infinite=True)]
Probability = Annotated[float, Bounds(0, 1)]
NJobs = Count | Annotated[int, Bounds(high=-1)] | None
Verbosity = CountOrZero | bool
Seed = CountOrZero | np.random.Generator | np.random.RandomState | None


def check_options(own: Any) -> None:
    """Raise an OptionError if an option of an object is not what its class declares.

    Parameters
    ----------
    own : object
        Its class stores each argument of `__init__` under the argument's name. Options that are
        objects with options are checked with it.
    """
    cls: Any = type(own)
    for name, hint in declared_options(cls).items():
        if name not in vars(own):
            continue
        value = getattr(own, name)
        kind: Any = type(value)
        if kind in _PLAIN:
            _check_plain(cls, name, kind, value)
        else:
            check_option(f"{cls.__name__}: {name}", value, hint)
            _check_inside(value)


@lru_cache(maxsize=4096)
def _check_plain(cls: Any, name: str, kind: Any, value: Any) -> None:
    """Structures are checked at every call, so that what was found right is remembered.

    kind : of the value, because 1 == 1.0 == True.
    """
    check_option(f"{cls.__name__}: {name}", value, declared_options(cls)[name])


def _check_inside(value: Any) -> None:
    if isinstance(value, list | tuple):
        for inner in value:
            _check_inside(inner)
    elif isinstance(value, BaseEstimator) or type(value).__module__.startswith("maxmargin."):
        check_options(value)


def check_option(name: str, value: Any, hint: Any) -> None:
    """Raise an OptionError if a value is not what an annotation says.

    Parameters
    ----------
    name : str
        What the error calls it, such as "Chain: tied".
    value : object
    hint : type or annotation
        Such as `Count` or `bool | None`.
    """
    if not _fits(value, hint):
        hints = "".join(f" {more}" for more in _hints(hint))
        raise OptionError(f"{name}={_shorten(value)} must be {_describe(hint)}.{hints}")


def _hints(hint: Any) -> list[str]:
    """What annotations say is to be done instead."""
    if get_origin(hint) in (Union, UnionType):
        return [own for one in get_args(hint) for own in _hints(one)]
    return [own for own in getattr(hint, "__metadata__", ()) if isinstance(own, str)]


@cache
def declared_options(cls: Any) -> dict[str, Any]:
    """The annotations of the constructor's arguments, by name."""
    if cls.__init__ is object.__init__:
        return {}
    try:
        hints = get_type_hints(cls.__init__, include_extras=True)
    except (NameError, AttributeError):  # of the user's, with names that exist for checkers only
        return {}
    arguments = signature(cls.__init__).parameters
    return {  # many write `x: int = None`
        name: hint | None if arguments[name].default is None and not _fits(None, hint) else hint
        for name, hint in hints.items()
        if name != "return"
    }


def _fits(value: Any, hint: Any) -> bool:
    if hint is Any:
        return True
    if isinstance(hint, type):  # first, because vocabularies are long
        return _is_of(value, hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        if not isinstance(arguments[1], Bounds):
            return _fits(value, arguments[0])
        kind_fits = _is_real(value) if arguments[0] is float else _fits(value, arguments[0])
        return kind_fits and arguments[1].contain(value)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in arguments)
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in arguments)
    return _fits_container(value, origin, arguments)


def _is_of(value: Any, cls: type) -> bool:
    if cls is bool:
        return isinstance(value, bool | np.bool_)
    if cls is int:
        whole = type(value) is int or (isinstance(value, Integral) and _is_real(value))
        return whole and abs(int(value)) <= _LARGEST
    if cls is float:
        return _is_real(value) and _is_finite(value)
    try:
        return isinstance(value, cls)
    except TypeError:  # of a protocol, which cannot be asked
        return True


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer that no float can hold
        return False


def _fits_container(value: Any, origin: Any, arguments: tuple[Any, ...]) -> bool:
    if origin is Callable:
        return callable(value)
    if origin not in _CONTAINERS or not arguments:  # people's own: left to type checkers
        return True
    if issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(
            _fits(key, arguments[0]) and _fits(one, arguments[1]) for key, one in value.items()
        )
    kinds = (Sequence, Set, np.ndarray) if origin is Collection else (Sequence, np.ndarray)
    if (
        isinstance(value, str | bytes)
        or not isinstance(value, kinds)
        or getattr(value, "shape", 1) == ()
    ):
        return False
    if origin is tuple and Ellipsis not in arguments:
        return len(value) == len(arguments) and all(map(_fits, value, arguments))
    return all(_fits(one, arguments[0]) for one in value)


def _describe(hint: Any) -> str:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        if not isinstance(arguments[1], Bounds):
            return _describe(arguments[0])
        kind = "a number" if arguments[1].infinite else _describe(arguments[0])
        return f"{kind} {arguments[1]}"
    if origin in (Union, UnionType):
        *others, last = [_describe(one) for one in arguments]
        return f"{', '.join(others)} or {last}"
    if origin is Literal:
        return " or ".join(repr(one) for one in arguments)
    if Callable in (origin, hint):
        return "a function"
    if origin is not None:
        return _describe_container(origin.__name__.lower(), arguments)
    names = {bool: "True or False", int: "an integer", float: "a finite number", str: "a string"}
    if hint in (None, NoneType):
        return "None"
    return names.get(hint, f"an object of class {getattr(hint, '__name__', hint)}")


def _describe_container(name: str, arguments: tuple[Any, ...]) -> str:
    if name == "tuple" and Ellipsis not in arguments:
        return f"a tuple ({', '.join(map(_describe, arguments))})"
    inner = [_describe_several(one) for one in arguments if one not in (Any, Ellipsis)]
    if name in ("mapping", "dict") and inner:
        return f"a {name} {'of' if len(inner) > 1 else 'to'} {' to '.join(inner)}"
    return f"a {name} of {', '.join(inner)}" if inner else f"a {name}"


def _describe_several(hint: Any) -> str:
    """The plural of what `_describe` says."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        if not isinstance(arguments[1], Bounds):
            return _describe_several(arguments[0])
        kind = "numbers" if arguments[1].infinite else _describe_several(arguments[0])
        return f"{kind} {arguments[1]}"
    if origin in (Union, UnionType):
        return " or ".join(_describe_several(one) for one in arguments)
    names = {int: "integers", float: "finite numbers", str: "strings"}
    if isinstance(hint, type) and origin is None and hint not in (bool, NoneType):
        return names.get(hint, f"{hint.__name__} objects")
    return _describe(hint)


def _shorten(value: Any) -> str:
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**60 else "(a huge integer)"
    return text if len(text) <= 60 else text[:57] + "..."
