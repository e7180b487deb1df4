"""Chains: sum-product. Layouts and parts as in `_numba.chain.maximize`; compiled on demand.

Exponentials are taken once of each score, and messages are then products of matrices and vectors.
That is exact as long as nothing comes near the smallest float, which is watched; a chain where
something does is done with logarithms instead (`_numba.chain.log_marginals`).
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.chain.log_marginals import marginals_by_logs, pass_on
from maxmargin._numba.compile import FLOATS, INTS, compile_ability, compile_internal, types
from maxmargin._numba.exponential import count_between, exp_within, largest_entry

# Finite scores are from LEAST to MOST, and messages, which sum to one, are >= LEAST_MESSAGE where
# positive; else logarithms it is. A step multiplies a message by two exponentials (1e-70 or more)
# and divides it by at most K exp(2 MOST), which leaves 1e-300, still a normal float: so what is 0
# is forbidden, and the first message that is too small shows as such.
LEAST, MOST, LEAST_MESSAGE = -160.0, 20.0, 1e-140


@compile_internal(types.void(FLOATS, FLOATS, FLOATS), reorder=True)
def pass_back(table, old, new):
    """new[j] = sum_k table[j, k] old[k], four rows at a time."""
    labels = len(new)
    j = 0
    while j + 3 < labels:
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        row_a = table[j * labels : (j + 1) * labels]
        row_b = table[(j + 1) * labels : (j + 2) * labels]
        row_c = table[(j + 2) * labels : (j + 3) * labels]
        row_d = table[(j + 3) * labels : (j + 4) * labels]
        for k in range(labels):
            v = old[k]
            a += row_a[k] * v
            b += row_b[k] * v
            c += row_c[k] * v
            d += row_d[k] * v
        new[j], new[j + 1], new[j + 2], new[j + 3] = a, b, c, d
        j += 4
    while j < labels:
        a = 0.0
        row_a = table[j * labels : (j + 1) * labels]
        for k in range(labels):
            a += row_a[k] * old[k]
        new[j] = a
        j += 1


@compile_internal(types.float64(FLOATS, FLOATS), reorder=True)
def multiply_in_place(x, by):
    """Multiply x by `by` in place; returns the sum."""
    total = 0.0
    for k in range(len(x)):
        x[k] *= by[k]
        total += x[k]
    return total


@compile_internal(types.float64(FLOATS, FLOATS), reorder=True)
def inner_product(x, y):
    """The inner product of x and y."""
    total = 0.0
    for k in range(len(x)):
        total += x[k] * y[k]
    return total


@compile_internal(types.void(FLOATS, FLOATS, FLOATS, types.int64))
def add_products(left, right, out, count):
    """out[j, k] += sum_t left[t, j] right[t, k] for t < count, four t at a time."""
    labels = len(left) // count if count > 0 else 0
    t = 0
    while t < count:
        for j in range(labels):
            row = out[j * labels : (j + 1) * labels]
            if t + 3 < count:
                a, b = left[t * labels + j], left[(t + 1) * labels + j]
                c, d = left[(t + 2) * labels + j], left[(t + 3) * labels + j]
                row_a = right[t * labels : (t + 1) * labels]
                row_b = right[(t + 1) * labels : (t + 2) * labels]
                row_c = right[(t + 2) * labels : (t + 3) * labels]
                row_d = right[(t + 3) * labels : (t + 4) * labels]
                for k in range(labels):
                    row[k] += (a * row_a[k] + b * row_b[k]) + (c * row_c[k] + d * row_d[k])
            else:
                for s in range(t, count):
                    a = left[s * labels + j]
                    row_a = right[s * labels : (s + 1) * labels]
                    for k in range(labels):
                        row[k] += a * row_a[k]
        t += 4


@compile_internal(types.float64(FLOATS, FLOATS))
def write_exponentials(x, out):
    """Out = exp(x - shift); returns the shift, NaN if the range is too wide.

    The shift is 0 for scores of usual size, which saves looking for the largest.
    """
    if exp_within(x, 0.0, LEAST, MOST, out):
        return 0.0
    high = largest_entry(x)
    if exp_within(x, high, LEAST, MOST, out):
        return high
    return np.nan


@compile_internal(types.float64(FLOATS, INTS, FLOATS))
def node_exponentials(theta, layout, nodes):
    """The same for node scores, with a shift for each position if need be; returns their sum."""
    length, labels = layout[0], layout[1]
    if exp_within(theta, 0.0, LEAST, MOST, nodes):
        return 0.0
    total = 0.0
    for t in range(length):
        row = slice(t * labels, (t + 1) * labels)
        total += write_exponentials(theta[row], nodes[row])
        if np.isnan(total):
            break
    return total


@compile_internal(types.float64(FLOATS, INTS, FLOATS, FLOATS, FLOATS, FLOATS))
def sums_ahead(theta, layout, nodes, tables, ahead, scale):
    """ahead[t] = shares of the labels at t, given all before; scale[t] what made them sum to 1.

    Writes the exponentials of scores to nodes and tables. Returns log Z, -inf if a sum is 0 (by
    bans or by underflow), NaN if a range is too wide.
    """
    length, labels, stride = layout[0], layout[1], layout[2]
    count, square = length * labels, labels * labels
    total, product = node_exponentials(theta, layout, nodes), 1.0
    if np.isnan(total):
        return total
    for t in range(length):
        new = ahead[t * labels : (t + 1) * labels]
        if t == 0:
            new[:] = 1.0
        else:
            place = (t - 1) * stride
            table = tables[place : place + square]
            if stride > 0:
                total += write_exponentials(theta[count + place : count + place + square], table)
            elif t == 1:
                total += (length - 1) * write_exponentials(theta[count:], table)
            if np.isnan(total):
                return total
            pass_on(table, ahead[(t - 1) * labels : t * labels], new)
        mass = multiply_in_place(new, nodes[t * labels : (t + 1) * labels])
        if mass == 0.0:
            return -np.inf
        scale[t] = 1.0 / mass
        for k in range(labels):
            new[k] *= scale[t]
        if mass < 1e-100 or product < 1e-100 or product > 1e100:
            total += np.log(product)
            product = 1.0
        product *= mass
    return total + np.log(product)


@compile_internal(types.void(INTS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS))
def sums_behind(layout, nodes, tables, ahead, behind, scale):
    """Node marginals replace `nodes`. behind[t] = what the labels from t on give, node t's too.

    ahead[t] . (what comes after t) is 1 but for rounding, which a correction to first order takes
    out of the marginals and of ahead[t], so that ahead[t] table behind[t + 1] are the pair
    marginals: tables that are not tied are replaced by these.
    """
    length, labels, stride = layout[0], layout[1], layout[2]
    for t in range(length - 1, -1, -1):
        here = ahead[t * labels : (t + 1) * labels]
        new = behind[t * labels : (t + 1) * labels]
        if t == length - 1:
            new[:] = 1.0
        else:
            after = behind[(t + 1) * labels : (t + 2) * labels]
            pass_back(tables[t * stride : t * stride + labels * labels], after, new)
        right = 2.0 - inner_product(here, new)
        node = nodes[t * labels : (t + 1) * labels]
        back = scale[t]
        for k in range(labels):
            reached = here[k] > 0.0
            here[k] *= right
            v = new[k] * node[k] * back
            node[k] = here[k] * new[k]
            new[k] = v if reached else 0.0  # might else grow without bound
        if stride > 0 and t < length - 1:
            after = behind[(t + 1) * labels : (t + 2) * labels]
            for j in range(labels):
                row = tables[t * stride + j * labels : t * stride + (j + 1) * labels]
                a = here[j]
                for k in range(labels):
                    row[k] *= a * after[k]


@compile_internal(types.void(INTS, FLOATS, FLOATS, FLOATS, FLOATS))
def tied_pairs(layout, table, ahead, behind, out):
    """Out = the sum of the pair marginals of all places."""
    places, labels = layout[0] - 1, layout[1]
    out[:] = 0.0
    if places > 0:
        left, right = ahead[: places * labels], behind[labels : (places + 1) * labels]
        add_products(left, right, out, places)
        for p in range(labels * labels):
            out[p] *= table[p]


@compile_ability
def marginals(theta, layout, out, work, iwork):
    """Sum-product. work: 3 T K + K K + 2 K + T. Writes expectations, returns log Z."""
    length, labels, stride = layout[0], layout[1], layout[2]
    count, square = length * labels, labels * labels
    ahead, behind = work[:count], work[count : 2 * count]
    scale = work[2 * count : 2 * count + length]
    nodes, pairs = out[:count], out[count:]
    tables = work[2 * count + length : 2 * count + length + square] if stride == 0 else pairs
    value = sums_ahead(theta, layout, nodes, tables, ahead, scale)
    if not np.isfinite(value) or count_between(ahead, LEAST_MESSAGE) > 0:
        return marginals_by_logs(theta, layout, out, work, iwork)
    sums_behind(layout, nodes, tables, ahead, behind, scale)
    if count_between(behind, LEAST_MESSAGE) > 0:
        return marginals_by_logs(theta, layout, out, work, iwork)
    if stride == 0:
        tied_pairs(layout, tables, ahead, behind, pairs)
    return value
