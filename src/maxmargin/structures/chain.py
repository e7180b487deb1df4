"""Label sequences."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, ClassVar

import numpy as np

from maxmargin._numba import min_norm_sizes
from maxmargin._numba.chain.k_best import k_best
from maxmargin.exceptions import InfeasibleError
from maxmargin.oracles.base import check_k, check_scores
from maxmargin.oracles.compiled import HullOracle
from maxmargin.structures.base import Constraints, Layout, Structure, check_sides
from maxmargin.structures.network.node_labels import label_constraints, write_labels


class Chain(Structure):
    """A label at each of T positions, with scores for neighbouring pairs. layout = (T, K).

    Parts: T * K node-label parts, then pair parts in tables (K, K), row = left label. If `tied`,
    there is one table, whose parts count how often each pair occurs, which is sufficient for a
    model with the same transition scores at all positions. Otherwise there is a table for each of
    the T - 1 neighbouring pairs.

    Parameters
    ----------
    tied : bool, default=True
        Whether one pair table is shared by all positions.
    forbidden_transitions : array_like of shape (n_labels, n_labels), default=None
        Boolean mask, True where label j must not be followed by label k.
    forbidden_first, forbidden_last : array_like of shape (n_labels,), default=None
        Boolean masks, True for labels that must not be the first or the last one.
    """

    def __init__(
        self,
        tied: bool = True,
        forbidden_transitions: Any = None,
        forbidden_first: Any = None,
        forbidden_last: Any = None,
    ):
        self.tied = tied
        self.forbidden_transitions = forbidden_transitions
        self.forbidden_first = forbidden_first
        self.forbidden_last = forbidden_last

    def _make_oracle(self) -> ChainOracle:
        return ChainOracle(self)

    def _n_tables(self, layout: Layout) -> int:
        return 1 if self.tied else _sides(layout)[0] - 1

    def n_parts(self, layout: Layout) -> int:
        length, labels = _sides(layout)
        return length * labels + self._n_tables(layout) * labels * labels

    def variables(self, layout: Layout) -> tuple[int, int]:
        return _sides(layout)

    def vertex_size(self, layout: Layout) -> int:
        return 2 * _sides(layout)[0] - 1

    def radius(self, layout: Layout) -> float:
        # largest where all labels differ and, if tied, each sequence has one pair throughout
        pairs = _sides(layout)[0] - 1
        return float(np.sqrt(2 * (pairs + 1) + 2 * (pairs**2 if self.tied else pairs)))

    def forbidden(self, layout: Layout) -> np.ndarray:
        length, labels = _sides(layout)
        found = []
        if self.forbidden_first is not None:
            found.append(self._mask("forbidden_first", (labels,)))
        if self.forbidden_last is not None:
            last = self._mask("forbidden_last", (labels,))
            found.append(last + (length - 1) * labels)
        if self.forbidden_transitions is not None:
            pairs = self._mask("forbidden_transitions", (labels, labels))
            starts = length * labels + np.arange(self._n_tables(layout)) * labels * labels
            found.append(np.add.outer(starts, pairs).ravel())
        return np.unique(np.concatenate(found)) if found else super().forbidden(layout)

    def _mask(self, name: str, expected: Layout) -> np.ndarray:
        mask = np.asarray(getattr(self, name), dtype=bool)
        if mask.shape != expected:
            raise ValueError(f"{name} has shape {mask.shape}, expected {expected}.")
        return np.flatnonzero(mask)

    def encode(self, y: Any, layout: Layout) -> np.ndarray:
        z = np.zeros(self.n_parts(layout))
        return write_labels(z, y, *_sides(layout), _edges(layout), bool(self.tied))

    def decode(self, z: np.ndarray, layout: Layout) -> np.ndarray:
        length, labels = _sides(layout)
        return z[: length * labels].reshape(length, labels).argmax(axis=1)

    def vertices(self, layout: Layout) -> Iterator[np.ndarray]:
        banned = self.forbidden(layout)
        for y in product(range(layout[1]), repeat=layout[0]):
            z = self.encode(y, layout)
            if not z[banned].any():
                yield z

    def constraints(self, layout: Layout) -> Constraints:
        tied, banned = bool(self.tied), self.forbidden(layout)
        return label_constraints(*_sides(layout), _edges(layout), tied, banned)


class ChainOracle(HullOracle):
    """Dynamic programs along the chain: Viterbi, forward and backward sums."""

    structure: Chain
    compiled: ClassVar[dict[str, str]] = {
        "maximize": "chain.maximize",
        "max_marginals": "chain.maximize",
        "project": "chain.project",
        "marginals": "chain.marginals",
    }

    def layout_as_ints(self, layout: Layout) -> tuple[int, ...]:
        length, labels = _sides(layout)
        return length, labels, 0 if self.structure.tied else labels * labels

    def scratch(self, layout: Layout) -> tuple[int, int]:
        length, labels = _sides(layout)
        parts = self.structure.n_parts(layout)
        own = 3 * length * labels + labels * labels + 5 * labels + length
        floats = min_norm_sizes.float_size(parts, length) + own
        return floats, min_norm_sizes.int_size(parts, length) + 2 * length

    def k_best(self, theta: np.ndarray, layout: Layout, k: int) -> list[tuple[np.ndarray, float]]:
        # Viterbi with k prefixes for each label, O(T K (K + k log K))
        length, labels = _sides(layout)
        theta = check_scores(self.structure, theta, layout)
        k = min(check_k(k), labels**length)
        layout_ints = np.require(self.layout_as_ints(layout), np.int64, ["C", "W"])
        scores = np.empty(k)
        sequences, origin = np.empty((k, length), np.int64), np.empty(length * labels * k, np.int64)
        work, iwork = np.empty(2 * labels * k + 2 * labels), np.empty(4 * labels, np.int64)
        found = k_best(theta, layout_ints, k, scores, sequences.ravel(), origin, work, iwork)
        if found == 0:
            raise InfeasibleError("every output is forbidden (all scores are -inf).")
        return [
            (self.structure.encode(y, layout), float(v))
            for y, v in zip(sequences[:found], scores, strict=False)
        ]


def _sides(layout: Layout) -> tuple[int, int]:
    length, labels = check_sides(layout, "length", "number of labels")
    return length, labels


def _edges(layout: Layout) -> np.ndarray:
    """Neighbouring positions."""
    first = np.arange(_sides(layout)[0] - 1)
    return np.column_stack([first, first + 1])
