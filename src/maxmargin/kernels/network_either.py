"""Networks with cycles: by the junction tree or by message passing, whichever the shape says."""

from __future__ import annotations

from maxmargin.kernels import network, network_bounded
from maxmargin.kernels.compile import ability

exact, bounded = network.maximize, network_bounded.maximize


@ability
def maximize(theta, shape, out, work, iwork):
    """The best labels if way is 0; else good ones. Returns a bound, the score itself if exact."""
    if shape[4] == 0:
        return exact(theta, shape, out, work, iwork)
    return bounded(theta, shape, out, work, iwork)
