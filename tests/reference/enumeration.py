"""Optima, expectations and projections over a list of vertices."""

import numpy as np
from scipy.optimize import nnls


def score(theta, z):
    """theta . z, where -inf counts only if z has the part."""
    return float(sum(t * v for t, v in zip(theta, z, strict=True) if v != 0))


def scores(theta, vertices):
    return np.array([score(theta, v) for v in vertices])


def best(theta, vertices):
    """The score of the best vertex, -inf if each has a forbidden part."""
    return max(scores(theta, vertices), default=-np.inf)


def log_partition(theta, vertices):
    values = scores(theta, vertices)
    high = values.max()
    return float(high + np.log(np.exp(values - high).sum()))


def expectation(theta, vertices):
    """sum_z p(z) z with p(z) proportional to exp(theta . z)."""
    values = scores(theta, vertices)
    shares = np.exp(values - values.max())
    return shares @ np.asarray(vertices, dtype=float) / shares.sum()


def max_marginals(theta, vertices, n_parts):
    """For each of the first n_parts parts, the best score of a vertex that has it."""
    values = scores(theta, vertices)
    return np.array(
        [
            max((s for s, v in zip(values, vertices, strict=True) if v[p]), default=-np.inf)
            for p in range(n_parts)
        ]
    )


def nearest_in_hull(point, vertices):
    """The point of the hull nearest to `point`, exactly.

    With u_k = vertex_k - point, the x >= 0 that minimises |sum_k x_k u_k|^2 + (1 - sum_k x_k)^2 is
    a multiple of the shares wanted: for x = s a with a in the simplex and u = sum_k a_k u_k, the
    best s leaves |u|^2 / (1 + |u|^2), which grows with |u|.
    """
    allowed = [v for v in vertices if not np.isneginf(np.asarray(point)[np.asarray(v) != 0]).any()]
    vertices = np.array(allowed, dtype=float)
    target = np.where(np.isneginf(point), 0.0, point)
    matrix = np.vstack([(vertices - target).T, np.ones(len(vertices))])
    aim = np.zeros(len(matrix))
    aim[-1] = 1.0
    shares, _ = nnls(matrix, aim, maxiter=100 * len(vertices))
    return shares @ vertices / shares.sum()
