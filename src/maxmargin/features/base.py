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

_UINT16, _INT32, _UINT32 = 2**16, 2**31, 2**32
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

    A row owns `width` consecutive parts; each of its non-zeros adds its value times a block of
    `width` weights to their scores. The local weights of a sample are the blocks that it uses, side
    by side: first those of the first group of rows, and so on.

    Parameters
    ----------
    row_ptr : ndarray of shape (n_samples + 1,)
        First row of each sample.
    width : ndarray of shape (n_rows,)
        Number of parts of each row.
    shift : ndarray of shape (n_rows,) or (0,)
        What to add to width times the number of a block for its position among the local weights;
        empty if that is 0 in all rows.
    indptr : ndarray of shape (n_rows + 1,)
        First non-zero of each row.
    index, index_high : ndarray of shape (n_nonzeros,), the second maybe (0,)
        Number of each non-zero's block among the blocks of its sample: the low 16 bits and the high
        ones, empty if all of these are 0.
    value : ndarray of shape (n_nonzeros,) or (0,)
        Values of the non-zeros; empty if all of them are 1.
    block_ptr : ndarray of shape (n_samples * n_groups + 1,)
        First block of each group in each sample.
    block_start : ndarray of shape (n_blocks,)
        Position of each block in the weight vector.
    group_width : ndarray of shape (n_groups,)
        Length of the blocks of each group.
    part_ptr : ndarray of shape (n_samples + 1,)
        First part of each sample.
    dim : int
        Number of weights.
    """

    row_ptr: np.ndarray
    width: np.ndarray
    shift: np.ndarray
    indptr: np.ndarray
    index: np.ndarray  # type: ignore[assignment]  # the name in compiled code; hides tuple.index
    index_high: np.ndarray
    value: np.ndarray
    block_ptr: np.ndarray
    block_start: np.ndarray
    group_width: np.ndarray
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
    """Pack rows of width 1 without a copy of values: each sample's own weights are all columns.

    None if samples have fewer non-zeros than there are columns, of which each would gather all.
    """
    n = len(group.counts)
    matrix, counts, width, base = _checked(0, group, n, dim)
    if width != 1 or base != 0 or matrix.shape[1] * n > matrix.nnz:
        return None
    rows, columns = _pointers(counts), matrix.shape[1]
    return PackedFeatures(
        row_ptr=rows,
        width=np.ones(matrix.shape[0], dtype=np.int32),
        shift=np.empty(0, dtype=np.int64),
        indptr=matrix.indptr.astype(np.int64),
        index=matrix.indices.astype(np.uint16),
        index_high=(matrix.indices >> 16 if columns > _UINT16 else np.empty(0)).astype(np.uint16),
        value=np.empty(0) if _is_one(matrix.data) else matrix.data.astype(np.float64, copy=False),
        block_ptr=columns * np.arange(n + 1),
        block_start=np.tile(np.arange(columns, dtype=np.uint32), n),
        group_width=np.ones(1, dtype=np.int64),
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
        total, part = _with_same_groups(total, part)
        total, part = _with_fields_of(total, part), _with_fields_of(part, total)
        for name in ("row_ptr", "indptr", "block_ptr", "part_ptr"):
            old = getattr(total, name)
            append_in_place(old, getattr(part, name)[1:] + old[-1])
        for name in ("width", "shift", "index", "index_high", "value", "block_start"):
            append_in_place(getattr(total, name), getattr(part, name))
    return total


def _with_fields_of(part: PackedFeatures, other: PackedFeatures) -> PackedFeatures:
    """The same, with what is left out in it, but not in the other part."""
    n_entries, n_rows = len(part.index), len(part.width)
    if len(other.value) and not len(part.value):
        part = part._replace(value=np.ones(n_entries))
    if len(other.index_high) and not len(part.index_high):
        part = part._replace(index_high=np.zeros(n_entries, dtype=np.uint16))
    if len(other.shift) and not len(part.shift):
        part = part._replace(shift=np.zeros(n_rows, dtype=np.int64))
    return part


def _with_same_groups(
    one: PackedFeatures, other: PackedFeatures
) -> tuple[PackedFeatures, PackedFeatures]:
    """Two parts with the groups of both: those that are only in one have no rows in the other."""
    a, b = one.group_width.tolist(), other.group_width.tolist()
    if a == b:
        return one, other
    places = [k for k in range(len(a)) if a[k : k + len(b)] == b]
    if a == b[: len(a)]:
        widths, first = b, 0
    else:
        widths, first = (a, places[0]) if places else (a + b, len(a))
    return _with_groups(one, widths, 0), _with_groups(other, widths, first)


def _with_groups(packed: PackedFeatures, widths: list[int], first: int) -> PackedFeatures:
    """The same among groups of these widths, where its own begin at `first`."""
    n, own = len(packed.part_ptr) - 1, len(packed.group_width)
    counts = np.zeros((n, len(widths)), dtype=np.int64)
    counts[:, first : first + own] = np.diff(packed.block_ptr).reshape(n, own)
    return packed._replace(block_ptr=_pointers(counts.ravel()), group_width=np.array(widths))


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
    columns = weight_places(packed)[entry].astype(np.int64) + np.repeat(within, own)
    value = feature_values(packed)[entry]
    return sparse.csr_array((value, columns, indptr), shape=(len(row), dim))


def weight_places(packed: Any) -> np.ndarray:
    """Position of the first weight of all non-zeros among all weights, (n_nonzeros,)."""
    first = packed.block_ptr[: -1 : len(packed.group_width)]
    entries = np.diff(packed.indptr[packed.row_ptr])
    block = np.repeat(first, entries) + packed.index
    if len(packed.index_high):
        block += packed.index_high.astype(np.int64) << 16
    return packed.block_start[block]


def local_sizes(packed: Any) -> np.ndarray:
    """How many weights each sample touches, (n_samples,)."""
    widths = packed.group_width
    return np.diff(packed.block_ptr).reshape(-1, len(widths)) @ widths


def feature_values(packed: Any) -> np.ndarray:
    """Values of all non-zeros, (n_nonzeros,)."""
    return packed.value if len(packed.value) else np.ones(len(packed.index))


def scale_weights(packed: PackedFeatures, which: range, factor: float) -> PackedFeatures:
    """Features by which these weights count `factor` times as much.

    To predict the same they may be smaller by that, so that they are penalised factor^2 times less.
    """
    if not len(which) or factor == 1.0:
        return packed
    places = weight_places(packed)
    own = (places >= which.start) & (places < which.stop)
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
    blocks = np.sum([np.diff(ptr) for _, ptr, _ in local], axis=0)
    index = np.empty(indptr[-1], dtype=np.uint16)
    high = np.empty(indptr[-1] if blocks.max(initial=0) > _UINT16 else 0, dtype=np.uint16)
    all_one = all(_is_one(group.matrix.data) for group in groups)
    value = np.empty(0 if all_one else indptr[-1])
    width = np.empty(row_ptr[-1], dtype=np.int32)
    group_width = np.array([group.width for group in groups])
    shift = np.empty(row_ptr[-1] if np.ptp(group_width) else 0, dtype=np.int64)
    place = np.zeros(n, dtype=np.int64)
    number = np.zeros(n, dtype=np.int64)
    offset = np.zeros(n, dtype=np.int64)
    for group, (numbers, ptr, _) in zip(groups, local, strict=True):
        matrix = group.matrix
        packing.place_rows(
            _pointers(group.counts), matrix.indptr.astype(np.int64),
            np.empty(0) if all_one else matrix.data.astype(np.float64, copy=False),
            numbers, number, offset, place, group.width,
            row_ptr, width, shift, indptr, index, high, value,
        )  # fmt: skip
        place = place + group.counts
        number = number + np.diff(ptr)
        offset = offset + np.diff(ptr) * group.width
    if n and offset.max() > np.iinfo(np.int32).max:
        raise ValueError("a single sample touches more than 2**31 weights")
    block_ptr, block_start = _weight_blocks(groups, local)
    part_ptr = _pointers(np.sum([group.counts * group.width for group in groups], axis=0))
    return PackedFeatures(
        row_ptr, width, shift, indptr, index, high, value, block_ptr, block_start, group_width,
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
    """Numbers of the entries' columns among those of their samples, and these, sample by sample."""
    matrix, n = group.matrix, len(group.counts)
    entry_ptr = matrix.indptr.astype(np.int64)[_pointers(group.counts)]
    columns = _columns(matrix)
    numbers = np.empty(len(columns), dtype=np.int32)
    ptr = np.empty(n + 1, dtype=np.int64)
    listed = np.empty(2 * len(columns), dtype=np.int32)
    stamp = np.full(matrix.shape[1], -1, dtype=np.int64)
    packing.number_local_columns(entry_ptr, columns, stamp, numbers, ptr, listed)
    return numbers, ptr, listed[: ptr[-1]].copy()


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
) -> tuple[np.ndarray, np.ndarray]:
    """Blocks of all groups sample by sample: `block_ptr` and `block_start`."""
    counts = np.column_stack([np.diff(ptr) for _, ptr, _ in local])
    block_ptr = _pointers(counts.ravel())
    block_start = np.empty(block_ptr[-1], dtype=np.uint32)
    for g, (group, (_, _, columns)) in enumerate(zip(groups, local, strict=True)):
        where = _spread(block_ptr[g : -1 : len(groups)], counts[:, g])
        block_start[where] = group.base + columns.astype(np.int64) * group.width
    return block_ptr, block_start
