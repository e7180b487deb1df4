"""Linear rules as scaled inequalities."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import sparse

from maxmargin.structures.base import Constraints

#: what rules may be violated by
KEPT = 1e-9
#: sums are off by less than this times the sum of the sizes of their terms
ROUNDING = 2.0**-50


class Inequalities(NamedTuple):
    """Rules rows @ z <= most.

    rows : (rules, parts) sparse array of float, the largest coefficients being about 1.
    sizes : the same without signs.
    most : (rules,) array of float.
    room : (rules,) array of float, what `most` may be exceeded by.
    impossible : whether a bound is infinite so that nothing keeps it.
    """

    rows: sparse.csr_array
    sizes: sparse.csr_array
    most: np.ndarray
    room: np.ndarray
    impossible: bool


def as_inequalities(rules: Constraints) -> Inequalities:
    """Rules of integers z as inequalities.

    Parameters
    ----------
    rules : Constraints, lower <= matrix @ z <= upper.

    Returns
    -------
    Inequalities, one for each finite bound.
    """
    lower, upper = _integer_bounds(rules)
    above, below = np.isfinite(upper), np.isfinite(lower)
    rows = sparse.csr_array(sparse.vstack([rules.matrix[above], -rules.matrix[below]]))
    most = np.concatenate([upper[above], -lower[below]])
    largest = abs(rows).max(axis=1).toarray().ravel() if rows.nnz else np.ones(len(most))
    # powers of 2 round nothing
    scale = 2.0 ** -np.frexp(np.where(largest > 0, largest, 1.0))[1]
    rows = sparse.csr_array(sparse.diags_array(scale) @ rows)
    impossible = bool((upper == -np.inf).any() or (lower == np.inf).any())
    return Inequalities(rows, abs(rows), scale * most, KEPT * scale, impossible)


def _integer_bounds(rules: Constraints) -> tuple[np.ndarray, np.ndarray]:
    """Bounds that are multiples of the greatest common divisor of integer coefficients."""
    lower, upper = rules.lower.copy(), rules.upper.copy()
    for i, (first, last) in enumerate(pairwise(rules.matrix.indptr)):
        own = np.abs(rules.matrix.data[first:last])
        if own.any() and (own == np.rint(own)).all() and own.max() < 2.0**53:
            step = float(np.gcd.reduce(own.astype(np.int64)))
            lower[i] = step * np.ceil((lower[i] - KEPT) / step)
            upper[i] = step * np.floor((upper[i] + KEPT) / step)
    return lower, upper
