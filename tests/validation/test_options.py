"""Declared options: what fits, what does not, and how the error reads."""

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    NewType,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.base import BaseEstimator

from maxmargin import ChainSVM, StructuredSVM
from maxmargin.exceptions import OptionError
from maxmargin.losses import Hamming
from maxmargin.persistence import registry
from maxmargin.tasks import SequenceTagger
from maxmargin.validation.learned import learned_attributes
from maxmargin.validation.options import (
    Bounds,
    Count,
    Positive,
    check_option,
    check_options,
    declared_options,
)


class Inner(BaseEstimator):
    def __init__(self, size: Count = 3):
        self.size = size


class Outer(BaseEstimator):
    def __init__(
        self,
        flag: bool = True,
        count: Count = 1,
        scale: Positive = 1.0,
        share: Annotated[float, Bounds(0, 1, open_high=True)] = 0.5,
        limit: Annotated[float, Bounds(0, infinite=True)] | None = None,
        kind: Literal["a", "b", 4] = "a",
        names: Sequence[str] = (),
        pairs: Sequence[tuple[int, str]] = (),
        weights: Mapping[Any, float] | None = None,
        function: Callable[[int], int] | None = None,
        inner: Inner | Literal["auto"] = "auto",
        free: Any = None,
    ):
        self.flag = flag
        self.count = count
        self.scale = scale
        self.share = share
        self.limit = limit
        self.kind = kind
        self.names = names
        self.pairs = pairs
        self.weights = weights
        self.function = function
        self.inner = inner
        self.free = free


GOOD = [
    ("flag", [False, np.True_]),
    ("count", [1, np.int32(7), 2**40]),
    ("scale", [1e-300, 3, np.float32(2.5)]),
    ("share", [0, 0.0, 0.999]),
    ("limit", [None, 0, np.inf]),
    ("kind", ["b", 4]),
    ("names", [["x"], ("x", "y"), np.array(["x"])]),
    ("pairs", [[(1, "x")], [[1, "x"]]]),
    ("weights", [None, {"x": 1.0}]),
    ("function", [None, abs]),
    ("inner", ["auto", Inner(5)]),
    ("free", [object()]),
]
BAD = [
    ("flag", [-1, 0, 0.5, "yes", None]),
    ("count", [0, -1, 1.0, True, np.nan, "1", 2**70]),
    ("scale", [0, -1.0, np.nan, np.inf, True, "1", 10**400, 1j]),
    ("share", [1.0, -1e-9, np.nan]),
    ("limit", [-1, np.nan]),
    ("kind", ["c", 4.0, None, ["a"]]),
    ("names", ["x", [1], None, {"x"}]),
    ("pairs", [[(1,)], [("x", 1)], ["1x"]]),
    ("weights", [[1.0], "x"]),
    ("function", ["abs"]),
    ("inner", ["none", Inner, Inner(0)]),
]


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in GOOD for v in values])
def test_what_fits(name, value):
    check_options(Outer(**{name: value}))


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in BAD for v in values])
def test_what_does_not_fit_is_named(name, value):
    named = "size" if isinstance(value, Inner) else name
    with pytest.raises(OptionError, match=f"{named}=.* must be "):
        check_options(Outer(**{name: value}))


def test_error_says_what_is_expected():
    with pytest.raises(OptionError, match=r"^Outer: count=0 must be an integer at least 1\.$"):
        check_options(Outer(count=0))
    with pytest.raises(OptionError, match=r"^Outer: kind='c' must be 'a' or 'b' or 4\.$"):
        check_options(Outer(kind="c"))


def test_values_found_right_do_not_vouch_for_equal_ones_of_other_types():
    check_options(Outer(flag=True, count=1))
    for wrong in ({"count": True}, {"count": 1.0}, {"flag": 1}):
        with pytest.raises(OptionError):
            check_options(Outer(**wrong))


T = TypeVar("T")


class Able(Protocol):
    def go(self) -> None: ...


class Box(Generic[T]):
    pass


class Own(BaseEstimator):
    """Annotated as people do, for type checkers and not for us."""

    def __init__(
        self,
        array: npt.NDArray[np.float64],
        like: npt.ArrayLike,
        able: Able,
        path: os.PathLike[str],
        names: Iterable[str],
        labels: set[int],
        box: Box[int],
        anything: T,  # noqa: RUF100
        number: NewType("Number", int),
        size: int = None,  # noqa: RUF013
    ):
        self.array = array
        self.like = like
        self.able = able
        self.path = path
        self.names = names
        self.labels = labels
        self.box = box
        self.anything = anything
        self.number = number
        self.size = size


def test_annotations_that_say_other_things_refuse_nothing():
    own = Own(np.ones(3), [1, 2], object(), Path("x"), iter("ab"), {1}, Box(), 3, 4)
    check_options(own)
    with pytest.raises(OptionError, match="size='x' must be an integer or None"):
        check_options(own.set_params(size="x"))


def is_understood(hint):
    if isinstance(hint, type) or hint is Any:
        return True
    inner = [one for one in get_args(hint) if one is not Ellipsis]
    if get_origin(hint) in (Literal, Callable):
        return True
    if get_origin(hint) is Annotated:
        return is_understood(inner[0])
    known = (Union, UnionType, list, tuple, Sequence, Collection, dict, Mapping)
    return get_origin(hint) in known and all(map(is_understood, inner))


@pytest.mark.parametrize("name", sorted(registry.known_names()))
def test_all_annotations_of_the_library_are_understood(name):
    cls = registry.class_named(name)
    hints = declared_options(cls) | learned_attributes(cls)
    assert [name for name, hint in hints.items() if not is_understood(hint)] == []


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: ChainSVM(callbacks=[3]), "callbacks=.3. must be a sequence of Callback objects"),
        (lambda: ChainSVM(alpha="auto"), "alpha='auto' .* GridSearchCV or by paths.alpha_path"),
        (lambda: SequenceTagger(alpha="auto"), "at least 0 or None. Choose it .* GridSearchCV"),
        (lambda: Hamming(class_weight=3), "must be a mapping to finite numbers at least 0, a seq"),
        (lambda: StructuredSVM(max), r"class Structure. .* Structure.from_oracle\(function\)"),
    ],
)
def test_errors_say_what_to_do(make, text):
    with pytest.raises(OptionError, match=text):
        check_options(make())


def test_several_of_a_kind_are_told_in_the_plural():
    for hint, text in (
        (tuple[int, float], "a tuple (an integer, a finite number)"),
        (list[int | str], "a list of integers or strings"),
        (Sequence[Count], "a sequence of integers at least 1"),
        (Mapping[str, Any], "a mapping to strings"),
        (dict[str, Annotated[float, Bounds(0, infinite=True)]], "a dict of strings to numbers at"),
    ):
        with pytest.raises(OptionError, match=re.escape(f"must be {text}")):
            check_option("x", None, hint)
