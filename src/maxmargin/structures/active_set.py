"""Projection on the hull of vertices that only an oracle can name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def project_by_vertices(
    maximize: Callable[[np.ndarray], np.ndarray],
    point: np.ndarray,
    tol: float = 1e-10,
    max_steps: int = 10_000,
) -> np.ndarray:
    """Minimise 1/2 |z - point|^2 over the hull of the oracle's vertices (Wolfe 1976).

    Each step asks for the vertex that the residual points to and moves to the nearest point of the
    hull of the vertices kept so far, dropping those whose share falls to zero. Stops when no
    vertex lies further along the residual than z itself, relative to the scales of both: the
    variational inequality (point - z) . (s - z) <= tol.
    """
    finite = np.isfinite(point)
    target = np.where(finite, point, 0.0)  # a part at -inf is never chosen; it stays at zero
    vertices = [maximize(point)]
    shares = np.ones(1)
    z = vertices[0].copy()
    for _ in range(max_steps):
        residual = np.where(finite, target - z, -np.inf)
        vertex = maximize(residual)
        ahead = np.where(finite, residual, 0.0) @ (vertex - z)
        scale = 1.0 + z @ z + vertex @ vertex + np.abs(target).max()
        if ahead <= tol * scale or any(np.array_equal(vertex, v) for v in vertices):
            return z
        vertices.append(vertex)
        shares = np.append(shares, 0.0)
        vertices, shares = _nearest_in_hull(vertices, shares, target)
        z = shares @ np.array(vertices)
    raise RuntimeError(f"the projection did not settle in {max_steps} steps.")


def _nearest_in_hull(
    vertices: list[np.ndarray], shares: np.ndarray, target: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray]:
    """Walk to the nearest point of the affine hull; drop the vertex that blocks; repeat."""
    while True:
        wanted = _affine_nearest(np.array(vertices), target)
        if (wanted > 1e-14).all():
            return vertices, wanted
        falling = wanted <= 1e-14
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(falling, shares / (shares - wanted), np.inf)
        step = min(1.0, np.nanmin(reach))
        shares = shares + step * (wanted - shares)
        blocked = falling & (shares <= 1e-14)
        blocked[np.nanargmin(reach)] = True
        keep = ~blocked
        vertices = [v for v, k in zip(vertices, keep, strict=True) if k]
        shares = shares[keep] / shares[keep].sum()


def _affine_nearest(vertices: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Shares (sum 1, any sign) of the point of the affine hull that is nearest to the target."""
    edges = (vertices[1:] - vertices[0]).T
    rest, *_ = np.linalg.lstsq(edges, target - vertices[0], rcond=None)
    return np.append(1.0 - rest.sum(), rest)
