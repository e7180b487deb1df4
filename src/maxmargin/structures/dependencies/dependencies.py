"""Dependency trees over the words of a sentence."""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from heapq import heappop, heappush
from itertools import product
from math import comb
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from maxmargin._numba import min_norm_sizes
from maxmargin.exceptions import InfeasibleError
from maxmargin.oracles.base import check_k, check_scores
from maxmargin.oracles.compiled import CompiledOracle, HullOracle
from maxmargin.oracles.constraints import part_score
from maxmargin.structures.base import Constraints, Layout, Structure, check_sides
from maxmargin.structures.dependencies.heads import find_siblings, why_no_tree
from maxmargin.structures.derivations.derivations import Derivations
from maxmargin.structures.derivations.layout import Deduction, DerivationLayout
from maxmargin.validation.options import check_options

#: words of a sentence: charts of more would take gigabytes, and their trees minutes
MOST_WORDS = 2000


class Dependencies(Structure):
    """A head for each of n words, such that they are a tree below the root. layout = (n,).

    Parts: for each word a row of n + 1 heads, 0 for the root, then words from 1. A word is never
    its own head. An output y is the array of heads. A score of -inf forbids an arc.

    Parameters
    ----------
    projective : bool, default=True
        Whether no two arcs may cross, those of the root, which stands before the first word, among
        them.
    single_root : bool, default=True
        Whether just one word has the root as its head.
    siblings : bool, default=False
        Whether neighbouring dependents of a head are scored, too: for each head h and words s and d
        on one side of it, the farther one last, there is one more part, `number_siblings`. For
        projective trees only.

    Notes
    -----
    The best projective tree takes O(n^3) steps (Eisner 1996), the best of all trees O(n^2) (Chu and
    Liu 1965, Edmonds 1967, Tarjan 1977). `marginals` are sums inside and outside of spans, O(n^3),
    and for all trees by the matrix-tree theorem, O(n^4) in a form in which nothing cancels.
    """

    binary = True

    def __init__(self, projective: bool = True, single_root: bool = True, siblings: bool = False):
        self.projective = projective
        self.single_root = single_root
        self.siblings = siblings

    def _make_oracle(self) -> DependencyOracle:
        check_options(self)
        if self.siblings:
            if not self.projective:
                raise ValueError("siblings=True is for projective trees; use projective=True.")
            return SiblingOracle(self)
        return ProjectiveOracle(self) if self.projective else ArborescenceOracle(self)

    def n_parts(self, layout: Layout) -> int:
        n = n_words(layout)
        return n * (n + 1) + (comb(n + 1, 3) + comb(n, 3) if self.siblings else 0)

    def layout_of(self, n_parts: int) -> Layout:
        n = bisect_left(range(1, MOST_WORDS), n_parts, key=lambda n: self.n_parts((n,))) + 1
        if self.n_parts((n,)) != n_parts:
            kinds = "arcs and siblings" if self.siblings else "n (n + 1) arcs"
            raise ValueError(f"{n_parts} parts are not the {kinds} of a sentence.")
        return (n,)

    def number_siblings(self, head: Any, near: Any, far: Any, layout: Layout) -> Any:
        """Return the numbers of the parts of neighbouring dependents.

        Parameters
        ----------
        head : int or array_like of int
            Heads, from 1, 0 for the root.
        near, far : int or array_like of int
            Dependents on one side of the head, from 1; `near` is between `head` and `far`.
        layout : tuple of int
            The number of words.

        Returns
        -------
        int or ndarray of int
            Numbers of their parts.
        """
        n = n_words(layout)
        h, s, d = (np.asarray(own) for own in (head, near, far))
        whole = all(own.dtype.kind in "iu" for own in (h, s, d))
        apart = ((h - s) * (s - d) > 0) & (h >= 0) & (d >= 1) & (np.maximum(h, d) <= n)
        if not whole or not apart.all():
            raise ValueError(
                f"`near` must be a word between `head` (from 0) and `far` (1 to {n}), all integers."
            )
        high, low, left = np.maximum(h, d), np.minimum(h, d), d < h
        a, b, c = high - left, s - left, low - left  # of 0 to n, or of 0 to n - 1
        first = n * (n + 1) + np.where(left, comb(n + 1, 3), 0)
        return first + a * (a - 1) * (a - 2) // 6 + b * (b - 1) // 2 + c

    def variables(self, layout: Layout) -> tuple[int, int]:
        n = n_words(layout)
        return n, n + 1

    def vertex_size(self, layout: Layout) -> int:
        return n_words(layout) * (2 if self.siblings else 1)

    def forbidden(self, layout: Layout) -> np.ndarray:
        # a word as its own head
        n = n_words(layout)
        return np.arange(n) * (n + 2) + 1

    def encode(self, y: Any, layout: Layout) -> np.ndarray:
        n, heads = n_words(layout), np.asarray(y)
        if heads.shape != (n,) or heads.dtype.kind not in "iu":
            raise ValueError(f"y must be {n} integers, the heads of the words.")
        why = why_no_tree(heads.tolist(), bool(self.projective), bool(self.single_root))
        if why:
            raise ValueError(f"{why}.")
        z = np.zeros(self.n_parts(layout))
        z[np.arange(n) * (n + 1) + heads] = 1.0
        if self.siblings:
            pairs = find_siblings(heads.tolist())
            z[[self.number_siblings(*own, layout) for own in pairs]] = 1.0
        return z

    def decode(self, z: np.ndarray, layout: Layout) -> np.ndarray:
        n = n_words(layout)
        return np.asarray(z)[: n * (n + 1)].reshape(n, n + 1).argmax(axis=1)

    def vertices(self, layout: Layout) -> Iterator[np.ndarray]:
        n = n_words(layout)
        for heads in product(range(n + 1), repeat=n):
            if not why_no_tree(heads, bool(self.projective), bool(self.single_root)):
                yield self.encode(heads, layout)

    def constraints(self, layout: Layout) -> Constraints:
        n = n_words(layout)
        if not self.projective:
            return _flows_to_words(n, bool(self.single_root))
        program = sibling_program if self.siblings else projective_program
        return Derivations().constraints(program(n, bool(self.single_root)))


