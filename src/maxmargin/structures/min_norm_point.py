"""Projection on the hull of vertices that only an oracle can name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin._numba import min_norm_sizes
from maxmargin.structures.base import Layout, Structure

_NOTHING = 1e-14  # a vertex with this share or less is dropped
_ROUNDING = 1e-6
_MANY = 4096  # active vertices: their factor takes 64 megabytes


class LabelHull(Structure):
    """Labels of nodes, whose compiled `project` is an active set over the compiled `maximize`.

    Where a subclass has a `maximize` of its own, the outputs may be others: it is asked instead.
    """

    def compiled_function(self, ability: str) -> Any | None:
        if ability == "project" and self._overridden("maximize"):
            return None
        return super().compiled_function(ability)

    def warm_size(self, layout: Layout) -> int:
        """The labels and shares of the vertices that the last projection is a mixture of."""
        return min_norm_sizes.warm_size(self.n_parts(layout), self.variables(layout)[0])

    def _call(
        self,
        ability: str,
        function: Any,
        theta: np.ndarray,
        layout_ints: np.ndarray,
        layout: Layout,
    ) -> tuple[np.ndarray, float]:
        if ability != "project":
            return super()._call(ability, function, theta, layout_ints, layout)
        if self._overridden("maximize"):
            return project_by_vertices(lambda scores: self.maximize(scores, layout), theta), 0.0
        nodes = self.variables(layout)[0]
        return project_compiled(function, theta, layout_ints, nodes, self.scratch(layout))


def project_compiled(
    function: Any, point: np.ndarray, layout_ints: np.ndarray, nodes: int, scratch: tuple[int, int]
) -> tuple[np.ndarray, float]:
    """`_numba.min_norm_point` with as many active vertices as it takes; its answer and value.

    Solvers stop at `min_norm_sizes.MOST`, because a step from a point nearly as good does as well.
    """
    parts, most = len(point), min_norm_sizes.most_vertices(len(point))
    while True:
        work = np.zeros(scratch[0] + min_norm_sizes.float_size(parts, nodes, most))
        ints = np.empty(scratch[1] + min_norm_sizes.int_size(parts, nodes, most), dtype=np.int64)
        work[0] = -most
        out = np.zeros(parts)
        value = function(point, layout_ints, out, work, ints)
        if not -np.inf < value < 0.0:
            return out, value
        if most == min(parts, _MANY):
            raise RuntimeError(
                f"the projection did not converge with {most} vertices; it may be {-value:.1e} off."
            )
        most = min(4 * most, parts, _MANY)


def in_hull(structure: Structure, z: np.ndarray, output: np.ndarray, layout: Layout) -> bool:
    """Whether z is a mixture of outputs, but for rounding; False also if nothing can tell.

    output : any of them; what is too far from it is not a mixture, and need not be projected.
    """
    if np.linalg.norm(z - output) > structure.radius(layout) * (1.0 + _ROUNDING):
        return False
    try:
        if structure.has("project"):
            nearest = structure.project(z, layout)
        elif structure.is_exact:
            nearest = project_by_vertices(lambda scores: structure.maximize(scores, layout), z)
        else:
            return False
    except RuntimeError:  # it did not converge, as it does for points inside
        return False
    return bool(np.abs(nearest - z).max(initial=0.0) <= _ROUNDING * (1.0 + np.abs(z).max()))


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
