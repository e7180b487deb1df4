"""The best mixture of cuts: the dual of the minimum of their model."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from maxmargin._numba.passes.cutting_plane import ascend_masses
from maxmargin.problem import Problem
from maxmargin.solvers.cutting_plane.cuts import Cuts
from maxmargin.solvers.domain_steps import best_share

#: shares below this are rounding
_DUST = 1e-14


def solve_masses(cuts: Cuts, alpha: float, tolerance: float, limit: int) -> float:
    """The best masses, in place; returns a bound on what is left to gain."""
    k = cuts.n_cuts
    mass = cuts.mass[:k]
    options = (alpha, mass, np.empty(k), tolerance, limit)
    left = ascend_masses(cuts.gram, len(cuts.mass), cuts.loss[:k], *options)
    mass[mass < _DUST] = 0.0
    mass /= mass.sum()
    return left


def solve_inside(problem: Problem, cuts: Cuts, tolerance: float, limit: int = 500) -> None:
    """The same in a domain, where the dual bends no more than without one: exact exchanges.

    Each costs a few projections of w, and one product of w with all images.
    """
    k, alpha = cuts.n_cuts, problem.alpha
    mass, loss, planes = cuts.mass[:k], cuts.loss[:k], cuts.planes(problem.dim)
    gram = cuts.gram.reshape(len(cuts.mass), -1)[:k, :k]
    w_unprojected = planes.T @ mass / -alpha
    for _ in range(limit):
        slope = loss + planes @ problem.domain.project(w_unprojected)
        high = int(np.argmax(slope))
        rise = slope[high] - slope
        if mass @ rise <= tolerance:
            break
        bent = np.maximum(gram[high, high] + gram.diagonal() - 2 * gram[high], 0.0) / alpha
        move = np.minimum(mass, rise / np.maximum(bent, 1e-300))
        low = int(np.argmax(move * (rise - bent * move / 2)))
        change = mass[low] * _difference(planes, high, low)
        share = best_share(
            problem, w_unprojected, change, float(mass[low] * (loss[high] - loss[low]))
        )
        if share <= 0.0:
            break
        w_unprojected -= (share / alpha) * change
        mass[high] += share * mass[low]
        mass[low] *= 1.0 - share
    mass[mass < _DUST] = 0.0
    mass /= mass.sum()


def _difference(planes: sparse.csr_array, high: int, low: int) -> np.ndarray:
    """One row less another; by hand, because slices of sparse arrays cost ten times as much."""
    out = np.zeros(planes.shape[1])
    for row, sign in ((high, 1.0), (low, -1.0)):
        own = slice(planes.indptr[row], planes.indptr[row + 1])
        out[planes.indices[own]] += sign * planes.data[own]
    return out
