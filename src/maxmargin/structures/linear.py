"""Maximisation by linear programming, for structures that only state their constraints."""

from __future__ import annotations

import numpy as np
from scipy import optimize

from maxmargin.exceptions import InfeasibleError
from maxmargin.structures.base import Constraints


def maximize_linear(constraints: Constraints, theta: np.ndarray) -> np.ndarray:
    """The argmax of theta . z over the polytope, by the HiGHS simplex method (so a vertex)."""
    matrix = constraints.matrix
    costs = np.zeros(matrix.shape[1])
    costs[: len(theta)] = np.where(np.isfinite(theta), -theta, 0.0)
    ceiling = np.full(matrix.shape[1], np.inf)
    ceiling[: len(theta)][theta == -np.inf] = 0.0
    scale = np.abs(costs).max() or 1.0
    answer = optimize.milp(  # without integrality: the one scipy interface for two-sided rows
        costs / scale,
        constraints=optimize.LinearConstraint(matrix, constraints.lower, constraints.upper),
        bounds=optimize.Bounds(0.0, ceiling),
    )
    if answer.x is None:
        raise InfeasibleError(f"the linear program has no solution: {answer.message}")
    z = answer.x[: len(theta)]
    whole = np.rint(z)
    # The solver's own tolerance is 1e-7; most polytopes here have vertices of whole numbers.
    return np.where(np.abs(z - whole) < 1e-9, whole, z)