class DependencyOracle(HullOracle):
    """What projective trees and others share."""

    structure: Dependencies

    def layout_as_ints(self, layout: Layout) -> tuple[int, int, int]:
        structure = self.structure
        return n_words(layout), int(structure.single_root), int(structure.projective)

    def scratch(self, layout: Layout) -> tuple[int, int]:
        n, parts = n_words(layout), self.structure.n_parts(layout)
        floats, ints = self._own_scratch(n + 1)
        return (
            min_norm_sizes.float_size(parts, n) + floats,
            min_norm_sizes.int_size(parts, n) + ints,
        )

    @abstractmethod
    def _own_scratch(self, size: int) -> tuple[int, int]:
        """Scratch of the compiled functions themselves, for size - 1 words."""

    def k_best(self, theta: np.ndarray, layout: Layout, k: int) -> list[tuple[np.ndarray, float]]:
        # Each tree found divides what it was the best of: trees with the same heads of the first d
        # words and another one of the next (Lawler 1972).
        k, theta = check_k(k), check_scores(self.structure, theta, layout)
        n = n_words(layout)
        z = self.maximize(theta, layout)[0]
        found: list[tuple[np.ndarray, float]] = []
        waiting = [(-part_score(theta, z), 0, 0, z, theta)]
        number = 0
        while waiting and len(found) < k:
            minus, _, first, z, scores = heappop(waiting)
            found.append((z, -minus))
            fixed = scores.copy()
            for d in range(first, n):
                row = slice(d * (n + 1), (d + 1) * (n + 1))
                other = fixed.copy()
                other[row][z[row] > 0] = -np.inf
                fixed[row][z[row] == 0] = -np.inf
                try:
                    z_other = self.maximize(other, layout)[0]
                except InfeasibleError:
                    continue
                number += 1
                heappush(waiting, (-part_score(theta, z_other), number, d, z_other, other))
        return found


class ProjectiveOracle(DependencyOracle):
    """Eisner's algorithm, and sums inside and outside of spans."""

    compiled: ClassVar[dict[str, str]] = {
        "maximize": "dependencies.projective",
        "marginals": "dependencies.projective",
        "max_marginals": "dependencies.projective",
        "project": "dependencies.project",
    }

    def _own_scratch(self, size: int) -> tuple[int, int]:
        return 10 * size**2 + size, 9 * size


class SiblingOracle(DependencyOracle):
    """Eisner's algorithm with neighbouring dependents, and sums inside and outside of spans."""

    compiled: ClassVar[dict[str, str]] = {
        "maximize": "dependencies.siblings",
        "marginals": "dependencies.siblings",
    }

    def scratch(self, layout: Layout) -> tuple[int, int]:
        return self._own_scratch(n_words(layout) + 1)

    def _own_scratch(self, size: int) -> tuple[int, int]:
        return 10 * size**2 + size, 0

    def _call(self, ability: str, theta: np.ndarray, layout: Layout) -> tuple[np.ndarray, float]:
        return CompiledOracle._call(self, ability, theta, layout)


