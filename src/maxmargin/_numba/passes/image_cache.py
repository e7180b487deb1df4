"""Remembered vertices by what they mean for w: their images F v and their costs c . v.

For samples of many parts and few weights. The score of a vertex is w . F v + c . v, so that a visit
without the oracle costs O(slots * weights), whatever the size of the sample. Masses, inner products
and steps are those of `vertex cache`; its lists of non-zeros stay empty. The vertices themselves,
a bit per part where they are of zeros and ones, are read only to rebuild z_i = sum_j mass_j v_j.
Slot 0 is the dense anchor, as there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin._numba.compile import (
    FLOATS,
    INTS,
    compile_inlined,
    compile_internal,
    compiled_function,
    tuple_type,
    types,
)
from maxmargin._numba.packed_samples import PACKED, WORKSPACE, part_dot
from maxmargin._numba.passes.block_step import block_change
from maxmargin._numba.passes.vertex_cache import FLOAT, INT, NEVER, VERTEX_CACHE, wake_all

WORD = 64


class ImageCache(NamedTuple):
    """Images, costs and packed vertices of n blocks, m slots per block."""

    size: np.ndarray  # (n,) weights that the sample touches,
    image_ptr: np.ndarray  # (n,) and where the images of its slots start
    image: np.ndarray  # F v of all slots, the anchor included
    cost: np.ndarray  # (n * m) c . v
    length: np.ndarray  # (n,) words, or values, of a packed vertex,
    pack_ptr: np.ndarray  # (n,) and where those of slot 1 start
    word: np.ndarray  # vertices of zeros and ones, 64 parts per word; or empty,
    value: np.ndarray  # and they are here as they are
    gap: np.ndarray  # (n,) gap among the remembered vertices at the last visit without the oracle
    change: np.ndarray  # (weights of the largest sample) scratch
    packed: np.ndarray  # (words of the largest sample) scratch

    def validate(self) -> None:
        """Nothing yet: arrays must go with those of a run, see `Solver.check_restored`."""


IMAGE_CACHE = tuple_type(
    ImageCache,
    dict.fromkeys(ImageCache._fields, INTS)
    | dict.fromkeys(("image", "cost", "value", "gap", "change"), FLOATS),
)


@compile_inlined
def image_of(images, i, slot):
    """F v of a slot."""
    first = images.image_ptr[i] + slot * images.size[i]
    return images.image[first : first + images.size[i]]


@compile_internal(FLOAT(FLOATS, FLOATS), reorder=True)
def inner_product(a, b):
    """A . b."""
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@compile_internal(FLOAT(INT, WORKSPACE, VERTEX_CACHE, IMAGE_CACHE))
def recall_images(i, workspace, cache, images):
    """Score = a_i . v and start = mass of all slots that are awake; returns a_i . z_i.

    workspace.local: the weights that the sample touches.
    """
    slots = len(cache.score)
    local = workspace.local[: images.size[i]]
    value = 0.0
    for a in range(cache.n_awake[i]):
        slot = cache.awake[i * slots + a]
        mass = cache.mass[i * slots + slot]
        cache.start[slot] = mass
        if slot == 0 and mass == 0.0:
            cache.score[0] = NEVER
            continue
        score = inner_product(local, image_of(images, i, slot)) + images.cost[i * slots + slot]
        cache.score[slot] = score
        value += mass * score
    return value


@compile_internal(types.boolean(IMAGE_CACHE, FLOATS))
def pack_vertex(images, vertex):
    """Write a vertex to images.packed; False if it is not of zeros and ones."""
    for j in range((len(vertex) + WORD - 1) // WORD):
        word = np.int64(0)
        for p in range(WORD * j, min(WORD * (j + 1), len(vertex))):
            if vertex[p] == 1.0:
                word |= np.int64(1) << np.int64(p - WORD * j)
            elif vertex[p] != 0.0:
                return False
        images.packed[j] = word
    return True


@compile_internal(types.boolean(INT, IMAGE_CACHE, INT, FLOATS))
def same_vertex(i, images, slot, vertex):
    """Whether a slot holds this vertex, which has been packed."""
    first = images.pack_ptr[i] + (slot - 1) * images.length[i]
    for j in range(images.length[i]):
        if len(images.value) > 0:
            if images.value[first + j] != vertex[j]:
                return False
        elif images.word[first + j] != images.packed[j]:
            return False
    return True


@compile_internal(types.void(INT, IMAGE_CACHE, INT, FLOATS))
def store_vertex(i, images, slot, vertex):
    """Keep a vertex, which has been packed."""
    first = images.pack_ptr[i] + (slot - 1) * images.length[i]
    for j in range(images.length[i]):
        if len(images.value) > 0:
            images.value[first + j] = vertex[j]
        else:
            images.word[first + j] = images.packed[j]


@compile_internal(types.void(INT, IMAGE_CACHE, INT, FLOAT, FLOATS))
def add_vertex(i, images, slot, scale, point):
    """Point += scale * v."""
    first = images.pack_ptr[i] + (slot - 1) * images.length[i]
    if len(images.value) > 0:
        for p in range(len(point)):
            point[p] += scale * images.value[first + p]
        return
    for j in range(images.length[i]):
        word = images.word[first + j]
        if word == 0:
            continue
        for p in range(WORD * j, min(WORD * (j + 1), len(point))):
            point[p] += scale * np.float64((word >> (p - WORD * j)) & 1)


@compile_internal(types.void(PACKED, INT, VERTEX_CACHE, IMAGE_CACHE, INT))
def fold_image(packed, i, cache, images, slot):
    """Give the mass of a slot to the anchor, which becomes the mean of the two."""
    slots = len(cache.score)
    mass = cache.mass[i * slots : (i + 1) * slots]
    gram = cache.gram[i * slots * slots : (i + 1) * slots * slots]
    cost = images.cost[i * slots : (i + 1) * slots]
    anchor = cache.anchor[packed.part_ptr[i] : packed.part_ptr[i + 1]]
    total = mass[0] + mass[slot]
    keep, take = mass[0] / total, mass[slot] / total
    for p in range(len(anchor)):
        anchor[p] *= keep
    add_vertex(i, images, slot, take, anchor)
    image, other = image_of(images, i, 0), image_of(images, i, slot)
    for k in range(len(image)):
        image[k] = keep * image[k] + take * other[k]
    cost[0] = keep * cost[0] + take * cost[slot]
    own = gram[slot * slots + slot]
    gram[0] = keep * keep * gram[0] + 2.0 * keep * take * gram[slot] + take * take * own
    for j in range(1, cache.count[i]):
        mixed = keep * gram[j] + take * gram[slot * slots + j]
        gram[j], gram[j * slots] = mixed, mixed
    if keep == 0.0:
        cache.score[0] = cache.score[slot]
    else:
        cache.score[0] = keep * cache.score[0] + take * cache.score[slot]
    mass[0], mass[slot] = total, 0.0
    cache.start[0], cache.start[slot] = total, 0.0


@compile_internal(INT(PACKED, INT, VERTEX_CACHE, IMAGE_CACHE))
def free_image(packed, i, cache, images):
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
    fold_image(packed, i, cache, images, lightest)
    return lightest


@compile_internal(types.void(PACKED, INT, WORKSPACE, VERTEX_CACHE, IMAGE_CACHE, INT))
def write_image(packed, i, workspace, cache, images, slot):
    """Image and cost of workspace.vertex, and its inner products with all slots."""
    slots = len(cache.score)
    gram = cache.gram[i * slots * slots : (i + 1) * slots * slots]
    block_change(packed, i, workspace)
    image = image_of(images, i, slot)
    for k in range(len(image)):
        image[k] = workspace.change[k]
    first, last = packed.part_ptr[i], packed.part_ptr[i + 1]
    images.cost[i * slots + slot] = 0.0
    if len(packed.costs) > 0:
        costs = packed.costs[first:last]
        images.cost[i * slots + slot] = part_dot(costs, workspace.vertex, last - first)
    for other in range(cache.count[i]):
        product = inner_product(image, image_of(images, i, other))
        gram[slot * slots + other], gram[other * slots + slot] = product, product


@compile_internal(INT(PACKED, INT, WORKSPACE, VERTEX_CACHE, IMAGE_CACHE, INT))
def learn_image(packed, i, workspace, cache, images, now):
    """Remember workspace.vertex, with mass 0, unless it is known; returns its slot.

    -1: it is not of zeros and ones, and there is room for such only.
    """
    slots = len(cache.score)
    vertex = workspace.vertex[: packed.part_ptr[i + 1] - packed.part_ptr[i]]
    if len(images.value) == 0 and not pack_vertex(images, vertex):
        return -1
    for slot in range(1, cache.count[i]):
        if same_vertex(i, images, slot, vertex):
            return slot
    slot = free_image(packed, i, cache, images)
    store_vertex(i, images, slot, vertex)
    cache.mass[i * slots + slot] = 0.0
    cache.start[slot] = 0.0
    cache.used[i * slots + slot] = now
    write_image(packed, i, workspace, cache, images, slot)
    score = inner_product(workspace.local[: images.size[i]], image_of(images, i, slot))
    cache.score[slot] = score + images.cost[i * slots + slot]
    return slot


@compiled_function(types.void(PACKED, WORKSPACE, VERTEX_CACHE, IMAGE_CACHE, FLOATS))
def start_image_cache(packed, workspace, cache, images, z):
    """Give each block its z_i: as the vertex in slot 1 if it can be packed, else as anchor."""
    slots = len(cache.score)
    for i in range(len(packed.weight)):
        first, last = packed.part_ptr[i], packed.part_ptr[i + 1]
        vertex = workspace.vertex[: last - first]
        for p in range(len(vertex)):
            vertex[p] = z[first + p]
        slot = 1 if len(images.value) > 0 or pack_vertex(images, vertex) else 0
        cache.count[i] = slot + 1
        cache.mass[i * slots + slot] = 1.0
        if slot == 1:
            store_vertex(i, images, 1, vertex)
        else:
            for p in range(len(vertex)):
                cache.anchor[first + p] = vertex[p]
        write_image(packed, i, workspace, cache, images, slot)


@compiled_function(types.void(PACKED, VERTEX_CACHE, IMAGE_CACHE, FLOATS))
def rebuild_point(packed, cache, images, z):
    """z_i = sum_j mass_j v_j for all blocks."""
    slots = len(cache.score)
    for i in range(len(packed.weight)):
        first, last = packed.part_ptr[i], packed.part_ptr[i + 1]
        point = z[first:last]
        share = cache.mass[i * slots]
        for p in range(len(point)):
            point[p] = share * cache.anchor[first + p] if share > 0.0 else 0.0
        for slot in range(1, cache.count[i]):
            if cache.mass[i * slots + slot] > 0.0:
                add_vertex(i, images, slot, cache.mass[i * slots + slot], point)
