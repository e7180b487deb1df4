"""Feature maps: what they must do, and how their rows are packed for compiled code."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from maxmargin._numba import packing
from maxmargin.exceptions import SampleError
from maxmargin.memory import append_in_place
from maxmargin.validation.learned import Checked
from maxmargin.validation.options import check_options
from maxmargin.validation.samples import as_csr

_INT32, _UINT32 = 2**31, 2**32
#: rows that are packed together; what is needed on the way to the packed form grows with them
ROWS_AT_A_TIME = 1 << 14


class Group(NamedTuple):
    """Rows of one kind: row r of sample i adds `matrix[r] @ W` to `width` parts.

    Parameters
    ----------
    matrix : csr_array of shape (n_rows, n_columns)
        Rows of all samples.
    counts : ndarray of shape (n_samples,)
        Number of rows of each sample.
    width : int
        Number of parts of a row.
    base : int
        Position of the group's (n_columns, width) weights in the weight vector.
    """

    matrix: sparse.csr_array
    counts: np.ndarray
    width: int
    base: int


class PackedFeatures(NamedTuple):
    """Rows of n samples as flat arrays for compiled code.

    A row owns `width` consecutive parts; each of its non-zeros adds value * weights[index : index +
    width] to their scores. The local weights of a sample are the blocks of the weight vector that
    it uses, side by side.

    Parameters
    ----------
    row_ptr : ndarray of shape (n_samples + 1,)
        First row of each sample.
    width : ndarray of shape (n_rows,)
        Number of parts of each row.
    indptr : ndarray of shape (n_rows + 1,)
        First non-zero of each row.
    index, global_index : ndarray of shape (n_nonzeros,)
        Position of the first weight of each non-zero among the local weights and among all weights.
    value : ndarray of shape (n_nonzeros,) or (0,)
        Values of the non-zeros; empty if all of them are 1.
    block_ptr : ndarray of shape (n_samples + 1,)
        First block of each sample.
    block_start, block_width : ndarray of shape (n_blocks,)
        Position of each block in the weight vector, and its length.
    part_ptr : ndarray of shape (n_samples + 1,)
        First part of each sample.
    dim : int
        Number of weights.
    """

    row_ptr: np.ndarray
    width: np.ndarray
    indptr: np.ndarray
    index: np.ndarray  # type: ignore[assignment]  # the name in compiled code; hides tuple.index
    global_index: np.ndarray
    value: np.ndarray
    block_ptr: np.ndarray
    block_start: np.ndarray
    block_width: np.ndarray
    part_ptr: np.ndarray
    dim: int


class FeatureMap(Checked, BaseEstimator):
    """The linear map F: part scores theta = F^T w, weight vector F z.

    A map defines its number of weights (`dim`) and converts samples to rows (`groups`); packing,
    scores and adjoint are then the same for every map.
    """

    @abstractmethod
    def check(self, X: Any) -> Any:
        """Check samples; errors name the sample.

        Parameters
        ----------
        X : list
            Samples as given by the user.

        Returns
        -------
        object
            The samples in the form that the other methods take.
        """

    @abstractmethod
    def n_columns(self, X: Any) -> int:
        """Return the number of features of checked samples.

        Parameters
        ----------
        X : object
            Checked samples.

        Returns
        -------
        int
            Number of features.
        """

    @abstractmethod
    def dim(self, n_columns: int, n_labels: int) -> int:
        """Return the number of weights.

        Parameters
        ----------
        n_columns : int
            Number of features.
        n_labels : int
            Number of labels.

        Returns
        -------
        int
            Number of weights.
        """

    @abstractmethod
    def groups(self, X: Any, n_labels: int, n_parts: np.ndarray) -> list[Group]:
        """Return the rows of all samples, group by group, in the order of a sample's parts.

        Parameters
        ----------
        X : object
            Checked samples.
        n_labels : int
            Number of labels.
        n_parts : ndarray of shape (n_samples,)
            Number of parts of each sample.

        Returns
        -------
        list of Group
            Groups of rows.
        """

    def constant_weights(self, X: Any, n_labels: int) -> range:
        """Return the numbers of the weights of a constant feature.

        Parameters
        ----------
        X : object
            Checked samples.
        n_labels : int
            Number of labels.

        Returns
        -------
        range
            Weights of the feature that is 1; empty if the map adds none.
        """
        return range(0)

    def pack(self, X: Any, n_labels: int, n_parts: np.ndarray) -> PackedFeatures:
        """Convert checked samples to flat arrays.

        Parameters
        ----------
        X : object
            Checked samples.
        n_labels : int
            Number of labels.
        n_parts : ndarray of shape (n_samples,)
            Number of parts of each sample.

        Returns
        -------
        PackedFeatures
            Rows of all samples.
        """
        check_options(self)
        dim = self.dim(self.n_columns(X), n_labels)

        def pack_part(first: int, last: int, own: Any) -> PackedFeatures:
            try:
                return pack(self.groups(own, n_labels, n_parts[first:last]), dim)
            except SampleError as error:
                raise error.renumbered(list(range(first, last))) from error

        packed = self._share(X, n_parts, dim)
        if packed is None:
            packed = join_packed(pack_part(*part) for part in _in_parts(X, len(n_parts)))
        found = np.diff(packed.part_ptr)
        if not np.array_equal(found, n_parts):
            i = int(np.flatnonzero(found != n_parts)[0])
            raise SampleError.of(
                i, f": its features describe {found[i]} parts, its structure has {n_parts[i]}."
            )
        return packed

    def _share(self, X: Any, n_parts: np.ndarray, dim: int) -> PackedFeatures | None:
        """Checked samples as flat arrays without a copy, if the map can do that; else None."""
        return None


def share_rows(group: Group, dim: int) -> PackedFeatures | None:
    """Pack rows of width 1 without a copy: each sample's own weights are all columns.

    None if samples have fewer non-zeros than there are columns, of which each would gather all.
    """
    n = len(group.counts)
    matrix, counts, width, base = _checked(0, group, n, dim)
    if width != 1 or base != 0 or matrix.shape[1] * n > matrix.nnz:
        return None
    index = _columns(matrix)
    rows = _pointers(counts)
    return PackedFeatures(
        row_ptr=rows,
        width=np.ones(matrix.shape[0], dtype=np.int32),
        indptr=matrix.indptr.astype(np.int64),
        index=index,
        global_index=index.view(np.uint32),
        value=np.empty(0) if _is_one(matrix.data) else matrix.data.astype(np.float64, copy=False),
        block_ptr=np.arange(n + 1),
        block_start=np.zeros(n, dtype=np.uint32),
        block_width=np.full(n, matrix.shape[1], dtype=np.int32),
        part_ptr=rows,
        dim=dim,
    )


def _in_parts(X: Any, n: int) -> Iterator[tuple[int, int, Any]]:
    """Ranges of the samples, and these samples; all at once if they cannot be cut (`part`)."""
    if not hasattr(X, "part"):
        yield 0, n, X
        return
    stops, first = np.cumsum(X.lengths), 0
    while first < n:
        rows = stops[first] - X.lengths[first] + ROWS_AT_A_TIME
        last = max(int(np.searchsorted(stops, rows, side="right")), first + 1)
        yield first, last, X.part(first, last)
        first = last


def join_packed(parts: Iterable[PackedFeatures]) -> PackedFeatures:
    """Samples packed one after the other, as if at once; parts are forgotten on the way.

    Parameters
    ----------
    parts : iterable of PackedFeatures
        Features of some samples each, one at least.

    Returns
    -------
    PackedFeatures
        Features of all samples.
    """
    parts = iter(parts)
    total = next(parts)
    for part in parts:
        if len(part.value) and not len(total.value):
            total = total._replace(value=np.ones(len(total.index)))
        for name in ("row_ptr", "indptr", "block_ptr", "part_ptr"):
            old = getattr(total, name)
            append_in_place(old, getattr(part, name)[1:] + old[-1])
        value = feature_values(part) if len(total.value) else part.value
        append_in_place(total.value, value)
        for name in ("width", "index", "global_index", "block_start", "block_width"):
            append_in_place(getattr(total, name), getattr(part, name))
    return total


def part_features(packed: Any, dim: int) -> sparse.csr_array:
    """F^T of all samples: a row for each part, a column for each weight.

    packed : PackedFeatures, or the packed samples of a problem, which have them.
    """
    width, counts = packed.width.astype(np.int64), np.diff(packed.indptr)
    # each row of the packed features stands for `width` parts, whose weights lie side by side
    row = np.repeat(np.arange(len(width)), width)
    within = np.arange(len(row)) - np.repeat(np.cumsum(width) - width, width)
    own = counts[row]
    indptr = np.concatenate([[0], np.cumsum(own)])
    entry = np.arange(indptr[-1]) + np.repeat(packed.indptr[:-1][row] - indptr[:-1], own)
    columns = packed.global_index[entry].astype(np.int64) + np.repeat(within, own)
    value = feature_values(packed)[entry]
    return sparse.csr_array((value, columns, indptr), shape=(len(row), dim))


def feature_values(packed: Any) -> np.ndarray:
    """Values of all non-zeros, (n_nonzeros,)."""
    return packed.value if len(packed.value) else np.ones(len(packed.index))


def scale_weights(packed: PackedFeatures, which: range, factor: float) -> PackedFeatures:
    """Features by which these weights count `factor` times as much.

    To predict the same they may be smaller by that, so that they are penalised factor^2 times less.
    """
    if not len(which) or factor == 1.0:
        return packed
    own = (packed.global_index >= which.start) & (packed.global_index < which.stop)
    return packed._replace(value=feature_values(packed) * np.where(own, factor, 1.0))


def append_ones(matrix: sparse.csr_array, *columns: np.ndarray) -> sparse.csr_array:
    """The matrix with further columns of zeros and ones.

    columns : the numbers of the rows that have a 1 there, each row once.
    """
    n, width = matrix.shape
    more = np.zeros(n, dtype=np.int64)
    for rows in columns:
        more[rows] += 1
    indptr = matrix.indptr + _pointers(more)
    indices = np.empty(indptr[-1], dtype=matrix.indices.dtype)
    # ones need no more than a byte
    data = np.empty(indptr[-1], dtype=np.int8 if _is_one(matrix.data) else matrix.data.dtype)
    is_old = np.ones(indptr[-1], dtype=bool)
    place = indptr[1:] - more
    for column, rows in enumerate(columns, start=width):
        indices[place[rows]], data[place[rows]], is_old[place[rows]] = column, 1, False
        place[rows] += 1
    indices[is_old], data[is_old] = matrix.indices, matrix.data
    return sparse.csr_array((data, indices, indptr), shape=(n, width + len(columns)))


def pack(groups: list[Group], dim: int) -> PackedFeatures:
    """Interleave the groups' rows sample by sample and number each sample's own weights.

    Parameters
    ----------
    groups : list of Group
        Groups of rows, in the order of a sample's parts.
    dim : int
        Number of weights.

    Returns
    -------
    PackedFeatures
        Rows of all samples.
    """
    n = len(groups[0].counts)
    groups = [_checked(g, group, n, dim) for g, group in enumerate(groups)]
    if dim > _UINT32:
        raise ValueError(f"{dim} weights, at most {_UINT32} are possible; use fewer features.")
    local = [_localise(group) for group in groups]
    rows = np.sum([group.counts for group in groups], axis=0)
    row_ptr = _pointers(rows)
    indptr = _row_starts(groups, row_ptr)
    index = np.empty(indptr[-1], dtype=np.int32)
    global_index = np.empty(indptr[-1], dtype=np.uint32)
    all_one = all(_is_one(group.matrix.data) for group in groups)
    value = np.empty(0 if all_one else indptr[-1])
    width = np.empty(row_ptr[-1], dtype=np.int32)
    place = np.zeros(n, dtype=np.int64)
    offset = np.zeros(n, dtype=np.int64)
    for group, (numbers, size, *_) in zip(groups, local, strict=True):
        matrix = group.matrix
        packing.place_rows(
            _pointers(group.counts), matrix.indptr.astype(np.int64), _columns(matrix),
            np.empty(0) if all_one else matrix.data.astype(np.float64, copy=False),
            numbers, offset, place, group.width, group.base,
            row_ptr, width, indptr, index, global_index, value,
        )  # fmt: skip
        place = place + group.counts
        offset = offset + size * group.width
    if n and offset.max() > np.iinfo(np.int32).max:
        raise ValueError("a single sample touches more than 2**31 weights")
    block_ptr, block_start, block_width = _weight_blocks(groups, local)
    part_ptr = _pointers(np.sum([group.counts * group.width for group in groups], axis=0))
    return PackedFeatures(
        row_ptr, width, indptr, index, global_index, value, block_ptr, block_start, block_width,
        part_ptr, dim,
    )  # fmt: skip


def _checked(g: int, group: Group, n: int, dim: int) -> Group:
    """The group, after a proof that compiled code stays within its arrays and `dim` weights."""
    matrix, counts = as_csr(group.matrix), np.asarray(group.counts)
    width, base, columns = int(group.width), int(group.base), matrix.shape[1] if matrix.nnz else 0
    if counts.shape != (n,) or counts.dtype.kind not in "iu" or (n and counts.min() < 0):
        raise ValueError(f"features, group {g}: counts must be {n} integers, 0 or more.")
    if counts.sum() != matrix.shape[0]:
        raise ValueError(
            f"features, group {g}: counts of {counts.sum()} rows, but there are {matrix.shape[0]}."
        )
    if not (
        0 < width < _INT32 and columns < _INT32 and base >= 0 and base + columns * width <= dim
    ):
        raise ValueError(
            f"features, group {g}: {columns} columns of width {width} from weight {base} on do not"
            f" fit in {dim} weights; `dim` and `groups` of the feature map disagree."
        )
    return Group(matrix, counts.astype(np.int64), width, base)


def _is_one(values: np.ndarray) -> bool:
    return not len(values) or bool(values.min() == 1 == values.max())


def _pointers(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def _columns(matrix: sparse.csr_array) -> np.ndarray:
    return matrix.indices.astype(np.int32, copy=False)


def _localise(group: Group) -> tuple[np.ndarray, ...]:
    matrix, n = group.matrix, len(group.counts)
    entry_ptr = matrix.indptr.astype(np.int64)[_pointers(group.counts)]
    columns = _columns(matrix)
    numbers = np.empty(len(columns), dtype=np.int32)
    size = np.empty(n, dtype=np.int64)
    run_ptr = np.empty(n + 1, dtype=np.int64)
    runs = np.empty((2, len(columns) + n), dtype=np.int32)
    stamp = np.full(matrix.shape[1], -1, dtype=np.int64)
    total = packing.number_local_columns(
        entry_ptr, columns, stamp, numbers, size, run_ptr, runs[0], runs[1]
    )
    return numbers, size, run_ptr, runs[0, :total].copy(), runs[1, :total].copy()


def _row_starts(groups: list[Group], row_ptr: np.ndarray) -> np.ndarray:
    entries = np.zeros(row_ptr[-1], dtype=np.int64)
    place = row_ptr[:-1].copy()
    for group in groups:
        entries[_spread(place, group.counts)] = np.diff(group.matrix.indptr)
        place = place + group.counts
    return _pointers(entries)


def _spread(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """starts[0], starts[0] + 1, ... (counts[0] of them), starts[1], ..."""
    before = _pointers(counts)[:-1]
    return np.arange(counts.sum()) + np.repeat(starts - before, counts)


def _weight_blocks(
    groups: list[Group], local: list[tuple[np.ndarray, ...]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    counts = [np.diff(run_ptr) for _, _, run_ptr, _, _ in local]
    block_ptr = _pointers(np.sum(counts, axis=0))
    block_start = np.empty(block_ptr[-1], dtype=np.uint32)
    width = np.empty(block_ptr[-1], dtype=np.int32)
    place = block_ptr[:-1].copy()
    for group, count, (*_, start, length) in zip(groups, counts, local, strict=True):
        where = _spread(place, count)
        block_start[where] = group.base + start.astype(np.int64) * group.width
        width[where] = length * group.width
        place = place + count
    return block_ptr, block_start, width
