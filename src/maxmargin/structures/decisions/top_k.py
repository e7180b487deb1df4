"""Exactly k of m items."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from maxmargin.oracles.compiled import CompiledOracle
from maxmargin.structures.base import Constraints, Layout
from maxmargin.structures.decisions.selection import Selection
from maxmargin.validation.options import Size


class TopK(Selection):
    """Exactly k of m items. layout = (m,), which may differ between samples.

    Parts: one per item. The output of highest score has the k best items.

    Parameters
    ----------
    k : int
        Number of items that are chosen.
    """

    def __init__(self, k: Size):
        self.k = k

    def _make_oracle(self) -> TopKOracle:
        return TopKOracle(self)

    def n_parts(self, layout: Layout) -> int:
        count = super().n_parts(layout)
        if count < self.k:
            raise ValueError(f"there are {count} items, fewer than the k={self.k} to choose.")
        return count

    def vertex_size(self, layout: Layout) -> int:
        return self.k

    def n_vertices(self, layout: Layout) -> int:
        return comb(self.n_parts(layout), self.k)

    def constraints(self, layout: Layout) -> Constraints:
        count = self.n_parts(layout)
        rows = sparse.vstack([np.ones((1, count)), sparse.eye_array(count)])
        lower, upper = np.full(count + 1, -np.inf), np.ones(count + 1)
        lower[0] = upper[0] = self.k
        return Constraints(sparse.csr_array(rows), lower, upper)

    def why_infeasible(self, z: np.ndarray, layout: Layout) -> str:
        found = float(np.sum(z))
        return "" if abs(found - self.k) < 1e-6 else f"{found:g} items are chosen, not k={self.k}"

    def vertices(self, layout: Layout) -> Iterator[np.ndarray]:
        parts = np.arange(self.n_parts(layout))
        for chosen in combinations(parts, self.k):
            yield np.isin(parts, chosen).astype(float)


class TopKOracle(CompiledOracle):
    """The k best items, by sorting."""

    structure: TopK
    compiled: ClassVar[dict[str, str]] = {"maximize": "decisions.top_k"}
    projects_by_maximize = True

    def layout_as_ints(self, layout: Layout) -> Any:
        return (*layout, self.structure.k)
