"""Dependency trees: the nearest point of their hull, with the heads of words as labels."""

from __future__ import annotations

from maxmargin._numba.compile import ABILITY, compile_ability, compile_internal
from maxmargin._numba.dependencies import arborescence, projective
from maxmargin._numba.min_norm_point import project_labels

maximize_projective, maximize_crossing = projective.maximize, arborescence.maximize


@compile_internal(ABILITY)
def maximize(theta, layout, out, work, iwork):
    """The best tree of the kind that layout[2] asks for; so all below is compiled once."""
    if layout[2] != 0:
        return maximize_projective(theta, layout, out, work, iwork)
    return maximize_crossing(theta, layout, out, work, iwork)


@compile_ability
def project(theta, layout, out, work, iwork):
    """The nearest point, see `_numba.min_norm_point`. layout[2]: whether trees are projective.

    work: `min_norm_sizes.float_size` and that of maximize; iwork: the same of integers.
    """
    n, none = layout[0], iwork[:0]
    return project_labels(maximize, theta, layout, none, n, n + 1, 0, out, work, iwork)
