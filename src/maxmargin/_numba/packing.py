"""Packing of feature rows: which weights a sample touches, rows of several groups mixed."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import (
    FLOATS,
    INTS,
    PLACES,
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


@compiled_function(
    types.int64(INTS, SHORTS, INTS, SHORTS, INTS, INTS, SHORTS, SHORTS), allocates=True
)
def number_local_columns(entry_ptr, columns, stamp, local, size, run_ptr, run_start, run_length):
    """Number the columns that each sample touches, as runs of neighbouring columns.

    entry_ptr (n + 1): a sample's range in columns. stamp (n_columns): scratch, filled with -1.
    Written: local (n_entries), the number of each entry's column among its sample's; size (n), how
    many columns that is; runs: sample i's columns are run_start[r] ... + run_length[r] for r from
    run_ptr[i] to run_ptr[i + 1]. A sample that touches most columns gets all of them in one run,
    because one long copy is faster than many short ones. Returns the number of runs.
    """
    n_columns = len(stamp)
    touched = np.empty(n_columns, dtype=np.int64)
    runs, first = 0, 0  # stamps below `first` are of samples before
    run_ptr[0] = 0
    for i in range(len(size)):
        count = 0
        for e in range(entry_ptr[i], entry_ptr[i + 1]):
            c = columns[e]
            if stamp[c] < first:
                stamp[c] = first
                touched[count] = c
                count += 1
        if 2 * count > n_columns:
            run_start[runs], run_length[runs] = 0, n_columns
            runs += 1
            size[i] = n_columns
            for e in range(entry_ptr[i], entry_ptr[i + 1]):
                local[e] = columns[e]
        else:
            own = touched[:count]
            shell_sort(own)
            for k in range(count):
                if k > 0 and own[k] == own[k - 1] + 1:
                    run_length[runs - 1] += 1
                else:
                    run_start[runs], run_length[runs] = own[k], 1
                    runs += 1
                stamp[own[k]] = first + k
            size[i] = count
            for e in range(entry_ptr[i], entry_ptr[i + 1]):
                local[e] = stamp[columns[e]] - first
        first += count
        run_ptr[i + 1] = runs
    return runs


@compiled_function(
    types.void(
        INTS, INTS, SHORTS, FLOATS, SHORTS, INTS, INTS, types.int64, types.int64,
        INTS, SHORTS, INTS, SHORTS, PLACES, FLOATS,
    )
)  # fmt: skip
def place_rows(
    group_ptr, group_indptr, columns, group_value, local, offset, place, group_width, base,
    row_ptr, width, indptr, index, global_index, value,
):  # fmt: skip
    """Copy the rows of one group to their places among all groups' rows.

    group_ptr (n + 1): a sample's rows in the group; place (n): where in the sample's rows they
    begin; offset (n): where in the sample's local weights the group's begin. indptr holds the
    final row starts already. value and group_value are empty if all values are 1.
    """
    for i in range(len(place)):
        target = row_ptr[i] + place[i]
        for r in range(group_ptr[i], group_ptr[i + 1]):
            width[target] = group_width
            to = indptr[target]
            for e in range(group_indptr[r], group_indptr[r + 1]):
                index[to] = offset[i] + local[e] * group_width
                global_index[to] = base + np.int64(columns[e]) * group_width
                if len(value) > 0:
                    value[to] = group_value[e] if len(group_value) > 0 else 1.0
                to += 1
            target += 1
