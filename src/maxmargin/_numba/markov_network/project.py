"""Networks with cycles: the nearest point of the hull of labellings, by `_numba.min_norm_point`."""

from __future__ import annotations

from maxmargin._numba.compile import compile_ability
from maxmargin._numba.markov_network.junction_tree import maximize
from maxmargin._numba.min_norm_point import project_labels


@compile_ability
def project(theta, layout, out, work, iwork):
    """The nearest point, see `_numba.min_norm_point`, with the vertices of the last call in work.

    work: `min_norm_sizes.float_size` and that of maximize; iwork: likewise.
    """
    nodes, labels, stride, edges = layout[0], layout[1], layout[2], layout[3]
    ends = layout[7 : 7 + 2 * edges]
    return project_labels(maximize, theta, layout, ends, nodes, labels, stride, out, work, iwork)
