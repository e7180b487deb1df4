"""Projections by an interior-point solver of quadratic programs."""

import numpy as np
import piqp
from scipy import sparse


def nearest(constraints, point):
    """min 1/2 |z - point|^2 over matrix @ z <= upper, z >= 0, for matrices of zeros and ones.

    Parts at -inf are held at zero. Rows that hold wherever 0 <= z <= max(0, point) are left out,
    and small points scaled up, caps and all: the solver's tolerances are relative to the largest
    number that it sees. They are set to less than can be reached, because where a part and its
    price are both next to zero the error of z is the root of the tolerance.
    """
    allowed = np.flatnonzero(np.isfinite(point))
    z = np.zeros(len(point))
    target = np.asarray(point, dtype=float)[allowed]
    matrix = sparse.csr_array(constraints.matrix)[:, allowed]
    needed = matrix @ np.maximum(target, 0.0) > constraints.upper
    if not needed.any():
        z[allowed] = np.maximum(target, 0.0)
        return z
    size = min(1.0, np.abs(target).max())
    n = len(target)
    solver = piqp.SparseSolver()
    for name in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
        setattr(solver.settings, name, 1e-16)
    solver.settings.max_iter = 150
    solver.setup(
        sparse.csc_matrix(sparse.eye_array(n)),
        -target / size,
        None,
        None,
        sparse.csc_matrix(matrix[needed]),
        None,
        constraints.upper[needed] / size,
        np.zeros(n),
        np.full(n, np.inf),
    )
    solver.solve()
    z[allowed] = size * solver.result.x
    return z


def nearest_mixture(vertices, point):
    """min 1/2 |z - point|^2 over mixtures z of the vertices, to about 1e-7."""
    vertices = np.asarray(vertices, dtype=float)
    n = len(vertices)
    offsets = vertices - point
    solver = piqp.DenseSolver()
    for name in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
        setattr(solver.settings, name, 1e-15)
    bounds = (np.zeros(n), np.full(n, np.inf))
    products = offsets @ offsets.T
    solver.setup(products, np.zeros(n), np.ones((1, n)), np.ones(1), None, None, None, *bounds)
    solver.solve()
    shares = np.maximum(solver.result.x, 0.0)
    return shares @ vertices / shares.sum()
