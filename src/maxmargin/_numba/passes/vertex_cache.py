"""Block steps over remembered vertices: z_i = sum_j mass_j v_j.

Each block keeps the vertices that its oracle has found, their masses, and the inner products
F v_j . F v_l, so that any number of exact steps between them costs O(slots) each, and a visit
without the oracle touches only the parts that some remembered vertex has. Slot 0 is a dense anchor
for what does not fit: its mass starts at zero, and the lightest vertex is folded into it when room
is needed, which leaves z_i where it is. Memory is bounded and the dual value never falls.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin._numba.compile import (
    FLOATS,
    INTS,
    SHORTS,
    compile_inlined,
    compile_internal,
    compiled_function,
    tuple_type,
    types,
)
from maxmargin._numba.packed_samples import PACKED, WORKSPACE, part_dot, write_part_scores
from maxmargin._numba.passes.block_step import block_change


class VertexCache(NamedTuple):
    """Vertices and masses of n blocks, m slots per block."""

    count: np.ndarray  # (n,) slots in use, the anchor included
    mass: np.ndarray  # (n * m)
    gram: np.ndarray  # (n * m * m)
    used: np.ndarray  # (n * m) epoch in which the slot last had mass
    awake: np.ndarray  # (n * m) the slots that visits without the oracle look at,
    n_awake: np.ndarray  # (n,) and how many they are
    length: np.ndarray  # (n * m) non-zeros of the vertex
    entry_ptr: np.ndarray  # (n,) where a block's entries start
    room: np.ndarray  # (n,) entries of a slot
    part: np.ndarray  # entries: number of the part,
    row: np.ndarray  # its row, both counted within the sample,
    label: np.ndarray  # its place in the row,
    value: np.ndarray  # and its value
    anchor: np.ndarray  # (n_parts,) dense point of slot 0
    score: np.ndarray  # (m) scratch
    start: np.ndarray  # (m) scratch
    dense: np.ndarray  # (m * m + 4 m) scratch
    stamp: np.ndarray  # (parts of the largest sample) scratch
    delta: np.ndarray  # (parts of the largest sample) scratch

    def validate(self) -> None:
        """Nothing yet: arrays must go with those of a run, see `Solver.check_restored`."""


VERTEX_CACHE = tuple_type(
    VertexCache,
    dict.fromkeys(VertexCache._fields, INTS)
    | dict.fromkeys(("mass", "gram", "value", "anchor", "score", "start", "dense", "delta"), FLOATS)
    | dict.fromkeys(("part", "row", "label"), SHORTS),
)
INT = types.int64
NEVER = -1e300  # the score of an anchor without mass: finite, so that differences stay numbers
FLOAT = types.float64


@compile_inlined
def first_entry(cache, i, slot):
    """Where the entries of a vertex start."""
    return cache.entry_ptr[i] + (slot - 1) * cache.room[i]


@compile_inlined
def vertex_dot(cache, i, slot, theta):
    """Theta . v of a slot other than the anchor."""
    first = first_entry(cache, i, slot)
    total = 0.0
    for e in range(first, first + cache.length[i * len(cache.score) + slot]):
        total += theta[cache.part[e]] * cache.value[e]
    return total


@compile_inlined
def anchor_dot(packed, i, cache, theta):
    """Theta . v of the anchor."""
    anchor = cache.anchor[packed.part_ptr[i] : packed.part_ptr[i + 1]]
    return part_dot(theta, anchor, len(anchor))


@compile_internal(types.void(PACKED, INT, WORKSPACE, VERTEX_CACHE, FLOATS))
def score_vertices(packed, i, workspace, cache, w):
    """workspace.theta = F_i^T w + c_i at the parts of the vertices that are awake, only.

    The anchor is left out: the caller falls back to all parts where it has mass.
    """
    slots = len(cache.score)
    cache.stamp[0] += 1
    now = cache.stamp[0]
    first_row, first_part = packed.row_ptr[i], packed.part_ptr[i]
    value, index = packed.value, packed.global_index
    is_one = len(value) == 0
    for a in range(cache.n_awake[i]):
        slot = cache.awake[i * slots + a]
        if slot == 0:
            continue
        first = first_entry(cache, i, slot)
        for e in range(first, first + cache.length[i * slots + slot]):
            p = cache.part[e]
            if cache.stamp[p + 1] == now:
                continue
            cache.stamp[p + 1] = now
            r, k = first_row + cache.row[e], cache.label[e]
            total = packed.costs[first_part + p] if len(packed.costs) > 0 else 0.0
            for x in range(packed.indptr[r], packed.indptr[r + 1]):
                weight = w[np.int64(index[x]) + k]
                total += weight if is_one else value[x] * weight
            workspace.theta[p] = total


@compile_internal(FLOAT(PACKED, INT, WORKSPACE, VERTEX_CACHE))
def score_slots(packed, i, workspace, cache):
    """Score = a_i . v and start = mass of all slots that are awake; returns a_i . z_i."""
    slots = len(cache.score)
    value = 0.0
    for a in range(cache.n_awake[i]):
        slot = cache.awake[i * slots + a]
        mass = cache.mass[i * slots + slot]
        if slot > 0:
            score = vertex_dot(cache, i, slot, workspace.theta)
        elif mass > 0.0:
            score = anchor_dot(packed, i, cache, workspace.theta)
        else:
            cache.start[0], cache.score[0] = 0.0, NEVER
            continue
        cache.start[slot], cache.score[slot] = mass, score
        value += mass * score
    return value


@compile_internal(types.void(VERTEX_CACHE, INT))
def wake_all(cache, i):
    """Look at every slot again."""
    slots = len(cache.score)
    cache.n_awake[i] = cache.count[i]
    for slot in range(cache.count[i]):
        cache.awake[i * slots + slot] = slot


@compile_internal(types.void(VERTEX_CACHE, INT, FLOAT))
def put_to_sleep(cache, i, margin):
    """Leave out slots without mass whose score is more than `margin` below the best."""
    slots = len(cache.score)
    best = -np.inf
    for slot in range(cache.count[i]):
        best = max(best, cache.score[slot])
    n = 0
    for slot in range(cache.count[i]):
        if cache.mass[i * slots + slot] > 0.0 or cache.score[slot] > best - margin:
            cache.awake[i * slots + n] = slot
            n += 1
    cache.n_awake[i] = n


@compile_internal(INT(VERTEX_CACHE, INT, FLOATS))
def find_slot(cache, i, vertex):
    """The slot that holds this vertex, or -1."""
    slots = len(cache.score)
    n = 0
    for p in range(len(vertex)):
        n += vertex[p] != 0.0
    for slot in range(1, cache.count[i]):
        if cache.length[i * slots + slot] != n:
            continue
        first = first_entry(cache, i, slot)
        same = True
        for e in range(first, first + n):
            if vertex[cache.part[e]] != cache.value[e]:
                same = False
                break
        if same:
            return slot
    return -1


@compile_internal(types.void(PACKED, INT, VERTEX_CACHE, INT))
def fold_slot(packed, i, cache, slot):
    """Give the mass of a slot to the anchor, which becomes the mean of the two."""
    slots = len(cache.score)
    mass = cache.mass[i * slots : (i + 1) * slots]
    gram = cache.gram[i * slots * slots : (i + 1) * slots * slots]
    anchor = cache.anchor[packed.part_ptr[i] : packed.part_ptr[i + 1]]
    total = mass[0] + mass[slot]
    if mass[slot] == 0.0:
        return
    keep, take = mass[0] / total, mass[slot] / total
    for p in range(len(anchor)):
        anchor[p] *= keep
    first = first_entry(cache, i, slot)
    for e in range(first, first + cache.length[i * slots + slot]):
        anchor[cache.part[e]] += take * cache.value[e]
    own = gram[slot * slots + slot]
    gram[0] = keep * keep * gram[0] + 2.0 * keep * take * gram[slot] + take * take * own
    for other in range(1, cache.count[i]):
        mixed = keep * gram[other] + take * gram[slot * slots + other]
        gram[other] = mixed
        gram[other * slots] = mixed
    if keep == 0.0:
        cache.score[0] = cache.score[slot]
    else:
        cache.score[0] = keep * cache.score[0] + take * cache.score[slot]
    mass[0], mass[slot] = total, 0.0
    cache.start[0], cache.start[slot] = total, 0.0


@compile_internal(INT(PACKED, INT, VERTEX_CACHE))
def free_slot(packed, i, cache):
    """A slot for a new vertex: an empty one, the longest unused one, or the lightest, folded."""
    slots = len(cache.score)
    if cache.count[i] < slots:
        cache.count[i] += 1
        wake_all(cache, i)
        return cache.count[i] - 1
    mass = cache.mass[i * slots : (i + 1) * slots]
    used = cache.used[i * slots : (i + 1) * slots]
    oldest, lightest = -1, 1
    for slot in range(1, slots):
        if mass[slot] == 0.0 and (oldest < 0 or used[slot] < used[oldest]):
            oldest = slot
        if mass[slot] < mass[lightest]:
            lightest = slot
    if oldest >= 0:
        return oldest
    fold_slot(packed, i, cache, lightest)
    return lightest


@compile_internal(types.void(PACKED, INT, WORKSPACE, VERTEX_CACHE, INT))
def fill_gram(packed, i, workspace, cache, slot):
    """Inner products of F v (v in workspace.vertex, remembered in `slot`) with all slots."""
    slots = len(cache.score)
    gram = cache.gram[i * slots * slots : (i + 1) * slots * slots]
    block_change(packed, i, workspace)
    write_part_scores(packed, i, workspace.change, workspace.scratch)
    product = anchor_dot(packed, i, cache, workspace.scratch)
    gram[slot * slots], gram[slot] = product, product
    for other in range(1, cache.count[i]):
        product = vertex_dot(cache, i, other, workspace.scratch)
        gram[slot * slots + other] = product
        gram[other * slots + slot] = product


@compile_internal(types.void(PACKED, INT, VERTEX_CACHE, INT, FLOATS))
def write_entries(packed, i, cache, slot, vertex):
    """Store a vertex as a list of its non-zeros."""
    first = first_entry(cache, i, slot)
    n, p = 0, 0
    for r in range(packed.row_ptr[i + 1] - packed.row_ptr[i]):
        for k in range(packed.width[packed.row_ptr[i] + r]):
            if vertex[p] != 0.0:
                cache.part[first + n] = p
                cache.row[first + n] = r
                cache.label[first + n] = k
                cache.value[first + n] = vertex[p]
                n += 1
            p += 1
    cache.length[i * len(cache.score) + slot] = n


@compile_internal(INT(PACKED, INT, WORKSPACE, VERTEX_CACHE, INT))
def store_vertex(packed, i, workspace, cache, now):
    """Remember workspace.vertex, with mass 0, unless it is known; returns its slot."""
    slots = len(cache.score)
    vertex = workspace.vertex[: packed.part_ptr[i + 1] - packed.part_ptr[i]]
    slot = find_slot(cache, i, vertex)
    if slot >= 0:
        return slot
    slot = free_slot(packed, i, cache)
    write_entries(packed, i, cache, slot, vertex)
    cache.used[i * slots + slot] = now
    cache.mass[i * slots + slot] = 0.0
    cache.start[slot] = 0.0
    fill_gram(packed, i, workspace, cache, slot)
    cache.score[slot] = vertex_dot(cache, i, slot, workspace.theta)
    return slot


@compiled_function(types.void(PACKED, WORKSPACE, VERTEX_CACHE, FLOATS))
def start_vertex_cache(packed, workspace, cache, z):
    """Give each block its z_i: as the vertex in slot 1 if it has few non-zeros, else as anchor."""
    slots = len(cache.score)
    for i in range(len(packed.weight)):
        point = z[packed.part_ptr[i] : packed.part_ptr[i + 1]]
        count = 0
        for p in range(len(point)):
            count += point[p] != 0.0
            workspace.vertex[p] = point[p]
        if count <= cache.room[i]:
            cache.mass[i * slots + 1] = 1.0
            write_entries(packed, i, cache, 1, workspace.vertex)
            fill_gram(packed, i, workspace, cache, 1)
        else:
            cache.mass[i * slots] = 1.0
            for p in range(len(point)):
                cache.anchor[packed.part_ptr[i] + p] = point[p]
            cache.count[i] = 1
            cache.gram[i * slots * slots] = block_change(packed, i, workspace)
