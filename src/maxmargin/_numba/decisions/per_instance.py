"""Decisions of any kind, as the layout says. layout = (kind, then the layout of that kind)."""

from __future__ import annotations

from maxmargin._numba.compile import compile_ability
from maxmargin._numba.decisions.acyclic_path import maximize as acyclic_path
from maxmargin._numba.decisions.branch_and_bound import maximize as branch_and_bound
from maxmargin._numba.decisions.knapsack import maximize as knapsack
from maxmargin._numba.decisions.spanning_tree import maximize as spanning_tree
from maxmargin._numba.decisions.top_k import maximize as top_k
from maxmargin._numba.decisions.unit_flow import maximize as unit_flow

#: compiled functions by their kind
KINDS = (
    "decisions.acyclic_path",
    "decisions.unit_flow",
    "decisions.knapsack",
    "decisions.branch_and_bound",
    "decisions.spanning_tree",
    "decisions.top_k",
)


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """The best decision; returns its score, -inf if there is none."""
    kind, own = layout[0], layout[1:]
    if kind == 0:
        return acyclic_path(theta, own, out, work, iwork)
    if kind == 1:
        return unit_flow(theta, own, out, work, iwork)
    if kind == 2:
        return knapsack(theta, own, out, work, iwork)
    if kind == 3:
        return branch_and_bound(theta, own, out, work, iwork)
    if kind == 4:
        return spanning_tree(theta, own, out, work, iwork)
    return top_k(theta, own, out, work, iwork)
