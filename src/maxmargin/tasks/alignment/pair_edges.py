"""All word pairs (edges) of all sentence pairs in one flat order, their neighbours and rivals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from maxmargin.tasks.alignment.translation_models import start_pointers

EDGES_AT_A_TIME = 10_000  # features take about 5 kB an edge while they are worked out


def split_by_edges(pairs: Sequence[Any]) -> Iterator[slice]:
    """Stretches of sentence pairs with not too many edges each, one pair at least."""
    first, edges = 0, 0
    for s, (source, target) in enumerate(pairs):
        own = len(source) * len(target)
        if s > first and edges + own > EDGES_AT_A_TIME:
            yield slice(first, s)
            first, edges = s, 0
        edges += own
    if first < len(pairs):
        yield slice(first, len(pairs))


class Edges:
    """Edge (i, j) of sentence pair s, with J x K words, stands at ptr[s] + i K + j.

    i, j, rows (J), columns (K) : one number an edge. row, column : the number of the edge's source
    and target word among those of all pairs.
    """

    def __init__(self, source_lengths: np.ndarray, target_lengths: np.ndarray):
        self.source_lengths = np.asarray(source_lengths, dtype=np.int64)
        self.target_lengths = np.asarray(target_lengths, dtype=np.int64)
        counts = self.source_lengths * self.target_lengths
        self.ptr = start_pointers(counts)
        self.source_ptr = start_pointers(self.source_lengths)
        self.target_ptr = start_pointers(self.target_lengths)
        pair = np.repeat(np.arange(len(counts)), counts)
        place = np.arange(self.ptr[-1]) - self.ptr[pair]
        self.rows, self.columns = self.source_lengths[pair], self.target_lengths[pair]
        self.i, self.j = np.divmod(place, np.maximum(self.columns, 1))
        self.row = self.source_ptr[pair] + self.i
        self.column = self.target_ptr[pair] + self.j

    def __len__(self) -> int:
        return int(self.ptr[-1])

    def shifted(self, values: np.ndarray, di: int, dj: int) -> np.ndarray:
        """The value of edge (i + di, j + dj), 0 outside the sentences."""
        i, j = self.i + di, self.j + dj
        inside = (i >= 0) & (i < self.rows) & (j >= 0) & (j < self.columns)
        found = np.zeros(len(values))
        here = np.flatnonzero(inside)
        found[here] = values[here + di * self.columns[here] + dj]
        return found

    def best_rival(self, values: np.ndarray, by: str) -> np.ndarray:
        """The largest value, at least 0, of the other edges of the same source or target word."""
        key, n = (
            (self.row, self.source_ptr[-1])
            if by == "source"
            else (self.column, self.target_ptr[-1])
        )
        best, second = np.zeros(n), np.zeros(n)
        np.maximum.at(best, key, values)
        is_best = values == best[key]
        count = np.bincount(key[is_best], minlength=n)
        np.maximum.at(second, key[~is_best], values[~is_best])
        second[count > 1] = best[count > 1]  # two edges share the first place
        return np.where(is_best, second[key], best[key])
