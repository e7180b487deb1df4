"""Chains: sum-product for scores of any size. Shapes and parts as in `kernels.chain`.

A message is kept as high[k] + log(mass[k]): the score of the best sequence, and the sum over all
sequences relative to that one. So no logarithms are needed on the way, exponents are never above 0,
and what cannot change a sum in double precision is left out before its exponential is taken: the
larger the scores, the less is left, and the closer the cost comes to that of Viterbi.
"""

from __future__ import annotations

import numpy as np
from numba import types

from maxmargin.kernels.chain import max_ahead, max_behind
from maxmargin.kernels.compile import FLOATS, INTS, ability, piece
from maxmargin.kernels.exponential import exp_low, highest

FOLD = 1e8  # masses above this go into the scores
# Terms so much below the best sequence into a label, and labels whose best sequence is so much
# below the best of all, count for nothing: exp(-65) FOLD labels and exp(-100) (FOLD labels)^2
# are below 1e-16.
TERM, LABEL = -65.0, -100.0


@piece(types.void(FLOATS, FLOATS, types.float64, types.float64, FLOATS))
def add_row(row, shift, score, mass, out):
    """out[k] += mass exp(score + row[k] - shift[k]), without terms that count for nothing."""
    labels = len(out)
    count = 0
    for k in range(labels):
        count += score + row[k] - shift[k] > TERM
    if count == 0:
        return
    if 8 * count > labels:
        for k in range(labels):
            out[k] += mass * exp_low(score + row[k] - shift[k])
        return
    for k in range(labels):
        x = score + row[k] - shift[k]
        if x > TERM:
            out[k] += mass * exp_low(x)


@piece(types.float64(FLOATS, FLOATS, FLOATS, types.float64, FLOATS), reorder=True)
def fill_row(row, after, mass, high, out):
    """out[k] = mass[k] exp(row[k] + after[k] - high); returns the sum."""
    total = 0.0
    for k in range(len(out)):
        out[k] = mass[k] * exp_low(row[k] + after[k] - high)
        total += out[k]
    return total


@piece(types.void(FLOATS, FLOATS))
def fold(high, mass):
    """Put masses into the scores, should one be large."""
    if highest(mass) > FOLD:
        for k in range(len(high)):
            if high[k] > -np.inf:
                high[k] += np.log(mass[k])
            mass[k] = 1.0


@piece(types.float64(FLOATS))
def lower(x):
    """Subtract the largest in place; returns it."""
    high = highest(x)
    if high > -np.inf:
        for k in range(len(x)):
            x[k] -= high
    return high


@piece(types.float64(FLOATS, INTS, FLOATS, FLOATS, FLOATS))
def logs_ahead(theta, shape, high, mass, shift):
    """Messages of all beginnings; returns the sum of what was subtracted, -inf if there is none."""
    length, labels, stride = shape[0], shape[1], shape[2]
    high[:labels] = theta[:labels]
    mass[:labels] = 1.0
    total = lower(high[:labels])
    for t in range(1, length):
        old, new = high[(t - 1) * labels : t * labels], high[t * labels : (t + 1) * labels]
        old_mass = mass[(t - 1) * labels : t * labels]
        new_mass = mass[t * labels : (t + 1) * labels]
        start = length * labels + (t - 1) * stride
        table = theta[start : start + labels * labels]
        max_ahead(table, old, new)
        for k in range(labels):
            shift[k] = new[k] if new[k] > -np.inf else 0.0
            new_mass[k] = 0.0
        for j in range(labels):
            if old[j] > -np.inf:
                row = table[j * labels : (j + 1) * labels]
                add_row(row, shift, old[j], old_mass[j], new_mass)
        fold(new, new_mass)
        for k in range(labels):
            new[k] += theta[t * labels + k]
        total += lower(new)
    return total


@piece(types.float64(FLOATS, FLOATS, FLOATS, FLOATS, FLOATS))
def shares(high, mass, high_behind, mass_behind, out):
    """Out = the two messages multiplied, and divided by their sum, whose log is returned."""
    best = -np.inf
    for k in range(len(out)):
        v = high[k] + high_behind[k]
        best = v if v > best else best
    total = 0.0
    for k in range(len(out)):
        out[k] = mass[k] * mass_behind[k] * exp_low(high[k] + high_behind[k] - best)
        total += out[k]
    for k in range(len(out)):
        out[k] /= total
    return best + np.log(total)


@ability
def tilt_by_logs(theta, shape, out, work, iwork):
    """Sum-product by logarithms. work: 2 T K + K K + 5 K. As `tilt` of `kernels.chain_sums`."""
    length, labels, stride = shape[0], shape[1], shape[2]
    nodes, square = length * labels, labels * labels
    high, mass = work[:nodes], work[nodes : 2 * nodes]
    rest = work[2 * nodes :]
    new, new_mass = rest[:labels], rest[labels : 2 * labels]
    old_mass, after = rest[2 * labels : 3 * labels], rest[3 * labels : 4 * labels]
    spare = rest[4 * labels : 4 * labels + square]
    value = logs_ahead(theta, shape, high, mass, new)
    out[:] = 0.0
    if value == -np.inf:
        return value
    new[:] = 0.0
    new_mass[:] = 1.0
    last = nodes - labels
    value += shares(high[last:], mass[last:nodes], new, new_mass, out[last:nodes])
    for t in range(length - 2, -1, -1):
        place = nodes + t * stride
        table = theta[place : place + square]
        pairs = out[place : place + square]
        here, here_mass = high[t * labels : (t + 1) * labels], mass[t * labels : (t + 1) * labels]
        for k in range(labels):
            after[k] = theta[(t + 1) * labels + k] + new[k]
            old_mass[k] = new_mass[k]
        max_behind(table, after, new)
        best = -np.inf
        for j in range(labels):
            if here[j] + new[j] > best:
                best = here[j] + new[j]
        for j in range(labels):
            new_mass[j] = 1.0
            if here[j] + new[j] - best > LABEL:
                row = slice(j * labels, (j + 1) * labels)
                new_mass[j] = fill_row(table[row], after, old_mass, new[j], spare[row])
        node = out[t * labels : (t + 1) * labels]
        shares(here, here_mass, new, new_mass, node)
        for j in range(labels):
            if here[j] + new[j] - best > LABEL:
                share = node[j] / new_mass[j]
                for p in range(j * labels, (j + 1) * labels):
                    pairs[p] += share * spare[p]
        fold(new, new_mass)
        lower(new)
    return value
