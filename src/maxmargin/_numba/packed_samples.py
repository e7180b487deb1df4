"""Samples packed in flat arrays, and the linear map of one sample.

A sample is a list of *rows*. Row r owns `width[r]` consecutive parts; each of its non-zeros
(index, value) adds `value * weights[index : index + width[r]]` to their scores. A node with K
labels is a row of width K, a table of transitions shared by all positions is one row of width
K * K with the single feature 1, a part with features of its own is a row of width 1.

The weights of one column of a group of rows are a *block*, as long as the group's rows are wide. A
non-zero says by `index` which of its sample's blocks it is of, and `block_start` where that begins
in the weight vector. The sample's *local* weights are its blocks copied side by side, group by
group: a sample of a text problem with ten million weights thus works on a few thousand numbers that
stay in the processor's cache. `value` is empty where all values are 1, as those of text features
are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin._numba.compile import (
    FLOATS,
    HALVES,
    INTS,
    PLACES,
    POINTER,
    SHORTS,
    compile_inlined,
    compile_internal,
    compiled_function,
    tuple_type,
    types,
)


class PackedSamples(NamedTuple):
    """n samples; `*_ptr` arrays have n + 1 entries, except indptr, with one entry per row + 1, and
    block_ptr, with one per group of each sample + 1.
    """

    layout_ptr: np.ndarray
    layouts: np.ndarray
    part_ptr: np.ndarray
    row_ptr: np.ndarray
    width: np.ndarray
    shift: np.ndarray  # (n_rows,) the blocks of a row begin at shift + width * number; or empty: 0
    indptr: np.ndarray
    index: np.ndarray  # number of the block among those of the sample, its low 16 bits
    index_high: np.ndarray  # its high 16 bits; empty if all of them are 0
    value: np.ndarray
    block_ptr: np.ndarray  # blocks of group g in sample i begin at block_ptr[n_groups * i + g]
    block_start: np.ndarray  # places in the weight vector; they rise within a group
    group_width: np.ndarray  # (n_groups,)
    costs: np.ndarray  # c, -inf on forbidden parts: of all parts, or of those rows that differ
    cost_start: np.ndarray  # (n_rows,) where a row's begin, -1 for zeros; empty: of all parts
    weight: np.ndarray  # (n,) omega


class Points(NamedTuple):
    """Points of n samples by their non-zeros, such as the true outputs."""

    ptr: np.ndarray  # (n + 1,), or empty: all of them are zero
    part: np.ndarray  # number of the part within the sample, in order
    value: np.ndarray


class Workspace(NamedTuple):
    """Scratch of one thread, large enough for the largest sample, and what oracles remember.

    memory holds, for sample i at memory_ptr[i] and after, what the ability left at its last call;
    it belongs to the run and is shared by threads, each of which has samples of its own. Empty, the
    ability begins each time anew.
    """

    theta: np.ndarray
    vertex: np.ndarray
    work: np.ndarray
    iwork: np.ndarray
    local: np.ndarray
    change: np.ndarray
    scratch: np.ndarray  # as long as theta
    memory: np.ndarray
    memory_ptr: np.ndarray  # (n + 1,)


PACKED = tuple_type(
    PackedSamples,
    dict.fromkeys(PackedSamples._fields, INTS)
    | {"width": SHORTS, "index": HALVES, "index_high": HALVES, "block_start": PLACES}
    | dict.fromkeys(("value", "costs", "weight"), FLOATS),
)
POINTS = tuple_type(Points, {"ptr": INTS, "part": SHORTS, "value": FLOATS})
WORKSPACE = tuple_type(
    Workspace, dict.fromkeys(Workspace._fields, FLOATS) | {"iwork": INTS, "memory_ptr": INTS}
)


# -- blocks --------------------------------------------------------------------------------------
@compile_inlined
def block_number(index, high, e):
    """Number of the block of a non-zero among those of its sample."""
    number = np.int64(index[e])
    return number | np.int64(high[e]) << 16 if len(high) > 0 else number


@compile_inlined
def first_block(packed, i):
    """Where the blocks of sample i begin."""
    return packed.block_ptr[len(packed.group_width) * i]


@compile_inlined
def shift_of(packed, r):
    """Where in the local weights the blocks of row r would begin, were all as wide."""
    return packed.shift[r] if len(packed.shift) > 0 else 0


@compile_inlined
def blocks_of_group(packed, i, g):
    """The width of a group's blocks, where those of sample i begin, and where they end."""
    place = len(packed.group_width) * i + g
    return packed.group_width[g], packed.block_ptr[place], packed.block_ptr[place + 1]