class ArborescenceOracle(DependencyOracle):
    """The algorithm of Chu, Liu and Edmonds, and sums by the matrix-tree theorem."""

    compiled: ClassVar[dict[str, str]] = {
        "maximize": "dependencies.arborescence",
        "max_marginals": "dependencies.arborescence",
        "marginals": "dependencies.matrix_tree",
        "project": "dependencies.project",
    }

    def _own_scratch(self, size: int) -> tuple[int, int]:
        return 4 * size * (size + 1), 2 * size**2 + 10 * size


def n_words(layout: Layout) -> int:
    """The number of words."""
    n = check_sides(layout, "number of words")[0]
    if n > MOST_WORDS:
        raise ValueError(f"{n} words, at most {MOST_WORDS} are possible: cut the sentence.")
    return n


@lru_cache(maxsize=16)
def projective_program(n: int, single_root: bool) -> DerivationLayout:
    """Projective trees as derivations, each of them by one."""
    program = Deduction()
    for s in range(n + 1):
        program.add(("right", s, s))
        program.add(("left", s, s))
    for t in range(1, n + 1):
        for s in range(t - 1, -1, -1):
            splits = range(s, s + 1 if s == 0 and single_root else t)
            arcs = [("right arc", (t - 1) * (n + 1) + s)]
            arcs += [("left arc", (s - 1) * (n + 1) + t)] if s else []
            for kind, part in arcs:
                for q in splits:
                    program.add((kind, s, t), [("right", s, q), ("left", q + 1, t)], [part])
            for q in range(s, t if s else s):
                program.add(("left", s, t), [("left", s, q), ("left arc", q, t)])
            for q in range(s + 1, t + 1):
                program.add(("right", s, t), [("right arc", s, q), ("right", q, t)])
    return program.layout(("right", 0, n), n * (n + 1))


@lru_cache(maxsize=16)
def sibling_program(n: int, single_root: bool) -> DerivationLayout:
    """Projective trees with neighbouring dependents as derivations, each of them by one."""
    program, structure = Deduction(), Dependencies(siblings=True)
    for s in range(n + 1):
        program.add(("right", s, s))
        program.add(("left", s, s))
    for t in range(1, n + 1):
        for s in range(t - 1, -1, -1):
            for q in range(s, t if s else s):
                program.add(("between", s, t), [("right", s, q), ("left", q + 1, t)])
            arc = (t - 1) * (n + 1) + s
            program.add(("right arc", s, t), [("right", s, s), ("left", s + 1, t)], [arc])
            for q in range(s + 1, t if s or not single_root else s):
                pair = int(structure.number_siblings(s, q, t, (n,)))
                tails = [("right arc", s, q), ("between", q, t)]
                program.add(("right arc", s, t), tails, [arc, pair])
            if s:
                arc = (s - 1) * (n + 1) + t
                program.add(("left arc", s, t), [("right", s, t - 1), ("left", t, t)], [arc])
                for q in range(s + 1, t):
                    pair = int(structure.number_siblings(t, q, s, (n,)))
                    tails = [("between", s, q), ("left arc", q, t)]
                    program.add(("left arc", s, t), tails, [arc, pair])
            for q in range(s, t if s else s):
                program.add(("left", s, t), [("left", s, q), ("left arc", q, t)])
            for q in range(s + 1, t + 1):
                program.add(("right", s, t), [("right arc", s, q), ("right", q, t)])
    return program.layout(("right", 0, n), structure.n_parts((n,)))


def _flows_to_words(n: int, single_root: bool) -> Constraints:
    """From the root a unit flows to each word, along arcs that are on."""
    arcs = [(h, d) for d in range(1, n + 1) for h in range(n + 1)]
    size = len(arcs)
    rows: list[tuple[dict[int, float], float, float]] = []
    for d in range(1, n + 1):
        rows.append(({(d - 1) * (n + 1) + h: 1.0 for h in range(n + 1)}, 1.0, 1.0))
        rows.append(({(d - 1) * (n + 1) + d: 1.0}, 0.0, 0.0))
    if single_root:
        rows.append(({d * (n + 1): 1.0 for d in range(n)}, 1.0, 1.0))
    for word in range(1, n + 1):
        flow = word * size  # its variables come after those of the words before
        rows += [({p: 1.0, flow + p: -1.0}, 0.0, np.inf) for p in range(size)]
        for node in range(1, n + 1):
            net = {flow + p: float(d == node) - float(h == node) for p, (h, d) in enumerate(arcs)}
            arrives = float(node == word)
            rows.append(({p: v for p, v in net.items() if v}, arrives, arrives))
    entries = [(r, p, v) for r, (row, *_) in enumerate(rows) for p, v in row.items()]
    at, parts, values = zip(*entries, strict=True)
    matrix = sparse.csr_array((values, (at, parts)), shape=(len(rows), (n + 1) * size))
    return Constraints(matrix, *(np.array([row[side] for row in rows]) for side in (1, 2)))
