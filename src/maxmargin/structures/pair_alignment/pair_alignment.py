"""Alignments of two strings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np

from maxmargin.oracles.base import check_scores
from maxmargin.oracles.compiled import CompiledOracle
from maxmargin.structures.base import Constraints, Layout, Structure, check_sides
from maxmargin.structures.derivations.derivations import Derivations
from maxmargin.structures.derivations.layout import Deduction, DerivationLayout
from maxmargin.structures.matching.candidates import as_integers
from maxmargin.validation.options import check_options

#: nodes of the grid: tables of more take gigabytes
MOST_NODES = 2**26
#: kinds of steps
MATCH, DELETE, INSERT = "match", "delete", "insert"


class PairAlignment(Structure):
    """Monotone alignments of a string of m symbols with one of n. layout = (m, n).

    Parts: of matches (m, n), of deletions (m, places, 2), of insertions (places, n, 2). A deleted
    symbol is one of the first string, an inserted one of the second. The last axis is for the first
    symbol of a gap, which opens it, and for further ones, so that gaps cost as affine functions of
    their lengths do. Places are those of the other string where the gap is. A score of -inf forbids
    a part.

    An output y is an array of shape (k, 2), the columns of the alignment: pairs of positions from
    0, -1 for a gap. If it has no gaps, those between matches are filled in, deletions first; at the
    ends the longer gap comes before the first match and after the last by a step of its own, where
    it can be scored as a gap at the end. A local alignment leaves out what is beyond its matches.

    Parameters
    ----------
    local : bool, default=False
        Whether an alignment is of a substring of each, from its first match to its last, or empty;
        else all symbols are in it.
    gaps : {"symbol", "cell"}, default="symbol"
        Places of gaps: before the other string's first symbol, between others, and after the last
        one; or each of its m + 1 or n + 1 places. With scores of 0 at the first and the last place,
        gaps at the ends are free.

    Notes
    -----
    The best alignment and sums over all of them take O(m n) steps (Gotoh 1982).
    """

    binary = True

    def __init__(self, local: bool = False, gaps: Literal["symbol", "cell"] = "symbol"):
        self.local = local
        self.gaps = gaps

    def _make_oracle(self) -> AlignmentOracle:
        check_options(self)
        return AlignmentOracle(self)

    def n_parts(self, layout: Layout) -> int:
        (m, n), (rows, columns) = sides_of(layout), self.places(layout)
        return m * n + 2 * m * columns + 2 * rows * n

    def places(self, layout: Layout) -> tuple[int, int]:
        """Return the number of places of insertions in the first string, of deletions in the other.

        Parameters
        ----------
        layout : tuple of int
            Lengths of the strings.

        Returns
        -------
        tuple of int
            Both numbers.
        """
        m, n = sides_of(layout)
        return (m + 1, n + 1) if self.gaps == "cell" else (3, 3)

    def vertex_size(self, layout: Layout) -> int:
        return sum(sides_of(layout))

    def encode(self, y: Any, layout: Layout) -> np.ndarray:
        (m, n), columns = sides_of(layout), as_integers("y", y)
        columns = columns.reshape(0, 2) if columns.size == 0 else columns
        if columns.ndim != 2 or columns.shape[1] != 2:
            raise ValueError(f"y has shape {columns.shape}, expected (k, 2), pairs of positions.")
        low, high = columns.min(axis=0, initial=0), columns.max(axis=0, initial=-1)
        if low.min() < -1 or high[0] >= m or high[1] >= n:
            raise ValueError(f"y has positions beyond 0 to {m - 1} and 0 to {n - 1}.")
        path = columns.tolist() if (columns < 0).any() else self._fill_gaps(columns, m, n)
        z = np.zeros(self.n_parts(layout))
        z[list(self._parts(path, m, n))] = 1.0
        return z

    def _fill_gaps(self, matches: np.ndarray, m: int, n: int) -> list[list[int]]:
        """The columns of the alignment with these matches."""
        if (np.diff(matches, axis=0) < 1).any():
            raise ValueError("y: positions of matches must rise in both strings.")
        known, path = matches.tolist(), []
        for (a, b), (i, j) in pairwise([[-1, -1], *known, [m, n]]):
            deleted = [[k, -1] for k in range(a + 1, i)]
            inserted = [[-1, k] for k in range(b + 1, j)]
            at_begin, at_end = a < 0, i == m
            # the longer one is the gap at the end; it is the first, or the last, if both are
            swapped = len(deleted) < len(inserted) if at_begin else len(deleted) > len(inserted)
            if (at_begin or at_end) and swapped:
                deleted, inserted = inserted, deleted
            if not (self.local and (at_begin or at_end)):
                path += deleted + inserted
            if not at_end:
                path.append([i, j])
        return path

    def _parts(self, path: list[list[int]], m: int, n: int) -> Iterator[int]:
        """The parts of a path's steps; an error if it is none."""
        match_first = path and min(path[0]) >= 0
        if self.local and path and not (match_first and min(path[-1]) >= 0):
            raise ValueError("y: a local alignment begins and ends with a match.")
        i, j = path[0] if self.local and path else (0, 0)
        index, last = self._part_numbers(m, n), MATCH
        for a, b in path:
            kind = DELETE if b < 0 else INSERT if a < 0 else MATCH
            moves = (kind != INSERT), (kind != DELETE)
            if max(a, b) < 0 or (moves[0] and a != i) or (moves[1] and b != j):
                raise ValueError(f"y: column ({a}, {b}) where ({i}, {j}) or a gap was expected.")
            if kind == DELETE and last == INSERT and i > 0 and j < n:
                raise ValueError(f"y: in a gap, deletions come first; ({a}, -1) does not.")
            yield index(kind, i, j, kind == last)
            i, j, last = i + moves[0], j + moves[1], kind
        if not self.local and (i, j) != (m, n):
            raise ValueError(f"y ends at ({i}, {j}), before the ends ({m}, {n}) of the strings.")

    def _part_numbers(self, m: int, n: int) -> Any:
        """A function that numbers the part of a step from a node."""
        cells, by_cell = m * n, self.gaps == "cell"
        columns = n + 1 if by_cell else 3

        def place(at: int, size: int) -> int:
            return at if by_cell else 0 if at == 0 else 2 if at == size else 1

        def index(kind: str, i: int, j: int, further: bool) -> int:
            if kind == MATCH:
                return i * n + j
            if kind == DELETE:
                return cells + 2 * (i * columns + place(j, n)) + further
            return cells + 2 * m * columns + 2 * (place(i, m) * n + j) + further

        return index

    def decode(self, z: np.ndarray, layout: Layout) -> np.ndarray:
        m, n = sides_of(layout)
        on, index = np.asarray(z) > 0.5, self._part_numbers(m, n)
        matches = np.argwhere(on[: m * n].reshape(m, n)).tolist()
        path: list[tuple[int, int]] = []
        i, j = (0, 0) if not self.local else matches[0] if matches else (m, n)

        def is_next(kind: str) -> bool:
            inside = (kind == INSERT or i < m) and (kind == DELETE or j < n)
            return inside and bool(on[index(kind, i, j, False)] or on[index(kind, i, j, True)])

        while i < m or j < n:
            # deletions of a gap come first, but in the first row
            kinds = (INSERT, DELETE) if i == 0 else (DELETE, INSERT)
            kind = next((kind for kind in (MATCH, *kinds) if is_next(kind)), None)
            if kind is None:
                break
            path.append((-1 if kind == INSERT else i, -1 if kind == DELETE else j))
            i, j = i + (kind != INSERT), j + (kind != DELETE)
        return np.array(path, dtype=np.int64).reshape(-1, 2)

    def vertices(self, layout: Layout) -> Iterator[np.ndarray]:
        return Derivations().vertices(self.program(layout))

    def constraints(self, layout: Layout) -> Constraints:
        return Derivations().constraints(self.program(layout))

    def program(self, layout: Layout) -> DerivationLayout:
        """Return the dynamic program whose derivations are the alignments.

        Parameters
        ----------
        layout : tuple of int
            Lengths of the strings.

        Returns
        -------
        DerivationLayout
            Its items and steps, each alignment by one derivation.
        """
        return _make_program(*sides_of(layout), bool(self.local), self.gaps)


