"""Trees and forests: sum-product on plain numbers, far quicker than on their logarithms.

Shapes and parts as in `kernels.tree`. Every number that is kept is relative to the largest of its
row, and is 0 because something is forbidden, or at least LEAST: then a product of two of them never
vanishes, and nothing is lost. Where that cannot be had, because scores are too far apart, the
result is NaN, and the work must be done on logarithms.
"""

from __future__ import annotations

import numpy as np
from numba import types

from maxmargin.kernels.compile import FLOATS, INTS, piece
from maxmargin.kernels.tree import siblings_end

LEAST = 1e-150
DEEPEST = -345.0  # log(LEAST), rounded up


@piece(types.float64(FLOATS, FLOATS))
def exponentials(scores, out):
    """Out = exp(scores - high), zero where forbidden; returns high, NaN if some vanish."""
    high = -np.inf
    for k in range(len(scores)):
        high = scores[k] if scores[k] > high else high
    if high == -np.inf:
        return np.nan
    wrong = False
    for k in range(len(scores)):
        x = scores[k] - high
        wrong |= (x < DEEPEST) & (x > -np.inf)
        out[k] = np.exp(x)
    return np.nan if wrong else high


@piece(types.float64(FLOATS))
def to_largest(x):
    """Divide by the largest, in place; returns it, NaN if it is zero or if some vanish."""
    high = 0.0
    for k in range(len(x)):
        high = x[k] if x[k] > high else high
    if not high > 0.0:
        return np.nan
    scale = 1.0 / high
    wrong = False
    for k in range(len(x)):
        x[k] *= scale
        wrong |= (x[k] < LEAST) & (x[k] > 0.0)
    return np.nan if wrong else high


@piece(types.void(FLOATS, FLOATS, FLOATS), reorder=True)
def times(table, x, out):
    """out[j] = sum over k of table[j, k] x[k]."""
    labels = len(x)
    for j in range(labels):
        row = table[j * labels : (j + 1) * labels]
        total = 0.0
        for k in range(labels):
            total += row[k] * x[k]
        out[j] = total


@piece(types.void(FLOATS, FLOATS, FLOATS))
def turned_times(table, x, out):
    """out[k] = sum over j of table[j, k] x[j]; four rows at a time to save loads and stores."""
    labels = len(x)
    for k in range(labels):
        out[k] = 0.0
    j = 0
    while j + 3 < labels:
        a, b, c, d = x[j], x[j + 1], x[j + 2], x[j + 3]
        row_a = table[j * labels : (j + 1) * labels]
        row_b = table[(j + 1) * labels : (j + 2) * labels]
        row_c = table[(j + 2) * labels : (j + 3) * labels]
        row_d = table[(j + 3) * labels : (j + 4) * labels]
        for k in range(labels):
            out[k] += (a * row_a[k] + b * row_b[k]) + (c * row_c[k] + d * row_d[k])
        j += 4
    while j < labels:
        a = x[j]
        row_a = table[j * labels : (j + 1) * labels]
        for k in range(labels):
            out[k] += a * row_a[k]
        j += 1


@piece(types.float64(FLOATS, INTS, FLOATS, FLOATS))
def start_products(theta, shape, tied, out):
    """Node parts of out = exponentials of the nodes' scores, and so for tables that are not tied.

    tied : K K, the exponentials of the tied table. Returns the sum of what was taken off.
    """
    count, labels, stride = shape[0], shape[1], shape[2]
    nodes, square = count * labels, labels * labels
    total = 0.0
    for v in range(0, nodes, labels):
        total += exponentials(theta[v : v + labels], out[v : v + labels])
    if stride == 0 and shape[3] > 0:
        total += shape[3] * exponentials(theta[nodes : nodes + square], tied)
    for e in range(shape[3] if stride > 0 else 0):
        first = nodes + e * square
        total += exponentials(theta[first : first + square], out[first : first + square])
    return total


@piece(types.float64(INTS, FLOATS, FLOATS, FLOATS, FLOATS))
def upward_product(shape, tied, inside, message, out):
    """As `upward_max`, with sums of products in place of maxima of sums.

    inside: the nodes' exponentials on entry. Returns the log of what was divided by, and of the
    sums over the roots' labels.
    """
    count, labels, stride = shape[0], shape[1], shape[2]
    nodes, square = count * labels, labels * labels
    total, scale = 0.0, 1.0
    for i in range(count - 1, -1, -1):
        v, above = shape[4 + i] * labels, shape[4 + count + i] * labels
        own = inside[v : v + labels]
        if above < 0:
            high = 0.0
            for k in range(labels):
                high += own[k]
        else:
            first = nodes + shape[4 + 2 * count + i] * stride
            table = out[first : first + square] if stride > 0 else tied
            sent = message[v : v + labels]
            if shape[4 + 3 * count + i]:
                times(table, own, sent)
            else:
                turned_times(table, own, sent)
            high = to_largest(sent)
            target = inside[above : above + labels]
            for k in range(labels):
                target[k] *= sent[k]
            high *= to_largest(target)
        scale *= high
        if not 1e-100 < scale < 1e100:
            total += np.log(scale)
            scale = 1.0
    return total + np.log(scale)


