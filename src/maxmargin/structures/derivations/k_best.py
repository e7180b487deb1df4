"""The k best derivations, found as they are asked for (Huang and Chiang 2005, algorithm 3)."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush

import numpy as np

from maxmargin.structures.derivations.layout import DerivationLayout

#: of a derivation: minus its score, its last step, and which of the best of each antecedent
_Entry = tuple[float, int, int, int]


class BestDerivations:
    """The derivations of all items, best first, as far as they were asked for.

    theta : scores of the parts. best : score of the best derivation of each item.
    """

    def __init__(self, theta: np.ndarray, layout: DerivationLayout, best: np.ndarray):
        self.layout, self.best = layout, best
        owner = np.repeat(np.arange(len(layout.heads)), np.diff(layout.part_ptr))
        self.scores = np.zeros(len(layout.heads))
        np.add.at(self.scores, owner, theta[layout.parts])
        self.starts = np.searchsorted(layout.heads, np.arange(layout.n_items + 1))
        self.found: dict[int, list[_Entry]] = {}
        self.waiting: dict[int, list[_Entry]] = {}

    def __iter__(self) -> Iterator[tuple[np.ndarray, float]]:
        """Yield the parts of the derivations of the goal and their scores, best first."""
        goal, rank = self.layout.n_items - 1, 0
        while self._find(goal, rank):
            yield self._parts(goal, rank), -self.found[goal][rank][0]
            rank += 1

    def _find(self, item: int, rank: int) -> bool:
        """Find the derivations of an item up to a rank; whether there are as many.

        With a stack of its own: antecedents may be thousands deep.
        """
        asked = [(item, rank)]
        while asked:
            v, r = asked[-1]
            if v not in self.found:
                self._start(v)
            found, waiting = self.found[v], self.waiting[v]
            if len(found) > r or (found and found[-1] is None):
                asked.pop()
            elif found and (needed := self._missing(found[-1])):
                asked += needed
            else:
                if found:
                    for following in self._following(found[-1]):
                        heappush(waiting, following)
                found.append(heappop(waiting) if waiting else None)  # type: ignore[arg-type]
        return len(self.found[item]) > rank and self.found[item][rank] is not None

    def _start(self, v: int) -> None:
        steps = range(self.starts[v], self.starts[v + 1])
        first = [(-self._score(e, 0, 0), e, 0, 0) for e in steps]
        self.waiting[v] = [entry for entry in first if entry[0] < np.inf]
        heapify(self.waiting[v])
        self.found[v] = []

    def _following(self, entry: _Entry) -> list[_Entry]:
        """What may come after an entry, each by one way only."""
        _, e, i, j = entry
        a, b = self.layout.tails[e]
        found = []
        if b >= 0 and self._has(b, j + 1):
            found.append((-self._score(e, i, j + 1), e, i, j + 1))
        if a >= 0 and j == 0 and self._has(a, i + 1):
            found.append((-self._score(e, i + 1, j), e, i + 1, j))
        return found

    def _missing(self, entry: _Entry) -> list[tuple[int, int]]:
        """What must be known of antecedents before `_following` can be asked."""
        _, e, i, j = entry
        a, b = self.layout.tails[e]
        needed = [(int(b), j + 1)] if b >= 0 else []
        needed += [(int(a), i + 1)] if a >= 0 and j == 0 else []
        return [(v, r) for v, r in needed if not self._is_known(v, r)]

    def _is_known(self, v: int, rank: int) -> bool:
        found = self.found.get(v, [])
        return len(found) > rank or bool(found and found[-1] is None)

    def _has(self, v: int, rank: int) -> bool:
        return len(self.found[v]) > rank and self.found[v][rank] is not None

    def _score(self, e: int, i: int, j: int) -> float:
        total = self.scores[e]
        for v, rank in zip(self.layout.tails[e], (i, j), strict=True):
            if v >= 0:
                total += self.best[v] if rank == 0 else -self.found[v][rank][0]
        return float(total)

    def _parts(self, item: int, rank: int) -> np.ndarray:
        layout, z = self.layout, np.zeros(self.layout.n_parts)
        # how often each is used; an item stands after all that it is made of
        uses, asked = {(item, rank): 1.0}, [(-item, rank)]
        while asked:
            v, r = heappop(asked)
            self._find(-v, r)
            _, e, *ranks = self.found[-v][r]
            count = uses.pop((-v, r))
            np.add.at(z, layout.parts[layout.part_ptr[e] : layout.part_ptr[e + 1]], count)
            for tail, k in zip(layout.tails[e].tolist(), ranks, strict=True):
                if tail >= 0:
                    if (tail, k) not in uses:
                        heappush(asked, (-tail, k))
                    uses[tail, k] = uses.get((tail, k), 0.0) + count
        return z
