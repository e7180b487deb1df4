"""Block steps over remembered vertices: z_i = sum_j mass_j v_j, slot 0 being a dense anchor.

Each block keeps up to `size` vertices that its oracle has found, their masses, and the inner
products F v_j . F v_l, so that any number of exact steps between them costs O(size) each. What
does not fit is folded into the anchor, which leaves z_i where it is: memory is bounded and the
dual value never falls.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from maxmargin.kernels.blocks import BLOCKS, SPACE, dot, forward, score_block
from maxmargin.kernels.compile import FLOATS, INTS, POINTER, SHORTS, kernel, tuple_type
from maxmargin.kernels.frank_wolfe import apply_change, block_change


class Support(NamedTuple):
    """Vertices and masses of n blocks; m = size + 1 slots a block."""

    count: np.ndarray  # (n,) slots in use, the anchor included
    mass: np.ndarray  # (n * m)
    gram: np.ndarray  # (n * m * m); gram[0, 0] < 0: not yet computed
    used: np.ndarray  # (n * m) pass in which the slot last had or gained mass
    length: np.ndarray  # (n * m) non-zeros of the vertex
    entry_ptr: np.ndarray  # (n + 1) where a block's entries start; equal room for each slot
    part: np.ndarray  # entries: part number
    value: np.ndarray  # entries: value there
    anchor: np.ndarray  # (n_parts,) dense point of slot 0
    score: np.ndarray  # (m) scratch
    start: np.ndarray  # (m) scratch


SUPPORT = tuple_type(
    Support,
    dict.fromkeys(Support._fields, INTS)
    | dict.fromkeys(("mass", "gram", "value", "anchor", "score", "start"), FLOATS)
    | {"part": SHORTS},
)


@kernel(types.int64(SUPPORT, types.int64, types.int64, types.int64))
def entries(support, i, slot, slots):
    """Where the entries of a vertex start."""
    room = (support.entry_ptr[i + 1] - support.entry_ptr[i]) // (slots - 1)
    return support.entry_ptr[i] + (slot - 1) * room


@kernel(types.float64(SUPPORT, types.int64, types.int64, types.int64, FLOATS, FLOATS))
def slot_dot(support, i, slot, slots, theta, anchor):
    """theta . v of a slot."""
    if slot == 0:
        return dot(theta, anchor, len(anchor))
    first = entries(support, i, slot, slots)
    total = 0.0
    for e in range(first, first + support.length[i * slots + slot]):
        total += theta[support.part[e]] * support.value[e]
    return total


@kernel(types.int64(SUPPORT, types.int64, types.int64, FLOATS))
def find_slot(support, i, slots, vertex):
    """The slot that holds this vertex, or -1."""
    n = 0
    for p in range(len(vertex)):
        if vertex[p] != 0.0:
            n += 1
    for slot in range(1, support.count[i]):
        if support.length[i * slots + slot] != n:
            continue
        first = entries(support, i, slot, slots)
        same = True
        for e in range(first, first + n):
            if vertex[support.part[e]] != support.value[e]:
                same = False
                break
        if same:
            return slot
    return -1


@kernel(types.void(SUPPORT, types.int64, types.int64, types.int64, FLOATS))
def fold(support, i, slot, slots, anchor):
    """Give the mass of a slot to the anchor, which becomes the mean of the two."""
    mass = support.mass[i * slots : (i + 1) * slots]
    gram = support.gram[i * slots * slots : (i + 1) * slots * slots]
    total = mass[0] + mass[slot]
    if mass[slot] == 0.0:
        return
    keep, take = mass[0] / total, mass[slot] / total
    for p in range(len(anchor)):
        anchor[p] *= keep
    first = entries(support, i, slot, slots)
    for e in range(first, first + support.length[i * slots + slot]):
        anchor[support.part[e]] += take * support.value[e]
    corner = (
        keep * keep * gram[0] + 2.0 * keep * take * gram[slot] + take * take * gram[slot * slots + slot]
    )
    for other in range(1, support.count[i]):
        mixed = keep * gram[other] + take * gram[slot * slots + other]
        gram[other] = mixed
        gram[other * slots] = mixed
    gram[0] = corner
    support.score[0] = keep * support.score[0] + take * support.score[slot]
    mass[0], mass[slot] = total, 0.0


@kernel(types.int64(SUPPORT, types.int64, types.int64, FLOATS))
def free_slot(support, i, slots, anchor):
    """A slot for a new vertex: an empty one, the longest unused one, or the lightest, folded."""
    if support.count[i] < slots:
        support.count[i] += 1
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
    fold(support, i, lightest, slots, anchor)
    return lightest


@kernel(
    types.void(BLOCKS, types.int64, SPACE, SUPPORT, types.int64, types.int64, FLOATS)
)
def fill_gram(blocks, i, space, support, slots, slot, anchor):
    """Inner products of F v (v in space.vertex, to be remembered in `slot`) with all slots."""
    gram = support.gram[i * slots * slots : (i + 1) * slots * slots]
    block_change(blocks, i, space)
    forward(blocks, i, space.change, space.spare)
    for other in range(support.count[i]):
        product = slot_dot(support, i, other, slots, space.spare, anchor)
        gram[slot * slots + other] = product
        gram[other * slots + slot] = product


@kernel(types.int64(BLOCKS, types.int64, SPACE, SUPPORT, types.int64, types.int64, FLOATS))
def insert(blocks, i, space, support, slots, now, anchor):
    """Remember space.vertex with mass 0; returns its slot."""
    parts = len(anchor)
    slot = free_slot(support, i, slots, anchor)
    first = entries(support, i, slot, slots)
    n = 0
    for p in range(parts):
        if space.vertex[p] != 0.0:
            support.part[first + n] = p
            support.value[first + n] = space.vertex[p]
            n += 1
    support.length[i * slots + slot] = n
    support.used[i * slots + slot] = now
    support.mass[i * slots + slot] = 0.0
    fill_gram(blocks, i, space, support, slots, slot, anchor)
    support.score[slot] = slot_dot(support, i, slot, slots, space.theta, anchor)
    return slot


@kernel(
    types.int64(
        SUPPORT, types.int64, types.int64, types.float64, types.int64, types.float64
    )
)
def exchange(support, i, slots, rate, limit, tolerance):
    """Pairwise exact steps between slots until they agree; returns how many.

    rate = omega / alpha. Of the slots with mass, the one whose exchange with the best slot raises
    the dual most gives (second-order choice, Fan, Chen and Lin 2005).
    """
    count = support.count[i]
    mass = support.mass[i * slots : i * slots + count]
    gram = support.gram[i * slots * slots : (i + 1) * slots * slots]
    score = support.score
    for step in range(limit):
        high = 0
        for j in range(1, count):
            if score[j] > score[high]:
                high = j
        low, best_gain, widest = -1, 0.0, 0.0
        for j in range(count):
            if mass[j] > 0.0 and j != high:
                rise = score[high] - score[j]
                if rise <= 0.0:
                    continue
                widest = max(widest, rise)
                bend = rate * (
                    gram[high * slots + high] + gram[j * slots + j] - 2.0 * gram[high * slots + j]
                )
                move = mass[j] if rise >= bend * mass[j] else rise / bend
                gain = move * (rise - 0.5 * bend * move)
                if gain > best_gain:
                    best_gain, low = gain, j
        if low < 0 or widest <= tolerance:
            return step
        rise = score[high] - score[low]
        bend = rate * (
            gram[high * slots + high] + gram[low * slots + low] - 2.0 * gram[high * slots + low]
        )
        move = mass[low]
        if rise < bend * mass[low]:
            move = rise / bend
            mass[low] -= move
        else:
            mass[low] = 0.0
        mass[high] += move
        for j in range(count):
            score[j] -= rate * move * (gram[high * slots + j] - gram[low * slots + j])
    return limit


@kernel(
    types.void(
        BLOCKS,
        types.int64,
        SPACE,
        SUPPORT,
        types.int64,
        types.int64,
        types.float64,
        FLOATS,
        FLOATS,
        FLOATS,
        FLOATS,
    )
)
def settle(blocks, i, space, support, slots, now, alpha, w, z, lag, clock):
    """Carry the change of masses since support.start over to z_i and w."""
    first = blocks.part_ptr[i]
    anchor = support.anchor[first : blocks.part_ptr[i + 1]]
    parts = len(anchor)
    delta = space.vertex[:parts]
    delta[:] = 0.0
    moved = False
    for slot in range(support.count[i]):
        mass = support.mass[i * slots + slot]
        if mass > 0.0:
            support.used[i * slots + slot] = now
        step = mass - support.start[slot]
        if step == 0.0:
            continue
        moved = True
        if slot == 0:
            for p in range(parts):
                delta[p] += step * anchor[p]
        else:
            start = entries(support, i, slot, slots)
            for e in range(start, start + support.length[i * slots + slot]):
                delta[support.part[e]] += step * support.value[e]
    clock[0] += 1.0
    if not moved:
        return
    for p in range(parts):
        z[first + p] += delta[p]
    block_change(blocks, i, space)
    passed = clock[0] * (clock[0] - 1.0) / 2.0
    apply_change(blocks, i, space, -blocks.weight[i] / alpha, w, lag, passed)


@kernel(types.float64(BLOCKS, types.int64, SPACE, SUPPORT, types.int64))
def recall(blocks, i, space, support, slots):
    """support.score[j] = a_i . v_j and support.start = masses; returns a_i . z_i."""
    anchor = support.anchor[blocks.part_ptr[i] : blocks.part_ptr[i + 1]]
    value = 0.0
    for slot in range(support.count[i]):
        mass = support.mass[i * slots + slot]
        support.start[slot] = mass
        support.score[slot] = slot_dot(support, i, slot, slots, space.theta, anchor)
        if mass > 0.0:
            value += mass * support.score[slot]
    return value


@kernel(types.void(BLOCKS, types.int64, SPACE, SUPPORT, types.int64, types.int64))
def learn(blocks, i, space, support, slots, now):
    """Remember the oracle's answer in space.vertex, if it is new."""
    anchor = support.anchor[blocks.part_ptr[i] : blocks.part_ptr[i + 1]]
    if support.gram[i * slots * slots] < 0.0:
        answer = space.spare[: len(anchor)]
        for p in range(len(anchor)):
            answer[p], space.vertex[p] = space.vertex[p], anchor[p]
        support.gram[i * slots * slots] = block_change(blocks, i, space)
        for p in range(len(anchor)):
            space.vertex[p] = answer[p]
    if find_slot(support, i, slots, space.vertex[: len(anchor)]) < 0:
        masses = support.mass[i * slots : (i + 1) * slots]
        before = masses[0]
        slot = insert(blocks, i, space, support, slots, now, anchor)
        if masses[0] != before:  # a slot was folded: the anchor moved, z_i did not
            support.start[0] = masses[0]
        support.start[slot] = 0.0


