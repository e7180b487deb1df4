"""Alignments of two strings: the best path. layout = (m, n, local, by_cell).

A path leads through a grid of nodes (i, j), after i symbols of the first string and j of the
second. A *match* steps to (i + 1, j + 1), a *deletion* to (i + 1, j), an *insertion* to (i, j + 1).
A path leads from the first node to the last; if it is local, from any node to any other, it begins
and ends with a match, or is empty. Deletions do not come after insertions, but in the first row and
the last column, where either may be the gap at the end: so no two paths have the same parts.

Parts: of matches (m, n), of deletions (m, places, 2), of insertions (places, n, 2). The last axis
is for the first symbol of a gap and for further ones. Places are those of the other string where
the gap is: all n + 1 or m + 1 of them (by_cell), or its begin, its inside and its end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin._numba.compile import FLOATS, compile_ability, compile_inlined, tuple_type

#: kinds of steps, and what is before the first one
MATCH, DELETE, INSERT, START = 0, 1, 2, 3


class Parts(NamedTuple):
    """Scores of parts by kind."""

    match: np.ndarray
    delete: np.ndarray
    insert: np.ndarray


PARTS = tuple_type(Parts, dict.fromkeys(Parts._fields, FLOATS))


@compile_inlined
def divide_parts(theta, layout):
    """Views of the parts of each kind."""
    m, n = layout[0], layout[1]
    last = m * n + 2 * m * (n + 1 if layout[3] else 3)
    return Parts(theta[: m * n], theta[m * n : last], theta[last:])


@compile_inlined
def find_place(at, size, by_cell):
    """The place of a gap after `at` of the other string's symbols."""
    if by_cell:
        return at
    return 0 if at == 0 else 2 if at == size else 1


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """The best path. work: 4 (n + 1), iwork: (m + 1) (n + 1). Returns its score.

    Values are those of the best paths to a node with each kind of last step; back-pointers have two
    bits for the kind before a match from the node, before the deletion and the insertion to it.
    """
    m, n, local, by_cell = layout[0], layout[1], layout[2] != 0, layout[3] != 0
    size, places = n + 1, n + 1 if by_cell else 3
    parts = divide_parts(theta, layout)
    match, delete, insert = work[:size], work[size : 2 * size], work[2 * size : 3 * size]
    ahead = work[3 * size : 4 * size]  # of the row above: the best before a match
    work[: 4 * size] = -np.inf
    least, start = (0.0, START) if local else (-np.inf, MATCH)
    value, goal = least, -1
    for i in range(m + 1):
        back = iwork[i * size : (i + 1) * size]
        if i > 0:
            scores, costs = parts.match[(i - 1) * n : i * n], parts.delete[2 * (i - 1) * places :]
            diagonal = -np.inf
            for j in range(size):
                at = 2 * find_place(j, n, by_cell)
                further = delete[j] + costs[at + 1]
                turned = insert[j] > match[j] and (i == 1 or j == n)
                best = (insert[j] if turned else match[j]) + costs[at]
                extends = further > best
                delete[j] = further if extends else best
                back[j] = 4 * DELETE if extends else 4 * INSERT if turned else 4 * MATCH
                match[j] = diagonal + scores[j - 1] if j > 0 else -np.inf
                diagonal = ahead[j]
        else:
            match[0] = -np.inf if local else 0.0
            back[:] = 0
        costs = parts.insert[2 * n * find_place(i, m, by_cell) :]
        gap = -np.inf
        for j in range(size):
            insert[j] = gap
            best, kind = least, start
            kind = MATCH if match[j] > best else kind
            best = match[j] if match[j] > best else best
            kind = DELETE if delete[j] > best else kind
            best = delete[j] if delete[j] > best else best
            kind = INSERT if gap > best else kind
            ahead[j] = gap if gap > best else best
            back[j] += kind
            if local and match[j] > value:
                value, goal = match[j], i * size + j
            if j < n:
                turned = delete[j] > match[j]
                best = (delete[j] if turned else match[j]) + costs[2 * j]
                gap += costs[2 * j + 1]
                extends = gap > best
                gap = gap if extends else best
                back[j + 1] += 16 * INSERT if extends else 16 * DELETE if turned else 16 * MATCH
    out[:] = 0.0
    if not local:
        value, goal = ahead[n], m * size + n
    if value > -np.inf and goal >= 0:
        kind = MATCH if local else iwork[goal] % 4
        follow_back(layout, goal, kind, iwork, divide_parts(out, layout))
    return value


@compile_inlined
def follow_back(layout, node, kind, back, out):
    """Switch on the parts of the path that ends at a node with a kind of step."""
    m, n, local, by_cell = layout[0], layout[1], layout[2] != 0, layout[3] != 0
    size, places = n + 1, n + 1 if by_cell else 3
    while kind != START and (local or node > 0):
        i, j = node // size, node % size
        if kind == MATCH:
            out.match[(i - 1) * n + j - 1] = 1.0
            node -= size + 1
            kind = back[node] % 4
        elif kind == DELETE:
            kind = back[node] // 4 % 4
            at = 2 * ((i - 1) * places + find_place(j, n, by_cell))
            out.delete[at + (kind == DELETE)] = 1.0
            node -= size
        else:
            kind = back[node] // 16
            at = 2 * (find_place(i, m, by_cell) * n + j - 1)
            out.insert[at + (kind == INSERT)] = 1.0
            node -= 1
