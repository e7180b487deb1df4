"""Optima, expectations and projections over a list of vertices."""

import numpy as np


def score(theta, z):
    """theta . z, where -inf counts only if z has the part."""
    return float(sum(t * v for t, v in zip(theta, z, strict=True) if v != 0))


def scores(theta, vertices):
    """The score of each vertex."""
    vertices = np.reshape(np.asarray(vertices, dtype=float), (-1, len(theta)))
    banned = np.isneginf(theta)
    values = vertices @ np.where(banned, 0.0, theta)
    return np.where(vertices[:, banned].any(axis=1), -np.inf, values)


def best(theta, vertices):
    """The score of the best vertex, -inf if each has a forbidden part."""
    return scores(theta, vertices).max(initial=-np.inf)


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
    """The point of the hull nearest to `point` (Wolfe 1976), checked over all vertices.

    z is a mixture of active vertices. Each step adds the vertex furthest along point - z, until
    none is further than z itself, but for rounding: that is the variational inequality.
    """
    allowed = [v for v in vertices if not np.isneginf(np.asarray(point)[np.asarray(v) != 0]).any()]
    vertices = np.array(allowed, dtype=float)
    target = np.where(np.isneginf(point), 0.0, point)
    active, shares = [int(np.square(vertices - target).sum(axis=1).argmin())], np.ones(1)
    for _ in range(100 * len(vertices)):
        z = shares @ vertices[active]
        ahead = (vertices - z) @ (target - z)
        rounding = 1e-15 * (1.0 + np.abs(vertices - z) @ np.abs(target - z)).max()
        new = int(ahead.argmax())
        small = ahead[new] <= 100 * rounding
        if ahead[new] <= rounding or new in active:
            assert small, f"{ahead[new]:.1e} ahead of a reference projection"
            return z
        active, shares = _nearest_mixture(vertices, target, [*active, new], np.append(shares, 0.0))
        nearer = np.linalg.norm(target - shares @ vertices[active]) < np.linalg.norm(target - z)
        if small and not nearer:
            return z
    raise AssertionError("a reference projection did not converge")


def _nearest_mixture(vertices, target, active, shares):
    """Walk to the nearest point of the affine hull of the active; drop whom that takes to zero."""
    while True:
        first, *others = vertices[active]
        edges = np.reshape(others - first, (len(others), len(target)))
        rest = np.linalg.lstsq(edges.T, target - first, rcond=None)[0]
        wanted = np.append(1.0 - rest.sum(), rest)
        falling = wanted <= 0.0
        if not falling.any():
            return active, wanted
        reach = np.full(len(active), np.inf)
        reach[falling] = shares[falling] / np.maximum(shares - wanted, 1e-300)[falling]
        shares = shares + reach.min() * (wanted - shares)
        keep = reach > reach.min()
        active = [k for k, kept in zip(active, keep, strict=True) if kept]
        shares = shares[keep] / shares[keep].sum()
