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
from numba import types

from maxmargin._numba.compile import FLOATS, INTS, SHORTS, inlined, kernel, piece, tuple_type
from maxmargin._numba.packed_samples import BLOCKS, SPACE, dot, forward
from maxmargin._numba.passes.block_step import block_change


class Support(NamedTuple):
    """Vertices and masses of n blocks, m slots a block."""

    count: np.ndarray  # (n,) slots in use, the anchor included
    mass: np.ndarray  # (n * m)
    gram: np.ndarray  # (n * m * m)
    used: np.ndarray  # (n * m) pass in which the slot last had mass
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


SUPPORT = tuple_type(
    Support,
    dict.fromkeys(Support._fields, INTS)
    | dict.fromkeys(("mass", "gram", "value", "anchor", "score", "start", "dense", "delta"), FLOATS)
    | dict.fromkeys(("part", "row", "label"), SHORTS),
)
INT = types.int64
NEVER = -1e300  # the score of an anchor without mass: finite, so that differences stay numbers
FLOAT = types.float64


@inlined
def entries(support, i, slot):
    """Where the entries of a vertex start."""
    return support.entry_ptr[i] + (slot - 1) * support.room[i]


@inlined
def vertex_dot(support, i, slot, theta):
    """Theta . v of a slot other than the anchor."""
    first = entries(support, i, slot)
    total = 0.0
    for e in range(first, first + support.length[i * len(support.score) + slot]):
        total += theta[support.part[e]] * support.value[e]
    return total


@inlined
def anchor_dot(blocks, i, support, theta):
    """Theta . v of the anchor."""
    anchor = support.anchor[blocks.part_ptr[i] : blocks.part_ptr[i + 1]]
    return dot(theta, anchor, len(anchor))


@piece(types.void(BLOCKS, INT, SPACE, SUPPORT, FLOATS))
def score_support(blocks, i, space, support, w):
    """space.theta = F_i^T w + c_i at the parts of the vertices that are awake, only.

    The anchor is left out: the caller falls back to all parts where it has mass.
    """
    slots = len(support.score)
    support.stamp[0] += 1
    now = support.stamp[0]
    first_row, first_part = blocks.row_ptr[i], blocks.part_ptr[i]
    for a in range(support.n_awake[i]):
        slot = support.awake[i * slots + a]
        if slot == 0:
            continue
        first = entries(support, i, slot)
        for e in range(first, first + support.length[i * slots + slot]):
            p = support.part[e]
            if support.stamp[p + 1] == now:
                continue
            support.stamp[p + 1] = now
            r, k = first_row + support.row[e], support.label[e]
            total = blocks.costs[first_part + p] if len(blocks.costs) > 0 else 0.0
            for x in range(blocks.indptr[r], blocks.indptr[r + 1]):
                total += blocks.value[x] * w[blocks.home[x] + k]
            space.theta[p] = total


@piece(FLOAT(BLOCKS, INT, SPACE, SUPPORT))
def recall(blocks, i, space, support):
    """Score = a_i . v and start = mass of all slots that are awake; returns a_i . z_i."""
    slots = len(support.score)
    value = 0.0
    for a in range(support.n_awake[i]):
        slot = support.awake[i * slots + a]
        mass = support.mass[i * slots + slot]
        if slot > 0:
            score = vertex_dot(support, i, slot, space.theta)
        elif mass > 0.0:
            score = anchor_dot(blocks, i, support, space.theta)
        else:
            support.start[0], support.score[0] = 0.0, NEVER
            continue
        support.start[slot], support.score[slot] = mass, score
        value += mass * score
    return value


@piece(types.void(SUPPORT, INT))
def wake_all(support, i):
    """Look at every slot again."""
    slots = len(support.score)
    support.n_awake[i] = support.count[i]
    for slot in range(support.count[i]):
        support.awake[i * slots + slot] = slot


@piece(types.void(SUPPORT, INT, FLOAT))
def put_to_sleep(support, i, margin):
    """Leave out slots without mass whose score is more than `margin` below the best."""
    slots = len(support.score)
    best = -np.inf
    for slot in range(support.count[i]):
        best = max(best, support.score[slot])
    n = 0
    for slot in range(support.count[i]):
        if support.mass[i * slots + slot] > 0.0 or support.score[slot] > best - margin:
            support.awake[i * slots + n] = slot
            n += 1
    support.n_awake[i] = n


@piece(INT(SUPPORT, INT, FLOATS))
def find_slot(support, i, vertex):
    """The slot that holds this vertex, or -1."""
    slots = len(support.score)
    n = 0
    for p in range(len(vertex)):
        n += vertex[p] != 0.0
    for slot in range(1, support.count[i]):
        if support.length[i * slots + slot] != n:
            continue
        first = entries(support, i, slot)
        same = True
        for e in range(first, first + n):
            if vertex[support.part[e]] != support.value[e]:
                same = False
                break
        if same:
            return slot
    return -1


