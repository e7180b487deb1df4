"""Chains: sum-product for scores of any size. Layouts and parts as in `_numba.chain.maximize`.

A message is kept as high[k] + log(mass[k]): the score of the best sequence, and the sum over all
sequences relative to that one. So no logarithms are needed on the way, exponents are never above 0,
and what cannot change a sum in double precision is left out before its exponential is taken: the
larger the scores, the less is left, and the closer the cost comes to that of Viterbi.

On the way back P(label j at t | label k at t + 1) is read off the terms of the message to k. Pair
marginals thus agree with node marginals whatever the rounding of the scores.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.arrays import copy_values
from maxmargin._numba.chain.maximize import max_ahead
from maxmargin._numba.compile import FLOATS, INTS, compile_ability, compile_internal, types
from maxmargin._numba.exponential import exp_low, largest_entry
from maxmargin._numba.log_sum_exp import subtract_largest

FOLD = 1e4  # masses above this go into the scores
# Terms so much below the best into a label count for nothing: exp(TERM) FOLD K^2 < 1e-15 for 100
# labels. So do labels of so little probability, for what comes before them.
TERM, PROBABLE = -55.0, 1e-25


@compile_internal(types.boolean(FLOATS, FLOATS, FLOATS, FLOATS))
def write_terms(table, high, shift, out):
    """out[j, k] = exp(high[j] + table[j, k] - shift[k]), or only the exponents if few count.

    Returns whether exponentials were taken: in one go, at about the price of looking at a number
    and taking one exponential in eight.
    """
    labels = len(high)
    count = 0
    for j in range(labels):
        score, row = high[j], slice(j * labels, (j + 1) * labels)
        given, written = table[row], out[row]
        for k in range(labels):
            written[k] = score + given[k] - shift[k]
            count += written[k] > TERM
    if 8 * count <= labels * labels:
        return False
    for p in range(labels * labels):
        out[p] = exp_low(out[p])
    return True


@compile_internal(types.void(FLOATS, FLOATS, FLOATS))
def pass_on(table, old, new):
    """new[k] = sum_j old[j] table[j, k], four rows at a time."""
    labels = len(new)
    for k in range(labels):
        new[k] = 0.0
    j = 0
    while j + 3 < labels:
        a, b, c, d = old[j], old[j + 1], old[j + 2], old[j + 3]
        row_a = table[j * labels : (j + 1) * labels]
        row_b = table[(j + 1) * labels : (j + 2) * labels]
        row_c = table[(j + 2) * labels : (j + 3) * labels]
        row_d = table[(j + 3) * labels : (j + 4) * labels]
        for k in range(labels):
            new[k] += (a * row_a[k] + b * row_b[k]) + (c * row_c[k] + d * row_d[k])
        j += 4
    while j < labels:
        a = old[j]
        row_a = table[j * labels : (j + 1) * labels]
        for k in range(labels):
            new[k] += a * row_a[k]
        j += 1


@compile_internal(types.void(FLOATS, FLOATS, FLOATS))
def add_few(exponents, mass, out):
    """out[k] += sum_j mass[j] exp(exponents[j, k]), where most count for nothing."""
    labels = len(out)
    for j in range(labels):
        for k in range(labels):
            x = exponents[j * labels + k]
            if x > TERM:
                out[k] += mass[j] * exp_low(x)


@compile_internal(types.float64(FLOATS, types.float64, FLOATS, FLOATS), reorder=True)
def share_row(row, mass, times, out):
    """out[k] += mass row[k] times[k]; returns the sum of what was added."""
    total = 0.0
    for k in range(len(out)):
        v = mass * row[k] * times[k]
        out[k] += v
        total += v
    return total


@compile_internal(types.void(FLOATS, FLOATS))
def fold_masses(high, mass):
    """Put masses into the scores, should one be large."""
    if largest_entry(mass) > FOLD:
        for k in range(len(high)):
            if high[k] > -np.inf:
                high[k] += np.log(mass[k])
            mass[k] = 1.0


@compile_internal(types.float64(FLOATS, INTS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS))
def logs_ahead(theta, layout, high, mass, shift, sums, square):
    """Messages of all beginnings: high and mass with, shift and sums without the label's own score.

    Returns the sum of what was subtracted from high, -inf if there is no sequence.
    """
    length, labels, stride = layout[0], layout[1], layout[2]
    copy_values(theta[:labels], high[:labels])
    mass[:labels] = 1.0
    total = subtract_largest(high[:labels])
    for t in range(1, length):
        here = slice(t * labels, (t + 1) * labels)
        old, new = high[(t - 1) * labels : t * labels], high[here]
        old_mass = mass[(t - 1) * labels : t * labels]
        base, added = shift[here], sums[here]
        start = length * labels + (t - 1) * stride
        table = theta[start : start + labels * labels]
        max_ahead(table, old, new)
        for k in range(labels):
            base[k] = new[k] if new[k] > -np.inf else 0.0
            added[k] = 0.0
        if write_terms(table, old, base, square):
            pass_on(square, old_mass, added)
        else:
            add_few(square, old_mass, added)
        new_mass = mass[here]
        for k in range(labels):
            new_mass[k] = added[k]
        fold_masses(new, new_mass)
        for k in range(labels):
            new[k] += theta[t * labels + k]
        total += subtract_largest(new)
    return total


@compile_internal(types.float64(FLOATS, FLOATS, FLOATS))
def last_shares(high, mass, out):
    """Out = exp(high) mass / their sum, whose log is returned."""
    best, total = largest_entry(high), 0.0
    for k in range(len(out)):
        out[k] = mass[k] * exp_low(high[k] - best)
        total += out[k]
    for k in range(len(out)):
        out[k] /= total
    return best + np.log(total)


@compile_internal(types.void(FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS))
def share_back(table, high, mass, shift, times, pairs, node, square):
    """pairs[j, k] += P(j, k), node[j] = P(j), where times[k] = P(k) / sum of the message to k."""
    labels = len(node)
    count = 0
    for k in range(labels):
        count += times[k] > 0.0
    for j in range(labels):
        node[j] = 0.0
    if 8 * count > labels and write_terms(table, high, shift, square):
        for j in range(labels):
            row = slice(j * labels, (j + 1) * labels)
            node[j] = share_row(square[row], mass[j], times, pairs[row])
        return
    for k in range(labels):
        if times[k] > 0.0:
            for j in range(labels):
                x = high[j] + table[j * labels + k] - shift[k]
                if x > TERM:
                    v = times[k] * mass[j] * exp_low(x)
                    pairs[j * labels + k] += v
                    node[j] += v


@compile_ability
def marginals_by_logs(theta, layout, out, work, iwork):
    """Sum-product for any scores, as `marginals` of `chain.marginals`. work: 3 T K + K K + 2 K."""
    length, labels, stride = layout[0], layout[1], layout[2]
    nodes, size = length * labels, labels * labels
    high, mass = work[:nodes], work[nodes : 2 * nodes]
    shift, sums = work[2 * nodes : 3 * nodes], out[:nodes]
    node = work[3 * nodes : 3 * nodes + labels]
    times = work[3 * nodes + labels : 3 * nodes + 2 * labels]
    square = work[3 * nodes + 2 * labels : 3 * nodes + 2 * labels + size]
    value = logs_ahead(theta, layout, high, mass, shift, sums, square)
    if value == -np.inf:
        out[:] = 0.0
        return value
    out[nodes:] = 0.0
    value += last_shares(high[nodes - labels :], mass[nodes - labels :], node)
    for t in range(length - 1, -1, -1):
        place = nodes + (t - 1) * stride
        for k in range(labels):
            p = t * labels + k
            times[k] = node[k] / sums[p] if t > 0 and node[k] > PROBABLE else 0.0
            out[p] = node[k]
        if t > 0:
            before = slice((t - 1) * labels, t * labels)
            share_back(
                theta[place : place + size],
                high[before],
                mass[before],
                shift[t * labels : (t + 1) * labels],
                times,
                out[place : place + size],
                node,
                square,
            )
    return value
