"""Bipartite matching: edges of a layout, row by row. Layouts as in `matching.maximize`."""

from __future__ import annotations

from maxmargin._numba.arrays import copy_values
from maxmargin._numba.compile import FLOATS, INTS, compile_internal, types


@compile_internal(types.int64(INTS, types.int64))
def cap_of_row(layout, j):
    return layout[3] if layout[3] >= 0 else layout[layout[5] + j]


@compile_internal(types.int64(INTS, types.int64))
def cap_of_column(layout, k):
    return layout[4] if layout[4] >= 0 else layout[layout[5] + layout[0] + k]


@compile_internal(types.boolean(INTS))
def is_simple(layout):
    """Whether no node may be in more than one link."""
    if layout[3] >= 0 and layout[4] >= 0:
        return layout[3] <= 1 and layout[4] <= 1
    for j in range(layout[0]):
        if cap_of_row(layout, j) > 1:
            return False
    for k in range(layout[1]):
        if cap_of_column(layout, k) > 1:
            return False
    return True


@compile_internal(types.UniTuple(types.int64, 2)(INTS, types.int64))
def edges_of_row(layout, j):
    """Where the edges of a row begin and end in the order of rows."""
    if layout[6] == 0:
        return j * layout[1], (j + 1) * layout[1]
    return layout[layout[6] + j], layout[layout[6] + j + 1]


@compile_internal(types.UniTuple(types.int64, 2)(INTS, types.int64))
def read_edge(layout, e):
    """Column and part of the e-th edge in the order of rows."""
    if layout[6] == 0:
        return e % layout[1], e
    at = layout[6] + layout[0] + 1 + e
    return layout[at], layout[at + layout[2]]


@compile_internal(types.void(FLOATS, INTS, types.boolean, FLOATS, INTS))
def by_rows(theta, layout, swap, value, starts):
    """Write the scores row by row, and where rows begin; with `swap`, columns count as rows."""
    rows, columns, edges = layout[0], layout[1], layout[2]
    if swap:
        rows, columns = columns, rows
    if layout[6] > 0:
        at = layout[6] + columns + 1 + 2 * edges if swap else layout[6]
        copy_values(layout[at : at + rows + 1], starts)
        parts = layout[at + rows + 1 + edges : at + rows + 1 + 2 * edges]
        for e in range(edges):
            value[e] = theta[parts[e]]
        return
    for j in range(rows + 1):
        starts[j] = j * columns
    if swap:
        for j in range(rows):
            for k in range(columns):
                value[j * columns + k] = theta[k * rows + j]
    else:
        copy_values(theta, value)


@compile_internal(types.UniTuple(INTS, 2)(INTS, types.boolean))
def index_by_rows(layout, swap):
    """The edges' columns and parts in the order of `by_rows`; empty if all pairs are edges."""
    rows, columns, edges = layout[0], layout[1], layout[2]
    if layout[6] == 0:
        return layout[:0], layout[:0]
    at = layout[6] + rows + 1
    if swap:
        at += 2 * edges + columns + 1
    return layout[at : at + edges], layout[at + edges : at + 2 * edges]


@compile_internal(types.void(FLOATS, INTS, types.boolean, FLOATS))
def by_parts(z, layout, swap, out):
    """Write to `out`, in the order of the parts, what is in the order of `by_rows`."""
    if layout[6] > 0:
        _, parts = index_by_rows(layout, swap)
        for e in range(layout[2]):
            out[parts[e]] = z[e]
    elif swap:
        rows, columns = layout[1], layout[0]
        for j in range(rows):
            for k in range(columns):
                out[k * rows + j] = z[j * columns + k]
    else:
        copy_values(z, out)
