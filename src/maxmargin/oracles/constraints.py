"""Linear inequalities that describe a polytope, and scores of its points."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse


def part_score(theta: np.ndarray, z: np.ndarray) -> float:
    """Theta . z over the parts where z is not zero: forbidden parts (-inf) do no harm."""
    on = z != 0
    return float(theta[on] @ z[on])


class Constraints(NamedTuple):
    """Linear constraints `lower <= matrix @ (z, extra) <= upper`, with z >= 0 and extra >= 0.

    The first columns are the parts; any further ones are auxiliary variables, for polytopes that
    have a short description only as the projection of a larger one.

    Parameters
    ----------
    matrix : csr_array of shape (n_rows, n_columns)
        Coefficients.
    lower, upper : ndarray of shape (n_rows,)
        Bounds of the rows; may be infinite.
    """

    matrix: sparse.csr_array
    lower: np.ndarray
    upper: np.ndarray
