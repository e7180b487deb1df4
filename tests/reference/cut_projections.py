"""Minimum cuts by other means: the conditions of the nearest point, and interior-point solvers."""

import numpy as np
from scipy import sparse


def nearest(network, point):
    """min 1/2 |z - point|^2 over 0 <= z_j <= 1, |z_j - z_k| <= z_jk, by an interior-point solver.

    Tolerances are set to less than can be reached.
    """
    import piqp

    n, m = network.n_nodes, network.n_edges
    rows, ones = np.arange(m), np.ones(m)
    ends = sparse.csr_array((ones, (rows, network.edges[:, 0])), shape=(m, n))
    ends -= sparse.csr_array((ones, (rows, network.edges[:, 1])), shape=(m, n))
    own = sparse.eye_array(m)
    solver = piqp.SparseSolver()
    for name in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
        setattr(solver.settings, name, 1e-16)
    solver.settings.max_iter = 150
    solver.setup(
        sparse.csc_matrix(sparse.eye_array(n + m)),
        -np.asarray(point, dtype=float),
        None,
        None,
        sparse.csc_matrix(sparse.block_array([[ends, -own], [-ends, -own]])) if m else None,
        None,
        np.zeros(2 * m) if m else None,
        np.concatenate([np.zeros(n), np.full(m, -np.inf)]),
        np.concatenate([np.ones(n), np.full(m, np.inf)]),
    )
    solver.solve()
    return np.array(solver.result.x)


def error_bound(network, point, z, flow):
    """A proof of how far the nodes of z are from those of the nearest point, at most.

    If flow is a subgradient of every edge's term, x is the nearest point's for a point that differs
    by what is left of the nodes' conditions, and projections bring points no further apart. Asserts
    what has to hold exactly, or to rounding.
    """
    n = network.n_nodes
    x, a, b = z[:n], point[:n], point[n:]
    apart = x[network.edges[:, 0]] - x[network.edges[:, 1]]
    assert (x >= 0.0).all()
    assert (x <= 1.0).all()
    np.testing.assert_array_equal(z[n:], np.maximum(b, np.abs(apart)))
    near = 1e-15 * (1.0 + np.abs(b))
    kink = b < 0.0
    together = kink & (apart == 0.0)
    assert (np.abs(flow) <= -b + near)[together].all()
    assert (apart[b == -np.inf] == 0.0).all()
    curved = ~together
    wanted = np.sign(apart) * np.maximum(np.abs(apart) - b, 0.0)
    np.testing.assert_array_less(np.abs(flow - wanted)[curved], (4.0 * near)[curved])
    out = np.zeros(n)
    np.add.at(out, network.edges[:, 0], flow)
    np.add.at(out, network.edges[:, 1], -flow)
    return float(np.linalg.norm(np.clip(a - out, 0.0, 1.0) - x))
