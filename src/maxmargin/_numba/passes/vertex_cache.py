"""Remembered vertices of each block: z_i = sum_j mass_j v_j.

Each block keeps the vertices that its oracle has found, their masses, and the inner products
F v_j . F v_l, so that any number of exact steps between them costs O(slots) each. Slot 0 is a dense
anchor for what does not fit: its mass starts at zero, and the lightest vertex is folded into it
when room is needed, which leaves z_i where it is. Memory is bounded and the dual value never falls.

A vertex is stored as the list of its non-zeros, or where it is of zeros and ones and those are
many, as a bit per part. What steps need of it is its score a_i . v and, when masses have moved, the
change of w. With storage "vertices" both go by the parts that it has; with "images", for samples of
many parts and few weights, by its image F v and cost c . v, whatever the size of the sample. z_i is
made from the masses once an epoch.
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
from maxmargin._numba.packed_samples import (
    PACKED,
    WORKSPACE,
    add_costs,
    block_number,
    cost_of,
    first_block,
    part_dot,
    write_part_scores,
)
from maxmargin._numba.passes.block_step import block_change, inner_product
from maxmargin._numba.passes.weights import SQUARE, gather_within, scale_for, score_sample

INT = types.int64
FLOAT = types.float64
NEVER = -1e300  # the score of an anchor without mass: finite, so that differences stay numbers
WORD = 64  # parts in a word of bits


class VertexCache(NamedTuple):
    """Vertices and masses of n blocks, m slots per block."""

    count: np.ndarray  # (n,) slots in use, the anchor included
    mass: np.ndarray  # (n * m)
    gram: np.ndarray  # (n * m * (m + 1) / 2) products of slots with those before and themselves
    used: np.ndarray  # (n * m) epoch in which the slot last had mass
    active: np.ndarray  # (n * m) numbers of the slots that visits without the oracle look at,
    n_active: np.ndarray  # (n,) and how many they are
    anchor: np.ndarray  # (n_parts,) dense point of slot 0
    # vertices as lists: the non-zeros of slot s begin at entry_ptr[i] + (s - 1) * stride[i]
    length: np.ndarray  # (n * m) non-zeros of the vertex
    entry_ptr: np.ndarray  # (n,)
    stride: np.ndarray  # (n,)
    room: np.ndarray  # (n,)
    part: np.ndarray  # entries: number of the part,
    row: np.ndarray  # its row, both counted within the sample,
    label: np.ndarray  # its place in the row,
    value: np.ndarray  # and its value
    # or as bits: the words of slot s begin at word_ptr[i] + (s - 1) * n_words[i]
    n_words: np.ndarray  # (n,)
    word_ptr: np.ndarray  # (n,)
    word: np.ndarray  # empty if there are lists
    # images: that of slot s begins at image_ptr[i] + s * size[i]
    size: np.ndarray  # (n,) length of an image: the weights that the sample touches
    image_ptr: np.ndarray  # (n,)
    image: np.ndarray  # empty if there are none
    cost: np.ndarray  # (n * m) c . v
    # scratch of one visit
    score: np.ndarray  # (m) a_i . v of each slot
    start: np.ndarray  # (m) masses when the visit began
    dense: (
        np.ndarray
    )  # (m * m + 4 m) masses, scores and inner products of active slots, side by side
    stamp: (
        np.ndarray
    )  # (parts of the largest sample + 1) visit that last scored the part; at 0, this
    delta: np.ndarray  # (parts of the largest sample) change of z_i
    change: np.ndarray  # (weights of the largest sample) F_i times that change
    bits: np.ndarray  # (words of the largest sample) a vertex to look for

    def validate(self) -> None:
        """Nothing yet: arrays must go with those of a run, see `Solver.check_restored`."""


VERTEX_CACHE = tuple_type(
    VertexCache,
    dict.fromkeys(VertexCache._fields, FLOATS)
    | dict.fromkeys(("count", "used", "active", "n_active", "length", "entry_ptr", "room"), INTS)
    | dict.fromkeys(("n_words", "word_ptr", "word", "size", "image_ptr", "stamp", "bits"), INTS)
    | {"stride": INTS}
    | dict.fromkeys(("part", "row", "label"), SHORTS),
)


# -- where things are --------------------------------------------------------------------------
@compile_inlined
def first_entry(cache, i, slot):
    """Where the entries of a vertex start."""
    return cache.entry_ptr[i] + (slot - 1) * cache.stride[i]


@compile_inlined
def gram_of(cache, i):
    """The inner products of a block's vertices, see `product_place`."""
    size = len(cache.score) * (len(cache.score) + 1) // 2
    return cache.gram[i * size : (i + 1) * size]