@compile_inlined
def runs_of_group(packed, i, g):
    """The same for runs of blocks: all in one, if they stand side by side in the weight vector.

    One long copy is faster than many short ones.
    """
    width, first, last = blocks_of_group(packed, i, g)
    if last > first:
        reach = np.int64(packed.block_start[last - 1]) - np.int64(packed.block_start[first])
        if reach == width * (last - 1 - first):
            width, last = width * (last - first), first + 1
    return width, first, last


@compile_internal(types.void(PACKED, types.int64, FLOATS, FLOATS))
def gather_weights(packed, i, w, local):
    """Copy the weights that sample i touches to `local`."""
    n = 0
    for g in range(len(packed.group_width)):
        width, first, last = runs_of_group(packed, i, g)
        for b in range(first, last):
            start = np.int64(packed.block_start[b])
            target, origin = local[n : n + width], w[start : start + width]
            for k in range(width):
                target[k] = origin[k]
            n += width


@compile_internal(types.int64(PACKED, types.int64))
def local_size(packed, i):
    """How many weights sample i touches."""
    n = 0
    for g in range(len(packed.group_width)):
        width, first, last = blocks_of_group(packed, i, g)
        n += width * (last - first)
    return n


@compile_internal(types.void(PACKED, types.int64, FLOATS, types.float64, FLOATS))
def scatter_weights(packed, i, local, scale, w):
    """Add to w: scale * local on the weights that sample i touches."""
    n = 0
    for g in range(len(packed.group_width)):
        width, first, last = runs_of_group(packed, i, g)
        for b in range(first, last):
            start = np.int64(packed.block_start[b])
            target, origin = w[start : start + width], local[n : n + width]
            for k in range(width):
                target[k] += scale * origin[k]
            n += width


# -- scores and sums of features -----------------------------------------------------------------
@compile_internal(types.void(PACKED, types.int64, FLOATS, FLOATS))
def write_part_scores(packed, i, local, theta):
    """Let theta = F_i^T w on local weights, four non-zeros at a time to save loads and stores."""
    part = 0
    value, index, high = packed.value, packed.index, packed.index_high
    is_one = len(value) == 0
    for r in range(packed.row_ptr[i], packed.row_ptr[i + 1]):
        width, shift = np.int64(packed.width[r]), shift_of(packed, r)
        e, stop = packed.indptr[r], packed.indptr[r + 1]
        if width == 1:
            total = 0.0
            for f in range(e, stop):
                weight = local[shift + block_number(index, high, f)]
                total += weight if is_one else value[f] * weight
            theta[part] = total
            part += 1
            continue
        scores = theta[part : part + width]
        part += width
        for k in range(width):
            scores[k] = 0.0
        while e + 3 < stop:
            first = shift + width * block_number(index, high, e)
            a = local[first : first + width]
            first = shift + width * block_number(index, high, e + 1)
            b = local[first : first + width]
            first = shift + width * block_number(index, high, e + 2)
            c = local[first : first + width]
            first = shift + width * block_number(index, high, e + 3)
            d = local[first : first + width]
            if is_one:
                for k in range(width):
                    scores[k] += (a[k] + b[k]) + (c[k] + d[k])
            else:
                va, vb, vc, vd = value[e], value[e + 1], value[e + 2], value[e + 3]
                for k in range(width):
                    scores[k] += (va * a[k] + vb * b[k]) + (vc * c[k] + vd * d[k])
            e += 4
        while e < stop:
            va = 1.0 if is_one else value[e]
            first = shift + width * block_number(index, high, e)
            a = local[first : first + width]
            for k in range(width):
                scores[k] += va * a[k]
            e += 1


@compile_internal(types.void(PACKED, types.int64, FLOATS, FLOATS))
def add_feature_sums(packed, i, z, local):
    """Let local += F_i z; a row where z is zero costs a look, one with few non-zeros only those."""
    part = 0
    value, index, high = packed.value, packed.index, packed.index_high
    is_one = len(value) == 0
    for r in range(packed.row_ptr[i], packed.row_ptr[i + 1]):
        width, shift = np.int64(packed.width[r]), shift_of(packed, r)
        first, stop = packed.indptr[r], packed.indptr[r + 1]
        if width == 1:
            share = z[part]
            part += 1
            if share != 0.0:
                for e in range(first, stop):
                    place = shift + block_number(index, high, e)
                    local[place] += share * (1.0 if is_one else value[e])
            continue
        row = z[part : part + width]
        part += width
        count = 0
        if stop > first + 1:  # a row of one feature, such as a pair table, is simply added
            for k in range(width):
                count += row[k] != 0.0
            if count == 0:
                continue
        if stop <= first + 1 or 4 * count > width:
            for e in range(first, stop):
                v = 1.0 if is_one else value[e]
                place = shift + width * block_number(index, high, e)
                target = local[place : place + width]
                for k in range(width):
                    target[k] += v * row[k]
            continue
        for k in range(width):
            if row[k] != 0.0:
                for e in range(first, stop):
                    place = shift + width * block_number(index, high, e) + k
                    local[place] += row[k] * (1.0 if is_one else value[e])
                count -= 1
                if count == 0:
                    break