@piece(types.float64(INTS, types.int64, types.int64, FLOATS, FLOATS, FLOATS))
def product_of_others(shape, i, j, line, message, out):
    """out[v] = line times the messages of all siblings of v, for those at places i to j - 1.

    By products from both sides; line is used up. Returns NaN if some vanish.
    """
    labels = shape[1]
    fine = 0.0
    for place in range(i, j):
        v = shape[4 + place] * labels
        for k in range(labels):
            out[v + k] = line[k]
        if j - i > 1:
            for k in range(labels):
                line[k] *= message[v + k]
            fine += to_largest(line)
    if j - i > 1:
        line[:] = 1.0
        for place in range(j - 1, i - 1, -1):
            v = shape[4 + place] * labels
            for k in range(labels):
                out[v + k] *= line[k]
                line[k] *= message[v + k]
            fine += to_largest(out[v : v + labels]) + to_largest(line)
    return fine


@piece(types.void(FLOATS, FLOATS, types.float64, types.boolean, FLOATS))
def add_outer(rows, columns, scale, replace, table):
    """Table += scale * rows' columns; or, with `replace`, table *= that."""
    labels = len(rows)
    for j in range(labels):
        r = rows[j] * scale
        row = table[j * labels : (j + 1) * labels]
        if replace:
            for k in range(labels):
                row[k] *= r * columns[k]
        else:
            for k in range(labels):
                row[k] += r * columns[k]


@piece(types.float64(INTS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS))
def downward_product(shape, tied, inside, message, beyond, line, out):
    """Tables of expectations, a tied one divided by its exponentials; NaN if some vanish.

    beyond[v] = what all that does not hang below v says of its label.
    """
    count, labels, stride = shape[0], shape[1], shape[2]
    nodes, square = count * labels, labels * labels
    fine = 0.0
    i = siblings_end(shape, 0)
    for place in range(i):
        v = shape[4 + place] * labels
        beyond[v : v + labels] = 1.0
    while i < count:
        j = siblings_end(shape, i)
        above = shape[4 + count + i] * labels
        for k in range(labels):
            line[k] = out[above + k] * beyond[above + k]
        fine += to_largest(line)
        fine += product_of_others(shape, i, j, line, message, beyond)
        for place in range(i, j):
            v = shape[4 + place] * labels
            first = nodes + shape[4 + 2 * count + place] * stride
            table = out[first : first + square]
            factors = table if stride > 0 else tied
            own, down = inside[v : v + labels], beyond[v : v + labels]
            for k in range(labels):
                line[k] = down[k]
            from_above = shape[4 + 3 * count + place] != 0
            if from_above:
                turned_times(factors, line, down)
            else:
                times(factors, line, down)
            norm = 0.0
            for k in range(labels):
                norm += down[k] * own[k]
            fine += 0.0 if norm > LEAST else np.nan
            fine += to_largest(down)
            if from_above:
                add_outer(line, own, 1.0 / norm, stride > 0, table)
            else:
                add_outer(own, line, 1.0 / norm, stride > 0, table)
        i = j
    return fine


@piece(types.float64(FLOATS, INTS, FLOATS, FLOATS))
def tilt_products(theta, shape, out, work):
    """Writes expectations, returns log Z; NaN if it must be done on logarithms.

    work: 3 V K + K K + K.
    """
    count, labels, stride = shape[0], shape[1], shape[2]
    nodes, square = count * labels, labels * labels
    inside, message = work[:nodes], work[nodes : 2 * nodes]
    beyond = work[2 * nodes : 3 * nodes]
    tied = work[3 * nodes : 3 * nodes + square]
    line = work[3 * nodes + square : 3 * nodes + square + labels]
    value = start_products(theta, shape, tied, out)
    if np.isnan(value):
        return value
    inside[:] = out[:nodes]
    value += upward_product(shape, tied, inside, message, out)
    if stride == 0:
        out[nodes:] = 0.0
    if np.isnan(value):
        return value
    value += 0.0 * downward_product(shape, tied, inside, message, beyond, line, out)
    if stride == 0 and shape[3] > 0:
        for p in range(square):
            out[nodes + p] *= tied[p]
    for v in range(0, nodes, labels):
        total = 0.0
        for k in range(v, v + labels):
            out[k] = inside[k] * beyond[k]
            total += out[k]
        scale = 1.0 / total
        for k in range(v, v + labels):
            out[k] *= scale
    return value