@compile_inlined
def product_place(one, other):
    """Where the inner product of two slots is among those of a block."""
    high = max(one, other)
    return high * (high + 1) // 2 + min(one, other)


@compile_inlined
def image_of(cache, i, slot):
    """F v of a slot."""
    first = cache.image_ptr[i] + slot * cache.size[i]
    return cache.image[first : first + cache.size[i]]


@compile_inlined
def anchor_of(packed, i, cache):
    """The dense point of slot 0."""
    return cache.anchor[packed.part_ptr[i] : packed.part_ptr[i + 1]]


# -- scores ------------------------------------------------------------------------------------
@compile_inlined
def vertex_dot(cache, i, slot, theta):
    """Return theta . v of a slot with a list."""
    first = first_entry(cache, i, slot)
    total = 0.0
    for e in range(first, first + cache.length[i * len(cache.score) + slot]):
        total += theta[cache.part[e]] * cache.value[e]
    return total


@compile_inlined
def score_slot(part_ptr, i, theta, local, cache, slot):
    """a_i . v, by the weights `local` where there are images, else by the scores theta."""
    if len(cache.image) > 0:
        cost = cache.cost[i * len(cache.score) + slot]
        return inner_product(local[: cache.size[i]], image_of(cache, i, slot)) + cost
    if slot > 0:
        return vertex_dot(cache, i, slot, theta)
    anchor = cache.anchor[part_ptr[i] : part_ptr[i + 1]]
    return part_dot(theta, anchor, len(anchor))


# Arguments are what is needed of larger tuples: each array takes seven words in a call, and with a
# dozen more of them visits without the oracle were a third slower.
@compile_internal(FLOAT(INTS, INT, FLOATS, FLOATS, VERTEX_CACHE))
def score_slots(part_ptr, i, theta, local, cache):
    """Write score = a_i . v and start = mass of all active slots; returns a_i . z_i."""
    slots = len(cache.score)
    value = 0.0
    for a in range(cache.n_active[i]):
        slot = cache.active[i * slots + a]
        mass = cache.mass[i * slots + slot]
        cache.start[slot] = mass
        if slot == 0 and mass == 0.0:
            cache.score[0] = NEVER
            continue
        score = score_slot(part_ptr, i, theta, local, cache, slot)
        cache.score[slot] = score
        value += mass * score
    return value


@compile_internal(types.void(PACKED, INT, FLOATS, VERTEX_CACHE, FLOATS, FLOAT))
def score_listed_parts(packed, i, theta, cache, w, scale):
    """Let theta = scale * F_i^T w + c_i at the parts of the vertices that are active, only.

    The anchor is left out: the caller falls back to all parts where it has mass.
    """
    slots = len(cache.score)
    cache.stamp[0] += 1
    now = cache.stamp[0]
    first_row = packed.row_ptr[i]
    value, index, high = packed.value, packed.index, packed.index_high
    starts = packed.block_start[first_block(packed, i) :]
    is_one = len(value) == 0
    for a in range(cache.n_active[i]):
        slot = cache.active[i * slots + a]
        if slot == 0:
            continue
        first = first_entry(cache, i, slot)
        for e in range(first, first + cache.length[i * slots + slot]):
            p = cache.part[e]
            if cache.stamp[p + 1] == now:
                continue
            cache.stamp[p + 1] = now
            r, k = first_row + cache.row[e], cache.label[e]
            total = cost_of(packed, i, p, r, k)
            if len(high) > 0:  # two loops, as in `move_part`
                for x in range(packed.indptr[r], packed.indptr[r + 1]):
                    share = scale if is_one else scale * value[x]
                    total += share * w[np.int64(starts[block_number(index, high, x)]) + k]
            else:
                for x in range(packed.indptr[r], packed.indptr[r + 1]):
                    share = scale if is_one else scale * value[x]
                    total += share * w[np.int64(starts[index[x]]) + k]
            theta[p] = total


