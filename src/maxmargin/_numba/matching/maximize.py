"""Bipartite matching: the best one, by shortest augmenting paths.

layout = (J, K, E, row_cap, column_cap, caps_at, index_at, ...). A cap of -1 means that each node
has its own: the rows' caps stand at layout[caps_at:], then the columns'. index_at = 0 means that
every pair is an edge, edge (j, k) being part j K + k. Else layout[index_at:] has J + 1 row starts,
E columns and E parts in the order of rows, then K + 1 column starts, E rows and E parts in the
order of columns. Edges at -inf are forbidden, as all edges of nodes with cap 0 must be.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import FLOATS, INTS, compile_ability, compile_internal, types
from maxmargin._numba.matching.edge_rows import is_simple
from maxmargin._numba.matching.flow import best_flow


@compile_internal(types.void(FLOATS, INTS, FLOATS, FLOATS, FLOATS, INTS))
def best_matching(theta, layout, row_price, column_price, distance, ints):
    """Matching of the rows, and prices that prove it best; at most one link a node.

    Prices u, v >= 0 with theta_jk <= u_j + v_k everywhere, with equality on links, u = 0 for rows
    and v = 0 for columns that stay unmatched. One row after the other enters by a shortest path
    (Dijkstra) over the slacks u + v - theta, which ends at a free column or at a row that had
    better be left unmatched. distance: K. ints: 2 J + 4 K; on return ints[:J] is each row's
    column or -1, ints[J : 2 J] the number of that link among the row's edges.
    """
    rows, columns, index_at = layout[0], layout[1], layout[6]
    partner, link = ints[:rows], ints[rows : 2 * rows]
    row_of = ints[2 * rows : 2 * rows + columns]
    before = ints[2 * rows + columns : 2 * rows + 2 * columns]  # the row from which it is reached
    before_link = ints[2 * rows + 2 * columns : 2 * rows + 3 * columns]
    done = ints[2 * rows + 3 * columns : 2 * rows + 4 * columns]
    starts = layout[index_at : index_at + rows + 1]
    ends = layout[index_at + rows + 1 : index_at + rows + 1 + layout[2]]
    parts = layout[index_at + rows + 1 + layout[2] : index_at + rows + 1 + 2 * layout[2]]
    dense = index_at == 0
    for k in range(columns):
        row_of[k] = -1
        column_price[k] = 0.0
    # a row whose best column is still free takes it
    for j in range(rows):
        partner[j] = -1
        high, best = 0.0, -1
        first = j * columns if dense else starts[j]
        last = first + columns if dense else starts[j + 1]
        for e in range(first, last):
            value = theta[e] if dense else theta[parts[e]]
            if value > high:
                high, best = value, e
        row_price[j] = high
        if best >= 0:
            k = best - first if dense else ends[best]
            if row_of[k] < 0:
                row_of[k], partner[j], link[j] = j, k, best
    for root in range(rows):
        if partner[root] >= 0 or row_price[root] <= 0.0:
            continue
        for k in range(columns):
            distance[k] = np.inf
            done[k] = 0
        reached = 0.0  # distance of the row from which edges are followed
        row = root
        stop, loser = row_price[root], root  # the cheapest way to end: leave `loser` unmatched
        n_done = 0
        target = -1
        while True:
            base = reached + row_price[row]
            if dense:
                line = theta[row * columns : (row + 1) * columns]
                for k in range(columns):
                    length = base + column_price[k] - line[k]
                    if length < distance[k] and done[k] == 0:
                        distance[k], before[k], before_link[k] = length, row, row * columns + k
            else:
                for e in range(starts[row], starts[row + 1]):
                    k = ends[e]
                    length = base + column_price[k] - theta[parts[e]]
                    if length < distance[k] and done[k] == 0:
                        distance[k], before[k], before_link[k] = length, row, e
            near, column = np.inf, -1
            for k in range(columns):
                if distance[k] < near and done[k] == 0:
                    near, column = distance[k], k
            if near >= stop:
                break
            if row_of[column] < 0:
                stop, target = near, column
                break
            near = max(near, reached)  # rounding
            distance[column] = near
            done[column] = 1
            n_done += 1
            reached = near
            row = row_of[column]
            if reached + row_price[row] < stop:
                stop, loser = reached + row_price[row], row
        # prices along the tree; the root's row has distance 0
        row_price[root] = max(0.0, row_price[root] - stop)
        if n_done > 0:
            for k in range(columns):
                if done[k] == 1:
                    shift = stop - distance[k]
                    column_price[k] += shift
                    row_price[row_of[k]] = max(0.0, row_price[row_of[k]] - shift)
        if target < 0:
            if loser == root:
                row_price[root] = 0.0
                continue
            target = partner[loser]
            partner[loser] = -1
            row_price[loser] = 0.0
        while True:
            row = before[target]
            after = partner[row]
            row_of[target], partner[row], link[row] = row, target, before_link[target]
            if row == root:
                break
            target = after


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """The matching with the greatest sum of scores, in which no node has to be matched.

    work: J + 2 K, iwork: 2 J + 4 K where each cap is 1; more for `best_flow`. Returns the score.
    """
    rows, columns, edges, index_at = layout[0], layout[1], layout[2], layout[6]
    out[:] = 0.0
    if edges == 0:
        return 0.0
    if not is_simple(layout):
        return best_flow(theta, layout, out, work, iwork)
    best_matching(
        theta,
        layout,
        work[:rows],
        work[rows : rows + columns],
        work[rows + columns : rows + 2 * columns],
        iwork,
    )
    value = 0.0
    for j in range(rows):
        if iwork[j] >= 0:
            link = iwork[rows + j]
            part = link if index_at == 0 else layout[index_at + rows + 1 + edges + link]
            out[part] = 1.0
            value += theta[part]
    return value
