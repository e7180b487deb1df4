"""Features of pairs of strings: a row for each part of `PairAlignment`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from maxmargin.structures.base import Layout
from maxmargin.tasks.strings.symbols import (
    BASE,
    FEW,
    MANY,
    PADDING,
    SYMBOL,
    Strings,
    SymbolCodes,
    tabulate_similarity,
)
from maxmargin.validation.samples import Rows, SampleRows

#: how far similarities of neighbours are looked at
_WINDOW = range(1, PADDING + 1)
#: pairs of symbols that are scored together, and strings of more, which are scored without rows
_BLOCK, LONG = 1 << 17, 1 << 15
#: value of the features of two symbols where their similarity is known: a stronger prior
_WEAK = 0.3
Pair = tuple[Sequence[Hashable], Sequence[Hashable]]


class Cells(NamedTuple):
    """Places of the symbols of all pairs of symbols, and of the pair of strings they are of."""

    pair: np.ndarray
    first: np.ndarray
    second: np.ndarray


class Columns:
    """Numbers columns of features, a range for each kind in the order in which they come."""

    def __init__(self, values: bool, n_columns: int = 0) -> None:
        self.n_columns = n_columns
        self._numbers: list[np.ndarray] = []
        self._values: list[np.ndarray] | None = [] if values else None

    def add(self, number: Any, size: int, value: Any = 1.0) -> None:
        """Add a feature of each row: its number, below a size, and its value."""
        self._numbers.append(np.asarray(number) + self.n_columns)
        if self._values is not None:
            self._values.append(np.broadcast_to(np.asarray(value, float), self._numbers[-1].shape))
        self.n_columns += size

    def finish(self) -> tuple[np.ndarray, np.ndarray]:
        """The numbers and values, (n_rows, n_features)."""
        width = len(self._numbers)
        numbers = np.stack(np.broadcast_arrays(*self._numbers), axis=-1).astype(np.int32)
        numbers = numbers.reshape(-1, width)
        if self._values is None:
            return numbers, np.ones(numbers.shape, dtype=np.int8)
        return numbers, np.stack(np.broadcast_arrays(*self._values), axis=-1).reshape(-1, width)


class Scores(Columns):
    """Adds weights of columns, instead of numbering them: no rows are made of them."""

    def __init__(self, w: np.ndarray, n_columns: int = 0) -> None:
        self.n_columns, self._w, self.total = n_columns, w, np.zeros(())

    def add(self, number: Any, size: int, value: Any = 1.0) -> None:
        """Add the weight of a feature of each row, times its value."""
        own = self._w[self.n_columns : self.n_columns + size][number]
        self.total = self.total + (own if np.isscalar(value) and value == 1.0 else own * value)
        self.n_columns += size


class PairFeatures:
    """Makes feature rows of pairs.

    codes : of symbols. similarity : see `tabulate_similarity`, or None. context : whether
    neighbours and positions are looked at. free_ends : whether gaps at the ends have no features.
    """

    def __init__(self, codes: SymbolCodes, similarity: Any, context: bool, free_ends: bool):
        self.codes, self.similarity = codes, similarity
        self.context, self.free_ends = context, free_ends
        self._weight = _WEAK if similarity is not None else 1.0
        self.n_columns = self.make_rows([("a", "a")]).shape[1]

    def make_rows(self, pairs: Sequence[Pair]) -> sparse.csr_array:
        """The rows of pairs, one after the other."""
        a, b = (self.codes.encode([pair[side] for pair in pairs]) for side in (0, 1))
        counts = np.column_stack([a.lengths * b.lengths, 6 * a.lengths, 6 * b.lengths])
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).reshape(-1, 3)  # of each kind
        matches = Columns(self.similarity is not None)
        self._add_matches(matches, a, b, _list_cells(a, b))
        deleted, inserted = (Columns(self.similarity is not None, matches.n_columns) for _ in "ab")
        self._add_gaps(deleted, a, b.lengths)
        self._add_gaps(inserted, b, a.lengths)
        rows = (
            _ranges(starts[:, 0], counts[:, 0]),
            _ranges(starts[:, 1], counts[:, 1]),
            _insertion_rows(starts[:, 2], b.lengths),
        )
        empty = np.zeros(int(counts.sum()), dtype=bool)
        if self.free_ends:
            for own in rows[1:]:
                empty[own.reshape(-1, 3, 2)[:, [0, 2]].ravel()] = True
        blocks = [
            (own, *columns.finish())
            for own, columns in zip(rows, (matches, deleted, inserted), strict=True)
        ]
        return _stack_blocks(blocks, deleted.n_columns, empty)

    def score_parts(self, pair: Pair, w: np.ndarray) -> np.ndarray:
        """The scores of the parts of one pair, in little more memory than they take."""
        a, b = (self.codes.encode([string]) for string in pair)
        (m,), (n,) = a.lengths, b.lengths
        found = np.empty(m * n + 6 * (m + n))
        second = _ranges(b.starts, b.lengths)
        step, matches = max(_BLOCK // n, 1), Scores(w)
        for i in range(0, m, step):
            first = a.starts[0] + np.arange(i, min(i + step, m))
            cells = Cells(
                np.zeros(len(first) * n, dtype=np.int64),
                np.repeat(first, n), np.tile(second, len(first)),
            )  # fmt: skip
            matches = Scores(w)
            self._add_matches(matches, a, b, cells)
            found[i * n : (i + len(first)) * n] = matches.total
        gaps = []
        for own, other in ((a, b), (b, a)):
            scores = Scores(w, matches.n_columns)
            self._add_gaps(scores, own, other.lengths)
            if self.free_ends:
                scores.total[:, [0, 2]] = 0.0
            gaps.append(scores.total)
        found[m * n : m * n + 6 * m] = gaps[0].ravel()
        found[m * n + 6 * m :] = gaps[1].swapaxes(0, 1).ravel()  # sorted by place
        return found

    # -- matches -----------------------------------------------------------------------------------
    def _add_matches(self, columns: Columns, a: Strings, b: Strings, cells: Cells) -> None:
        sizes = self.codes.sizes
        if self.similarity is not None:
            self._add_similarities(columns, a, b, cells)
        weak = self._weight
        for view in (SYMBOL, BASE, FEW, MANY) if self.context else (SYMBOL,):
            x, y = a.codes[view][cells.first], b.codes[view][cells.second]
            columns.add(_unordered(x, y), _n_unordered(sizes[view]), weak)
            if view in (SYMBOL, BASE):
                x, y = a.same[view][cells.first], b.same[view][cells.second]
            columns.add(((x == y) & (x > 0)).astype(np.int64), 2, weak)
        if self.context:
            self._add_context(columns, a, b, cells)

    def _add_similarities(self, columns: Columns, a: Strings, b: Strings, cells: Cells) -> None:
        known = list(dict.fromkeys([*a.known, *b.known]))
        table = tabulate_similarity(self.similarity, known)
        place = {symbol: k for k, symbol in enumerate(known, start=1)}
        x, y = (
            np.array([0, *(place[symbol] for symbol in own.known)])[own.numbers] for own in (a, b)
        )
        columns.add(np.zeros(len(cells.pair), np.int64), 1, table[x[cells.first], y[cells.second]])
        for d in _WINDOW:
            around = sum(table[x[cells.first + s], y[cells.second + s]] for s in (-d, d))
            columns.add(np.zeros(len(cells.pair), np.int64), 1, around / 2.0)

    def _add_context(self, columns: Columns, a: Strings, b: Strings, cells: Cells) -> None:
        few = _n_unordered(self.codes.sizes[FEW])
        own = _unordered(a.codes[FEW][cells.first], b.codes[FEW][cells.second])
        for d in (-1, 1):
            x, y = cells.first + d, cells.second + d
            beside = _unordered(a.codes[FEW][x], b.codes[FEW][y])
            columns.add(beside, few)
            columns.add(beside * few + own, few**2)
            same = a.same[SYMBOL][x] == b.same[SYMBOL][y]
            columns.add(same * few + own, 2 * few)
        i, j = cells.first - a.starts[cells.pair], cells.second - b.starts[cells.pair]
        p, q = a.lengths[cells.pair] - 1 - i, b.lengths[cells.pair] - 1 - j
        columns.add(4 * np.minimum(np.abs(i - j), 3) + np.minimum(np.abs(p - q), 3), 16)
        first, last = (
            2 * (np.minimum(s, t) == 0) + (s + t == 0) for s, t in ((i, j), (p, q))
        )  # fmt: skip
        columns.add(first + 4 * last, 16)

    # -- gaps --------------------------------------------------------------------------------------
    def _add_gaps(self, columns: Columns, own: Strings, other_lengths: np.ndarray) -> None:
        """Features of (symbol, place, first or further)."""
        at = _ranges(own.starts, own.lengths)
        pair = np.repeat(np.arange(len(own.lengths)), own.lengths)
        kind = 2 * np.arange(3)[:, np.newaxis] + np.arange(2)  # place, and first or further
        further = np.broadcast_to(np.arange(2), (3, 2))
        ended = 2 * np.array([1, 0, 1])[:, np.newaxis] + np.arange(2)  # at either end
        sizes, weak = self.codes.sizes, self._weight

        def code(view: int, d: int = 0) -> np.ndarray:
            return own.codes[view][at + d][:, np.newaxis, np.newaxis]

        shape = np.zeros((len(at), 3, 2), dtype=np.int64)
        columns.add(shape + kind, 6)
        columns.add(shape + ended, 4)
        if not self.context:
            columns.add(4 * code(SYMBOL) + ended, 4 * sizes[SYMBOL], weak)
            for d in (-2, -1, 1, 2):
                columns.add(4 * code(SYMBOL, d) + ended, 4 * sizes[SYMBOL], weak)
            return
        for view in (SYMBOL, BASE, FEW, MANY):
            columns.add(code(view) + shape, sizes[view])
            columns.add(6 * code(view) + kind, 6 * sizes[view])
        for d in (-1, 1):
            for view in (BASE, FEW, MANY):
                columns.add(2 * code(view, d) + further, 2 * sizes[view])
            both = sizes[FEW] * code(FEW, d) + code(FEW)
            columns.add(6 * both + kind, 6 * sizes[FEW] ** 2)
            same = (own.same[SYMBOL][at + d] == own.same[SYMBOL][at])[:, np.newaxis, np.newaxis]
            columns.add(2 * same + further, 4)
        longer = np.clip(own.lengths - other_lengths, -3, 3)[pair][:, np.newaxis, np.newaxis] + 3
        columns.add(6 * longer + kind, 42)
        i = at - own.starts[pair]
        p = own.lengths[pair] - 1 - i
        place = (3 * np.minimum(i, 2) + np.minimum(p, 2))[:, np.newaxis, np.newaxis]
        columns.add(6 * place + kind, 54)


class PairRows(SampleRows):
    """The rows of pairs, made where they are asked for."""

    def __init__(self, features: PairFeatures, pairs: Sequence[Pair]):
        self._features, self._pairs = features, pairs
        self.layouts: list[Layout] = [(len(a), len(b)) for a, b in pairs]
        self.lengths = np.array([m * n + 6 * (m + n) for m, n in self.layouts], dtype=np.int64)
        self.n_columns = features.n_columns

    @property
    def matrix(self) -> sparse.csr_array:
        return self.part(0, len(self.lengths)).matrix

    def part(self, first: int, last: int) -> Rows:
        """The rows of some of the pairs."""
        made = self._features.make_rows(self._pairs[first:last])
        return Rows(made, self.lengths[first:last])


def _ranges(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """starts[0], starts[0] + 1, ..., as many as counts[0], then the same of the others."""
    before = np.cumsum(counts) - counts
    return np.arange(counts.sum()) + np.repeat(starts - before, counts)


def _list_cells(a: Strings, b: Strings) -> Cells:
    """All pairs of symbols, row by row."""
    pair = np.repeat(np.arange(len(a.lengths)), a.lengths)
    first = _ranges(a.starts, a.lengths)
    width = b.lengths[pair]
    return Cells(
        np.repeat(pair, width), np.repeat(first, width), _ranges(b.starts[pair], width)
    )  # fmt: skip


def _insertion_rows(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The rows of insertions, which are sorted by place, in the order symbol, place, kind."""
    symbol = _ranges(np.zeros_like(lengths), lengths)
    width, start = (np.repeat(own, lengths) for own in (lengths, starts))
    place = np.arange(3)[:, np.newaxis] * width[:, np.newaxis, np.newaxis]
    at = start[:, np.newaxis, np.newaxis] + 2 * (place + symbol[:, np.newaxis, np.newaxis])
    return (at + np.arange(2)).ravel()


def _stack_blocks(blocks: list[Any], width: int, empty: np.ndarray) -> sparse.csr_array:
    """One matrix of blocks (rows, numbers, values); rows that are `empty` have none."""
    counts = np.zeros(len(empty), dtype=np.int64)
    for rows, numbers, _ in blocks:
        counts[rows] = numbers.shape[1]
    counts[empty] = 0
    indptr = np.concatenate([[0], np.cumsum(counts)])
    indices = np.empty(indptr[-1], dtype=np.int32)
    data = np.empty(indptr[-1], dtype=blocks[0][2].dtype)
    for rows, numbers, values in blocks:
        kept = ~empty[rows]
        at = indptr[rows[kept], np.newaxis] + np.arange(numbers.shape[1])
        indices[at], data[at] = numbers[kept], values[kept]
    return sparse.csr_array((data, indices, indptr), shape=(len(empty), width))


def _unordered(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    high = np.maximum(x, y)
    return high * (high + 1) // 2 + np.minimum(x, y)


def _n_unordered(size: int) -> int:
    return size * (size + 1) // 2
