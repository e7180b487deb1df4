"""One output out of finitely many: the simplex."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from maxmargin.structures.base import Constraints, Shape, Structure, check_sides


class Finite(Structure):
    """One of M outputs that are listed, each with parts of its own. shape = (M,).

    Parts: one per output. M may differ from sample to sample; y is the number of the output.
    """

    compiled: ClassVar[dict[str, str]] = dict.fromkeys(
        ("maximize", "project", "marginals", "max_marginals"), "simplex"
    )
    binary = True

    def n_parts(self, shape: Shape) -> int:
        return _count(shape)

    def shape_of(self, n_parts: int) -> Shape:
        return (n_parts,)

    def variables(self, shape: Shape) -> tuple[int, int]:
        return 1, _count(shape)

    def n_vertices(self, shape: Shape) -> int:
        return _count(shape)

    def vertex_size(self, shape: Shape) -> int:
        return 1

    def encode(self, y: Any, shape: Shape) -> np.ndarray:
        count = _count(shape)
        if not 0 <= y < count or y != int(y):
            raise ValueError(f"y is {y}, expected an output number from 0 to {count - 1}.")
        z = np.zeros(count)
        z[int(y)] = 1.0
        return z

    def decode(self, z: np.ndarray, shape: Shape) -> int:
        return int(np.argmax(z))

    def constraints(self, shape: Shape) -> Constraints:
        return Constraints(sparse.csr_array(np.ones((1, _count(shape)))), np.ones(1), np.ones(1))

    def vertices(self, shape: Shape) -> Iterator[np.ndarray]:
        yield from np.eye(_count(shape))


def _count(shape: Shape) -> int:
    return check_sides(shape, "number of outputs")[0]


class Multiclass(Finite):
    """One of K classes, the same for all samples. shape = (K,)."""
