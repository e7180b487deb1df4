"""Cutting planes: remembered outputs of samples, joint cuts, and the small quadratic program."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import (
    FLOATS,
    INTS,
    SHORTS,
    compile_internal,
    compiled_function,
    types,
)
from maxmargin._numba.packed_samples import PACKED, WORKSPACE, block_number, cost_of, first_block

INT = types.int64
FLOAT = types.float64


@compiled_function(FLOAT(FLOATS, INT, FLOATS, FLOAT, FLOATS, FLOATS, FLOAT, INT))
def ascend_masses(gram, room, loss, alpha, mass, slope, tolerance, limit):
    """Maximise mass . loss - |sum_j mass_j b_j|^2 / (2 alpha) over the simplex, in place.

    gram: b_j . b_l, rows of length `room`; slope: scratch. Each step moves mass from one cut to the
    one of the steepest slope, the giver being the one that gains most. Ends when the best slope is
    within `tolerance` of the mean one, which bounds what is left to gain. Returns that bound.
    """
    k = len(mass)
    for j in range(k):
        total = 0.0
        for other in range(k):
            total += gram[j * room + other] * mass[other]
        slope[j] = loss[j] - total / alpha
    gap = 0.0
    for _ in range(limit + 1):
        high, mean = 0, 0.0
        for j in range(k):
            mean += mass[j] * slope[j]
            if slope[j] > slope[high]:
                high = j
        gap = slope[high] - mean
        if gap <= tolerance:
            break
        low, gain, bend = -1, 0.0, 0.0
        for j in range(k):
            rise = slope[high] - slope[j]
            if mass[j] == 0.0 or rise <= 0.0:
                continue
            bent = gram[high * room + high] + gram[j * room + j] - 2.0 * gram[high * room + j]
            bent = max(bent, 0.0) / alpha
            raised = mass[j] * (rise - 0.5 * bent * mass[j])
            if rise < bent * mass[j]:
                raised = 0.5 * rise * rise / bent
            if raised > gain:
                low, gain, bend = j, raised, bent
        if low < 0:
            break
        rise, move = slope[high] - slope[low], mass[low]
        if rise < bend * move:
            move = rise / bend
            mass[low] -= move
        else:
            mass[low] = 0.0
        mass[high] += move
        for j in range(k):
            slope[j] -= move * (gram[high * room + j] - gram[low * room + j]) / alpha
    return gap


@compile_internal(INT(FLOATS, INT, INT, INTS))
def checksum_vertex(vertex, first, last, count):
    """A checksum of the non-zeros of vertex[first:last], whose number goes to count[0]."""
    total, n = np.uint64(1469598103934665603), 0
    for p in range(first, last):
        if vertex[p] != 0.0:
            n += 1
            for word in (np.int64(p - first), np.int64(vertex[p] * 4096.0)):
                total = (total ^ np.uint64(word)) * np.uint64(1099511628211)
    count[0] = n
    return np.int64(total >> np.uint64(1))


@compiled_function(
    types.void(INTS, INTS, INTS, INTS, INTS, SHORTS, FLOATS, FLOATS, INTS, INTS, INTS)
)
def find_outputs(part_ptr, head, older, key, entry_ptr, part, value, vertex, ids, found, length):
    """ids[i] = the remembered output of sample i that equals its share of `vertex`, or -1.

    found, length: checksum and number of non-zeros of each share. Outputs of a sample are a list,
    from head[i] on through `older`.
    """
    for i in range(len(head)):
        first = part_ptr[i]
        found[i] = checksum_vertex(vertex, first, part_ptr[i + 1], length[i : i + 1])
        ids[i] = -1
        p = head[i]
        while p >= 0 and ids[i] < 0:
            start = entry_ptr[p]
            if key[p] == found[i] and entry_ptr[p + 1] - start == length[i]:
                same = True
                for e in range(start, entry_ptr[p + 1]):
                    wanted = value[e] if len(value) > 0 else 1.0
                    same = same and vertex[first + part[e]] == wanted
                if same:
                    ids[i] = p
            p = older[p]


@compiled_function(types.void(INTS, FLOATS, INTS, INTS, INTS, SHORTS, FLOATS))
def write_outputs(part_ptr, vertex, sample, new, entry_ptr, part, value):
    """Store the shares of `vertex` of the samples of the outputs `new`."""
    for p in new:
        e, first = entry_ptr[p], part_ptr[sample[p]]
        for q in range(first, part_ptr[sample[p] + 1]):
            if vertex[q] != 0.0:
                part[e] = q - first
                if len(value) > 0:
                    value[e] = vertex[q]
                e += 1


@compiled_function(types.void(INTS, INTS, INTS, SHORTS, FLOATS, INTS, FLOATS, FLOATS))
def add_outputs(part_ptr, sample, entry_ptr, part, value, outputs, share, z):
    """Add to z: share * output, for each of these outputs."""
    for a in range(len(outputs)):
        p = outputs[a]
        first = part_ptr[sample[p]]
        for e in range(entry_ptr[p], entry_ptr[p + 1]):
            z[first + part[e]] += share[a] * (value[e] if len(value) > 0 else 1.0)


@compiled_function(
    types.void(PACKED, WORKSPACE, INTS, INTS, INTS, SHORTS, FLOATS, FLOATS, INTS, INTS)
)
def best_outputs(packed, workspace, head, older, entry_ptr, part, value, w, ids, stamp):
    """ids[i] = the remembered output of sample i with the highest a_i . v.

    Only parts that some output has are scored, each once: stamp says which are.
    """
    index, high = packed.index, packed.index_high
    for i in range(len(head)):
        starts = packed.block_start[first_block(packed, i) :]
        stamp[0] += 1
        best, ids[i] = -np.inf, head[i]
        p = head[i] if packed.weight[i] > 0.0 else -1
        while p >= 0:
            score, base, r = 0.0, 0, packed.row_ptr[i]
            for e in range(entry_ptr[p], entry_ptr[p + 1]):
                q = np.int64(part[e])
                while q >= base + packed.width[r]:
                    base += packed.width[r]
                    r += 1
                if stamp[q + 1] != stamp[0]:
                    stamp[q + 1] = stamp[0]
                    own = cost_of(packed, i, q, r, q - base)
                    for x in range(packed.indptr[r], packed.indptr[r + 1]):
                        weight = w[np.int64(starts[block_number(index, high, x)]) + q - base]
                        own += packed.value[x] * weight if len(packed.value) > 0 else weight
                    workspace.theta[q] = own
                score += workspace.theta[q] * (value[e] if len(value) > 0 else 1.0)
            if score > best:
                best, ids[i] = score, p
            p = older[p]
