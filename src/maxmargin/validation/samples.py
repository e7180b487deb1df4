"""Input at the border: checked once, with errors that name the sample and the remedy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from numbers import Integral, Real
from typing import Any, NamedTuple, cast

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from maxmargin.exceptions import SampleError

NO_ROWS = "x has no rows. Leave empty samples out."


class Rows(NamedTuple):
    """Rows of all samples in one CSR matrix, and how many of them each sample has."""

    matrix: sparse.csr_array
    lengths: np.ndarray

    @property
    def n_columns(self) -> int:
        return int(self.matrix.shape[1])

    def part(self, first: int, last: int) -> Rows:
        """The rows of some of the samples."""
        start, stop = int(self.lengths[:first].sum()), int(self.lengths[:last].sum())
        return Rows(self.matrix[start:stop], self.lengths[first:last])


class SampleRows:
    """The same, but that the rows of samples are put together where they are asked for.

    samples : of each sample its rows, as `as_array` gives them; they are not copied.
    """

    def __init__(self, samples: list[Any]):
        self._samples = samples
        self.lengths = np.array([x.shape[0] for x in samples], dtype=np.int64)
        self.n_columns = int(samples[0].shape[1])

    @cached_property
    def matrix(self) -> sparse.csr_array:
        return self.part(0, len(self._samples)).matrix

    def part(self, first: int, last: int) -> Rows:
        """The rows of some of the samples."""
        rows = Rows(stack_rows(self._samples[first:last]), self.lengths[first:last])
        return _check_flat(rows, None, empty_ok=True)

    def _replace(self, matrix: sparse.csr_array) -> Rows:
        return Rows(matrix, self.lengths)


class LaidOutRows:
    """Rows of all samples, and the layout of each: a list of pairs (features, layout)."""

    def __init__(self, rows: Rows | SampleRows, layouts: list[Any]):
        self.rows, self.layouts = rows, layouts

    def __len__(self) -> int:
        return len(self.layouts)

    def __getitem__(self, i: int) -> tuple[Any, Any]:
        if not 0 <= i < len(self):
            raise IndexError(i)
        return self.rows.part(i, i + 1).matrix, self.layouts[i]


def check_rows(
    X: Any, name: Callable[[int, int, int], str] | None = None, empty_ok: bool = False
) -> Rows:
    """Samples given as a list of (length, n_features) arrays, frames or CSR matrices, or as Rows.

    name(i, row, column) : what errors call an entry of sample i; None means x[row, column].
    empty_ok : samples may have no rows, if one of them has some.
    """
    if isinstance(X, SampleRows):
        return cast(Rows, X)
    if hasattr(X, "matrix") and hasattr(X, "lengths"):
        return _check_flat(Rows(X.matrix, X.lengths), name, empty_ok)
    samples = _as_samples(X, empty_ok)
    rows = SampleRows(samples)
    for x in samples:
        if rows.n_columns == 0 or not _is_finite(x):  # to say where
            return _check_flat(Rows(stack_rows(samples), rows.lengths), name, empty_ok)
    return cast(Rows, rows)


def _is_finite(x: Any) -> bool:
    return bool(np.isfinite(x.data if sparse.issparse(x) else x).all())


def stack_rows(samples: Sequence[Any]) -> sparse.csr_array:
    """Rows of all samples, as `as_array` gives them, in one matrix."""
    if any(sparse.issparse(x) for x in samples):
        return sparse.csr_array(sparse.vstack([sparse.csr_array(x) for x in samples], format="csr"))
    return sparse.csr_array(np.concatenate(samples, axis=0))


def as_csr(matrix: Any) -> sparse.csr_array:
    """A matrix, dense or of any sparse format, as CSR, with indices within its shape.

    Arrays are shared where possible; indices may be unsorted, and there may be several entries for
    one place.
    """
    return sparse.csr_array(check_sparse(matrix) if sparse.issparse(matrix) else matrix)


def check_sparse(matrix: Any) -> Any:
    """The same matrix, in a format that is safe to convert: scipy itself checks no indices.

    Raises a ValueError unless all indices are within its shape.
    """
    if matrix.ndim != 2:
        raise ValueError(f"the sparse array has {matrix.ndim} dimension(s), expected 2.")
    if matrix.format == "lil" and any(map(_lengths_differ, matrix.rows, matrix.data)):
        raise ValueError("the sparse matrix has rows whose columns and values differ in number.")
    if matrix.format in ("lil", "dok", "dia"):
        matrix = matrix.tocsr() if matrix.format == "lil" else matrix.tocoo()
    if matrix.format == "coo":
        for axis, (indices, side) in enumerate(zip(matrix.coords, matrix.shape, strict=True)):
            _check_indices(indices, side, len(matrix.data), ("row", "column")[axis])
    else:
        _check_compressed(matrix)
    return matrix


def check_matrix(X: Any) -> Rows:
    """Samples given as the rows of one matrix, dense or sparse."""
    if isinstance(X, Iterator):
        check_is_list(X)
    try:
        matrix = check_array(  # numbers that are not finite are left to `check_rows`
            as_csr(X) if sparse.issparse(X) else X,  # scikit-learn, too, converts without a check
            accept_sparse="csr",
            dtype="numeric",
            ensure_all_finite=False,
            input_name="X",
        )
    except ValueError:
        if describe_ragged(X):
            raise ValueError(f"X is not a matrix: {describe_ragged(X)}.") from None
        raise
    if matrix.dtype.kind not in "biuf":  # such as dates
        raise ValueError(
            f"X has dtype {matrix.dtype}, expected real numbers; encode texts and dates."
        )
    names = getattr(X, "columns", range(matrix.shape[1]))
    rows = Rows(matrix, np.ones(matrix.shape[0], dtype=np.int64))
    return check_rows(rows, lambda i, _, column: f"X[{i}, {names[column]!r}]")


def _lengths_differ(columns: Any, values: Any) -> bool:
    return len(columns) != len(values)


def _check_compressed(matrix: Any) -> None:
    """Check the index arrays of a matrix in CSR, CSC or BSR format."""
    by_column, block = matrix.format == "csc", matrix.data.shape[1:]
    lines, side = matrix.shape[::-1] if by_column else matrix.shape
    if matrix.format == "bsr" and len(block) == 2 and all(block):
        lines, side = lines // block[0], side // block[1]
    elif block or matrix.format == "bsr":
        raise ValueError(f"the sparse matrix has values of shape {matrix.data.shape}.")
    starts, name = matrix.indptr, "row" if by_column else "column"
    if starts.dtype.kind not in "iu" or starts.shape != (lines + 1,):
        raise ValueError(f"the sparse matrix has {starts.size} starts, expected {lines + 1}.")
    if starts[0] != 0 or (starts[1:] < starts[:-1]).any():
        raise ValueError("the sparse matrix has starts (indptr) that do not rise from 0.")
    if starts[-1] != len(matrix.indices):
        raise ValueError(
            f"the sparse matrix has {len(matrix.indices)} indices, its indptr ends at {starts[-1]};"
            " use matrix.prune() if there are more on purpose."
        )
    _check_indices(matrix.indices, side, len(matrix.data), name)


def _check_indices(indices: np.ndarray, side: int, n_values: int, name: str) -> None:
    if indices.dtype.kind not in "iu" or indices.shape != (n_values,):
        raise ValueError(f"the sparse matrix has {indices.size} indices of {n_values} values.")
    if len(indices) and not (indices.min() >= 0 and indices.max() < side):
        wrong = indices[(indices < 0) | (indices >= side)][0]
        raise ValueError(
            f"the sparse matrix has an entry in {name} {wrong}, outside 0 to {side - 1}."
        )


def _as_samples(X: Any, empty_ok: bool) -> list[Any]:
    check_is_list(X)
    if len(X) == 0:
        raise ValueError("X is empty: at least one sample is needed.")
    full = has_rows(X)
    if not (full.all() or (empty_ok and full.any())):
        raise SampleError.of(int(np.argmin(full)), f": {NO_ROWS}")
    _check_frames(X)
    samples: list[Any] = [as_array(i, x) if full[i] else None for i, x in enumerate(X)]
    first = int(np.argmax(full))
    for i, x in enumerate(samples):
        if x is None:
            continue
        shape = x.shape
        if len(shape) != 2:
            raise SampleError.of(
                i,
                f": x has {len(shape)} dimension(s), expected 2 (length, n_features)."
                " A single feature is a column: x.reshape(-1, 1). A single sequence is passed as"
                " a list: [x].",
            )
        if shape[1] != samples[first].shape[1]:
            raise SampleError.of(
                i, f": x has {shape[1]} features, sample {first} has {samples[first].shape[1]}."
            )
    nothing = np.empty((0, samples[first].shape[1]))
    return [nothing if x is None else x for x in samples]


def has_rows(X: Any) -> np.ndarray:
    """Whether each sample, or its part of Rows, has any rows."""
    if isinstance(X, SampleRows) or (hasattr(X, "matrix") and hasattr(X, "lengths")):
        return np.asarray(X.lengths) != 0
    if not is_list(X):
        return np.ones(1, dtype=bool)
    sizes = (getattr(x, "shape", None) or (len(x) if is_list(x) else 1,) for x in X)
    return np.fromiter((size[0] != 0 for size in sizes), bool, len(X))


def without_empty(X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, Any, Any]:
    """Samples that have rows, their labels and weights; errors tell samples by their old numbers.

    Labels of the others must be empty.
    """
    full = has_rows(X)
    if full.all():
        return X, y, sample_weight
    rows = check_rows(X, empty_ok=True)
    check_lengths(y, rows.lengths)
    kept = np.flatnonzero(full)
    if sample_weight is not None:
        check_sample_weight(sample_weight, len(full))
        sample_weight = np.asarray(sample_weight)[kept]
    return Rows(rows.matrix, rows.lengths[kept]), [y[i] for i in kept], sample_weight


def _check_frames(X: Any) -> None:
    """Features are told by their place: data frames must have the columns of the first."""
    frames = ((i, list(x.columns)) for i, x in enumerate(X) if hasattr(x, "columns"))
    _, names = next(frames, (0, []))
    for i, own in frames:
        if own != names:
            raise SampleError.of(
                i,
                f": its columns are {own}, those of the data frames before it {names}."
                " Give all the same, in one order: frame[names].",
            )


def is_list(values: Any) -> bool:
    """Whether it has a length and members that stand for samples or labels, not characters."""
    if isinstance(values, str | bytes | Mapping) or sparse.issparse(values):
        return False
    return hasattr(values, "__len__") and getattr(values, "shape", None) != ()


def check_is_list(X: Any) -> None:
    """Raise TypeError unless X is a list of samples, or anything like one."""
    if is_list(X) and not hasattr(X, "columns"):
        return
    hint = "Give list(X)." if isinstance(X, Iterator) else "One sample alone: [x]."
    raise TypeError(f"X must be a list of samples, found {type(X).__name__}. {hint}")


def as_array(i: int, x: Any) -> Any:
    """Sample i as an array of float64, or as a sparse matrix of real numbers."""
    try:
        array = x if sparse.issparse(x) else np.asarray(x)
        if array.dtype == object and not sparse.issparse(x):
            array = _from_objects(array, getattr(x, "columns", None))
        if array.dtype.kind not in "biuf":
            raise TypeError(f"dtype {array.dtype}")
        if not sparse.issparse(x):
            return array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        why = describe_ragged(x) or error
        raise SampleError.of(i, f": x is not an array of real numbers ({why}).") from None
    try:
        return check_sparse(x)
    except ValueError as error:
        raise SampleError.of(i, f": x: {error}") from None


def _from_objects(array: np.ndarray, columns: Any) -> np.ndarray:
    """Numbers that came as objects, as those of data frames with columns of several types."""
    for place, entry in zip(np.ndindex(array.shape), array.ravel().tolist(), strict=True):
        if not isinstance(entry, Real | Decimal):
            names = [*map(str, place)]
            if columns is not None and len(place) == 2:
                names[1] = repr(columns[place[1]])
            raise TypeError(f"x[{', '.join(names)}] is {_shortened(entry)}, not a number")
    return array.astype(np.float64)


def describe_ragged(x: Any) -> str:
    """Which rows of a nested list differ in length, "" if none do."""
    level: list[tuple[str, Any]] = [("", x)]
    while level and all(isinstance(own, list | tuple) for _, own in level):
        first, sizes = level[0][0], [len(own) for _, own in level]
        for (name, _), size in zip(level, sizes, strict=True):
            if size != sizes[0]:
                return f"row {name} has length {size}, row {first} has length {sizes[0]}"
        level = [
            (f"{name}, {k}" if name else str(k), entry)
            for name, own in level
            for k, entry in enumerate(own)
        ]
    return ""


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _check_flat(
    rows: Rows, name: Callable[[int, int, int], str] | None, empty_ok: bool = False
) -> Rows:
    matrix = as_csr(rows.matrix) if sparse.issparse(rows.matrix) else sparse.csr_array(rows.matrix)
    if matrix.dtype.kind not in "biuf":
        raise ValueError(f"X has dtype {matrix.dtype}, expected real numbers.")
    if matrix.dtype not in (np.float64, np.int8):  # ones need no more than a byte
        matrix = matrix.astype(np.float64)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()  # sorts as well
    if matrix.shape[1] == 0:
        raise ValueError("sample 0: x has no features; give a constant column at least.")
    if not (matrix.data.flags.writeable and matrix.indices.flags.writeable):
        matrix = (
            matrix.copy()
        )  # memory maps of parallel workers; compiled code takes plain arrays only
    lengths = np.asarray(rows.lengths, dtype=np.int64)
    if lengths.sum() != matrix.shape[0] or (lengths < (0 if empty_ok else 1)).any():
        raise ValueError("lengths must be positive and add up to the number of rows.")
    finite = np.isfinite(matrix.data)
    if not finite.all():
        entry = int(np.flatnonzero(~finite)[0])
        row = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
        i, t = locate_row(row, lengths)
        column = int(matrix.indices[entry])
        entry_name = f"x[{t}, {column}]" if name is None else name(i, t, column)
        raise SampleError.of(
            i,
            f": {entry_name} is {matrix.data[entry]};"
            " features must be finite, not NaN or inf. Impute or drop it before fitting.",
        )
    return Rows(matrix, lengths)


def locate_row(row: int, lengths: np.ndarray) -> tuple[int, int]:
    """The sample to which a flat row belongs, and its place there."""
    stops = np.cumsum(lengths)
    i = int(np.searchsorted(stops, row, side="right"))
    return i, int(row - (stops[i] - lengths[i]))


def check_sample_weight(sample_weight: Any, n: int) -> np.ndarray:
    """Weights omega_i that sum to one; equal ones for None."""
    if sample_weight is None:
        return np.full(n, 1.0 / max(n, 1))
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n,):
        raise ValueError(f"sample_weight has shape {weight.shape}, expected ({n},).")
    if not np.isfinite(weight).all() or (weight < 0).any():
        i = int(np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))[0])
        raise SampleError.of(i, f": weight {weight[i]} must be finite and not negative.")
    if weight.sum() == 0:
        raise ValueError("sample_weight is zero everywhere; give one sample a weight at least.")
    return weight / weight.sum()


def check_targets(y: Any, n: int, name: str = "y") -> None:
    """As many targets as samples."""
    if not is_list(y):
        found = type(y).__name__
        raise TypeError(f"{name} must be a list with one target per sample, found {found}.")
    if len(y) != n:
        raise ValueError(f"X has {n} samples, {name} has {len(y)}.")


def check_lengths(y: Sequence[Any], lengths: np.ndarray) -> None:
    """As many label sequences as samples, each as long as its sample."""
    if not is_list(y):
        raise TypeError(
            f"y must be a list with the labels of each sample, found {type(y).__name__}."
        )
    if len(y) != len(lengths):
        raise ValueError(f"X has {len(lengths)} samples, y has {len(y)}.")
    for i, (labels, length) in enumerate(zip(y, lengths, strict=True)):
        if not is_list(labels):
            raise TypeError(
                f"sample {i}: y is {type(labels).__name__}, expected a sequence of {length} labels."
            )
        if len(labels) != length:
            flat = " Use y.ravel()." if np.ndim(labels) > 1 and np.size(labels) == length else ""
            raise SampleError.of(i, f": y has {len(labels)} labels but x has {length} rows.{flat}")


def check_labels(y: Sequence[Any]) -> list[np.ndarray]:
    """The label sequences as flat arrays of one kind: all text, all numbers, or all of one type."""
    arrays = [_as_labels(i, labels) for i, labels in enumerate(y)]
    first = ""
    for i, labels in enumerate(arrays):
        if labels.ndim != 1:
            raise SampleError.of(
                i, f": y has shape {labels.shape}, expected one label per row of x."
            )
        kind = _kind_of_labels(i, labels)
        first = first or kind
        if kind != first:
            raise SampleError.of(
                i,
                f": y has labels of type {kind}, sample 0 of type {first}."
                " Use one type for all, such as str.",
            )
    return arrays


def learn_classes(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different labels, sorted, and the place of each label among them."""
    try:
        return np.unique(labels, return_inverse=True)
    except TypeError as error:
        kind = type(labels[0]).__name__
        raise TypeError(
            f"labels of type {kind} cannot be sorted ({error}). Use str or numbers, such as the"
            " name of each."
        ) from None