@kernel(
    types.void(
        BLOCKS,
        SPACE,
        SUPPORT,
        POINTER,
        INTS,
        types.float64,
        types.int64,
        types.float64,
        types.float64,
        FLOATS,
        FLOATS,
        FLOATS,
        FLOATS,
        FLOATS,
    )
)
def support_pass(
    blocks, space, support, maximize, order, alpha, limit, trust, floor, w, z, lag, clock, gaps
):
    """One visit for each sample in `order`: recall, ask the oracle unless trusted, exchange.

    limit: exchanges a visit (1 is the pairwise step). The oracle is not asked where the remembered
    vertices alone promise a gap of at least max(trust * gaps[i], floor) (Osokin et al. 2016).
    clock: [0] steps, [1] oracle calls.
    """
    slots = len(support.score)
    for i in order:
        parts = score_block(blocks, i, w, space)
        value = recall(blocks, i, space, support, slots)
        best = np.max(support.score[: support.count[i]])
        now = np.int64(clock[2])
        gap = best - value
        if gap < trust * gaps[i] or gap < floor or gap <= 0.0:
            shape = blocks.shapes[blocks.shape_ptr[i] : blocks.shape_ptr[i + 1]]
            best = maximize(
                space.theta[:parts], shape, space.vertex[:parts], space.work, space.iwork
            )
            clock[1] += 1.0
            gap = best - value
            gaps[i] = gap
            learn(blocks, i, space, support, slots, now)
        if blocks.weight[i] > 0.0 and gap > 0.0:
            exchange(support, i, slots, blocks.weight[i] / alpha, limit, 0.1 * gap)
        settle(blocks, i, space, support, slots, now, alpha, w, z, lag, clock)