@compile_inlined
def score_cached(packed, i, workspace, cache, weights):
    """`score_slots` without scores of all parts, for visits without the oracle."""
    if len(cache.image) > 0:
        gather_within(packed, i, weights, workspace.local)
    elif cache.mass[i * len(cache.score)] > 0.0:
        score_sample(packed, i, weights, workspace)
    else:
        scale = scale_for(weights, weights.norm[SQUARE])
        score_listed_parts(packed, i, workspace.theta, cache, weights.clipped, scale)
    return score_slots(packed.part_ptr, i, workspace.theta, workspace.local, cache)


# -- which slots visits look at ------------------------------------------------------------------
@compile_inlined
def activate_all(cache, i):
    """Let visits look at every slot again."""
    slots = len(cache.score)
    cache.n_active[i] = cache.count[i]
    for slot in range(cache.count[i]):
        cache.active[i * slots + slot] = slot


@compile_inlined
def deactivate_low(cache, i, margin):
    """Leave out slots without mass whose score is more than `margin` below the best (shrinking)."""
    slots = len(cache.score)
    best = -np.inf
    for slot in range(cache.count[i]):
        best = max(best, cache.score[slot])
    n = 0
    for slot in range(cache.count[i]):
        if cache.mass[i * slots + slot] > 0.0 or cache.score[slot] > best - margin:
            cache.active[i * slots + n] = slot
            n += 1
    cache.n_active[i] = n


