"""Networks with cycles: by the junction tree or by message passing, whichever the layout says."""

from __future__ import annotations

from maxmargin._numba.compile import compile_ability
from maxmargin._numba.markov_network.junction_tree import maximize as maximize_exactly
from maxmargin._numba.markov_network.message_passing import maximize as maximize_bounded

#: where layouts say which of them to take: 0 for the junction tree
METHOD = 4


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """The best labels, or good ones. Returns a bound, which is the score itself if exact."""
    if layout[METHOD] == 0:
        return maximize_exactly(theta, layout, out, work, iwork)
    return maximize_bounded(theta, layout, out, work, iwork)