@piece(types.void(BLOCKS, INT, SUPPORT, INT))
def fold(blocks, i, support, slot):
    """Give the mass of a slot to the anchor, which becomes the mean of the two."""
    slots = len(support.score)
    mass = support.mass[i * slots : (i + 1) * slots]
    gram = support.gram[i * slots * slots : (i + 1) * slots * slots]
    anchor = support.anchor[blocks.part_ptr[i] : blocks.part_ptr[i + 1]]
    total = mass[0] + mass[slot]
    if mass[slot] == 0.0:
        return
    keep, take = mass[0] / total, mass[slot] / total
    for p in range(len(anchor)):
        anchor[p] *= keep
    first = entries(support, i, slot)
    for e in range(first, first + support.length[i * slots + slot]):
        anchor[support.part[e]] += take * support.value[e]
    own = gram[slot * slots + slot]
    gram[0] = keep * keep * gram[0] + 2.0 * keep * take * gram[slot] + take * take * own
    for other in range(1, support.count[i]):
        mixed = keep * gram[other] + take * gram[slot * slots + other]
        gram[other] = mixed
        gram[other * slots] = mixed
    if keep == 0.0:
        support.score[0] = support.score[slot]
    else:
        support.score[0] = keep * support.score[0] + take * support.score[slot]
    mass[0], mass[slot] = total, 0.0
    support.start[0], support.start[slot] = total, 0.0


@piece(INT(BLOCKS, INT, SUPPORT))
def free_slot(blocks, i, support):
    """A slot for a new vertex: an empty one, the longest unused one, or the lightest, folded."""
    slots = len(support.score)
    if support.count[i] < slots:
        support.count[i] += 1
        wake_all(support, i)
        return support.count[i] - 1
    mass = support.mass[i * slots : (i + 1) * slots]
    used = support.used[i * slots : (i + 1) * slots]
    oldest, lightest = -1, 1
    for slot in range(1, slots):
        if mass[slot] == 0.0 and (oldest < 0 or used[slot] < used[oldest]):
            oldest = slot
        if mass[slot] < mass[lightest]:
            lightest = slot
    if oldest >= 0:
        return oldest
    fold(blocks, i, support, lightest)
    return lightest


@piece(types.void(BLOCKS, INT, SPACE, SUPPORT, INT))
def fill_gram(blocks, i, space, support, slot):
    """Inner products of F v (v in space.vertex, remembered in `slot`) with all slots."""
    slots = len(support.score)
    gram = support.gram[i * slots * slots : (i + 1) * slots * slots]
    block_change(blocks, i, space)
    forward(blocks, i, space.change, space.spare)
    product = anchor_dot(blocks, i, support, space.spare)
    gram[slot * slots], gram[slot] = product, product
    for other in range(1, support.count[i]):
        product = vertex_dot(support, i, other, space.spare)
        gram[slot * slots + other] = product
        gram[other * slots + slot] = product


@piece(types.void(BLOCKS, INT, SUPPORT, INT, FLOATS))
def write_entries(blocks, i, support, slot, vertex):
    """Store a vertex as a list of its non-zeros."""
    first = entries(support, i, slot)
    n, p = 0, 0
    for r in range(blocks.row_ptr[i + 1] - blocks.row_ptr[i]):
        for k in range(blocks.width[blocks.row_ptr[i] + r]):
            if vertex[p] != 0.0:
                support.part[first + n] = p
                support.row[first + n] = r
                support.label[first + n] = k
                support.value[first + n] = vertex[p]
                n += 1
            p += 1
    support.length[i * len(support.score) + slot] = n


@piece(INT(BLOCKS, INT, SPACE, SUPPORT, INT))
def learn(blocks, i, space, support, now):
    """Remember space.vertex, with mass 0, unless it is known; returns its slot."""
    slots = len(support.score)
    vertex = space.vertex[: blocks.part_ptr[i + 1] - blocks.part_ptr[i]]
    slot = find_slot(support, i, vertex)
    if slot >= 0:
        return slot
    slot = free_slot(blocks, i, support)
    write_entries(blocks, i, support, slot, vertex)
    support.used[i * slots + slot] = now
    support.mass[i * slots + slot] = 0.0
    support.start[slot] = 0.0
    fill_gram(blocks, i, space, support, slot)
    support.score[slot] = vertex_dot(support, i, slot, space.theta)
    return slot


@kernel(types.void(BLOCKS, SPACE, SUPPORT, FLOATS))
def start_support(blocks, space, support, z):
    """Give each block its z_i: as the vertex in slot 1 if it has few non-zeros, else as anchor."""
    slots = len(support.score)
    for i in range(len(blocks.weight)):
        point = z[blocks.part_ptr[i] : blocks.part_ptr[i + 1]]
        count = 0
        for p in range(len(point)):
            count += point[p] != 0.0
            space.vertex[p] = point[p]
        if count <= support.room[i]:
            support.mass[i * slots + 1] = 1.0
            write_entries(blocks, i, support, 1, space.vertex)
            fill_gram(blocks, i, space, support, 1)
        else:
            support.mass[i * slots] = 1.0
            for p in range(len(point)):
                support.anchor[blocks.part_ptr[i] + p] = point[p]
            support.count[i] = 1
            support.gram[i * slots * slots] = block_change(blocks, i, space)
