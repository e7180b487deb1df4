"""Networks with cycles: the nearest point of the hull of labellings, by `kernels.active_set`."""

from __future__ import annotations

from maxmargin.kernels.active_set import project_labels
from maxmargin.kernels.compile import ability
from maxmargin.kernels.network import maximize


@ability
def project(theta, shape, out, work, iwork):
    """The nearest point, see `kernels.active_set`, with the vertices of the last call in work.

    work: `active_sizes.float_size` and that of maximize; iwork: likewise.
    """
    nodes, labels, stride, edges = shape[0], shape[1], shape[2], shape[3]
    ends = shape[7 : 7 + 2 * edges]
    return project_labels(maximize, theta, shape, ends, nodes, labels, stride, out, work, iwork)