# -- vertices themselves -----------------------------------------------------------------------
@compile_internal(types.boolean(VERTEX_CACHE, FLOATS))
def pack_bits(cache, vertex):
    """Write a vertex to cache.bits; False if it is not of zeros and ones."""
    for j in range((len(vertex) + WORD - 1) // WORD):
        word = np.int64(0)
        for p in range(WORD * j, min(WORD * (j + 1), len(vertex))):
            if vertex[p] == 1.0:
                word |= np.int64(1) << np.int64(p - WORD * j)
            elif vertex[p] != 0.0:
                return False
        cache.bits[j] = word
    return True


@compile_internal(INT(VERTEX_CACHE, INT, FLOATS))
def find_slot(cache, i, vertex):
    """The slot that holds this vertex, packed in cache.bits where there are bits, or -1."""
    slots = len(cache.score)
    with_bits = len(cache.word) > 0
    n = cache.n_words[i]
    if not with_bits:
        n = 0
        for p in range(len(vertex)):
            n += vertex[p] != 0.0
    for slot in range(1, cache.count[i]):
        same = with_bits or cache.length[i * slots + slot] == n
        first = cache.word_ptr[i] + (slot - 1) * n if with_bits else first_entry(cache, i, slot)
        e = 0
        while same and e < n:
            if with_bits:
                same = cache.word[first + e] == cache.bits[e]
            else:
                same = vertex[cache.part[first + e]] == cache.value[first + e]
            e += 1
        if same:
            return slot
    return -1


@compile_internal(types.void(PACKED, INT, VERTEX_CACHE, INT, FLOATS))
def write_vertex(packed, i, cache, slot, vertex):
    """Store a vertex, packed in cache.bits where there are bits."""
    if len(cache.word) > 0:
        first = cache.word_ptr[i] + (slot - 1) * cache.n_words[i]
        for j in range(cache.n_words[i]):
            cache.word[first + j] = cache.bits[j]
        return
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


@compile_internal(types.void(VERTEX_CACHE, INT, INT, FLOAT, FLOATS))
def add_vertex(cache, i, slot, scale, point):
    """Let point += scale * v."""
    if len(cache.word) == 0:
        first = first_entry(cache, i, slot)
        for e in range(first, first + cache.length[i * len(cache.score) + slot]):
            point[cache.part[e]] += scale * cache.value[e]
        return
    first = cache.word_ptr[i] + (slot - 1) * cache.n_words[i]
    for j in range(cache.n_words[i]):
        word = cache.word[first + j]
        if word == 0:
            continue
        for p in range(WORD * j, min(WORD * (j + 1), len(point))):
            point[p] += scale * np.float64((word >> (p - WORD * j)) & 1)


# -- insertion -----------------------------------------------------------------------------------
@compile_internal(types.void(PACKED, INT, VERTEX_CACHE, INT))
def fold_slot(packed, i, cache, slot):
    """Give the mass of a slot to the anchor, which becomes the mean of the two."""
    slots = len(cache.score)
    mass = cache.mass[i * slots : (i + 1) * slots]
    gram = gram_of(cache, i)
    anchor = anchor_of(packed, i, cache)
    total = mass[0] + mass[slot]
    keep, take = mass[0] / total, mass[slot] / total
    for p in range(len(anchor)):
        anchor[p] *= keep
    add_vertex(cache, i, slot, take, anchor)
    if len(cache.image) > 0:
        image, other = image_of(cache, i, 0), image_of(cache, i, slot)
        for k in range(len(image)):
            image[k] = keep * image[k] + take * other[k]
        cost = cache.cost[i * slots : (i + 1) * slots]
        cost[0] = keep * cost[0] + take * cost[slot]
    own, mixed = gram[product_place(slot, slot)], gram[product_place(slot, 0)]
    gram[0] = keep * keep * gram[0] + 2.0 * keep * take * mixed + take * take * own
    for j in range(1, cache.count[i]):
        place = product_place(j, 0)
        gram[place] = keep * gram[place] + take * gram[product_place(slot, j)]
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
        activate_all(cache, i)
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
def write_products(packed, i, workspace, cache, slot):
    """Inner products of F v (v in workspace.vertex, remembered in `slot`) with those of all slots.

    And the image and the cost, where they are kept.
    """
    slots, gram = len(cache.score), gram_of(cache, i)
    block_change(packed, i, workspace)
    if len(cache.image) == 0:
        write_part_scores(packed, i, workspace.change, workspace.scratch)
        anchor = anchor_of(packed, i, cache)
        gram[product_place(slot, 0)] = part_dot(workspace.scratch, anchor, len(anchor))
        for other in range(1, cache.count[i]):
            product = vertex_dot(cache, i, other, workspace.scratch)
            gram[product_place(slot, other)] = product
        return
    image = image_of(cache, i, slot)
    for k in range(len(image)):
        image[k] = workspace.change[k]
    n = packed.part_ptr[i + 1] - packed.part_ptr[i]
    workspace.scratch[:n] = 0.0
    add_costs(packed, i, workspace.scratch)
    cache.cost[i * slots + slot] = part_dot(workspace.scratch, workspace.vertex, n)
    for other in range(cache.count[i]):
        product = inner_product(image, image_of(cache, i, other))
        gram[product_place(slot, other)] = product


@compile_internal(INT(PACKED, INT, WORKSPACE, VERTEX_CACHE, INT))
def store_vertex(packed, i, workspace, cache, now):
    """Remember workspace.vertex, with mass 0, unless it is known; returns its slot.

    -1: it is not of zeros and ones, and there is room for such only.
    """
    slots = len(cache.score)
    vertex = workspace.vertex[: packed.part_ptr[i + 1] - packed.part_ptr[i]]
    if len(cache.word) > 0 and not pack_bits(cache, vertex):
        return -1
    slot = find_slot(cache, i, vertex)
    if slot >= 0:
        return slot
    slot = free_slot(packed, i, cache)
    write_vertex(packed, i, cache, slot, vertex)
    cache.used[i * slots + slot] = now
    cache.mass[i * slots + slot] = 0.0
    cache.start[slot] = 0.0
    write_products(packed, i, workspace, cache, slot)
    cache.score[slot] = score_slot(
        packed.part_ptr, i, workspace.theta, workspace.local, cache, slot
    )
    return slot


@compiled_function(types.void(PACKED, INT, INT, WORKSPACE, VERTEX_CACHE, FLOATS))
def start_vertex_cache(packed, begin, end, workspace, cache, z):
    """Give the blocks begin <= i < end their z_i: in slot 1 as a vertex if they fit, else as
    anchor.
    """
    slots, origin = len(cache.score), packed.part_ptr[begin]
    for i in range(begin, end):
        point = z[packed.part_ptr[i] - origin : packed.part_ptr[i + 1] - origin]
        vertex = workspace.vertex[: len(point)]
        count = 0
        for p in range(len(point)):
            count += point[p] != 0.0
            vertex[p] = point[p]
        fits = count <= cache.room[i]
        if len(cache.word) > 0:
            fits = pack_bits(cache, vertex)
        slot = 1 if fits else 0
        cache.count[i] = slot + 1
        cache.mass[i * slots + slot] = 1.0
        if fits:
            write_vertex(packed, i, cache, 1, vertex)
        else:
            anchor = anchor_of(packed, i, cache)
            for p in range(len(point)):
                anchor[p] = point[p]
        write_products(packed, i, workspace, cache, slot)


@compiled_function(types.void(PACKED, VERTEX_CACHE, FLOATS))
def rebuild_points(packed, cache, z):
    """z_i = sum_j mass_j v_j for all blocks."""
    slots = len(cache.score)
    for i in range(len(packed.weight)):
        first, last = packed.part_ptr[i], packed.part_ptr[i + 1]
        point = z[first:last]
        mass = cache.mass[i * slots]
        for p in range(len(point)):
            point[p] = mass * cache.anchor[first + p] if mass > 0.0 else 0.0
        for slot in range(1, cache.count[i]):
            if cache.mass[i * slots + slot] > 0.0:
                add_vertex(cache, i, slot, cache.mass[i * slots + slot], point)


@compiled_function(INT(PACKED, VERTEX_CACHE, INTS, SHORTS, FLOATS))
def collect_points(packed, cache, ptr, part, value):
    """The same for vertices in lists, by non-zeros, see `Points`; returns how many there are."""
    slots = len(cache.score)
    n = 0
    for i in range(len(packed.weight)):
        if cache.mass[i * slots] > 0.0:
            anchor = anchor_of(packed, i, cache)
            for p in range(len(anchor)):
                cache.delta[p] = cache.mass[i * slots] * anchor[p]
        for slot in range(1, cache.count[i]):
            if cache.mass[i * slots + slot] > 0.0:
                add_vertex(cache, i, slot, cache.mass[i * slots + slot], cache.delta)
        for slot in range(cache.count[i]):
            if cache.mass[i * slots + slot] == 0.0:
                continue
            first = first_entry(cache, i, slot)
            size = packed.part_ptr[i + 1] - packed.part_ptr[i]
            for e in range(size if slot == 0 else cache.length[i * slots + slot]):
                p = e if slot == 0 else np.int64(cache.part[first + e])
                if cache.delta[p] != 0.0:
                    part[n], value[n] = p, cache.delta[p]
                    cache.delta[p] = 0.0
                    n += 1
        ptr[i + 1] = n
    return n
