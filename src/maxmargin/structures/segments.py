"""Segments of a sequence, each with a label."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from maxmargin.oracles.base import check_scores
from maxmargin.oracles.compiled import CompiledOracle
from maxmargin.structures.base import Constraints, Layout, Structure, check_sides
from maxmargin.structures.derivations.derivations import Derivations
from maxmargin.structures.derivations.layout import Deduction, DerivationLayout
from maxmargin.structures.matching.candidates import as_integers
from maxmargin.validation.options import Count, check_options

#: parts of a sample: more take gigabytes
MOST_PARTS = 2**28


class Segments(Structure):
    """n positions cut into segments, each with one of K labels. layout = (n, K).

    Parts: for each first position and each length from 1 to `max_length` K labels of the segment,
    (n, max_length, K); then a table (K, K), row = left label, that counts neighbouring labels. With
    `positions`, (n, 2, K) others come before them: for each position the labels whose segment
    begins there, then those whose segment goes on there. An output y is an array of shape (m, 3) of
    segments (begin, end, label), in order, each from position begin to end - 1. A score of -inf
    forbids a part. With `max_length=1` and no parts of positions these are the parts of `Chain`.

    Parameters
    ----------
    max_length : int, default=8
        Positions of a segment at most.
    positions : bool, default=False
        Whether positions have parts, too: then features of positions cost no more than those of a
        chain with labels B-X and I-X, whatever the lengths of segments.
    single : ndarray of bool of shape (K,) or None, default=None
        Labels whose segments have one position, such as those outside of all chunks.

    Notes
    -----
    The best segments and sums over all of them take O(n K (K + max_length)) steps (Sarawagi and
    Cohen 2004).
    """

    def __init__(
        self, max_length: Count = 8, positions: bool = False, single: np.ndarray | None = None
    ):
        self.max_length = max_length
        self.positions = positions
        self.single = single

    def _make_oracle(self) -> SegmentOracle:
        check_options(self)
        return SegmentOracle(self)

    def n_parts(self, layout: Layout) -> int:
        n, labels = _sides(layout)
        count = (n * (self.max_length + 2 * bool(self.positions)) + labels) * labels
        if count > MOST_PARTS:
            raise ValueError(
                f"max_length={self.max_length}: {n} positions with {labels} labels have {count}"
                f" parts, at most {MOST_PARTS} are possible."
            )
        return count

    def variables(self, layout: Layout) -> tuple[int, int]:
        n, labels = _sides(layout)
        if self.positions:
            return n, 2 * labels
        return (n, labels) if self.max_length == 1 else (n * self.max_length * labels, 1)

    def vertex_size(self, layout: Layout) -> int:
        return (2 + bool(self.positions)) * _sides(layout)[0] - 1

    def radius(self, layout: Layout) -> float:
        n = _sides(layout)[0]  # its n - 1 pairs of neighbours are counted by parts
        return float(np.sqrt(2 * n * (1 + bool(self.positions)) + 2 * (n - 1) ** 2))

    def _start(self, layout: Layout) -> int:
        """The first part of segments."""
        n, labels = _sides(layout)
        return 2 * n * labels * bool(self.positions)

    def forbidden(self, layout: Layout) -> np.ndarray:
        # segments beyond the end, and long ones of labels that have none
        n, labels = _sides(layout)
        begin, length = np.divmod(np.arange(n * self.max_length), self.max_length)
        wrong = np.repeat((begin + length >= n)[:, np.newaxis], labels, axis=1)
        if self.single is not None:
            wrong |= np.logical_and.outer(length > 0, self._single(labels))
        return self._start(layout) + np.flatnonzero(wrong)

    def _single(self, labels: int) -> np.ndarray:
        found = np.asarray(self.single)
        if found.dtype != bool or found.shape != (labels,):
            raise ValueError(
                f"single must be an array of bool of shape ({labels},), one per label."
            )
        return found

    def encode(self, y: Any, layout: Layout) -> np.ndarray:
        (n, labels), found = _sides(layout), as_integers("y", y)
        if found.ndim != 2 or found.shape[1] != 3:
            raise ValueError(f"y has shape {found.shape}, expected (m, 3), (begin, end, label).")
        begin, end, label = found.T
        if not np.array_equal(np.append(begin, n), np.append(0, end)):
            raise ValueError(f"y: segments must follow each other from 0 to {n}, the end.")
        lengths = end - begin
        if lengths.min() < 1 or lengths.max() > self.max_length:
            k = int(np.argmax((lengths < 1) | (lengths > self.max_length)))
            raise ValueError(
                f"y: the segment from {begin[k]} to {end[k]} has {lengths[k]} positions, and"
                f" max_length={self.max_length} allows 1 to {self.max_length}."
            )
        if label.min() < 0 or label.max() >= labels:
            raise ValueError(f"y has labels beyond 0 to {labels - 1}.")
        z, start = np.zeros(self.n_parts(layout)), self._start(layout)
        if self.positions:
            inside = np.arange(n) > np.repeat(begin, lengths)
            z[(2 * np.arange(n) + inside) * labels + np.repeat(label, lengths)] = 1.0
        z[start + (begin * self.max_length + lengths - 1) * labels + label] = 1.0
        table = start + (n * self.max_length + label[:-1]) * labels + label[1:]
        np.add.at(z, table, 1.0)
        return z

    def decode(self, z: np.ndarray, layout: Layout) -> np.ndarray:
        n, labels = _sides(layout)
        start = self._start(layout)
        on = np.flatnonzero(np.asarray(z)[start : start + n * self.max_length * labels] > 0.5)
        segment, label = np.divmod(on, labels)
        begin, length = np.divmod(segment, self.max_length)
        return np.column_stack([begin, begin + length + 1, label])

    def vertices(self, layout: Layout) -> Iterator[np.ndarray]:
        return Derivations().vertices(self.program(layout))

    def constraints(self, layout: Layout) -> Constraints:
        return Derivations().constraints(self.program(layout))

    def program(self, layout: Layout) -> DerivationLayout:
        """Return the dynamic program whose derivations are the ways to cut.

        Parameters
        ----------
        layout : tuple of int
            Number of positions and of labels.

        Returns
        -------
        DerivationLayout
            Its items and steps, each output by one derivation.
        """
        n, labels = _sides(layout)
        single = (False,) * labels if self.single is None else tuple(self._single(labels).tolist())
        return _make_program(n, labels, self.max_length, bool(self.positions), single)


class SegmentOracle(CompiledOracle):
    """Viterbi's algorithm over segments, and sums forwards and back."""

    compiled: ClassVar[dict[str, str]] = dict.fromkeys(("maximize", "marginals"), "segments")
    projects_by_maximize = True
    structure: Segments

    def layout_as_ints(self, layout: Layout) -> tuple[int, int, int, int]:
        return *_sides(layout), self.structure.max_length, int(self.structure.positions)

    def scratch(self, layout: Layout) -> tuple[int, int]:
        n, labels = _sides(layout)
        scores = n * self.structure.max_length * labels if self.structure.positions else 0
        width = min(n, self.structure.max_length) * labels
        return (4 * n + 8 + labels) * labels + n + 1 + width + scores, (n + 1) * labels + width

    def k_best(self, theta: np.ndarray, layout: Layout, k: int) -> list[tuple[np.ndarray, float]]:
        theta = check_scores(self.structure, theta, layout)
        return Derivations().k_best(theta, self.structure.program(layout), k)


def _sides(layout: Layout) -> tuple[int, int]:
    n, labels = check_sides(layout, "number of positions", "number of labels")
    return n, labels


@lru_cache(maxsize=16)
def _make_program(
    n: int, labels: int, most: int, positions: bool, single: tuple[bool, ...]
) -> DerivationLayout:
    """Positions before which a segment with a label has ended."""
    program, start = Deduction(), 2 * n * labels * positions
    for t in range(1, n + 1):
        for k in range(labels):
            for length in range(1, 2 if single[k] else min(most, t) + 1):
                s = t - length
                parts = [(2 * u + (u > s)) * labels + k for u in range(s, t) if positions]
                parts.append(start + (s * most + length - 1) * labels + k)
                if s == 0:
                    program.add((t, k), [], parts)
                for j in range(labels if s else 0):
                    table = start + (n * most + j) * labels + k
                    program.add((t, k), [(s, j)], [*parts, table])
    for k in range(labels):
        if (n, k) in program:
            program.add("end", [(n, k)])
    return program.layout("end", start + (n * most + labels) * labels)
