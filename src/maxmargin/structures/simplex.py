"""One output out of finitely many: the simplex."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from maxmargin.oracles.compiled import CompiledOracle
from maxmargin.structures.base import Constraints, Layout, Structure, check_sides


class Finite(Structure):
    """One of M listed outputs, each with its own parts. layout = (M,).

    Parts: one per output. M may differ between samples; y is the number of the output.
    """

    binary = True

    def _make_oracle(self) -> FiniteOracle:
        return FiniteOracle(self)

    def n_parts(self, layout: Layout) -> int:
        return _count(layout)

    def layout_of(self, n_parts: int) -> Layout:
        return (n_parts,)

    def variables(self, layout: Layout) -> tuple[int, int]:
        return 1, _count(layout)

    def n_vertices(self, layout: Layout) -> int:
        return _count(layout)

    def vertex_size(self, layout: Layout) -> int:
        return 1

    def encode(self, y: Any, layout: Layout) -> np.ndarray:
        count = _count(layout)
        if not 0 <= y < count or y != int(y):
            raise ValueError(f"y is {y}, expected an output number from 0 to {count - 1}.")
        z = np.zeros(count)
        z[int(y)] = 1.0
        return z

    def decode(self, z: np.ndarray, layout: Layout) -> int:
        return int(np.argmax(z))

    def constraints(self, layout: Layout) -> Constraints:
        return Constraints(sparse.csr_array(np.ones((1, _count(layout)))), np.ones(1), np.ones(1))

    def vertices(self, layout: Layout) -> Iterator[np.ndarray]:
        yield from np.eye(_count(layout))


class FiniteOracle(CompiledOracle):
    """The largest score, and what else a simplex has."""

    compiled: ClassVar[dict[str, str]] = dict.fromkeys(
        ("maximize", "project", "marginals", "max_marginals"), "simplex"
    )


def _count(layout: Layout) -> int:
    return check_sides(layout, "number of outputs")[0]


class Multiclass(Finite):
    """One of K classes, the same for all samples. layout = (K,)."""
