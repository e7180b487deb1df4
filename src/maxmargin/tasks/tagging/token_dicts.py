"""Features of tokens given as dicts, the way sklearn-crfsuite takes them."""

import itertools
import math
import numbers
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array, get_index_dtype

from maxmargin.tasks.tagging.token_templates import intern_values
from maxmargin.validation.learned import Checked
from maxmargin.validation.options import Count, CountOrZero, check_option

Locate = Callable[[int], str]


class DictIndex(Checked):
    """Column numbers of the features in dict tokens, learned from a corpus.

    Each distinct (key, value) pair is looked at once; the corpus is then a list of pair numbers,
    so Python's work per feature is one dictionary look-up inside a C loop. `locate` turns the
    number of a token into words for an error message.
    """

    numbers: dict[str, int]
    n_features: CountOrZero

    def __init__(self, min_count: Count = 1):
        self.min_count = min_count

    def fit(self, tokens: list[dict], locate: Locate) -> csr_array:
        """Learn the features of the tokens; return their rows."""
        found: dict[str, int] = {}
        rows = _rows(tokens, locate, lambda name: found.setdefault(name, len(found)))
        matrix = _matrix(rows, len(found))
        keep = np.bincount(matrix.indices, minlength=len(found)) >= self.min_count
        kept = itertools.compress(found, keep.tolist())
        self.numbers = {name: number for number, name in enumerate(kept)}
        self.n_features = len(self.numbers)
        return matrix if keep.all() else matrix[:, np.flatnonzero(keep)]

    def encode(self, tokens: list[dict], locate: Locate) -> csr_array:
        """Rows of the learned features."""
        rows = _rows(tokens, locate, lambda name: self.numbers.get(name, -1))
        return _matrix(rows, self.n_features)

    def validate(self) -> None:
        """Features are numbered as `fit` does it, on which compiled code relies."""
        check_option("DictIndex: min_count", self.min_count, Count)
        if list(self.numbers.values()) != list(range(self.n_features)):
            raise ValueError("DictIndex: its features are not numbered from 0 on")

    def names(self) -> list[str]:
        """Names of all features, in order."""
        return list(self.numbers)


def _matrix(rows: tuple[np.ndarray, np.ndarray, np.ndarray], n_features: int) -> csr_array:
    matrix = csr_array(rows, shape=(len(rows[2]) - 1, n_features))
    # {"a": "b", "a=b": 1.0} names one feature twice
    matrix.sum_duplicates()
    return matrix


def _rows(
    tokens: list[dict], locate: Locate, number: Callable[[str], int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """CSR arrays (data, indices, indptr); features that `number` maps to -1 are left out."""
    pairs: list[Any] = [token.items() for token in tokens]
    try:
        ids, distinct = intern_values(itertools.chain.from_iterable(pairs))
    except TypeError:  # lists, sets and dicts are not hashable
        pairs = [_hashable_pairs(token, row, locate) for row, token in enumerate(tokens)]
        ids, distinct = intern_values(itertools.chain.from_iterable(pairs))
    ends = np.concatenate([[0], np.cumsum(np.fromiter(map(len, pairs), np.int64, len(pairs)))])

    stops, column, value = [0], [], []
    for i, (key, given) in enumerate(distinct):
        try:
            for name, amount in _features(key, given):
                place = number(name)
                if place >= 0:
                    column.append(place)
                    value.append(amount)
        except ValueError as error:
            row = int(np.searchsorted(ends, np.argmax(ids == i), side="right")) - 1
            raise ValueError(f"{locate(row)}: {error}") from None
        stops.append(len(column))
    starts = np.array(stops, dtype=np.int64)
    repeats = np.diff(starts)[ids]
    after = np.concatenate([[0], np.cumsum(repeats)])
    # entry j of a pair is place starts[pair] + j of the pairs' own list
    place = np.arange(after[-1]) + np.repeat(starts[ids] - after[:-1], repeats)
    indices = np.array(column, dtype=np.int32)[place]
    indptr = after[ends].astype(get_index_dtype(maxval=int(after[-1])), copy=False)
    return np.array(value, dtype=np.float64)[place], indices, indptr


def _features(key: Any, given: Any) -> list[tuple[str, float]]:
    """Names and values of the features that one pair of a dict stands for."""
    if not isinstance(key, str):
        raise ValueError(f"a feature's name must be str, found {type(key).__name__}: {key!r}")
    if isinstance(given, str):
        return [(f"{key}={given}", 1.0)]
    if isinstance(given, (bool, np.bool_)):
        return [(key, 1.0)] if given else []
    if isinstance(given, numbers.Real):
        amount = _as_float(given)
        if not math.isfinite(amount):
            raise ValueError(f"feature {key!r} must be a finite number, found {given!r}")
        return [(key, amount)] if amount else []
    if isinstance(given, (tuple, frozenset)) and all(isinstance(member, str) for member in given):
        # sorted, for the order of a set changes from run to run
        return [(f"{key}={member}", 1.0) for member in sorted(set(given))]
    raise _wrong_value(key, given)


def _wrong_value(key: Any, given: Any) -> ValueError:
    return ValueError(
        f"feature {key!r} must be str, bool, a number or a list or set of str, "
        f"found {type(given).__name__}: {given!r}"
    )


def _as_float(number: numbers.Real) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _hashable_pairs(token: dict, row: int, locate: Locate) -> list[tuple]:
    try:
        return list(_flat_pairs(token))
    except ValueError as error:
        raise ValueError(f"{locate(row)}: {error}") from None


def _flat_pairs(token: dict) -> Iterator[tuple]:
    """Pairs of the dict and of dicts inside it, lists and sets as frozensets."""
    for key, given in token.items():
        if isinstance(key, str) and isinstance(given, dict):
            for inner, value in _flat_pairs(given):
                yield f"{key}:{inner}" if isinstance(inner, str) else inner, value
            continue
        several = isinstance(given, (list, set))
        if several and not all(isinstance(member, str) for member in given):
            raise _wrong_value(key, given)
        pair = key, frozenset(given) if several else given
        try:
            hash(pair)
        except TypeError:
            raise _wrong_value(key, given) from None
        yield pair