class AlignmentOracle(CompiledOracle):
    """Gotoh's recursion, and sums forwards and back."""

    compiled: ClassVar[dict[str, str]] = {
        "maximize": "pair_alignment.maximize",
        "marginals": "pair_alignment.marginals",
    }
    projects_by_maximize = True
    structure: PairAlignment

    def layout_as_ints(self, layout: Layout) -> tuple[int, ...]:
        structure = self.structure
        return *sides_of(layout), int(structure.local), int(structure.gaps == "cell")

    def scratch(self, layout: Layout) -> tuple[int, int]:
        m, n = sides_of(layout)
        nodes = (m + 1) * (n + 1)
        return 3 * nodes + 6 * (n + 1), nodes

    def k_best(self, theta: np.ndarray, layout: Layout, k: int) -> list[tuple[np.ndarray, float]]:
        theta = check_scores(self.structure, theta, layout)
        return Derivations().k_best(theta, self.structure.program(layout), k)


def sides_of(layout: Layout) -> tuple[int, int]:
    """The lengths of the strings."""
    m, n = check_sides(layout, "symbols of the first string", "of the second")
    if (m + 1) * (n + 1) > MOST_NODES:
        raise ValueError(
            f"strings of {m} and {n} symbols have {(m + 1) * (n + 1)} nodes, at most {MOST_NODES}"
            " are possible: cut them where they are known to match."
        )
    return m, n


@lru_cache(maxsize=16)
def _make_program(m: int, n: int, local: bool, gaps: Any) -> DerivationLayout:
    program, number = Deduction(), PairAlignment(local, gaps)._part_numbers(m, n)
    if not local:
        program.add((MATCH, 0, 0))

    def step(kind: str, i: int, j: int, befores: tuple[str, ...]) -> None:
        """A step from a node after one of those kinds."""
        to = (kind, i + (kind != INSERT), j + (kind != DELETE))
        for before in befores:
            if (before, i, j) in program:
                part = number(kind, i, j, before == kind and kind != MATCH)
                program.add(to, [(before, i, j)], [part])
        if kind == MATCH and local:
            program.add(to, [], [number(kind, i, j, False)])

    for i in range(m + 1):
        for j in range(n + 1):
            if i and j:
                step(MATCH, i - 1, j - 1, (MATCH, DELETE, INSERT))
            if i:
                turns = (INSERT,) if i == 1 or j == n else ()
                step(DELETE, i - 1, j, (MATCH, DELETE, *turns))
            if j:
                step(INSERT, i, j - 1, (MATCH, DELETE, INSERT))
    if local:
        program.add("end")
        ends = [(MATCH, i, j) for i in range(1, m + 1) for j in range(1, n + 1)]
    else:
        ends = [(kind, m, n) for kind in (MATCH, DELETE, INSERT) if (kind, m, n) in program]
    for end in ends:
        program.add("end", [end])
    return program.layout("end", PairAlignment(local, gaps).n_parts((m, n)))
