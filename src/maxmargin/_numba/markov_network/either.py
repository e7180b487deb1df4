"""Networks with cycles: by the junction tree or by message passing, whichever the layout says."""

from __future__ import annotations

from maxmargin._numba.compile import compile_ability
from maxmargin._numba.markov_network import (
    junction_tree as network,
    message_passing as network_bounded,
)

exact, bounded = network.maximize, network_bounded.maximize


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """The best labels if way is 0; else good ones. Returns a bound, the score itself if exact."""
    if layout[4] == 0:
        return exact(theta, layout, out, work, iwork)
    return bounded(theta, layout, out, work, iwork)