@compile_internal(types.void(PACKED, types.int64, FLOATS))
def add_costs(packed, i, theta):
    """Let theta += c_i."""
    first = packed.part_ptr[i]
    n = packed.part_ptr[i + 1] - first
    if len(packed.costs) == 0:
        return
    if len(packed.cost_start) == 0:
        for p in range(n):
            theta[p] += packed.costs[first + p]
        return
    part = 0
    for r in range(packed.row_ptr[i], packed.row_ptr[i + 1]):
        width, start = np.int64(packed.width[r]), packed.cost_start[r]
        if start >= 0:
            scores, costs = theta[part : part + width], packed.costs[start : start + width]
            for k in range(width):
                scores[k] += costs[k]
        part += width


@compile_inlined
def cost_of(packed, i, p, r, k):
    """The cost of part p of sample i, the k-th of row r."""
    if len(packed.costs) == 0:
        return 0.0
    if len(packed.cost_start) == 0:
        return packed.costs[packed.part_ptr[i] + p]
    return packed.costs[packed.cost_start[r] + k] if packed.cost_start[r] >= 0 else 0.0


@compiled_function(types.void(PACKED, types.int64, types.int64, FLOATS))
def write_costs(packed, first, last, out):
    """Let out = c of the samples first <= i < last, side by side."""
    origin = packed.part_ptr[first]
    out[:] = 0.0
    for i in range(first, last):
        add_costs(packed, i, out[packed.part_ptr[i] - origin : packed.part_ptr[i + 1] - origin])


@compiled_function(types.void(PACKED, POINTS, types.int64, types.int64, FLOATS))
def add_points(packed, points, first, last, out):
    """Add to out: the points of the samples first <= i < last, side by side."""
    origin = packed.part_ptr[first]
    for i in range(first, last):
        for e in range(points.ptr[i], points.ptr[i + 1]):
            out[packed.part_ptr[i] - origin + points.part[e]] += points.value[e]


@compiled_function(types.int64(PACKED, types.int64, FLOATS, WORKSPACE))
def score_block(packed, i, w, workspace):
    """workspace.theta = F_i^T w + c_i; returns the number of parts."""
    gather_weights(packed, i, w, workspace.local)
    write_part_scores(packed, i, workspace.local, workspace.theta)
    add_costs(packed, i, workspace.theta)
    return packed.part_ptr[i + 1] - packed.part_ptr[i]


@compile_internal(types.float64(PACKED, types.int64, WORKSPACE, POINTER, FLOATS))
def call_oracle_into(packed, i, workspace, ability, out):
    """Let the ability write `out` for workspace.theta, with sample i's memory; its value."""
    first, last = workspace.memory_ptr[i], workspace.memory_ptr[i + 1]
    known = len(workspace.memory) > 0
    for k in range(last - first):
        workspace.work[k] = workspace.memory[first + k] if known else 0.0
    layout = packed.layouts[packed.layout_ptr[i] : packed.layout_ptr[i + 1]]
    value = ability(workspace.theta[: len(out)], layout, out, workspace.work, workspace.iwork)
    if known:
        for k in range(last - first):
            workspace.memory[first + k] = workspace.work[k]
    return value


@compile_internal(types.float64(PACKED, types.int64, WORKSPACE, POINTER, types.int64))
def call_oracle(packed, i, workspace, ability, parts):
    """The same, written to workspace.vertex; parts: how many sample i has."""
    return call_oracle_into(packed, i, workspace, ability, workspace.vertex[:parts])


@compile_internal(types.float64(FLOATS, FLOATS, types.int64))
def part_dot(theta, z, n):
    """Return theta . z without the parts where z is zero, so that -inf there does no harm."""
    total = 0.0
    for p in range(n):
        if z[p] != 0.0:
            total += theta[p] * z[p]
    return total
