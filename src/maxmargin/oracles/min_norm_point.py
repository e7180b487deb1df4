"""Projection on the hull of vertices that only an oracle can name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_NOTHING = 1e-14  # a vertex with this share or less is dropped


def project_by_vertices(
    maximize: Callable[[np.ndarray], np.ndarray],
    point: np.ndarray,
    tol: float = 1e-12,
    max_steps: int = 10_000,
) -> np.ndarray:
    """Minimise 1/2 |z - point|^2 over the hull of the oracle's vertices (Wolfe 1976).

    Each step asks for the vertex that the residual points to and moves to the nearest point of the
    hull of the vertices kept so far, dropping those whose share falls to zero. Stops when no
    vertex lies further along the residual than z itself, but for rounding: the variational
    inequality (point - z) . (s - z) <= tol (1 + |z|^2 + |s|^2). Parts at -inf stay at zero.
    """
    finite = np.isfinite(point)
    target = np.where(finite, point, 0.0)
    rounding = 8 * np.finfo(float).eps * np.abs(target).max(initial=0.0)
    vertices = maximize(point)[np.newaxis]
    shares = np.ones(1)
    for _ in range(max_steps):
        z = shares @ vertices
        residual = target - z
        vertex = maximize(np.where(finite, residual, -np.inf))
        ahead = residual @ (vertex - z)
        noise = tol * (1.0 + z @ z + vertex @ vertex) + rounding * np.abs(vertex - z).sum()
        if ahead <= noise or (vertices == vertex).all(axis=1).any():
            return z
        found = np.vstack([vertices, vertex])
        vertices, shares = _nearest_in_hull(found, np.append(shares, 0.0), target)
        if not (vertices[-1] == vertex).all():  # dropped at once: only rounding is left to gain
            return z
    raise RuntimeError(f"the projection did not converge in {max_steps} steps.")


def _nearest_in_hull(
    vertices: np.ndarray, shares: np.ndarray, target: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Walk to the nearest point of the affine hull; drop the vertices that block; repeat."""
    while True:
        wanted = _affine_nearest(vertices, target)
        falling = wanted <= _NOTHING
        if not falling.any():
            return vertices, wanted
        way = np.maximum(shares - wanted, _NOTHING)
        share = np.where(falling, shares / way, np.inf)
        shares = shares + min(1.0, share.min()) * (wanted - shares)
        keep = ~(falling & ((share <= share.min()) | (shares <= _NOTHING)))
        vertices, shares = vertices[keep], shares[keep] / shares[keep].sum()


def _affine_nearest(vertices: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Shares (sum 1, any sign) of the point of the affine hull that is nearest to the target."""
    edges = (vertices[1:] - vertices[0]).T
    rest, *_ = np.linalg.lstsq(edges, target - vertices[0], rcond=None)
    return np.append(1.0 - rest.sum(), rest)
