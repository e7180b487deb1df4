"""How much memory a cone program takes, before it is solved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from maxmargin.memory import available_bytes
from maxmargin.problem import Problem

if TYPE_CHECKING:
    from maxmargin.solvers.qp.polytopes import Polytopes

#: share of the free memory that a solve may take
_SHARE = 0.8
#: bytes for a number of the factor, and for one of the program itself, which is held several times;
#: fitted to four solves, then raised by a third, because others took up to a quarter more
_FACTOR, _PROGRAM = 18, 93


class ProgramTooLargeError(ValueError):
    """A convex program would not fit in memory; the message says what to use instead."""


def allowed_bytes(memory_limit: float | None) -> float:
    """The limit that the user gave, or a share of the free memory."""
    return _SHARE * available_bytes() if memory_limit is None else float(memory_limit)


def program_bytes(n_entries: float, n_factor: float) -> float:
    """What a solve takes, from the non-zeros of the program and of the factor of its equations."""
    return _PROGRAM * n_entries + _FACTOR * n_factor


def n_entries(problem: Problem) -> int:
    """Non-zeros of the features as the program has them, where every label has its own copy."""
    return int(problem.packed.width.astype(np.int64) @ np.diff(problem.packed.indptr))


def rough_factor(problem: Problem, found: Polytopes, features: sparse.csr_array) -> float:
    """About how many non-zeros the factor has; measured, 0.4 to 1.2 times as many.

    Points are eliminated first, then the prices of each sample, which fill all weights that the
    sample shares with others, then these weights, which fill each other.
    """
    n, dim = problem.n, problem.dim
    row = np.repeat(found.owner, np.diff(features.indptr))
    pairs = np.unique(row * np.int64(dim) + features.indices)
    samples, weights = pairs // dim, pairs % dim
    shared = np.bincount(weights, minlength=dim) > 1
    touched = np.bincount(samples, weights=shared[weights], minlength=n)
    first = found.matrix.indices[found.matrix.indptr[:-1]]
    prices = np.bincount(found.owner[first], minlength=n).astype(float)
    own = features.nnz + found.matrix.nnz
    return float(3 * own + prices @ touched + (prices @ prices + shared.sum() ** 2) / 2)


def refuse_size(needed: float, limit: float, sizes: str) -> None:
    """An error if what is needed is above the limit."""
    if needed <= limit:
        return
    raise ProgramTooLargeError(
        f"the convex program ({sizes}) would take about {_size(needed)}, and the limit is"
        f' {_size(limit)}. Use solver="bcfw", which proves its gap in little memory, or with'
        ' alpha=0 in a domain solver="dual-extragradient"; or use fewer samples, or raise'
        " ReferenceQP(memory_limit=...)."
    )


def _size(count: float) -> str:
    return f"{count / 1e9:.3g} GB" if count >= 1e9 else f"{count / 1e6:.3g} MB"