def _as_labels(i: int, labels: Any) -> np.ndarray:
    array = np.asarray(labels)
    if array.dtype.kind in "US" and not isinstance(labels, np.ndarray):
        # numpy makes text of all labels as soon as one of them is text
        _check_one_type(i, labels)
    return array


def _check_one_type(i: int, labels: Any) -> str:
    found = sorted({_type_of_label(label) for label in labels})
    if len(found) > 1 or found == ["NoneType"]:
        raise SampleError.of(
            i, f": y has labels of type {' and '.join(found)}. Use one type, such as str."
        )
    return found[0]


def _kind_of_labels(i: int, labels: np.ndarray) -> str:
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise SampleError.of(i, ": y has labels that are not finite. Leave them out.")
    if labels.dtype.kind in "biuf":
        return "number"
    if labels.dtype.kind in "US":
        return "str"
    return _check_one_type(i, labels.tolist())


def _type_of_label(label: Any) -> str:
    if isinstance(label, str):
        return "str"
    return "number" if isinstance(label, Real) else type(label).__name__


def as_dense(w: Any) -> np.ndarray:
    """Weights as a flat array, from one or from a sparse row."""
    return as_csr(w).toarray().ravel() if sparse.issparse(w) else w


def is_number(value: Any, whole: bool = False) -> bool:
    """Whether an option is a (whole) number."""
    return isinstance(value, Integral if whole else Real)
