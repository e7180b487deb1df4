"""Subsets of L labels, scored by labels and pairs of labels.

layout = (kind, L, E, 2 E ends of pairs, ...). Parts: L labels, then E pairs, on if both labels are.
The kinds: 0, all subsets are tried (`_numba.multi_label.subsets`); 1, the pairs have no cycle, and
the rest of the shape is that of a tree with two labels per node, off and on, and tables that are
not tied (`_numba.tree.maximize`); 2, a bound (`_numba.multi_label.qpbo`), which only `maximize`
knows.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.arrays import copy_values
from maxmargin._numba.compile import FLOATS, INTS, compile_ability, compile_internal, types
from maxmargin._numba.multi_label.qpbo import dense_pairs, maximize_qpbo, switch_pairs_on
from maxmargin._numba.multi_label.subsets import (
    best_set,
    best_with_and_without,
    fill_low,
    make_sets,
)
from maxmargin._numba.tree import maximize as tree

TREE_KIND = 1
tree_best, tree_extremes = tree.maximize, tree.max_marginals


@compile_internal(types.boolean(FLOATS))
def has_non_finite(theta):
    """Whether a score is not a number, or infinite."""
    for p in range(len(theta)):
        if not theta[p] < np.inf:
            return True
    return False


@compile_internal(types.void(FLOATS, INTS, FLOATS))
def as_tree(theta, layout, scores):
    """The scores of a tree with labels off and on at each node, of which off scores nothing."""
    labels, pairs = layout[1], layout[2]
    scores[: 2 * labels + 4 * pairs] = 0.0
    for k in range(labels):
        scores[2 * k + 1] = theta[k]
    for e in range(pairs):
        scores[2 * labels + 4 * e + 3] = theta[labels + e]


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """The best subset; returns its score, or a bound on that for kind 2."""
    labels, pairs = layout[1], layout[2]
    if has_non_finite(theta):
        out[:] = 0.0
        return np.nan
    if layout[0] == 2:
        return maximize_qpbo(theta, layout, out, work, iwork)
    if layout[0] == TREE_KIND:
        size = 2 * labels + 4 * pairs
        scores, found = work[:size], work[size : 2 * size]
        as_tree(theta, layout, scores)
        tree_best(scores, layout[3 + 2 * pairs :], found, work[2 * size :], iwork)
        for k in range(labels):
            out[k] = found[2 * k + 1]
        return switch_pairs_on(theta, layout, out)
    sets = make_sets(labels, work)
    copy_values(theta[:labels], sets.own)
    dense_pairs(theta, layout, sets.pair)
    fill_low(sets)
    best_set(sets, out[:labels])
    return switch_pairs_on(theta, layout, out)


@compile_internal(types.float64(FLOATS, INTS, FLOATS, FLOATS, FLOATS, INTS))
def on_and_off(theta, layout, on, off, work, iwork):
    """The scores of the best subsets with and without each label; returns that of the best."""
    labels, pairs = layout[1], layout[2]
    if has_non_finite(theta) or layout[0] == 2:
        return np.nan
    if layout[0] == TREE_KIND:
        size = 2 * labels + 4 * pairs
        scores, found = work[:size], work[size : 2 * size]
        as_tree(theta, layout, scores)
        tree_extremes(scores, layout[3 + 2 * pairs :], found, work[2 * size :], iwork)
        for k in range(labels):
            off[k], on[k] = found[2 * k], found[2 * k + 1]
    else:
        sets = make_sets(labels, work)
        copy_values(theta[:labels], sets.own)
        dense_pairs(theta, layout, sets.pair)
        fill_low(sets)
        best_with_and_without(sets, on, off)
    return max(on[0], off[0])


@compile_ability
def max_marginals(theta, layout, out, work, iwork):
    """The score of the best subset with each label. work: L more than `maximize` needs."""
    labels = layout[1]
    out[:] = 0.0
    return on_and_off(theta, layout, out[:labels], work[:labels], work[labels:], iwork)


@compile_ability
def leads(theta, layout, out, work, iwork):
    """By how much the best subset with a label leads the best without. work: as above."""
    labels = layout[1]
    out[:] = 0.0
    off = work[:labels]
    value = on_and_off(theta, layout, out[:labels], off, work[labels:], iwork)
    for k in range(labels):
        out[k] -= off[k]
    return value
