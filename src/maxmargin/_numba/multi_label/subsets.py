"""All subsets of a few labels, each scored by its labels and their pairs.

n labels are split: the lowest `LOW` of them have a table of their subsets' scores, `low`, made once
by doubling. Each subset of the others moves the scores of the low labels, by what its labels have
with them; these moves add up, over rows of the table and along a row, so that a subset costs one
addition and one comparison, without a branch. Nothing is carried over from subset to subset: no
rounding errors grow, and scores may be -inf.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin._numba.compile import FLOATS, compile_inlined, compile_internal, types

INT, FLOAT = types.int64, types.float64
LOW = 12  # labels of the table: 32 kilobytes stay in the first cache
LINE = 6  # of these, labels along a row


class Sets(NamedTuple):
    """n labels and the table of the lowest ones."""

    own: np.ndarray  # (n,) scores of labels
    pair: np.ndarray  # (n * n,) scores of pairs, symmetric
    moved: np.ndarray  # (n,) what the high labels add to the scores of the low ones
    low: np.ndarray  # (2 ** min(n, LOW),)
    down: np.ndarray  # (rows,) what is added to each row
    along: np.ndarray  # (columns,) what is added along each row
    room: np.ndarray  # as large as low


SETS = types.NamedUniTuple(FLOATS, len(Sets._fields), Sets)


def float_size(n: int) -> int:
    """Numbers of work space; plain Python."""
    return n * n + 2 * n + (2 << min(n, LOW)) + (2 << LINE)


@compile_inlined
def make_sets(n, work):
    """Rooms for n labels in the work space."""
    few = min(n, LOW)
    size, columns = 1 << few, 1 << min(few, LINE)
    rows = size // columns
    a = n * n + 2 * n
    b = a + size
    return Sets(
        work[:n],
        work[2 * n : a],
        work[n : 2 * n],
        work[a:b],
        work[b : b + rows],
        work[b + rows : b + rows + columns],
        work[b + rows + columns : b + rows + columns + size],
    )


@compile_internal(types.void(FLOATS, INT, INT, FLOATS))
def subset_sums(scores, first, last, table):
    """table[s] = the sum of the scores of the labels first, first + 1, ... that are in s."""
    table[0] = 0.0
    for k in range(first, last):
        half = 1 << (k - first)
        for s in range(half):
            table[half + s] = table[s] + scores[k]


@compile_internal(types.void(SETS))
def fill_low(sets):
    """low[s] = the score of the low labels in s, and of their pairs."""
    n, size = len(sets.own), len(sets.low)
    sets.low[0] = 0.0
    half, k = 1, 0
    while half < size:
        subset_sums(sets.pair[k * n : k * n + k], 0, k, sets.room)
        for s in range(half):
            sets.low[half + s] = sets.low[s] + (sets.own[k] + sets.room[s])
        half, k = 2 * half, k + 1


@compile_internal(FLOAT(SETS, INT))
def set_high(sets, high):
    """Make `down` and `along` those of a subset of the high labels; returns its own score."""
    n = len(sets.own)
    few, total = min(n, LOW), 0.0
    for k in range(few):
        sets.moved[k] = 0.0
    for m in range(few, n):
        if not (high >> (m - few)) & 1:
            continue
        total += sets.own[m]
        row = sets.pair[m * n : (m + 1) * n]
        for k in range(few):
            sets.moved[k] += row[k]
        for k in range(few, m):
            if (high >> (k - few)) & 1:
                total += row[k]
    line = min(few, LINE)
    subset_sums(sets.moved, 0, line, sets.along)
    subset_sums(sets.moved, line, few, sets.down)
    return total


@compile_internal(FLOAT(FLOATS, INT, FLOATS), reorder=True, no_nan=True)
def row_max(low, start, along):
    """The largest number of a row."""
    best = -np.inf
    for s in range(len(along)):
        best = max(best, low[start + s] + along[s])
    return best


@compile_internal(FLOAT(SETS, FLOATS))
def best_set(sets, found):
    """The score of the best subset; found[k] = 1 if label k is in it, else 0. Fill `low` first."""
    n, columns = len(sets.own), len(sets.along)
    few = min(n, LOW)
    best, best_high, best_row = -np.inf, 0, 0
    for high in range(1 << (n - few)):
        total = set_high(sets, high)
        if total == -np.inf:
            continue
        for r in range(len(sets.down)):
            value = row_max(sets.low, r * columns, sets.along) + (total + sets.down[r])
            if value > best:
                best, best_high, best_row = value, high, r
    set_high(sets, best_high)
    start, column = best_row * columns, 0
    for s in range(1, columns):
        if sets.low[start + s] + sets.along[s] > sets.low[start + column] + sets.along[column]:
            column = s
    chosen = (best_high << few) + start + column
    for k in range(n):
        found[k] = float((chosen >> k) & 1)
    return best


@compile_internal(FLOAT(FLOATS, INT, FLOATS, FLOAT, FLOATS), reorder=True, no_nan=True)
def raise_row(low, start, along, more, room):
    """Raise room[s] to the row's numbers where these are larger; returns the largest of them."""
    best = -np.inf
    for s in range(len(along)):
        value = low[start + s] + along[s] + more
        room[start + s] = max(room[start + s], value)
        best = max(best, value)
    return best


@compile_internal(FLOAT(FLOATS, INT, INT), reorder=True, no_nan=True)
def range_max(values, first, last):
    best = -np.inf
    for s in range(first, last):
        best = max(best, values[s])
    return best


@compile_internal(types.void(SETS, FLOATS, FLOATS))
def best_with_and_without(sets, on, off):
    """on[k], off[k] = the score of the best subset with label k and without. Fill `low` first."""
    n, columns = len(sets.own), len(sets.along)
    few, room = min(n, LOW), sets.room
    room[:] = -np.inf
    on[:] = -np.inf
    off[:] = -np.inf
    for high in range(1 << (n - few)):
        total = set_high(sets, high)
        if total == -np.inf:
            continue
        best = -np.inf
        for r in range(len(sets.down)):
            start, more = r * columns, total + sets.down[r]
            best = max(best, raise_row(sets.low, start, sets.along, more, room))
        for m in range(few, n):
            if (high >> (m - few)) & 1:
                on[m] = max(on[m], best)
            else:
                off[m] = max(off[m], best)
    half = len(room) // 2
    for k in range(few - 1, -1, -1):
        off[k], on[k] = range_max(room, 0, half), range_max(room, half, 2 * half)
        for s in range(half):
            room[s] = max(room[s], room[half + s])
        half //= 2
