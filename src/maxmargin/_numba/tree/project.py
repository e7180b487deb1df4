"""Trees: the nearest point of the hull of labellings. Layouts as in `_numba.tree.maximize`."""

from __future__ import annotations

from maxmargin._numba.compile import compile_ability
from maxmargin._numba.min_norm_point import project_labels
from maxmargin._numba.tree.maximize import maximize


@compile_ability
def project(theta, layout, out, work, iwork):
    """The nearest point, see `_numba.min_norm_point`, with the vertices of the last call in work.

    work: `min_norm_sizes.float_size` and that of maximize. iwork: `min_norm_sizes.int_size` + 3 V.
    """
    nodes, labels, stride, edges = layout[0], layout[1], layout[2], layout[3]
    ends, rest = iwork[: 2 * edges], iwork[2 * edges :]
    for i in range(nodes):
        v, above = layout[4 + i], layout[4 + nodes + i]
        if above >= 0:
            e, down = layout[4 + 2 * nodes + i], layout[4 + 3 * nodes + i]
            ends[2 * e + down], ends[2 * e + 1 - down] = v, above
    return project_labels(maximize, theta, layout, ends, nodes, labels, stride, out, work, rest)
