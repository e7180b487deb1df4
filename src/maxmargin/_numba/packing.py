"""Packing of feature rows: which columns a sample touches, rows of several groups mixed."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import (
    FLOATS,
    HALVES,
    INTS,
    SHORTS,
    compile_internal,
    compiled_function,
    types,
)


@compile_internal(types.void(INTS))
def shell_sort(x):
    """Shell sort: as good as any for the short lists here, and quick to compile."""
    step = len(x) // 2
    while step > 0:
        for a in range(step, len(x)):
            value, b = x[a], a
            while b >= step and x[b - step] > value:
                x[b] = x[b - step]
                b -= step
            x[b] = value
        step = step // 2


@compiled_function(types.void(INTS, SHORTS, INTS, SHORTS, INTS, SHORTS), allocates=True)
def number_local_columns(entry_ptr, columns, stamp, local, ptr, listed):
    """Number the columns that each sample touches, in their order.

    entry_ptr (n + 1): a sample's range in columns. stamp (n_columns): scratch, filled with -1.
    Written: local (n_entries), the number of each entry's column among its sample's; these are
    listed[ptr[i] : ptr[i + 1]], for which there must be room for twice as many as entries. A sample
    that touches most columns gets all of them, because one long copy is faster than many short
    ones.
    """
    n_columns = len(stamp)
    touched = np.empty(n_columns, dtype=np.int64)
    first = 0  # stamps below are of samples before
    ptr[0] = 0
    for i in range(len(ptr) - 1):
        count = 0
        for e in range(entry_ptr[i], entry_ptr[i + 1]):
            c = columns[e]
            if stamp[c] < first:
                stamp[c] = first
                touched[count] = c
                count += 1
        place = ptr[i]
        if 2 * count > n_columns:
            for c in range(n_columns):
                listed[place + c] = c
            ptr[i + 1] = place + n_columns
            for e in range(entry_ptr[i], entry_ptr[i + 1]):
                local[e] = columns[e]
        else:
            own = touched[:count]
            shell_sort(own)
            for k in range(count):
                listed[place + k] = own[k]
                stamp[own[k]] = first + k
            ptr[i + 1] = place + count
            for e in range(entry_ptr[i], entry_ptr[i + 1]):
                local[e] = stamp[columns[e]] - first
        first += count


@compiled_function(
    types.void(
        INTS, INTS, FLOATS, SHORTS, INTS, INTS, INTS, types.int64,
        INTS, SHORTS, INTS, INTS, HALVES, HALVES, FLOATS,
    )
)  # fmt: skip
def place_rows(
    group_ptr, group_indptr, group_value, local, number, offset, place, group_width,
    row_ptr, width, shift, indptr, index, high, value,
):  # fmt: skip
    """Copy the rows of one group to their places among all groups' rows.

    group_ptr (n + 1): a sample's rows in the group; place (n): where in the sample's rows they
    begin; local: numbers of the entries' columns; number (n), offset (n): how many of the sample's
    blocks come before the group's, and how many weights. indptr holds the final row starts already.
    high and value, group_value may be empty, see `PackedSamples`, and shift where all widths are
    the same.
    """
    for i in range(len(place)):
        target = row_ptr[i] + place[i]
        for r in range(group_ptr[i], group_ptr[i + 1]):
            width[target] = group_width
            if len(shift) > 0:
                shift[target] = offset[i] - number[i] * group_width
            to = indptr[target]
            for e in range(group_indptr[r], group_indptr[r + 1]):
                block = number[i] + local[e]
                index[to] = block & 0xFFFF
                if len(high) > 0:
                    high[to] = block >> 16
                if len(value) > 0:
                    value[to] = group_value[e] if len(group_value) > 0 else 1.0
                to += 1
            target += 1
