"""Features of segments of sequences, and of their positions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from maxmargin.exceptions import SampleError
from maxmargin.features.base import FeatureMap, Group, append_ones
from maxmargin.structures.segments import MOST_PARTS
from maxmargin.validation.options import Count, check_options
from maxmargin.validation.samples import Rows, as_array, check_is_list, check_rows


class SegmentRows(NamedTuple):
    """Rows of the positions of all samples, and of the segments that begin at each, by length."""

    positions: Rows
    segments: Rows

    @property
    def lengths(self) -> np.ndarray:
        return self.positions.lengths

    def part(self, first: int, last: int) -> SegmentRows:
        """Some of the samples."""
        return SegmentRows(self.positions.part(first, last), self.segments.part(first, last))


class SegmentFeatures(FeatureMap):
    """Scores of `Segments(max_length, positions=True)` from features times labels.

    A position with features x scores x . U[:, k] if a segment with label k begins there, and
    x . V[:, k] if one goes on there; a segment with features f scores f . W[:, k]. Weights, in this
    order: [U, V], row by row; W; then, with `transitions`, a (K, K) table, row = left label.

    Parameters
    ----------
    max_length : int, default=8
        Positions of a segment at most.
    bias : bool, default=True
        Whether to add a feature of segments for each length.
    ends : bool, default=True
        Whether to add a feature that is 1 at the first position of a sample, and one for the last.
    transitions : bool, default=True
        Whether to learn the table of neighbouring labels; without it, they score 0.
    """

    def __init__(
        self, max_length: Count = 8, bias: bool = True, ends: bool = True, transitions: bool = True
    ):
        self.max_length = max_length
        self.bias = bias
        self.ends = ends
        self.transitions = transitions

    def check(self, X: Any) -> SegmentRows:
        if isinstance(X, SegmentRows):
            return X
        check_options(self)
        check_is_list(X)
        if not len(X):
            raise ValueError("X is empty: at least one sample is needed.")
        both = [self._divide(i, x) for i, x in enumerate(X)]
        return SegmentRows(*(_check_rows(list(kind)) for kind in zip(*both, strict=True)))

    def _divide(self, i: int, x: Any) -> tuple[Any, Any]:
        """Features of positions and of segments, of which a sample may have one kind or both."""
        most = int(self.max_length)
        given = [as_array(i, own) for own in (x if isinstance(x, tuple) else (x,))]
        shapes = [array.shape for array in given]
        if [len(shape) for shape in shapes] not in ([2], [3], [2, 3]) or (
            len(shapes) == 2 and shapes[0][0] != shapes[1][0]
        ):
            raise SampleError.of(
                i,
                f": x has shape {' and '.join(map(str, shapes))}, expected (n, n_features) of"
                f" positions, (n, {most}, n_features) of segments, or a tuple of both.",
            )
        n, last = shapes[0][0], given[-1]
        if n * most > MOST_PARTS:
            raise SampleError.of(
                i,
                f": max_length={most}: {n} positions have {n * most} segments, at most"
                f" {MOST_PARTS} are possible.",
            )
        if last.ndim == 2:
            return last, sparse.csr_array((n * most, 0))
        if last.shape[1] != most:
            raise SampleError.of(
                i,
                f": x has shape {last.shape}, expected features of segments of 1 to"
                f" max_length={most} positions, (n, {most}, n_features).",
            )
        return given[0] if len(given) == 2 else np.empty((n, 0)), last.reshape(n * most, -1)

    def n_columns(self, X: SegmentRows) -> int:
        # features of positions have two rows of weights
        return 2 * X.positions.n_columns + X.segments.n_columns

    def dim(self, n_columns: int, n_labels: int) -> int:
        rows = n_columns + 4 * bool(self.ends) + int(self.max_length) * bool(self.bias)
        return (rows + (n_labels if self.transitions else 0)) * n_labels

    def constant_weights(self, X: SegmentRows, n_labels: int) -> range:
        rows = 2 * (X.positions.n_columns + 2 * bool(self.ends)) + X.segments.n_columns
        return range(rows * n_labels, (rows + int(self.max_length) * bool(self.bias)) * n_labels)

    def groups(self, X: SegmentRows, n_labels: int, n_parts: np.ndarray) -> list[Group]:
        positions, segments, most = X.positions.matrix, X.segments.matrix, int(self.max_length)
        stops = np.cumsum(X.lengths)
        if self.ends:
            positions = append_ones(positions, stops - X.lengths, stops - 1)
        if self.bias:
            segments = sparse.hstack([segments, _list_lengths(X.lengths, most)], format="csr")
        base = 2 * n_labels * positions.shape[1]
        one = np.full((len(stops), 1), float(self.transitions))
        return [
            Group(positions, X.lengths, 2 * n_labels, 0),
            Group(segments, most * X.lengths, n_labels, base),
            Group(
                sparse.csr_array(one), np.ones_like(stops), n_labels * n_labels,
                base + n_labels * segments.shape[1],
            ),
        ]  # fmt: skip


def _check_rows(samples: list[Any]) -> Rows:
    """Checked rows of samples, whose features may be of the other kind alone."""
    if any(x.shape[1] for x in samples) or not all(x.shape[0] for x in samples):
        return check_rows(samples)
    lengths = np.array([x.shape[0] for x in samples], dtype=np.int64)
    return Rows(sparse.csr_array((int(lengths.sum()), 0)), lengths)


def _list_lengths(lengths: np.ndarray, most: int) -> sparse.csr_array:
    """A column for each length of a segment; segments beyond the end of a sample have none."""
    places = np.arange(lengths.sum())
    counts = np.minimum(np.repeat(np.cumsum(lengths), lengths) - places, most)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = most * np.repeat(places, counts) + within
    ones = np.ones(len(rows), dtype=np.int8)
    return sparse.csr_array((ones, (rows, within)), shape=(most * len(places), most))
