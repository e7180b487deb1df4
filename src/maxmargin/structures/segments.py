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
    (n, max_length, K); then a table (K, K), row = left label, that counts neighbouring labels. An
    output y is an array of shape (m, 3) of segments (begin, end, label), in order, each from
    position begin to end - 1. A score of -inf forbids a part. With `max_length=1` these are the
    parts of `Chain`.

    Parameters
    ----------
    max_length : int, default=8
        Positions of a segment at most.

    Notes
    -----
    The best segments and sums over all of them take O(n K (K + max_length)) steps (Sarawagi and
    Cohen 2004).
    """

    def __init__(self, max_length: Count = 8):
        self.max_length = max_length

    def _make_oracle(self) -> SegmentOracle:
        check_options(self)
        return SegmentOracle(self)

    def n_parts(self, layout: Layout) -> int:
        n, labels = _sides(layout)
        count = (n * self.max_length + labels) * labels
        if count > MOST_PARTS:
            raise ValueError(
                f"max_length={self.max_length}: {n} positions with {labels} labels have {count}"
                f" parts, at most {MOST_PARTS} are possible."
            )
        return count

    def variables(self, layout: Layout) -> tuple[int, int]:
        n, labels = _sides(layout)
        return (n, labels) if self.max_length == 1 else (n * self.max_length * labels, 1)

    def vertex_size(self, layout: Layout) -> int:
        return 2 * _sides(layout)[0] - 1

    def radius(self, layout: Layout) -> float:
        pairs = _sides(layout)[0] - 1  # of neighbours, which parts count
        return float(np.sqrt(2 * (pairs + 1) + 2 * pairs**2))

    def forbidden(self, layout: Layout) -> np.ndarray:
        # segments beyond the end
        n, labels = _sides(layout)
        begin, length = np.divmod(np.arange(n * self.max_length), self.max_length)
        beyond = np.flatnonzero(begin + length >= n)
        return np.add.outer(beyond * labels, np.arange(labels)).ravel()

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
        z = np.zeros(self.n_parts(layout))
        z[(begin * self.max_length + lengths - 1) * labels + label] = 1.0
        table = (n * self.max_length + label[:-1]) * labels + label[1:]
        np.add.at(z, table, 1.0)
        return z

    def decode(self, z: np.ndarray, layout: Layout) -> np.ndarray:
        n, labels = _sides(layout)
        on = np.flatnonzero(np.asarray(z)[: n * self.max_length * labels] > 0.5)
        segment, label = np.divmod(on, labels)
        begin, length = np.divmod(segment, self.max_length)
        return np.column_stack([begin, begin + length + 1, label])

    def vertices(self, layout: Layout) -> Iterator[np.ndarray]:
        return Derivations().vertices(_make_program(*_sides(layout), self.max_length))

    def constraints(self, layout: Layout) -> Constraints:
        return Derivations().constraints(_make_program(*_sides(layout), self.max_length))


class SegmentOracle(CompiledOracle):
    """Viterbi's algorithm over segments, and sums forwards and back."""

    compiled: ClassVar[dict[str, str]] = dict.fromkeys(("maximize", "marginals"), "segments")
    projects_by_maximize = True
    structure: Segments

    def layout_as_ints(self, layout: Layout) -> tuple[int, int, int]:
        return *_sides(layout), self.structure.max_length

    def scratch(self, layout: Layout) -> tuple[int, int]:
        n, labels = _sides(layout)
        return (4 * n + 8 + labels) * labels + n + 1, (n + 1) * labels

    def k_best(self, theta: np.ndarray, layout: Layout, k: int) -> list[tuple[np.ndarray, float]]:
        theta = check_scores(self.structure, theta, layout)
        program = _make_program(*_sides(layout), self.structure.max_length)
        return Derivations().k_best(theta, program, k)


def _sides(layout: Layout) -> tuple[int, int]:
    n, labels = check_sides(layout, "number of positions", "number of labels")
    return n, labels


@lru_cache(maxsize=16)
def _make_program(n: int, labels: int, most: int) -> DerivationLayout:
    """Positions before which a segment with a label has ended."""
    program = Deduction()
    for t in range(1, n + 1):
        for k in range(labels):
            for length in range(1, min(most, t) + 1):
                s = t - length
                part = (s * most + length - 1) * labels + k
                if s == 0:
                    program.add((t, k), [], [part])
                for j in range(labels if s else 0):
                    program.add((t, k), [(s, j)], [part, (n * most + j) * labels + k])
    for k in range(labels):
        program.add("end", [(n, k)])
    return program.layout("end", (n * most + labels) * labels)
