"""Steps between remembered vertices of a block, and how they reach w."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import FLOATS, INTS, compile_inlined, compile_internal, types
from maxmargin._numba.packed_samples import PACKED, block_number, first_block
from maxmargin._numba.passes.vertex_cache import (
    FLOAT,
    INT,
    VERTEX_CACHE,
    anchor_of,
    first_entry,
    gram_of,
    image_of,
    product_place,
)
from maxmargin._numba.passes.weights import SQUARE, WEIGHTS, clip_weight, is_free, move_weights

#: of the terms of a sum that cancels: what rounding may leave of it
CANCELLED = 1e-12


@compile_inlined
def overshoot_length(start, active, step, score, before, relaxation):
    """How far to go along `step`, the change of masses: `relaxation` times its best length.

    Over-relaxation below 2 keeps the dual rising and cures the slow zigzag between blocks that
    share weights (successive over-relaxation). Scores are taken relative to the best, which
    changes nothing while the steps add up to zero and keeps rounding out of the slope.
    """
    best = before[0]
    for a in range(1, len(active)):
        best = max(best, before[a])
    slope, curvature, largest = 0.0, 0.0, 0.0
    for a in range(len(active)):
        if step[a] != 0.0:
            slope += (before[a] - best) * step[a]
            curvature += (before[a] - score[a]) * step[a]
            largest = max(largest, abs(step[a]))
    if relaxation == 1.0 or largest < 1e-10 or curvature <= 0.0 or slope <= 0.0:
        return 1.0
    length = min(2.0, relaxation * slope / curvature)
    for a in range(len(active)):
        if step[a] < 0.0:
            length = min(length, -start[active[a]] / step[a])
    return length


@compile_internal(INT(INTS, *[FLOATS] * 5, FLOAT, INT, FLOAT, FLOAT))
def exchange_masses(
    active, own_mass, gram, own_score, start, dense, rate, limit, tolerance, relaxation
):
    """Exact steps between pairs of slots that are active until scores agree; returns how many.

    own_mass, gram, own_score, start: of all slots of the block. rate = omega / alpha. Of the slots
    with mass, the one whose exchange with the best slot raises the dual most gives (second-order
    choice, Fan, Chen and Lin 2005).
    """
    n = len(active)
    # the active slots side by side: a third faster than through their numbers
    mass, score = dense[:n], dense[n : 2 * n]
    before, step = dense[2 * n : 3 * n], dense[3 * n : 4 * n]
    hessian = dense[4 * n : (4 + n) * n]
    for a in range(n):
        mass[a] = own_mass[active[a]]
        score[a] = own_score[active[a]]
        before[a], step[a] = score[a], 0.0
        for b in range(a + 1):
            product = rate * gram[product_place(active[a], active[b])]
            hessian[a * n + b], hessian[b * n + a] = product, product
    steps = 0
    while steps < limit:
        high = 0
        for b in range(1, n):
            if score[b] > score[high]:
                high = b
        best = score[high]
        row = hessian[high * n : (high + 1) * n]
        low, gain, curvature, widest = -1, 0.0, 0.0, 0.0
        for b in range(n):
            rise = best - score[b]
            if mass[b] == 0.0 or rise <= 0.0:
                continue
            widest = max(widest, rise)
            own = row[high] + hessian[b * n + b] - 2.0 * row[b]
            raised = mass[b] * (rise - 0.5 * own * mass[b])
            if rise < own * mass[b]:
                raised = 0.5 * rise * rise / own
            if raised > gain:
                low, gain, curvature = b, raised, own
        if low < 0 or widest <= tolerance:
            break
        rise = best - score[low]
        move = mass[low]
        if rise < curvature * move:
            move = rise / curvature
            mass[low] -= move
        else:
            mass[low] = 0.0
        mass[high] += move
        # moves are summed by themselves: as differences of masses, small ones would be lost
        step[low] -= move
        step[high] += move
        other = hessian[low * n : (low + 1) * n]
        for b in range(n):
            score[b] -= move * (row[b] - other[b])
        steps += 1
    length = overshoot_length(start, active, step, score, before, relaxation)
    total, heaviest = 0.0, 0
    for a in range(n):
        moved = start[active[a]] + length * step[a]
        mass[a] = moved if moved > 1e-15 else 0.0
        total += mass[a]
        if mass[a] > mass[heaviest]:
            heaviest = a
    mass[heaviest] += 1.0 - total  # rounding never adds up
    for a in range(n):
        own_mass[active[a]] = mass[a]
        own_score[active[a]] = before[a] + length * (score[a] - before[a])
    return steps


@compile_internal(types.void(VERTEX_CACHE, INT, FLOAT, FLOAT))
def shift_masses(cache, i, rate, gap):
    """The Frank-Wolfe step: all masses shrink alike in favour of the best slot."""
    slots = len(cache.score)
    active = cache.active[i * slots : i * slots + cache.n_active[i]]
    mass = cache.mass[i * slots : (i + 1) * slots]
    gram, score = gram_of(cache, i), cache.score
    high = active[0]
    for j in active:
        if score[j] > score[high]:
            high = j
    curvature = gram[product_place(high, high)]
    size = curvature
    for j in active:
        curvature -= 2.0 * mass[j] * gram[product_place(high, j)]
        size += mass[j] * gram[product_place(j, j)]
        for k in active:
            curvature += mass[j] * mass[k] * gram[product_place(j, k)]
    # rounding may leave less than there is of it: a step that is too long would lower the dual
    curvature = max(curvature, CANCELLED * size)
    step = 1.0 if gap >= rate * curvature else gap / (rate * curvature)
    for j in active:
        mass[j] *= 1.0 - step
    mass[high] += step


@compile_inlined
def move_masses(packed, i, cache, alpha, limit, relaxation, gap):
    """Frank-Wolfe step (limit 0) or at most `limit` exchanges between the slots that are active."""
    rate = packed.weight[i] / alpha
    if limit == 0:
        shift_masses(cache, i, rate, gap)
    else:
        slots = len(cache.score)
        first = i * slots
        exchange_masses(
            cache.active[first : first + cache.n_active[i]],
            cache.mass[first : first + slots],
            gram_of(cache, i),
            cache.score,
            cache.start,
            cache.dense,
            rate,
            limit,
            0.1 * gap,
            relaxation,
        )


@compile_internal(types.void(PACKED, INT, VERTEX_CACHE, FLOAT, WEIGHTS))
def apply_images(packed, i, cache, alpha, weights):
    """Carry the change of masses since `score_slots` over to w, by images."""
    slots = len(cache.score)
    change = cache.change[: cache.size[i]]
    change[:] = 0.0
    for a in range(cache.n_active[i]):
        slot = cache.active[i * slots + a]
        step = cache.mass[i * slots + slot] - cache.start[slot]
        if step != 0.0:
            image = image_of(cache, i, slot)
            for k in range(len(change)):
                change[k] += step * image[k]
    move_weights(packed, i, change, -packed.weight[i] / alpha, weights)


@compile_inlined
def move_weight(weights, place, change, before, free):
    """Let one weight follow a step; returns the rise of |P(v)|^2.

    before : A before this step. free : `is_free`, a constant; the rise is then not known.
    """
    v, correction = weights.v, weights.average.correction
    if free:
        v[place] += change
        if len(correction) > 0:
            correction[place] += before * change
        return 0.0
    clipped, low, high = weights.clipped, weights.low, weights.high
    old, new = clipped[place], v[place] + change
    v[place] = new
    if len(low) > 0:
        new = clip_weight(new, low[place], high[place])
        clipped[place] = new
    if len(correction) > 0:
        correction[place] += before * (new - old)
    return (new - old) * (new + old)


@compile_inlined
def move_part(packed, starts, step, r, k, scale, weights, before, free):
    """Let w follow a step in z_i at the k-th part of row r; returns the rise of |P(v)|^2.

    starts : those of the sample's blocks. before, free : as above.
    """
    value, index, high = packed.value, packed.index, packed.index_high
    is_one = len(value) == 0
    change, rise = scale * step, 0.0
    # two loops, because one that looks for high bits each time is slower by a fifth
    if len(high) > 0:
        for x in range(packed.indptr[r], packed.indptr[r + 1]):
            if not is_one:
                change = scale * step * value[x]
            place = np.int64(starts[block_number(index, high, x)]) + k
            rise += move_weight(weights, place, change, before, free)
    else:
        for x in range(packed.indptr[r], packed.indptr[r + 1]):
            if not is_one:
                change = scale * step * value[x]
            place = np.int64(starts[index[x]]) + k
            rise += move_weight(weights, place, change, before, free)
    return rise


@compile_inlined
def move_parts(packed, i, cache, alpha, weights, free):
    """Carry the change of masses since `score_slots` over to w, part by part."""
    slots = len(cache.score)
    scale, before = -packed.weight[i] / alpha, weights.average.total[0]
    first_row, rise = packed.row_ptr[i], 0.0
    starts = packed.block_start[first_block(packed, i) :]
    for a in range(cache.n_active[i]):
        slot = cache.active[i * slots + a]
        step = cache.mass[i * slots + slot] - cache.start[slot]
        if step == 0.0:
            continue
        if slot == 0:
            anchor, p = anchor_of(packed, i, cache), 0
            for r in range(first_row, packed.row_ptr[i + 1]):
                for k in range(packed.width[r]):
                    if anchor[p] != 0.0:
                        moved = step * anchor[p]
                        rise += move_part(packed, starts, moved, r, k, scale, weights, before, free)
                    p += 1
            continue
        first = first_entry(cache, i, slot)
        for e in range(first, first + cache.length[i * slots + slot]):
            cache.delta[cache.part[e]] += step * cache.value[e]
    for a in range(cache.n_active[i]):
        slot = cache.active[i * slots + a]
        if slot > 0 and cache.mass[i * slots + slot] != cache.start[slot]:
            first = first_entry(cache, i, slot)
            for e in range(first, first + cache.length[i * slots + slot]):
                p = cache.part[e]
                step = cache.delta[p]
                if step != 0.0:
                    cache.delta[p] = 0.0
                    r, k = first_row + cache.row[e], cache.label[e]
                    rise += move_part(packed, starts, step, r, k, scale, weights, before, free)
    weights.norm[SQUARE] += rise


# Two functions, because one that looks at the domain for each weight is slower by a third.
@compile_internal(types.void(PACKED, INT, VERTEX_CACHE, FLOAT, WEIGHTS))
def apply_vertices(packed, i, cache, alpha, weights):
    """`move_parts` where w may be anything."""
    move_parts(packed, i, cache, alpha, weights, True)


@compile_internal(types.void(PACKED, INT, VERTEX_CACHE, FLOAT, WEIGHTS))
def apply_vertices_within(packed, i, cache, alpha, weights):
    """`move_parts` in a domain."""
    move_parts(packed, i, cache, alpha, weights, False)


@compile_inlined
def apply_masses(packed, i, cache, now, alpha, weights):
    """Carry the change of masses since `score_slots` over to w."""
    slots = len(cache.score)
    moved = False
    for a in range(cache.n_active[i]):
        slot = cache.active[i * slots + a]
        mass = cache.mass[i * slots + slot]
        if mass > 0.0:
            cache.used[i * slots + slot] = now
        moved = moved or mass != cache.start[slot]
    if moved and len(cache.image) > 0:
        apply_images(packed, i, cache, alpha, weights)
    elif moved and is_free(weights):
        apply_vertices(packed, i, cache, alpha, weights)
    elif moved:
        apply_vertices_within(packed, i, cache, alpha, weights)
