"""Sets of labels as rows of zeros and ones, from whatever the user has."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from maxmargin.exceptions import SampleError
from maxmargin.validation.samples import as_csr, is_list


class LabelRows(NamedTuple):
    """matrix : (n, L) of zeros and ones; classes : names of the labels; sets : given as sets."""

    matrix: np.ndarray
    classes: np.ndarray
    sets: bool


def read_label_rows(y: Any, classes: np.ndarray | None = None) -> LabelRows:
    """Labels of samples: a 0/1 matrix, dense or sparse, a data frame of them, or a list of sets.

    classes : the labels to expect; None means to learn them: names of a frame's columns, numbers of
    a matrix's, and of sets, all that occur, sorted. Columns of a frame may come in any order.
    """
    if hasattr(y, "columns") and hasattr(y, "to_numpy"):
        return _from_frame(y, classes)
    if sparse.issparse(y):
        y = as_csr(y).toarray()
    if not is_list(y):
        raise TypeError(
            f"y must be a matrix of zeros and ones or a list of sets, found {type(y).__name__}."
        )
    if len(y) and not isinstance(y, np.ndarray) and any(isinstance(own, Set) for own in y):
        return _from_sets(y, classes)
    matrix = _checked(_stacked(y), classes)
    return LabelRows(matrix, np.arange(matrix.shape[1]) if classes is None else classes, False)


def to_sets(matrix: np.ndarray, classes: np.ndarray) -> list[set[Any]]:
    """The labels that are 1 in each row."""
    names = classes.tolist()
    return [{names[k] for k in np.flatnonzero(row)} for row in matrix]


def _stacked(y: Sequence[Any]) -> np.ndarray:
    try:
        return np.asarray(y)
    except ValueError:
        sizes = [len(row) if is_list(row) else 1 for row in y]
        i = next(i for i, size in enumerate(sizes) if size != sizes[0])
        raise SampleError.of(
            i,
            f": y has {sizes[i]} entries, sample 0 has {sizes[0]}; rows of zeros and"
            " ones are equally long. Sets of labels are given as sets: {'a', 'b'}, set().",
        ) from None


def _checked(matrix: np.ndarray, classes: np.ndarray | None) -> np.ndarray:
    if matrix.ndim != 2:
        raise ValueError(
            f"y has shape {matrix.shape}, expected (n_samples, n_labels), zeros and ones: a row for"
            " each sample. A single label is a column: y.reshape(-1, 1). Sets of labels are given"
            " as a list of sets. For one class per sample, use MulticlassSVM."
        )
    if matrix.shape[1] == 0:
        raise ValueError("y has no labels: shape (n_samples, 0).")
    if classes is not None and matrix.shape[1] != len(classes):
        raise ValueError(f"y has {matrix.shape[1]} labels, the model has {len(classes)}.")
    with np.errstate(invalid="ignore"):
        wrong = ~((matrix == 0) | (matrix == 1))
    if wrong.any():
        i, k = np.argwhere(wrong)[0].tolist()
        found = matrix[i, k].item()
        raise SampleError.of(i, f": y has {found!r} for label {k}, expected 0 or 1.")
    return matrix.astype(np.int64)


def _from_frame(y: Any, classes: np.ndarray | None) -> LabelRows:
    names = np.array(list(y.columns))
    matrix = _checked(y.to_numpy(), classes)
    if classes is None:
        return LabelRows(matrix, names, False)
    known, found = classes.tolist(), names.tolist()
    if known == list(range(len(known))) and set(found) != set(known):
        return LabelRows(matrix, classes, False)  # labels that were learned without names
    for name in found:
        if name not in known:
            raise ValueError(f"y has a column {name!r}, which is not among the labels learned.")
    if len(set(found)) < len(found):
        raise ValueError("y has two columns of the same name.")
    return LabelRows(matrix[:, [found.index(name) for name in known]], classes, False)


def _from_sets(y: Sequence[Any], classes: np.ndarray | None) -> LabelRows:
    for i, own in enumerate(y):
        if not isinstance(own, Set):
            raise TypeError(
                f"sample {i}: y is {type(own).__name__}, expected a set of labels as before it."
            )
    if classes is None:
        kinds = {type(label).__name__ for own in y for label in own}
        if len(kinds) > 1:
            raise ValueError(
                f"y has labels of type {' and '.join(sorted(kinds))}. Use one type, such as str."
            )
        if not kinds:
            raise ValueError("y has no labels: all sets are empty.")
        classes = np.array(sorted(set().union(*y)))
    number = {label: k for k, label in enumerate(classes.tolist())}
    matrix = np.zeros((len(y), len(number)), dtype=np.int64)
    for i, own in enumerate(y):
        for label in own:
            if label not in number:
                raise SampleError.of(
                    i,
                    f": y has {label!r}, which is not among the {len(number)} labels"
                    " learned. Leave it out, or fit with samples that have it.",
                )
            matrix[i, number[label]] = 1
    return LabelRows(matrix, classes, True)


class TextRows(Sequence):
    """Rows of features, some of whose last columns may be missing: text leaves zeros out.

    open : a model may take missing columns for zeros.
    """

    def __init__(self, matrix: Any, open: bool = True):
        self.matrix = as_csr(matrix)
        self.open = open

    @property
    def lengths(self) -> np.ndarray:
        return np.ones(len(self), dtype=np.int64)

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __getitem__(self, which: Any) -> Any:
        rows = [which] if isinstance(which, int | np.integer) else which
        return TextRows(self.matrix[rows], self.open)

    def widened(self, n_features: int) -> TextRows:
        """With at least this many columns."""
        missing = n_features - self.matrix.shape[1]
        if missing <= 0 or not self.open:
            return self
        nothing = sparse.csr_array((len(self), missing))
        return TextRows(sparse.hstack([self.matrix, nothing], format="csr"), self.open)
