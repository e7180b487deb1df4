"""Whether a point is in the hull of outputs."""

from __future__ import annotations

import numpy as np

from maxmargin.oracles.min_norm_point import project_by_vertices
from maxmargin.structures.base import Layout, Structure

_ROUNDING = 1e-6


def in_hull(structure: Structure, z: np.ndarray, output: np.ndarray, layout: Layout) -> bool:
    """Whether z is a mixture of outputs, but for rounding; False also if nothing can tell.

    output : any of them; what is too far from it is not a mixture, and need not be projected.
    """
    if np.linalg.norm(z - output) > structure.radius(layout) * (1.0 + _ROUNDING):
        return False
    oracle = structure.oracle()
    try:
        if oracle.has("project"):
            nearest = oracle.project(z, layout)
        elif oracle.is_exact:
            nearest = project_by_vertices(lambda scores: oracle.maximize(scores, layout)[0], z)
        else:
            return False
    except RuntimeError:  # it did not converge, as it does for points inside
        return False
    return bool(np.abs(nearest - z).max(initial=0.0) <= _ROUNDING * (1.0 + np.abs(z).max()))
