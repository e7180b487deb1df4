"""Samples with sets of labels: text as LIBSVM has it, or arrays in an .npz file."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from maxmargin.estimators.label_rows import TextRows
from maxmargin.formats.multi_label import read_multilabel
from maxmargin.formats.npz import Arrays, read_npz, seekable
from maxmargin.formats.text_lines import Readable, name_of

X_CURE = "X holds the features of all samples, row under row, as numbers (samples, features)"
Y_CURE = "Y holds zeros and ones (samples, labels)"
NAMES_CURE = "labels holds the name of each column of Y, a number or a text"


class LabelSets(NamedTuple):
    """What a file holds. sets : labels of each sample, as texts; None if the file has none.

    names : all labels that the file knows, even if no sample has them.
    """

    rows: TextRows
    sets: list[set[str]] | None
    names: list[str]


def read_label_sets(source: Readable, n_features: int | None = None) -> LabelSets:
    """An .npz file, or text, told by the first bytes. n_features : of text, the most there are."""
    name = name_of(source)
    with seekable(source) as file:
        start = file.read(2)
        file.seek(0)
        if start == b"PK":
            return _from_arrays(read_npz(file, name))
        found = read_multilabel(file, n_features, name)
    if not found.labels:
        raise ValueError(f"{name}: holds no samples, expected lines `labels index:value ...`.")
    if found.X.shape[1] == 0:
        raise ValueError(f"{name}: no sample has a feature, expected fields index:value.")
    names = sorted({label for own in found.labels for label in own})
    return LabelSets(TextRows(found.X), [set(own) for own in found.labels], names)


def _from_arrays(arrays: Arrays) -> LabelSets:
    X = arrays.matrix("X", X_CURE)
    rows, columns = X.shape
    if rows == 0 or columns == 0:
        raise arrays.wrong("X", f"has {rows} rows and {columns} columns; {X_CURE}")
    if "Y" not in arrays:
        return LabelSets(TextRows(X, open=False), None, [])
    Y = arrays.need("Y", 2, "biuf", Y_CURE)
    if len(Y) != rows or Y.shape[1] == 0:
        raise arrays.wrong("Y", f"has shape {Y.shape} for {rows} rows of X; {Y_CURE}")
    wrong = ~((Y == 0) | (Y == 1))
    if wrong.any():
        i, k = np.argwhere(wrong)[0].tolist()
        raise arrays.wrong("Y", f"has {Y[i, k]} in row {i}, column {k}; {Y_CURE}")
    names = _names(arrays, Y.shape[1])
    sets = [{names[k] for k in np.flatnonzero(own)} for own in Y]
    return LabelSets(TextRows(X, open=False), sets, names)


def _names(arrays: Arrays, count: int) -> list[str]:
    if "labels" not in arrays:
        return [str(k) for k in range(count)]
    found: list[Any] = arrays.need("labels", 1, "iuU", NAMES_CURE).tolist()
    names = [str(own) for own in found]
    if len(names) != count:
        raise arrays.wrong("labels", f"has {len(names)} names for {count} labels; {NAMES_CURE}")
    if len(set(names)) < count:
        again = Counter(names).most_common(1)[0][0]
        raise arrays.wrong("labels", f"has {again!r} twice; {NAMES_CURE}")
    return names
