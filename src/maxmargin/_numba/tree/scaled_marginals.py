"""Trees and forests: sum-product on plain numbers, far quicker than on their logarithms.

Layouts and parts as in `_numba.tree.maximize`. Exponentials of scores are 0 (forbidden) or from
1e-70 to 1e9. Messages are kept relative to their largest entry, and are 0 because something is
forbidden, or at least LEAST: then a product of the two never vanishes, and nothing is lost.
Where that cannot be had, because scores are too far apart, the result is NaN, and the work must be
done on logarithms.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.arrays import copy_values
from maxmargin._numba.chain.log_marginals import pass_on
from maxmargin._numba.chain.marginals import node_exponentials, pass_back, write_exponentials
from maxmargin._numba.compile import FLOATS, INTS, compile_internal, types
from maxmargin._numba.tree.maximize import siblings_end

LEAST = 1e-150


@compile_internal(types.float64(FLOATS))
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


@compile_internal(types.float64(FLOATS, INTS, FLOATS, FLOATS))
def start_products(theta, layout, tied, out):
    """Node parts of out = exponentials of the nodes' scores, and so for tables that are not tied.

    tied : K K, the exponentials of the tied table. Returns the sum of what was taken off.
    """
    count, labels, stride = layout[0], layout[1], layout[2]
    nodes, square = count * labels, labels * labels
    total = node_exponentials(theta[:nodes], layout, out[:nodes])
    if stride == 0 and layout[3] > 0:
        total += layout[3] * write_exponentials(theta[nodes : nodes + square], tied)
    for e in range(layout[3] if stride > 0 else 0):
        first = nodes + e * square
        total += write_exponentials(theta[first : first + square], out[first : first + square])
    return total


@compile_internal(types.float64(INTS, FLOATS, FLOATS, FLOATS, FLOATS))
def upward_product(layout, tied, inside, message, out):
    """As `upward_max`, with sums of products in place of maxima of sums.

    inside: the nodes' exponentials on entry. Returns the log of what was divided by, and of the
    sums over the roots' labels.
    """
    count, labels, stride = layout[0], layout[1], layout[2]
    nodes, square = count * labels, labels * labels
    total = 0.0
    for i in range(count - 1, -1, -1):
        v, above = layout[4 + i] * labels, layout[4 + count + i] * labels
        own = inside[v : v + labels]
        if above < 0:
            mass = 0.0
            for k in range(labels):
                mass += own[k]
            total += np.log(mass)
            continue
        first = nodes + layout[4 + 2 * count + i] * stride
        table = out[first : first + square] if stride > 0 else tied
        sent = message[v : v + labels]
        if layout[4 + 3 * count + i]:
            pass_back(table, own, sent)
        else:
            pass_on(table, own, sent)
        high = to_largest(sent)
        target = inside[above : above + labels]
        for k in range(labels):
            target[k] *= sent[k]
        next_high = to_largest(target)
        if high > 1e-100 and next_high > 1e-100:
            total += np.log(high * next_high)
        else:  # or NaN, which it then remains
            total += np.log(high) + np.log(next_high)
    return total


@compile_internal(types.float64(INTS, types.int64, types.int64, FLOATS, FLOATS, FLOATS))
def product_of_others(layout, i, j, line, message, out):
    """out[v] = line times the messages of all siblings of v, for those at places i to j - 1.

    By products from both sides; line is used up. Returns NaN if some vanish.
    """
    labels = layout[1]
    fine = 0.0
    for place in range(i, j):
        v = layout[4 + place] * labels
        for k in range(labels):
            out[v + k] = line[k]
        if j - i > 1:
            for k in range(labels):
                line[k] *= message[v + k]
            fine += to_largest(line)
    if j - i > 1:
        line[:] = 1.0
        for place in range(j - 1, i - 1, -1):
            v = layout[4 + place] * labels
            for k in range(labels):
                out[v + k] *= line[k]
                line[k] *= message[v + k]
            fine += to_largest(out[v : v + labels]) + to_largest(line)
    return fine


@compile_internal(types.void(FLOATS, FLOATS, types.float64, types.boolean, FLOATS))
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


@compile_internal(types.float64(INTS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS))
def downward_product(layout, tied, inside, message, beyond, line, out):
    """Tables of expectations, a tied one divided by its exponentials; NaN if some vanish.

    beyond[v] = what all that does not hang below v says of its label.
    """
    count, labels, stride = layout[0], layout[1], layout[2]
    nodes, square = count * labels, labels * labels
    fine = 0.0
    i = siblings_end(layout, 0)
    for place in range(i):
        v = layout[4 + place] * labels
        beyond[v : v + labels] = 1.0
    while i < count:
        j = siblings_end(layout, i)
        above = layout[4 + count + i] * labels
        for k in range(labels):
            line[k] = out[above + k] * beyond[above + k]
        fine += to_largest(line)
        fine += product_of_others(layout, i, j, line, message, beyond)
        for place in range(i, j):
            v = layout[4 + place] * labels
            first = nodes + layout[4 + 2 * count + place] * stride
            table = out[first : first + square]
            factors = table if stride > 0 else tied
            own, down = inside[v : v + labels], beyond[v : v + labels]
            for k in range(labels):
                line[k] = down[k]
            from_above = layout[4 + 3 * count + place] != 0
            if from_above:
                pass_on(factors, line, down)
            else:
                pass_back(factors, line, down)
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


@compile_internal(types.float64(FLOATS, INTS, FLOATS, FLOATS))
def marginals_by_products(theta, layout, out, work):
    """Writes expectations, returns log Z; NaN if it must be done on logarithms.

    work: 3 V K + K K + K.
    """
    count, labels, stride = layout[0], layout[1], layout[2]
    nodes, square = count * labels, labels * labels
    inside, message = work[:nodes], work[nodes : 2 * nodes]
    beyond = work[2 * nodes : 3 * nodes]
    tied = work[3 * nodes : 3 * nodes + square]
    line = work[3 * nodes + square : 3 * nodes + square + labels]
    value = start_products(theta, layout, tied, out)
    if np.isnan(value):
        return value
    copy_values(out[:nodes], inside)
    value += upward_product(layout, tied, inside, message, out)
    if stride == 0:
        out[nodes:] = 0.0
    if not np.isfinite(value):
        return np.nan
    value += 0.0 * downward_product(layout, tied, inside, message, beyond, line, out)
    if stride == 0 and layout[3] > 0:
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
