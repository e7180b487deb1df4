"""Labelled binary trees over the words of a sentence."""

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

#: words of a sentence: charts of more would take gigabytes, and their trees minutes
MOST_WORDS = 2000


class Constituents(Structure):
    """A binary tree over n words, with one of L labels for each of its spans. layout = (n, L).

    Parts: L labels for each span of words i, ..., j - 1; spans are sorted by i, then by j. The tree
    has 2 n - 1 spans: the whole sentence, the two into which each span of several words is split,
    and the single words. No grammar says which labels go together: trees with more branches are
    binary ones with a label for spans that are none, chains of single branches have joint labels.
    An output y is an array of shape (2 n - 1, 3) of (i, j, label), in any order. A score of -inf
    forbids a part.

    Notes
    -----
    The best tree has the best label of each span and takes O(n^3 + n^2 L) steps; so do sums inside
    and outside of spans.
    """

    binary = True

    def _make_oracle(self) -> ConstituentOracle:
        return ConstituentOracle(self)

    def n_parts(self, layout: Layout) -> int:
        n, labels = sides_of(layout)
        return n * (n + 1) // 2 * labels

    def vertex_size(self, layout: Layout) -> int:
        return 2 * sides_of(layout)[0] - 1

    def encode(self, y: Any, layout: Layout) -> np.ndarray:
        (n, labels), spans = sides_of(layout), as_integers("y", y)
        if spans.shape != (2 * n - 1, 3):
            raise ValueError(
                f"y has shape {spans.shape}, expected ({2 * n - 1}, 3), (i, j, label) of the spans"
                " of a binary tree."
            )
        i, j, label = spans.T
        if (i < 0).any() or (j > n).any() or (i >= j).any() or not _in_range(label, labels):
            raise ValueError(f"y has spans beyond 0 to {n}, or labels beyond 0 to {labels - 1}.")
        self._check_tree(set(zip(i.tolist(), j.tolist(), strict=True)), n)
        z = np.zeros(self.n_parts(layout))
        z[span_numbers(i, j, n) * labels + label] = 1.0
        return z

    def _check_tree(self, spans: set[tuple[int, int]], n: int) -> None:
        """Raise an error unless each span of several words is split into two others."""
        ends = {k: sorted((j for i, j in spans if i == k), reverse=True) for k in range(n)}
        waiting = [(0, n)]
        while waiting:
            i, j = waiting.pop()
            if (i, j) not in spans:
                raise ValueError(f"y has no span from {i} to {j}, which its tree would need.")
            if j > i + 1:
                middle = next((k for k in ends[i] if k < j), i + 1)
                waiting += [(i, middle), (middle, j)]

    def decode(self, z: np.ndarray, layout: Layout) -> np.ndarray:
        n, labels = sides_of(layout)
        span, label = np.divmod(np.flatnonzero(np.asarray(z) > 0.5), labels)
        i, j = list_spans(n)
        return np.column_stack([i[span], j[span], label])

    def vertices(self, layout: Layout) -> Iterator[np.ndarray]:
        return Derivations().vertices(_make_program(*sides_of(layout)))

    def constraints(self, layout: Layout) -> Constraints:
        return Derivations().constraints(_make_program(*sides_of(layout)))


class ConstituentOracle(CompiledOracle):
    """The best labels, then the best splits."""

    compiled: ClassVar[dict[str, str]] = dict.fromkeys(("maximize", "marginals"), "constituents")
    projects_by_maximize = True

    def scratch(self, layout: Layout) -> tuple[int, int]:
        n = sides_of(layout)[0]
        return 3 * (n + 1) ** 2 + n * (n + 1) // 2 + n, 2 * n + 2

    def k_best(self, theta: np.ndarray, layout: Layout, k: int) -> list[tuple[np.ndarray, float]]:
        theta = check_scores(self.structure, theta, layout)
        return Derivations().k_best(theta, _make_program(*sides_of(layout)), k)


def sides_of(layout: Layout) -> tuple[int, int]:
    """The numbers of words and labels."""
    n, labels = check_sides(layout, "number of words", "number of labels")
    if n > MOST_WORDS:
        raise ValueError(f"{n} words, at most {MOST_WORDS} are possible: cut the sentence.")
    return n, labels


def list_spans(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Begin and end of all spans, in order."""
    i, j = np.triu_indices(n)
    return i, j + 1


def span_numbers(i: np.ndarray, j: np.ndarray, n: int) -> np.ndarray:
    """The places of spans in `list_spans`."""
    return i * n - i * (i - 1) // 2 + j - i - 1


def _in_range(label: np.ndarray, labels: int) -> bool:
    return bool(((label >= 0) & (label < labels)).all())


@lru_cache(maxsize=16)
def _make_program(n: int, labels: int) -> DerivationLayout:
    program, number = Deduction(), dict[tuple[int, int], int]()
    for i, j in zip(*(own.tolist() for own in list_spans(n)), strict=True):
        number[i, j] = len(number)
    for j in range(1, n + 1):
        for i in range(j - 1, -1, -1):
            for k in range(i + 1, j):
                program.add(("split", i, j), [("span", i, k), ("span", k, j)])
            inner = [("split", i, j)] if j > i + 1 else []
            for label in range(labels):
                program.add(("span", i, j), inner, [number[i, j] * labels + label])
    return program.layout(("span", 0, n), len(number) * labels)
