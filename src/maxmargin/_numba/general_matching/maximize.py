"""The best matching of a graph, by Edmonds' primal-dual method with Galil's bookkeeping.

Prices u of nodes and y >= 0 of blossoms pay for every edge: its *slack* u + u' + (y of the blossoms
around it) - 2 weight is never negative, and 0 where it is matched. A stage grows trees of tight
edges from free nodes, those of price 0 aside unless matchings must be perfect; where none is left,
prices of outer nodes fall and those of inner ones rise until one is, a blossom's y is
0, or an outer node's price is, which may then be free in place of its root. The matching is best if
no root is left. O(n^3).

Prices of the last call, with those of blossoms shared out to their nodes, are kept: repaired for
the new weights and then lowered, they match most nodes at once.

Scores are rounded to integers, 2^48 times as fine as the largest, so that nothing else is rounded.
Scores that no best matching has are left out of this: those below 0, or, where matchings must be
perfect, those with which even the largest ones would score less than one found, and those of edges
that no perfect matching has.
Prices are even before the first stage, and so is the slack between two outer nodes at any time.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import FLOATS, INTS, compile_ability, compile_internal, types
from maxmargin._numba.general_matching.forest import (
    ABSENT,
    FIRST,
    FOREST,
    INNER,
    LAST,
    N_COUNTS,
    NONE,
    OUTER,
    STAMP,
    UNREACHED,
    UNUSED,
    Forest,
    expand_blossom,
    free_node,
    grow_tree,
    join_outer_nodes,
    label_node,
    slack_of,
)

FINENESS = 2.0**48
FAR = 2**62  # more than any change of prices
FINER = 2.0**-10  # units that are worth another matching, in those of the last one
ROUNDING = 1e-12  # of sums of scores
BY_PRICE, BY_GROWTH, BY_MEETING, BY_BLOSSOM, BY_NOTHING = range(5)


@compile_internal(types.void(FLOATS, INTS, types.float64))
def leave_out(theta, weight, least):
    """Scores not above `least` are ABSENT, as are those that were; others are 0."""
    for e in range(len(theta)):
        if weight[e] != ABSENT:
            weight[e] = 0 if theta[e] > least else ABSENT


@compile_internal(types.float64(FLOATS, INTS))
def round_weights(theta, weight):
    """Integer weights of the edges that are not ABSENT. Returns what a unit is."""
    largest = 0.0
    for e in range(len(theta)):
        if weight[e] != ABSENT:
            largest = max(largest, abs(theta[e]))
    for e in range(len(theta)):
        if weight[e] != ABSENT and largest > 0.0:
            weight[e] = int(np.rint(theta[e] / largest * FINENESS))
    return largest / FINENESS


@compile_internal(types.float64(FLOATS, INTS, types.float64, types.int64))
def least_needed(theta, weight, total, n):
    """What all scores of a perfect matching are above, if it scores `total` or more."""
    largest, pairs = -np.inf, n // 2
    for e in range(len(theta)):
        if weight[e] != ABSENT:
            largest = max(largest, theta[e])
    least = total - (pairs - 1) * largest - ROUNDING * pairs * (abs(total) + abs(largest))
    if not abs(least) < np.inf:  # sums may be too large for floats
        return -np.inf
    return np.nextafter(least, -np.inf)


@compile_internal(types.void(FOREST))
def remove_blossoms(forest):
    """No blossoms are left; what is matched stays so."""
    n = len(forest.top)
    for v in range(n):
        forest.top[v] = forest.base[v] = v
    for x in range(len(forest.base)):
        forest.parent[x] = NONE
        forest.mark[x] = 0
    for k in range(len(forest.unused)):
        forest.unused[k] = n + k
    forest.counts[STAMP], forest.counts[UNUSED] = 0, len(forest.unused)


@compile_internal(types.boolean(FLOATS, FOREST, types.float64, types.boolean))
def recall_prices(memory, forest, unit, perfect):
    """Even prices near those of the memory; False if it has none, or none that are of use."""
    n = len(forest.top)
    limit, known = (n + 1) * FINENESS, False
    for v in range(n):
        price = memory[v] / unit if unit > 0.0 else np.inf
        if not abs(price) <= limit:
            return False
        known |= price != 0.0
        forest.price[v] = 2 * int(np.rint(price / 2.0))
        if not perfect:
            forest.price[v] = max(forest.price[v], 0)
    return known


@compile_internal(types.void(FOREST))
def pay_for_edges(forest):
    """Raise prices until no edge has a negative slack, by the same amount at both ends."""
    for v in range(len(forest.top)):
        for arc in range(forest.start[v - 1] if v > 0 else 0, forest.start[v]):
            if forest.weight[forest.edge[arc]] != ABSENT and slack_of(forest, arc) < 0:
                half = -(slack_of(forest, arc) // 4)
                forest.price[v] += 2 * half
                forest.price[forest.head[arc]] += 2 * half


@compile_internal(types.void(FOREST, types.boolean))
def lower_prices(forest, perfect):
    """Let each price fall until an edge is tight or it is 0; match what then can be."""
    for v in range(len(forest.top)):
        least, where = FAR, NONE
        for arc in range(forest.start[v - 1] if v > 0 else 0, forest.start[v]):
            if forest.weight[forest.edge[arc]] == ABSENT:
                continue
            slack = slack_of(forest, arc)
            if slack < least or (slack == least and forest.mate[forest.head[arc]] == NONE):
                least, where = slack, arc
        if not perfect:
            least = min(least, forest.price[v])
        if least == FAR:
            continue
        forest.price[v] -= least
        if where == NONE or forest.mate[v] != NONE or slack_of(forest, where) != 0:
            continue
        if forest.mate[forest.head[where]] == NONE:
            forest.mate[v], forest.mate[forest.head[where]] = where, forest.sister[where]


@compile_internal(types.void(FOREST, FLOATS, types.float64))
def keep_prices(forest, memory, unit):
    """Memory for the next call: prices that pay for all edges without blossoms."""
    for v in range(len(forest.top)):
        price, around = float(forest.price[v]), forest.parent[v]
        while around != NONE:
            price += 0.5 * forest.price[around]
            around = forest.parent[around]
        memory[v] = price * unit


@compile_internal(types.void(FOREST))
def remove_trees(forest):
    """No node is in a tree."""
    forest.counts[FIRST] = forest.counts[LAST] = 0
    for x in range(len(forest.label)):
        forest.label[x], forest.entry[x] = UNREACHED, NONE
    for v in range(len(forest.top)):
        forest.best[v] = NONE


@compile_internal(types.boolean(FOREST, types.boolean, types.boolean))
def start_stage(forest, perfect, alone):
    """Each free node whose price is not 0 is the root of a tree; False if there is none.

    alone: only the first one is, which takes less time if partners are near.
    """
    remove_trees(forest)
    for v in range(len(forest.top)):
        if forest.mate[v] == NONE and (perfect or forest.price[v] > 0):
            label_node(forest, forest.top[v], OUTER, NONE)
            if alone:
                break
    return forest.counts[LAST] > 0


@compile_internal(types.boolean(FOREST))
def search_tight_arcs(forest):
    """Look at the arcs of new outer nodes; True if a matched edge was won."""
    while forest.counts[FIRST] < forest.counts[LAST]:
        v = forest.queue[forest.counts[FIRST]]
        forest.counts[FIRST] += 1
        for arc in range(forest.start[v - 1] if v > 0 else 0, forest.start[v]):
            x = forest.head[arc]
            if forest.top[x] == forest.top[v] or forest.weight[forest.edge[arc]] == ABSENT:
                continue
            slack, label = slack_of(forest, arc), forest.label[forest.top[x]]
            if slack == 0 and label == OUTER:
                if join_outer_nodes(forest, arc):
                    return True
                continue
            if slack == 0 and label == UNREACHED:
                if grow_tree(forest, forest.sister[arc]):
                    return True
                continue
            if forest.best[x] == NONE or slack < slack_of(forest, forest.best[x]):
                forest.best[x] = forest.sister[arc]
            if label == OUTER:
                if forest.best[v] == NONE or slack < slack_of(forest, forest.best[v]):
                    forest.best[v] = arc
    return False


@compile_internal(types.void(FOREST, types.int64))
def renew_best_arc(forest, v):
    """The arc of least slack from an outer node to outer ones elsewhere."""
    forest.best[v] = NONE
    for arc in range(forest.start[v - 1] if v > 0 else 0, forest.start[v]):
        top = forest.top[forest.head[arc]]
        if top == forest.top[v] or forest.label[top] != OUTER:
            continue
        if forest.weight[forest.edge[arc]] == ABSENT:
            continue
        if forest.best[v] == NONE or slack_of(forest, arc) < slack_of(forest, forest.best[v]):
            forest.best[v] = arc


@compile_internal(types.UniTuple(types.int64, 3)(FOREST, types.boolean))
def least_change(forest, perfect):
    """(change of prices, what it brings about, arc, node or blossom)."""
    n = len(forest.top)
    least, kind, where = FAR, BY_NOTHING, NONE
    for v in range(n):
        label = forest.label[forest.top[v]]
        if label == OUTER:
            if not perfect and forest.price[v] < least:
                least, kind, where = forest.price[v], BY_PRICE, v
            if forest.best[v] != NONE and forest.top[forest.head[forest.best[v]]] == forest.top[v]:
                renew_best_arc(forest, v)
            if forest.best[v] != NONE and slack_of(forest, forest.best[v]) // 2 < least:
                least, kind = slack_of(forest, forest.best[v]) // 2, BY_MEETING
                where = forest.best[v]
        elif label == UNREACHED and forest.best[v] != NONE:
            if slack_of(forest, forest.best[v]) < least:
                least, kind, where = slack_of(forest, forest.best[v]), BY_GROWTH, forest.best[v]
    for x in range(n, len(forest.label)):
        if forest.parent[x] == NONE and forest.label[x] == INNER:
            if forest.price[x] // 2 < least:
                least, kind, where = forest.price[x] // 2, BY_BLOSSOM, x
    return least, kind, where


@compile_internal(types.void(FOREST, types.int64))
def change_prices(forest, change):
    """Let prices of outer nodes fall and those of inner ones rise."""
    n = len(forest.top)
    for v in range(n):
        label = forest.label[forest.top[v]]
        if label != UNREACHED:
            forest.price[v] += change if label == INNER else -change
    for x in range(n, len(forest.label)):
        if forest.parent[x] == NONE and forest.label[x] != UNREACHED:
            forest.price[x] += 2 * change if forest.label[x] == OUTER else -2 * change


@compile_internal(types.boolean(FOREST, types.boolean))
def run_stage(forest, perfect):
    """Change prices until there is one root fewer; False if no matching has fewer."""
    while not search_tight_arcs(forest):
        change, kind, where = least_change(forest, perfect)
        if kind == BY_NOTHING:
            return False
        change_prices(forest, change)
        if kind == BY_PRICE:
            free_node(forest, where)
            break
        if kind == BY_BLOSSOM:
            expand_blossom(forest, where)
        elif kind == BY_GROWTH:
            if grow_tree(forest, where):
                break
        elif join_outer_nodes(forest, where):
            break
    return True


@compile_internal(types.void(FOREST))
def expand_free_blossoms(forest):
    """Undo the outermost blossoms whose price is 0."""
    n = len(forest.top)
    again = True
    while again:
        again = False
        for v in range(n):
            x = forest.top[v]
            if x >= n and forest.price[x] == 0:
                forest.label[x] = UNREACHED
                expand_blossom(forest, x)
                again = True


@compile_internal(types.boolean(FOREST, FLOATS, types.float64, types.boolean))
def match_nodes(forest, memory, unit, perfect):
    """Find the best matching of integer weights; False if it must be perfect and none is."""
    forest.mate[:] = NONE
    remove_blossoms(forest)
    warm = recall_prices(memory, forest, unit, perfect)
    if not warm:
        forest.price[: len(forest.top)] = 0
    pay_for_edges(forest)
    lower_prices(forest, perfect)
    while start_stage(forest, perfect, warm):
        if not run_stage(forest, perfect):
            return False
        expand_free_blossoms(forest)
    keep_prices(forest, memory, unit)
    return True


@compile_internal(types.float64(FOREST, FLOATS, FLOATS))
def write_matching(forest, theta, out):
    """The edges that are matched, and their score."""
    out[:] = 0.0
    total = 0.0
    for v in range(len(forest.top)):
        if forest.mate[v] != NONE:
            edge = forest.edge[forest.mate[v]]
            if out[edge] == 0.0:
                out[edge] = 1.0
                total += theta[edge]
    return total


@compile_internal(types.boolean(FOREST, FLOATS, FLOATS))
def has_large_scores(forest, theta, out):
    """Whether some score is far above those of a matching."""
    largest = used = 0.0
    for e in range(len(theta)):
        if forest.weight[e] != ABSENT:
            largest, used = max(largest, abs(theta[e])), max(used, out[e] * abs(theta[e]))
    return used <= FINER * largest


@compile_internal(types.boolean(FOREST))
def leave_out_unmatched(forest):
    """Edges that no perfect matching has are ABSENT, by one that is known; True if there were any.

    Weights are 0. If v is without its partner, those whom it may have instead are the outer nodes
    of the tree that grows from that partner.
    """
    found = False
    forest.price[:] = 0
    for v in range(len(forest.top)):
        remove_blossoms(forest)
        remove_trees(forest)
        label_node(forest, v, INNER, NONE)
        label_node(forest, forest.head[forest.mate[v]], OUTER, NONE)
        search_tight_arcs(forest)
        for arc in range(forest.start[v - 1] if v > 0 else 0, forest.start[v]):
            edge, other = forest.edge[arc], forest.top[forest.head[arc]]
            if forest.weight[edge] != ABSENT and forest.label[other] != OUTER:
                forest.weight[edge], found = ABSENT, True
    return found


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """The best matching, and its score; -inf if it must be perfect and none is.

    layout: as in `_numba.graph_cut.maximize`, but layout[2] says whether it must be perfect. iwork:
    see `GeneralMatchingOracle.scratch`. work: prices of nodes at the last call, or zeros.
    """
    n, m, perfect = layout[0], layout[1], layout[2] == 1
    start, arcs = layout[3 : 3 + n], layout[3 + n :]
    nodes = n + n // 2 + 1
    owned = iwork[m:]
    rest = owned[4 * n :]
    more = rest[10 * nodes :]
    forest = Forest(
        start, arcs[: 2 * m], arcs[2 * m : 4 * m], arcs[4 * m : 6 * m], iwork[:m],
        rest[:nodes], owned[:n], owned[n : 2 * n], owned[2 * n : 3 * n], owned[3 * n : 4 * n],
        rest[nodes : 2 * nodes], rest[2 * nodes : 3 * nodes], rest[3 * nodes : 4 * nodes],
        rest[4 * nodes : 5 * nodes], rest[5 * nodes : 6 * nodes], rest[6 * nodes : 7 * nodes],
        rest[7 * nodes : 8 * nodes], rest[8 * nodes : 9 * nodes], rest[9 * nodes : 10 * nodes],
        more[: 2 * nodes], more[2 * nodes : 2 * nodes + n // 2 + 1],
        more[2 * nodes + n // 2 + 1 : 2 * nodes + n // 2 + 1 + N_COUNTS],
    )  # fmt: skip
    unit, total = np.inf, 0.0
    forest.weight[:] = 0
    leave_out(theta, forest.weight, -np.inf if perfect else 0.0)
    while True:
        finer = round_weights(theta, forest.weight)
        if finer >= FINER * unit:
            return total
        unit = finer
        if not match_nodes(forest, work[:n], unit, perfect):
            out[:] = work[:n] = 0.0
            return -np.inf
        total = write_matching(forest, theta, out)
        if not perfect:
            return total
        # without scores that are of no use, the others may be rounded more finely
        leave_out(theta, forest.weight, least_needed(theta, forest.weight, total, n))
        while has_large_scores(forest, theta, out) and leave_out_unmatched(forest):
            leave_out(theta, forest.weight, least_needed(theta, forest.weight, total, n))
