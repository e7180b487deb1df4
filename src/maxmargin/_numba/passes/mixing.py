"""What a shard does around a visit: room and masses before it, mixtures and changes after it."""

from __future__ import annotations

from maxmargin._numba.compile import FLOATS, INTS, PLACES, compiled_function, types
from maxmargin._numba.packed_samples import PACKED, WORKSPACE, add_costs, cost_of, part_dot
from maxmargin._numba.passes.vertex_cache import (
    FLOAT,
    INT,
    VERTEX_CACHE,
    activate_all,
    anchor_of,
    first_entry,
    fold_slot,
)


@compiled_function(types.void(PACKED, VERTEX_CACHE, INTS))
def make_room(packed, cache, order):
    """Fold the lightest vertex of samples whose slots all have mass, which leaves z where it is.

    One new vertex of each then takes a slot without mass, and `mix_masses` loses none.
    """
    slots = len(cache.score)
    for i in order:
        if cache.count[i] < slots:
            continue
        lightest = 1
        for slot in range(1, slots):
            if cache.mass[i * slots + slot] < cache.mass[i * slots + lightest]:
                lightest = slot
        if cache.mass[i * slots + lightest] > 0.0:
            fold_slot(packed, i, cache, lightest)
            activate_all(cache, i)  # the anchor has mass now


@compiled_function(types.void(VERTEX_CACHE, INTS, FLOATS, FLOAT))
def mix_masses(cache, order, noted, share):
    """Let masses be `share` of theirs and the rest those that were noted before a visit."""
    slots = len(cache.score)
    for i in order:
        for slot in range(cache.count[i]):
            k = i * slots + slot
            cache.mass[k] = share * cache.mass[k] + (1.0 - share) * noted[k]
        activate_all(cache, i)


@compiled_function(FLOAT(PACKED, WORKSPACE, VERTEX_CACHE, INTS, FLOATS))
def loss_of_masses(packed, workspace, cache, order, noted):
    """How much more the weighted loss is at the present masses than at those noted."""
    slots = len(cache.score)
    total = 0.0
    for i in order:
        change = 0.0
        for slot in range(cache.count[i]):
            k = i * slots + slot
            step = cache.mass[k] - noted[k]
            if step == 0.0:
                continue
            cost = 0.0
            if len(cache.image) > 0:
                cost = cache.cost[k]
            elif slot == 0:
                anchor = anchor_of(packed, i, cache)
                workspace.scratch[: len(anchor)] = 0.0
                add_costs(packed, i, workspace.scratch)
                cost = part_dot(workspace.scratch, anchor, len(anchor))
            else:
                first = first_entry(cache, i, slot)
                for e in range(first, first + cache.length[k]):
                    r, p = packed.row_ptr[i] + cache.row[e], cache.part[e]
                    cost += cache.value[e] * cost_of(packed, i, p, r, cache.label[e])
            change += step * cost
        total += packed.weight[i] * change
    return total


@compiled_function(INT(FLOATS, FLOATS, PLACES, FLOATS, FLOATS))
def collect_changes(w, base, places, change, sums):
    """Where w is not `base`, and by how much; returns in how many places.

    sums (2,) receives base . change and |change|^2.
    """
    n, inner, square = 0, 0.0, 0.0
    for k in range(len(w)):
        if w[k] != base[k]:
            own = w[k] - base[k]
            places[n], change[n] = k, own
            inner += base[k] * own
            square += own * own
            n += 1
    sums[0], sums[1] = inner, square
    return n


@compiled_function(types.void(PLACES, PLACES, FLOATS, FLOATS, FLOATS))
def follow_direction(touched, places, step, base, w):
    """Let base += step, and w be base, at places of all weights as far as they are touched.

    touched, places : in rising order. base, w : of the touched ones.
    """
    n, k = len(touched), 0
    for e in range(len(places)):
        p = places[e]
        while k + 8 < n and touched[k + 8] < p:
            k += 8
        while k < n and touched[k] < p:
            k += 1
        if k == n:
            break
        if touched[k] == p:
            base[k] += step[e]
            w[k] = base[k]


@compiled_function(types.void(PLACES, FLOATS, FLOATS, FLOATS, FLOAT))
def add_direction(places, step, w, correction, total):
    """Let w += step and, unless it is empty, correction += total * step."""
    averaged = len(correction) > 0
    for e in range(len(places)):
        w[places[e]] += step[e]
        if averaged:
            correction[places[e]] += total * step[e]


@compiled_function(FLOAT(PLACES, FLOATS, PLACES, FLOATS))
def sparse_product(places, values, others, other_values):
    """Inner product of two vectors given by their non-zeros, in rising order of their places."""
    total, e = 0.0, 0
    for k in range(len(places)):
        while e < len(others) and others[e] < places[k]:
            e += 1
        if e == len(others):
            break
        if others[e] == places[k]:
            total += values[k] * other_values[e]
    return total
