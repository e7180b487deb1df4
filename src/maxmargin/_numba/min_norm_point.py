"""The nearest point of the hull of labellings, by active sets over `maximize` (Wolfe 1976).

Minimise 1/2 |z - point|^2 over mixtures z of a few active vertices. In turn,

- ask for the vertex that the residual, point - z, points to most, and make it active, and
- move z to the nearest point of the active vertices' affine hull. Where a share falls to zero on
  the way, stop there, drop that vertex, and move on from there.

The objective falls all the way, and a set of vertices is never met twice. z is a mixture of
vertices whatever happens, and ahead = max over s of residual . (s - z) tells how good it is:
|z - answer|^2 <= ahead.

A vertex is kept as the labels of its nodes. It has one part per node, node * K + label, and one per
edge e = (a, b), V K + e * stride + label of a * K + label of b. With stride = 0 all edges share one
table, whose parts count.

L L^T = the active vertices' inner products + 1 is updated as vertices come and go. They are small
integers, exact, so that only L itself has rounding errors. Each move starts from slopes of
the present z, not from the point, so that it also puts right what the last one left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin._numba import min_norm_sizes
from maxmargin._numba.arrays import copy_values
from maxmargin._numba.compile import (
    FLOATS,
    INTS,
    compile_inlined,
    compile_internal,
    tuple_type,
    types,
)

INT, FLOAT = types.int64, types.float64
NOTHING = 1e-14  # a vertex with this share or less is dropped
FLAT = 1e-10  # what a vertex must add to the hull, relative to its size
PATIENCE = 4  # steps for each vertex that may be active
EPS = 2.0**-52
LARGEST = 1e290  # scores above might add up to infinity
ROUNDING = 1e-12  # what rounding may add to `ahead`, relative to its terms


class Hull(NamedTuple):
    """The active vertices, and where they stand."""

    point: np.ndarray  # (parts,)
    rest: np.ndarray  # (parts,) point - z
    labels: np.ndarray  # (most * nodes,)
    ends: np.ndarray  # (2 * edges,)
    share: np.ndarray  # (most,) that sum to one
    slope: np.ndarray  # (most,) scratch
    wanted: np.ndarray  # (most,) scratch
    even: np.ndarray  # (most,) L^-1 1
    factor: np.ndarray  # L, its rows one after another


HULL = tuple_type(Hull, dict.fromkeys(Hull._fields, FLOATS) | {"labels": INTS, "ends": INTS})

most = compile_internal(INT(INT))(min_norm_sizes.most_vertices)
kept = compile_internal(INT(INT, INT))(min_norm_sizes.kept_vertices)


@compile_internal(FLOAT(FLOATS, INTS, INTS, INT, INT))
def at_vertex(values, labels, ends, size, stride):
    """The sum of values over the parts of a vertex; size: K."""
    total, nodes = 0.0, len(labels)
    for j in range(nodes):
        total += values[j * size + labels[j]]
    table = nodes * size
    for e in range(len(ends) // 2):
        total += values[table + labels[ends[2 * e]] * size + labels[ends[2 * e + 1]]]
        table += stride
    return total


@compile_internal(types.void(FLOATS, INTS, INTS, INT, INT, FLOAT))
def add_vertex(values, labels, ends, size, stride, share):
    """Add the share to each part of a vertex."""
    nodes = len(labels)
    for j in range(nodes):
        values[j * size + labels[j]] += share
    table = nodes * size
    for e in range(len(ends) // 2):
        values[table + labels[ends[2 * e]] * size + labels[ends[2 * e + 1]]] += share
        table += stride


@compile_internal(types.void(HULL, INT, INTS, INT, INT))
def restore_rest(hull, count, vertex, size, stride):
    """Renew rest = point - z; only the parts of active vertices differ from the point.

    vertex: labels of one more, whose share was zero or is gone.
    """
    nodes = len(vertex)
    for i in range(-1, count):
        labels = vertex if i < 0 else hull.labels[i * nodes : (i + 1) * nodes]
        for j in range(nodes):
            p = j * size + labels[j]
            hull.rest[p] = hull.point[p]
        table = nodes * size
        for e in range(len(hull.ends) // 2):
            p = table + labels[hull.ends[2 * e]] * size + labels[hull.ends[2 * e + 1]]
            hull.rest[p] = hull.point[p]
            table += stride
    for i in range(count):
        labels = hull.labels[i * nodes : (i + 1) * nodes]
        add_vertex(hull.rest, labels, hull.ends, size, stride, -hull.share[i])


@compile_internal(FLOAT(FLOATS, FLOATS, INT), reorder=True)
def inner_product(a, b, n):
    """The product a . b over the first n."""
    total = 0.0
    for k in range(n):
        total += a[k] * b[k]
    return total


@compile_internal(types.boolean(HULL, INT, FLOATS, INT, INT, INT))
def extend_factor(hull, count, vertex, nodes, size, stride):
    """A new row of L for hull.labels[count], of which `vertex` is the vector.

    False if it is in the affine hull of the others already.
    """
    start = count * (count + 1) // 2
    row = hull.factor[start : start + count + 1]
    for i in range(count):
        labels = hull.labels[i * nodes : (i + 1) * nodes]
        other = hull.factor[i * (i + 1) // 2 : (i + 1) * (i + 2) // 2]
        product = 1.0 + at_vertex(vertex, labels, hull.ends, size, stride)
        row[i] = (product - inner_product(row, other, i)) / other[i]
    labels = hull.labels[count * nodes : (count + 1) * nodes]
    own = 1.0 + at_vertex(vertex, labels, hull.ends, size, stride)
    left = own - inner_product(row, row, count)
    row[count] = np.sqrt(max(left, 0.0))
    hull.even[count] = (1.0 - inner_product(row, hull.even, count)) / row[count]
    return left > FLAT * own


@compile_internal(types.void(HULL, INT, INT, INT))
def shrink_factor(hull, gone, count, nodes):
    """Take a vertex out: L without its row, made triangular again by rotations of columns."""
    factor = hull.factor
    for j in range(gone, count - 1):
        old = (j + 1) * (j + 2) // 2
        a, b = factor[old + j], factor[old + j + 1]
        length = np.sqrt(a * a + b * b)
        cosine, sine = a / length, b / length
        for i in range(j + 1, count):
            at = i * (i + 1) // 2 + j
            a, b = factor[at], factor[at + 1]
            factor[at], factor[at + 1] = cosine * a + sine * b, cosine * b - sine * a
        a, b = hull.even[j], hull.even[j + 1]
        hull.even[j], hull.even[j + 1] = cosine * a + sine * b, cosine * b - sine * a
        new = j * (j + 1) // 2
        for k in range(j + 1):
            factor[new + k] = factor[old + k]
        hull.share[j] = hull.share[j + 1]
        for k in range(nodes):
            hull.labels[j * nodes + k] = hull.labels[(j + 1) * nodes + k]


@compile_internal(FLOAT(HULL, INT, INT, INT, INT))
def write_slopes(hull, count, nodes, size, stride):
    """hull.slope = residual . (vertex - z); returns residual . z."""
    mean = 0.0
    for i in range(count):
        labels = hull.labels[i * nodes : (i + 1) * nodes]
        hull.slope[i] = at_vertex(hull.rest, labels, hull.ends, size, stride)
        mean += hull.share[i] * hull.slope[i]
    for i in range(count):
        hull.slope[i] -= mean
    return mean


@compile_internal(FLOAT(HULL, INT))
def affine_step(hull, count):
    """hull.wanted = changes of the shares that lead to the nearest point of the affine hull.

    Returns how far they can be followed, 1 at the most.
    """
    factor, x = hull.factor, hull.wanted
    for i in range(count):
        row = factor[i * (i + 1) // 2 : (i + 1) * (i + 2) // 2]
        x[i] = (hull.slope[i] - inner_product(row, x, i)) / row[i]
    # less what keeps the sum of the shares
    level = inner_product(hull.even, x, count) / inner_product(hull.even, hull.even, count)
    for i in range(count):
        x[i] -= level * hull.even[i]
    step = 1.0
    for i in range(count - 1, -1, -1):
        row = factor[i * (i + 1) // 2 : (i + 1) * (i + 2) // 2]
        x[i] /= row[i]
        for k in range(i):
            x[k] -= row[k] * x[i]
        if hull.share[i] + x[i] <= NOTHING:
            # one that does not fall is gone already, with another one that fell to zero
            step = min(step, hull.share[i] / -x[i] if x[i] < 0.0 else 0.0)
    return step


@compile_internal(INT(HULL, INT, INTS, INT, INT))
def descend_in_hull(hull, count, vertex, size, stride):
    """Move to the nearest point of the active vertices' hull; returns how many are left.

    vertex: scratch for the labels of one.
    """
    nodes = len(vertex)
    while True:
        write_slopes(hull, count, nodes, size, stride)
        step = affine_step(hull, count)
        lowest = 0
        for i in range(count):
            hull.share[i] += step * hull.wanted[i]
            if hull.share[i] < hull.share[lowest]:
                lowest = i
        if hull.share[lowest] > NOTHING:
            copy_values(hull.labels[:nodes], vertex)
            restore_rest(hull, count, vertex, size, stride)
            if step == 1.0:
                return count
            continue
        total = 1.0 - hull.share[lowest]
        copy_values(hull.labels[lowest * nodes : (lowest + 1) * nodes], vertex)
        shrink_factor(hull, lowest, count, nodes)
        count -= 1
        for i in range(count):
            hull.share[i] /= total
        restore_rest(hull, count, vertex, size, stride)


@compile_internal(types.void(FLOATS, INTS, INT))
def read_labels(vertex, labels, size):
    """The label of each node of a vertex."""
    for j in range(len(labels)):
        labels[j] = 0
        for k in range(size):
            if vertex[j * size + k] > 0.5:
                labels[j] = k
                break


@compile_internal(INT(HULL, FLOATS, FLOATS, INT, INT, INT))
def recall_vertices(hull, warm, vertex, nodes, size, stride):
    """The vertices of the last call that are still allowed; returns how many there are.

    Whatever stands in `warm`, they are vertices. vertex: scratch, a part.
    """
    count, total = 0, 0.0
    room = min(kept(len(vertex), nodes), len(hull.share))
    if not (warm[0] >= 1.0 and warm[0] <= room):
        return 0
    for i in range(int(warm[0])):
        start = 1 + i * (nodes + 1)
        labels = hull.labels[count * nodes : (count + 1) * nodes]
        fine = warm[start] > NOTHING and warm[start] <= 1.0
        for j in range(nodes):
            label = warm[start + 1 + j]
            fine = fine and label >= 0.0 and label < size
            labels[j] = int(label) if fine else 0
        if not fine or at_vertex(hull.point, labels, hull.ends, size, stride) == -np.inf:
            continue
        vertex[:] = 0.0
        add_vertex(vertex, labels, hull.ends, size, stride, 1.0)
        if extend_factor(hull, count, vertex, nodes, size, stride):
            hull.share[count] = warm[start]
            total += warm[start]
            count += 1
    for i in range(count):
        hull.share[i] /= total
    return count


@compile_internal(types.void(HULL, INT, FLOATS, INT))
def remember_vertices(hull, count, warm, nodes):
    """Leave the active vertices for the next call; if they are too many, those with most share."""
    room = kept(len(hull.point), nodes)
    number = min(room, count)
    taken = hull.slope
    for i in range(count):
        taken[i] = hull.share[i]
    warm[0] = number
    for n in range(number):
        best = n
        if count > room:
            best = 0
            for i in range(1, count):
                if taken[i] > taken[best]:
                    best = i
            taken[best] = -1.0
        start = 1 + n * (nodes + 1)
        warm[start] = hull.share[best]
        for j in range(nodes):
            warm[start + 1 + j] = hull.labels[best * nodes + j]


@compile_internal(FLOAT(HULL, INT, INTS, INT, INT))
def sum_sizes(hull, count, labels, size, stride):
    """The sum of the sizes of all that is added up in residual . (s - z); labels: of s."""
    nodes = len(labels)
    total = float(nodes)
    for i in range(-1, count):
        own, share = labels, 1.0
        if i >= 0:
            own, share = hull.labels[i * nodes : (i + 1) * nodes], hull.share[i]
        for j in range(nodes):
            total += share * abs(hull.rest[j * size + own[j]])
        table = nodes * size
        for e in range(len(hull.ends) // 2):
            p = table + own[hull.ends[2 * e]] * size + own[hull.ends[2 * e + 1]]
            total += share * abs(hull.rest[p])
            table += stride
    return total


@compile_internal(types.UniTuple(INT, 2)(HULL, INT, INTS, FLOATS, INT, INT))
def widen_hull(hull, count, labels, vertex, size, stride):
    """Make a vertex active and move; returns how many are left, and 0 if that changed nothing."""
    nodes = len(labels)
    last = hull.labels[count * nodes : (count + 1) * nodes]
    copy_values(labels, last)
    if not extend_factor(hull, count, vertex, nodes, size, stride):
        return count, 0
    hull.share[count] = 0.0
    left = descend_in_hull(hull, count + 1, labels, size, stride)
    if left != count:
        return left, 1
    last = hull.labels[(left - 1) * nodes : left * nodes]
    for j in range(nodes):  # one was dropped: the new one itself?
        if vertex[j * size + last[j]] < 0.5:
            return left, 0
    return left, 1


@compile_inlined
def nearest_point(maximize, layout, hull, warm, out, labels, size, stride, work, iwork):
    """Out = the nearest point; warm: what the last call left, replaced by what this one leaves.

    labels: scratch for those of a vertex. size: K. work, iwork: scratch of maximize. Returns, all
    relative to the mean size of a residual or 1: `ahead` where that is nothing but rounding; else,
    after too many steps or active vertices, -sqrt(ahead). |out - answer| is less than that, and
    out, though not the nearest point, is as much inside as ever, so that bounds built on it hold.
    -inf if everything is forbidden; NaN on failure.
    """
    nodes = len(labels)
    copy_values(hull.point, hull.rest)
    count = recall_vertices(hull, warm, out, nodes, size, stride)
    if count == 0:
        value = maximize(hull.point, layout, out, work, iwork)
        if not value > -np.inf:
            return value
        read_labels(out, hull.labels[:nodes], size)
        extend_factor(hull, 0, out, nodes, size, stride)
        hull.share[0] = 1.0
        count = 1
    copy_values(hull.labels[:nodes], labels)
    restore_rest(hull, count, labels, size, stride)
    count = descend_in_hull(hull, count, labels, size, stride)
    ahead, total, moved = np.inf, 1.0, 1
    for _ in range(PATIENCE * len(hull.share)):
        maximize(hull.rest, layout, out, work, iwork)
        read_labels(out, labels, size)
        mean = write_slopes(hull, count, nodes, size, stride)
        ahead = max(at_vertex(hull.rest, labels, hull.ends, size, stride) - mean, 0.0)
        total = sum_sizes(hull, count, labels, size, stride)
        if ahead <= 4.0 * EPS * total or count == len(hull.share) or moved == 0:
            break
        count, moved = widen_hull(hull, count, labels, out, size, stride)
    remember_vertices(hull, count, warm, nodes)
    out[:] = 0.0
    for i in range(count):
        own = hull.labels[i * nodes : (i + 1) * nodes]
        add_vertex(out, own, hull.ends, size, stride, hull.share[i])
    return (ahead if ahead <= ROUNDING * total else -np.sqrt(ahead)) / (total / nodes)


@compile_inlined
def project_labels(maximize, theta, layout, ends, nodes, size, stride, out, work, iwork):
    """`nearest_point`, with theta as the point and its scratch in work and iwork.

    Of work, `min_norm_sizes.float_size`; of iwork, `min_norm_sizes.int_size`; the rest of both is
    given to maximize. work[0] = -m asks for up to m active vertices, for which there must be room.
    """
    parts = len(theta)
    for p in range(parts):
        if not (abs(theta[p]) <= LARGEST or theta[p] == -np.inf):
            return np.nan
    a, m = 1 + kept(parts, nodes) * (nodes + 1), most(parts)
    if work[0] < 0.0:
        m = max(int(min(-work[0], float(len(iwork)))), 1)
    b = a + parts
    c = b + 4 * m + m * (m + 1) // 2
    if c > len(work) or (m + 1) * nodes > len(iwork):
        return np.nan
    hull = Hull(
        theta,
        work[a:b],
        iwork[: m * nodes],
        ends,
        work[b : b + m],
        work[b + m : b + 2 * m],
        work[b + 2 * m : b + 3 * m],
        work[b + 3 * m : b + 4 * m],
        work[b + 4 * m : c],
    )
    labels, rest = iwork[m * nodes : (m + 1) * nodes], iwork[(m + 1) * nodes :]
    return nearest_point(
        maximize, layout, hull, work[:a], out, labels, size, stride, work[c:], rest
    )
