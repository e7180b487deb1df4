"""Points that satisfy their constraints up to a solver's tolerance, made to satisfy them."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from maxmargin.solvers.qp.polytopes import Polytopes

_ROUNDS = 30
#: largest violation that is called rounding
ROUNDING = 1e-12
_LEAST = 1e-3


def nearest_feasible(found: Polytopes, u: np.ndarray) -> tuple[np.ndarray, float]:
    """A point of the polytopes next to u, and by how much it violates a row at most.

    Each round solves all equations again, slacks of inequalities included, by the least change
    relative to the size of each entry: entries next to zero hardly move, and so stay positive.
    """
    loose = np.flatnonzero(~found.equal)
    slack = sparse.eye_array(len(found.bound), format="csc")[:, loose]
    system = sparse.csr_array(sparse.hstack([found.matrix, slack]))
    u = np.maximum(u, 0.0)
    point = np.concatenate([u, np.maximum((found.bound - found.matrix @ u)[loose], 0.0)])
    best, worst = point, np.inf
    for _ in range(_ROUNDS):
        miss = system @ point - found.bound
        violation = float(np.abs(miss).max(initial=0.0))
        if violation < worst:
            best, worst = point, violation
        if worst <= ROUNDING / 10:
            break
        point = np.maximum(point - _step(system, np.maximum(point, _LEAST), miss), 0.0)
    return best[: len(u)], worst


def _step(system: sparse.csr_array, size: np.ndarray, miss: np.ndarray) -> np.ndarray:
    """The change of least sum of squares relative to `size` that undoes the miss."""
    scaled = system @ sparse.diags_array(size)
    normal = scaled @ scaled.T
    unit = 1.0 / np.sqrt(normal.diagonal())
    normal = sparse.diags_array(unit) @ normal @ sparse.diags_array(unit)
    # rows may depend on each other; what this adds is made good by the next round
    normal = sparse.csc_matrix(normal + 1e-13 * sparse.eye_array(len(unit)))
    prices = unit * splu(normal, permc_spec="MMD_AT_PLUS_A").solve(unit * miss)
    return size * (scaled.T @ prices)
