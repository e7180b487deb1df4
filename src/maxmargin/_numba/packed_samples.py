"""Samples packed in flat arrays, and the linear map of one sample.

A sample is a list of *rows*. Row r owns `width[r]` consecutive parts; each of its non-zeros
(index, value) adds `value * weights[index : index + width[r]]` to their scores. A node with K
labels is a row of width K, a table of transitions shared by all positions is one row of width
K * K with the single feature 1, a part with features of its own is a row of width 1.

`index` points into the sample's *local* weights: the stretches of the weight vector that the
sample touches, copied side by side (`block_start`, `block_width`). A sample of a text problem with
ten million weights thus works on a few thousand numbers that stay in the processor's cache.
`global_index` is the same place in the whole weight vector, for steps that touch a few parts only.
`value` is empty where all values are 1, as those of text features are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin._numba.compile import (
    FLOATS,
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
    """n samples; `*_ptr` arrays have n + 1 entries, except indptr, with one entry per row + 1."""

    layout_ptr: np.ndarray
    layouts: np.ndarray
    part_ptr: np.ndarray
    row_ptr: np.ndarray
    width: np.ndarray
    indptr: np.ndarray
    index: np.ndarray
    global_index: np.ndarray
    value: np.ndarray
    block_ptr: np.ndarray
    block_start: np.ndarray
    block_width: np.ndarray
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
    | {"width": SHORTS, "index": SHORTS, "block_width": SHORTS}
    | {"global_index": PLACES, "block_start": PLACES}
    | dict.fromkeys(("value", "costs", "weight"), FLOATS),
)
POINTS = tuple_type(Points, {"ptr": INTS, "part": SHORTS, "value": FLOATS})
WORKSPACE = tuple_type(
    Workspace, dict.fromkeys(Workspace._fields, FLOATS) | {"iwork": INTS, "memory_ptr": INTS}
)


@compile_internal(types.void(PACKED, types.int64, FLOATS, FLOATS))
def gather_weights(packed, i, w, local):
    """Copy the weights that sample i touches to `local`."""
    n = 0
    for b in range(packed.block_ptr[i], packed.block_ptr[i + 1]):
        width = np.int64(packed.block_width[b])
        target = local[n : n + width]
        start = np.int64(packed.block_start[b])
        origin = w[start : start + width]
        for k in range(width):
            target[k] = origin[k]
        n += width


@compile_internal(types.int64(PACKED, types.int64))
def local_size(packed, i):
    """How many weights sample i touches."""
    n = 0
    for b in range(packed.block_ptr[i], packed.block_ptr[i + 1]):
        n += packed.block_width[b]
    return n


@compile_internal(types.void(PACKED, types.int64, FLOATS, types.float64, FLOATS))
def scatter_weights(packed, i, local, scale, w):
    """Add to w: scale * local on the weights that sample i touches."""
    n = 0
    for b in range(packed.block_ptr[i], packed.block_ptr[i + 1]):
        width = np.int64(packed.block_width[b])
        origin = local[n : n + width]
        start = np.int64(packed.block_start[b])
        target = w[start : start + width]
        for k in range(width):
            target[k] += scale * origin[k]
        n += width


@compile_internal(types.void(PACKED, types.int64, FLOATS, FLOATS))
def write_part_scores(packed, i, local, theta):
    """Let theta = F_i^T w on local weights, four non-zeros at a time to save loads and stores."""
    part = 0
    value, index = packed.value, packed.index
    is_one = len(value) == 0
    for r in range(packed.row_ptr[i], packed.row_ptr[i + 1]):
        width = np.int64(packed.width[r])
        e, stop = packed.indptr[r], packed.indptr[r + 1]
        if width == 1:
            total = 0.0
            for f in range(e, stop):
                total += (1.0 if is_one else value[f]) * local[index[f]]
            theta[part] = total
            part += 1
            continue
        scores = theta[part : part + width]
        part += width
        for k in range(width):
            scores[k] = 0.0
        while e + 3 < stop:
            a = local[index[e] : index[e] + width]
            b = local[index[e + 1] : index[e + 1] + width]
            c = local[index[e + 2] : index[e + 2] + width]
            d = local[index[e + 3] : index[e + 3] + width]
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
            a = local[index[e] : index[e] + width]
            for k in range(width):
                scores[k] += va * a[k]
            e += 1


@compile_internal(types.void(PACKED, types.int64, FLOATS, FLOATS))
def add_feature_sums(packed, i, z, local):
    """Let local += F_i z; a row where z is zero costs a look, one with few non-zeros only those."""
    part = 0
    value, index = packed.value, packed.index
    is_one = len(value) == 0
    for r in range(packed.row_ptr[i], packed.row_ptr[i + 1]):
        width = np.int64(packed.width[r])
        first, stop = packed.indptr[r], packed.indptr[r + 1]
        if width == 1:
            share = z[part]
            part += 1
            if share != 0.0:
                for e in range(first, stop):
                    local[index[e]] += share * (1.0 if is_one else value[e])
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
                target = local[index[e] : index[e] + width]
                for k in range(width):
                    target[k] += v * row[k]
            continue
        for k in range(width):
            if row[k] != 0.0:
                for e in range(first, stop):
                    local[index[e] + k] += row[k] * (1.0 if is_one else value[e])
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
