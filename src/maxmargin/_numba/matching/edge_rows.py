"""Bipartite matching: the edges of a shape, row by row. Shapes as in `_numba.matching.maximize`."""

from __future__ import annotations

from numba import types

from maxmargin._numba.compile import FLOATS, INTS, piece


@piece(types.int64(INTS, types.int64))
def cap_of_row(shape, j):
    return shape[3] if shape[3] >= 0 else shape[shape[5] + j]


@piece(types.int64(INTS, types.int64))
def cap_of_column(shape, k):
    return shape[4] if shape[4] >= 0 else shape[shape[5] + shape[0] + k]


@piece(types.boolean(INTS))
def is_simple(shape):
    """Whether no node may be in more than one link."""
    if shape[3] >= 0 and shape[4] >= 0:
        return shape[3] <= 1 and shape[4] <= 1
    for j in range(shape[0]):
        if cap_of_row(shape, j) > 1:
            return False
    for k in range(shape[1]):
        if cap_of_column(shape, k) > 1:
            return False
    return True


@piece(types.UniTuple(types.int64, 2)(INTS, types.int64))
def edges_of_row(shape, j):
    """Where the edges of a row begin and end in the order of rows."""
    if shape[6] == 0:
        return j * shape[1], (j + 1) * shape[1]
    return shape[shape[6] + j], shape[shape[6] + j + 1]


@piece(types.UniTuple(types.int64, 2)(INTS, types.int64))
def edge(shape, e):
    """Column and part of the e-th edge in the order of rows."""
    if shape[6] == 0:
        return e % shape[1], e
    at = shape[6] + shape[0] + 1 + e
    return shape[at], shape[at + shape[2]]


@piece(types.void(FLOATS, INTS, types.boolean, FLOATS, INTS))
def by_rows(theta, shape, swap, value, starts):
    """Write the scores row by row, and where rows begin; with `swap`, columns count as rows."""
    rows, columns, edges = shape[0], shape[1], shape[2]
    if swap:
        rows, columns = columns, rows
    if shape[6] > 0:
        at = shape[6] + columns + 1 + 2 * edges if swap else shape[6]
        starts[:] = shape[at : at + rows + 1]
        parts = shape[at + rows + 1 + edges : at + rows + 1 + 2 * edges]
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
        value[:] = theta


@piece(types.UniTuple(INTS, 2)(INTS, types.boolean))
def index_by_rows(shape, swap):
    """The edges' columns and parts in the order of `by_rows`; empty if all pairs are edges."""
    rows, columns, edges = shape[0], shape[1], shape[2]
    if shape[6] == 0:
        return shape[:0], shape[:0]
    at = shape[6] + rows + 1
    if swap:
        at += 2 * edges + columns + 1
    return shape[at : at + edges], shape[at + edges : at + 2 * edges]


@piece(types.void(FLOATS, INTS, types.boolean, FLOATS))
def by_parts(z, shape, swap, out):
    """Write to `out`, in the order of the parts, what is in the order of `by_rows`."""
    if shape[6] > 0:
        _, parts = index_by_rows(shape, swap)
        for e in range(shape[2]):
            out[parts[e]] = z[e]
    elif swap:
        rows, columns = shape[1], shape[0]
        for j in range(rows):
            for k in range(columns):
                out[k * rows + j] = z[j * columns + k]
    else:
        out[:] = z
