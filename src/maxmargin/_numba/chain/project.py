"""Chains: the nearest point of the hull of labellings. Layouts as in `_numba.chain.maximize`."""

from __future__ import annotations

from maxmargin._numba.chain.maximize import maximize
from maxmargin._numba.compile import compile_ability
from maxmargin._numba.min_norm_point import project_labels


@compile_ability
def project(theta, layout, out, work, iwork):
    """The nearest point, see `_numba.min_norm_point`, with the vertices of the last call in work.

    work: `min_norm_sizes.float_size` and that of maximize. iwork: `min_norm_sizes.int_size` + 2 T.
    """
    length, labels, stride = layout[0], layout[1], layout[2]
    ends, rest = iwork[: 2 * length - 2], iwork[2 * length - 2 :]
    for t in range(length - 1):
        ends[2 * t], ends[2 * t + 1] = t, t + 1
    return project_labels(maximize, theta, layout, ends, length, labels, stride, out, work, rest)
