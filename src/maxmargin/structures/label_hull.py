"""Labels of nodes, projected on the hull of their vertices; and whether a point is in a hull."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._numba import min_norm_sizes
from maxmargin.structures.base import Layout, Structure
from maxmargin.structures.min_norm_point import project_by_vertices

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
        self, ability: str, function: Any, theta: np.ndarray, code: np.ndarray, layout: Layout
    ) -> tuple[np.ndarray, float]:
        if ability != "project":
            return super()._call(ability, function, theta, code, layout)
        if self._overridden("maximize"):
            return project_by_vertices(lambda scores: self.maximize(scores, layout), theta), 0.0
        nodes = self.variables(layout)[0]
        return project_compiled(function, theta, code, nodes, self.scratch(layout))


def project_compiled(
    function: Any, point: np.ndarray, code: np.ndarray, nodes: int, scratch: tuple[int, int]
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
        value = function(point, code, out, work, ints)
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
