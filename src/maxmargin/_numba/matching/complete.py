"""Bipartite matchings of as many links as the smaller side has nodes: assignments.

layout as in `maximize`, with caps of 1.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import compile_ability
from maxmargin._numba.matching.maximize import best_matching


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """The complete matching of highest score; returns it, -inf if there is none.

    All scores are raised by so much that a link more is worth any change of the others. work:
    J + 2 K + E; iwork: 2 J + 4 K.
    """
    rows, columns, edges, index_at = layout[0], layout[1], layout[2], layout[6]
    least = min(rows, columns)
    raised, high = work[rows + 2 * columns : rows + 2 * columns + edges], 0.0
    for p in range(edges):
        if theta[p] > -np.inf:
            high = max(high, abs(theta[p]))
    lift = (2.0 * least + 1.0) * high if high > 0.0 else 1.0
    for p in range(edges):
        raised[p] = theta[p] + lift
    out[:] = 0.0
    if edges == 0:
        return 0.0 if least == 0 else -np.inf
    best_matching(
        raised,
        layout,
        work[:rows],
        work[rows : rows + columns],
        work[rows + columns : rows + 2 * columns],
        iwork,
    )
    value, count = 0.0, 0
    for j in range(rows):
        if iwork[j] >= 0:
            link = iwork[rows + j]
            part = link if index_at == 0 else layout[index_at + rows + 1 + edges + link]
            out[part] = 1.0
            value += theta[part]
            count += 1
    if count < least:
        out[:] = 0.0
        return -np.inf
    return value
