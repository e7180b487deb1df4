"""Linear programs over lower <= matrix @ (z, extra) <= upper, z >= 0, extra >= 0."""

import numpy as np
from scipy import sparse
from scipy.optimize import linprog


def _solve(matrix, lower, upper, costs, ceiling):
    """min costs . x, x >= 0, by scipy's one-sided form: equalities apart from inequalities."""
    matrix = sparse.csr_array(matrix)
    lower, upper = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    equal = lower == upper
    below, above = ~equal & np.isfinite(upper), ~equal & np.isfinite(lower)
    inequalities = sparse.vstack([matrix[below], -matrix[above]])
    return linprog(
        costs,
        A_ub=inequalities,
        b_ub=np.concatenate([upper[below], -lower[above]]),
        A_eq=matrix[equal],
        b_eq=upper[equal],
        bounds=np.column_stack([np.zeros(len(costs)), ceiling]),
        method="highs",
    )


def best_value(constraints, theta):
    """max theta . z; -inf if nothing is feasible. Parts at -inf are held at zero."""
    n = constraints.matrix.shape[1]
    costs, ceiling = np.zeros(n), np.full(n, np.inf)
    banned = np.isneginf(theta)
    costs[: len(theta)] = np.where(banned, 0.0, -np.asarray(theta))
    ceiling[: len(theta)][banned] = 0.0
    scale = np.abs(costs).max() or 1.0
    answer = _solve(*constraints, costs / scale, ceiling)
    if answer.status == 2:
        return -np.inf
    assert answer.status == 0, answer.message
    return -answer.fun * scale


def violation(constraints, z):
    """How far z is from satisfying the constraints, the auxiliary variables chosen best."""
    return float(violations(constraints, np.asarray(z)[None])[0])


def violations(constraints, points):
    """The same of each row, by one linear program: to set one up takes longer than to solve it."""
    matrix, n = sparse.csr_array(constraints.matrix), points.shape[1]
    lower = np.asarray(constraints.lower, dtype=float)
    upper = np.asarray(constraints.upper, dtype=float)
    fixed = (matrix[:, :n] @ points.T).T
    negative = np.maximum(0.0, -points.min(axis=1))
    n_extra = matrix.shape[1] - n
    if n_extra == 0:
        outside = np.maximum(lower - fixed, fixed - upper).max(axis=1, initial=0.0)
        return np.maximum(negative, outside)
    # for each: min t  such that  lower - t <= fixed + A extra <= upper + t
    extra, one = matrix[:, n:], np.ones((len(lower), 1))
    both = sparse.vstack([sparse.hstack([extra, -one]), sparse.hstack([-extra, -one])])
    bound = np.hstack([upper - fixed, fixed - lower])
    finite = np.isfinite(bound).all(axis=0)
    rows = sparse.kron(sparse.eye_array(len(points)), sparse.csr_array(both)[finite], "csr")
    costs = np.tile(np.append(np.zeros(n_extra), 1.0), len(points))
    answer = linprog(costs, A_ub=rows, b_ub=bound[:, finite].ravel(), method="highs")
    assert answer.status == 0, answer.message
    return np.maximum(negative, answer.x.reshape(len(points), -1)[:, -1])
