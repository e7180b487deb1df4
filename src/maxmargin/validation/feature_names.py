"""Names of features, where samples are data frames: learned in training, checked ever after.

Features are told by their place. Columns in another order, or others of the same number, would give
predictions that are wrong without a sign of it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.exceptions import SampleError
from maxmargin.validation.samples import LaidOutRows, is_list

Names = tuple[str, ...]

#: names that an error lists
LISTED = 5


def column_names(frame: Any) -> Names | None:
    """The names of a data frame's columns; None unless it is one and all of them are text."""
    columns = getattr(frame, "columns", None)
    if columns is None or not is_list(columns):
        return None
    names = tuple(columns)
    return names if names and all(isinstance(name, str) for name in names) else None


def learn_names(X: Any, of_edges: bool = False) -> np.ndarray | None:
    """The names that all samples have, which must be the same; None if some have none."""
    if hasattr(X, "columns"):
        own = column_names(X)
        return None if own is None or of_edges else np.array(own, dtype=object)
    found = _names_of_samples(X, of_edges)
    first: Names | None = None
    for i, names in found:
        first = first or names
        if names is not None and first is not None and names != first:
            before = _difference(names, first, "the data frames before it")
            raise SampleError.of(i, f": {before} Give all the same, in one order: frame[names].")
    if first is None or any(names is None for _, names in found):
        return None
    return np.array(first, dtype=object)


def check_names(X: Any, known: Sequence[str] | None, of_edges: bool = False) -> None:
    """Raise ValueError if data frames have other columns than in training, or in another order.

    known : what `learn_names` returned; nothing is checked if that is None, nor are samples that
    have no names.
    """
    if known is None:
        return
    expected = tuple(known)
    attribute = "edge_feature_names_in_" if of_edges else "feature_names_in_"
    hint = f"Select them by name, in the order of fit: frame[model.{attribute}]."
    if hasattr(X, "columns"):
        own = column_names(X)
        if own is not None and own != expected and not of_edges:
            raise ValueError(f"X: {_difference(own, expected, 'fit')} {hint}")
        return
    for i, names in _names_of_samples(X, of_edges):
        if names is not None and names != expected:
            raise SampleError.of(i, f": {_difference(names, expected, 'fit')} {hint}")


def check_cost_names(
    name: str, found: Sequence[str] | None, known: Sequence[str] | None, where: str = "fit"
) -> None:
    """Raise ValueError if columns of costs or decisions are others, or in another order.

    found, known : names of columns; nothing is checked if either is None or empty.
    """
    if found is None or known is None or not len(found) or not len(known):
        return
    if tuple(found) != tuple(known):
        difference = _difference(tuple(found), tuple(known), where)
        raise ValueError(
            f"{name}: {difference} Parts are told by their place: give the same columns in the same"
            " order, or none of them a name."
        )


def check_known_names(attribute: str, names: np.ndarray, count: int) -> None:
    """Raise ValueError unless names, from a model file, are those of `count` features."""
    if names.shape != (count,) or not all(isinstance(name, str) for name in names.tolist()):
        raise ValueError(f"{attribute} are not the names of {count} features")


def check_same_order(X: Any, others: dict[str, Any]) -> None:
    """Raise ValueError if data frames or series have the index of X in another order; warn if most.

    others : by the names of their arguments. Rows are told by their place, not by the index.
    """
    for name, own in others.items():
        if not (hasattr(X, "iloc") and hasattr(own, "iloc") and len(X) == len(own)):
            continue
        rows, index = X.index, own.index
        differ = np.asarray(index != rows)
        n_same = len(set(index) & set(rows)) if differ.any() and rows.is_unique else 0
        if 2 * n_same <= len(rows):  # others altogether, such as numbers from 0 on
            continue
        i = int(np.flatnonzero(differ)[0])
        error = SampleError.of(
            i,
            f": its index in {name} is {index[i]!r}, but in X it is {rows[i]!r}, and {name} has"
            f" {'the index' if n_same == len(rows) else 'most of the index'} of X in another order."
            f" Give {name}.loc[X.index], or {name}.to_numpy() if rows are in the same order after"
            " all.",
        )
        if n_same == len(rows):
            raise error
        warnings.warn(str(error), UserWarning, stacklevel=3)


def _names_of_samples(X: Any, of_edges: bool) -> list[tuple[int, Names | None]]:
    if not is_list(X) or isinstance(X, (np.ndarray, LaidOutRows)) or hasattr(X, "matrix"):
        return []  # rows that are made where they are asked for have no names
    found = ((i, x[0] if isinstance(x, tuple) and x else x) for i, x in enumerate(X))
    if of_edges:
        return [(i, getattr(x, "edge_feature_names", None)) for i, x in found if _has_edges(x)]
    return [(i, getattr(x, "feature_names", None) or column_names(x)) for i, x in found]


def _has_edges(x: Any) -> bool:
    return hasattr(x, "edge_feature_names") and len(x.edges) > 0


def _difference(found: Names, expected: Names, where: str) -> str:
    unseen = [name for name in found if name not in set(expected)]
    missing = [name for name in expected if name not in set(found)]
    parts = [f"new: {_some(unseen)}"] if unseen else []
    parts += [f"missing: {_some(missing)}"] if missing else []
    if not parts and len(found) == len(expected):
        place = next(k for k, name in enumerate(found) if name != expected[k])
        parts = [f"column {place} is {found[place]!r}, expected {expected[place]!r}"]
    parts = parts or [f"{len(found)} of them, expected {len(expected)}"]  # some stand there twice
    return f"its columns differ from those of {where} ({'; '.join(parts)})."


def _some(names: list[str]) -> str:
    listed = ", ".join(map(repr, names[:LISTED]))
    return listed + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")
