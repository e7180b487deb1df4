"""Nested pairs as derivations, each of them by one: for constraints and the best k."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxmargin._numba.nested_pairs import loops
from maxmargin.structures.derivations.layout import Deduction, DerivationLayout
from maxmargin.structures.nested_pairs.layout import NestedLayout

#: the same functions as Python
_hairpin, _branch = loops.hairpin_parts.function, loops.branch_parts.function
CAP = loops.CAP


def folding_program(layout: NestedLayout) -> DerivationLayout:
    """The program that `_numba.nested_pairs.folding` runs, as items and steps."""
    return _Folding(layout).program.layout(("outer", layout.n_positions), layout.n_parts)


class _Folding:
    def __init__(self, layout: NestedLayout):
        self.program, self.layout = Deduction(), layout
        self.number = {pair: p for p, pair in enumerate(map(tuple, layout.pairs.tolist()))}
        self.plain, self.k = layout.n_symbols == 0, layout.n_symbols
        self.s = [] if layout.symbols is None else layout.symbols.tolist()
        n = layout.n_positions
        for i in range(n - 1, -1, -1):
            for j in range(i + 1, n):
                if (i, j) in self.number:
                    self._add_pair(i, j)
                self._add_spans(i, j)
        self.program.add(("outer", 0))
        for j in range(n):
            self._step(("outer", j + 1), [("outer", j)], self._length(loops.OUTER_UNPAIRED))
            for i in range(j):
                parts = self._branch(j, i, loops.OUTER_BRANCH)
                self._step(("outer", j + 1), [("outer", i), ("pair", i, j)], parts)

    def _step(self, item: tuple, tails: list[tuple], parts: list[int]) -> None:
        """Add a step if it can be made."""
        if all(tail in self.program for tail in tails):
            self.program.add(item, tails, parts)

    def _ids(self, function: Callable, *places: int) -> list[int]:
        if self.plain:
            return []
        ids = np.zeros(loops.MOST, dtype=np.int64)
        count = function(self.layout.symbols, self.k, *places, ids)
        return (len(self.number) + ids[:count]).tolist()

    def _branch(self, x: int, y: int, kind: int) -> list[int]:
        return self._ids(_branch, x, y, kind)

    def _interior(self, i: int, j: int, p: int, q: int) -> list[int]:
        """Parts of the loop between (i, j) and (p, q) inside it."""
        a, b, k, s = p - i - 1, j - q - 1, self.k, self.s
        first, ends = len(self.number), len(self.number) + 4 * k**4 + 2 * k**3 + k**2
        outer, inner = s[i] * k + s[j], s[q] * k + s[p]
        found = [ends + outer, ends + inner]
        if a + b < 2:
            found = [first + (outer * k + s[p]) * k + s[q]]
        if min(a, b) == 0:
            return found + (self._length(loops.BULGE + a + b) if a + b else [])
        found += self._length(loops.INTERIOR + a + b) + self._length(loops.SIDES + abs(a - b))
        if max(a, b) <= loops.SMALL:
            small = (min(a, b) - 1) * loops.SMALL + max(a, b) - 1
            found += self._length(loops.SMALL_SIDES + small)
        if a == b == 1:
            return [*found, ends + k**2 + s[i + 1] * k + s[j - 1]]
        if min(a, b) > 1:
            found.append(first + 2 * k**4 + (outer * k + s[i + 1]) * k + s[j - 1])
            found.append(first + 2 * k**4 + (inner * k + s[q + 1]) * k + s[p - 1])
        return found

    def _length(self, place: int, times: int = 1) -> list[int]:
        k = self.k
        first = len(self.number) + 4 * k**4 + 2 * k**3 + 3 * k**2
        return [] if self.plain else [first + place] * times

    def _add_pair(self, i: int, j: int) -> None:
        item, own = ("pair", i, j), [self.number[i, j]]
        if self.plain:
            self._step(item, [], own)
            self._step(item, [("one", i + 1, j - 1)], own)
            return
        k, s = self.k, self.s
        own.append(len(self.number) + 4 * k**4 + 2 * k**3 + s[i] * k + s[j])
        self._step(item, [], own + self._ids(_hairpin, i, j))
        close = own + self._branch(i, j, loops.MULTI)
        self._step(item, [("two", i + 1, j - 1)], close)
        self._step(item, [("far", i + 1, j - 1)], close)
        more = close + self._length(loops.MULTI_UNPAIRED, CAP + 1)
        for a in range(CAP + 1):
            self._step(item, [("left", i + 1 + a, j - CAP - 2 + a)], more)
            for b in range(CAP + 1 - a):
                p, q = i + 1 + a, j - 1 - b
                if (p, q) in self.number:
                    self._step(item, [("pair", p, q)], own + self._interior(i, j, p, q))

    def _add_spans(self, i: int, j: int) -> None:
        unpaired = self._length(loops.MULTI_UNPAIRED)
        branch = self._branch(j, i, loops.MULTI_BRANCH)
        for kind, before in (("left", (i, j - 1)), ("single", (i + 1, j))):
            self._step((kind, i, j), [(kind, *before)], unpaired)
            self._step((kind, i, j), [("pair", i, j)], branch)
        self._step(("far", i, j), [("far", i + 1, j)], unpaired)
        self._step(("far", i, j), [("left", i + CAP + 1, j)], unpaired * (CAP + 1))
        for kind in ("one", "two"):
            self._step((kind, i, j), [(kind, i, j - 1)], unpaired)
            for p in range(i + 1, j):
                branch = self._branch(j, p, loops.MULTI_BRANCH)
                self._step((kind, i, j), [("one", i, p - 1), ("pair", p, j)], branch)
        self._step(("one", i, j), [("single", i, j)], [])
