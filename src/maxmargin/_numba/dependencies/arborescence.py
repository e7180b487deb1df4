"""Dependency trees whose arcs may cross: the best one, after Chu and Liu, Edmonds, and Tarjan.

Layouts and parts as in `_numba.dependencies.projective`.

From each word a path of best heads is followed until it meets the root, or words that were
connected to it before. If it meets itself, the cycle is contracted to one node: a head x of the
cycle scores what the best word to break it at gains, and the cycle as a head what its best word
scores. A contraction of k nodes takes O(n k) steps, and there are no more than 2 n nodes in all, so
that all takes O(n n).

With a single root, scores are pairs (-1 if the head is the root, score), compared in this order: as
few words as possible have the root as their head, which is exact where a large penalty is not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin._numba.compile import (
    FLOATS,
    INTS,
    compile_ability,
    compile_inlined,
    compile_internal,
    tuple_type,
    types,
)

INT, FLOAT = types.int64, types.float64


class Arcs(NamedTuple):
    """The present graph. (N, N) arrays have row d for a node and column h for its head."""

    score: np.ndarray
    roots: np.ndarray  # minus the number of arcs from the root in the score
    head: np.ndarray  # the words of the arc that is meant
    dependent: np.ndarray
    best_score: np.ndarray  # (N,) of the head chosen for each node
    best_roots: np.ndarray
    alive: np.ndarray  # (N,) 0 if contracted into another, 2 if connected to the root, else 1
    number: np.ndarray  # (N,) of the node in the forest of contractions
    path: np.ndarray  # (N,) nodes, each with its best head after it
    place: np.ndarray  # (N,) in the path, -1 if not there
    above: np.ndarray  # (2 N,) the contraction that each node went into, -1 if none
    chosen_head: np.ndarray  # (2 N,)
    chosen_dependent: np.ndarray


ARCS = tuple_type(
    Arcs,
    dict.fromkeys(Arcs._fields, INTS)
    | dict.fromkeys(("score", "roots", "best_score", "best_roots"), FLOATS),
)


@compile_inlined
def make_arcs(work, iwork, size):
    """Views of the work space: 2 N N + 2 N numbers, 2 N N + 10 N integers."""
    square = size * size
    rest, more = work[2 * square :], iwork[2 * square :]
    return Arcs(
        work[:square], work[square : 2 * square], iwork[:square], iwork[square : 2 * square],
        rest[:size], rest[size : 2 * size],
        more[:size], more[size : 2 * size], more[2 * size : 3 * size], more[3 * size : 4 * size],
        more[4 * size : 6 * size], more[6 * size : 8 * size], more[8 * size : 10 * size],
    )  # fmt: skip


@compile_internal(types.void(ARCS, FLOATS, INT, types.boolean))
def copy_graph(arcs, theta, n, single_root):
    """Start with the words, none of which is connected."""
    size = n + 1
    for d in range(size):
        arcs.alive[d], arcs.number[d], arcs.place[d] = 1, d, -1
        arcs.above[d] = -1
        for h in range(size):
            at = d * size + h
            arcs.score[at] = theta[(d - 1) * size + h] if d > 0 and d != h else -np.inf
            arcs.roots[at] = -1.0 if single_root and h == 0 else 0.0
            arcs.head[at], arcs.dependent[at] = h, d
    arcs.alive[0] = 2


@compile_internal(INT(ARCS, INT, INT))
def choose_head(arcs, d, size):
    """The best head of a node, -1 if it has none; remembered as its choice."""
    best, score, roots = -1, -np.inf, 0.0
    for h in range(size):
        at = d * size + h
        if arcs.alive[h] == 0 or h == d or arcs.score[at] == -np.inf:
            continue
        own = arcs.roots[at]
        if best < 0 or own > roots or (own == roots and arcs.score[at] > score):
            best, score, roots = h, arcs.score[at], own
    if best >= 0:
        at, number = d * size + best, arcs.number[d]
        arcs.best_score[d], arcs.best_roots[d] = score, roots
        arcs.chosen_head[number] = arcs.head[at]
        arcs.chosen_dependent[number] = arcs.dependent[at]
    return best


@compile_internal(types.void(ARCS, INT, INT, INT, INT))
def contract(arcs, first, last, number, size):
    """Make the nodes of path[first:last] one, which takes the place of the first of them."""
    kept = arcs.path[first]
    for k in range(first, last):
        arcs.above[arcs.number[arcs.path[k]]] = number
    for k in range(first + 1, last):
        arcs.alive[arcs.path[k]] = 0
    for x in range(size):
        if arcs.alive[x] == 0 or x == kept:
            continue
        into, out, score, roots = -1, -1, -np.inf, 0.0
        high, high_roots = -np.inf, 0.0
        for k in range(first, last):
            m = arcs.path[k]
            at = m * size + x
            if arcs.score[at] > -np.inf:
                own = arcs.score[at] - arcs.best_score[m]
                own_roots = arcs.roots[at] - arcs.best_roots[m]
                if into < 0 or own_roots > roots or (own_roots == roots and own > score):
                    into, score, roots = at, own, own_roots
            at = x * size + m
            if arcs.score[at] > -np.inf:
                own, own_roots = arcs.score[at], arcs.roots[at]
                if out < 0 or own_roots > high_roots or (own_roots == high_roots and own > high):
                    out, high, high_roots = at, own, own_roots
        at = kept * size + x
        arcs.score[at], arcs.roots[at] = score, roots
        if into >= 0:
            arcs.head[at], arcs.dependent[at] = arcs.head[into], arcs.dependent[into]
        at = x * size + kept
        arcs.score[at], arcs.roots[at] = high, high_roots
        if out >= 0:
            arcs.head[at], arcs.dependent[at] = arcs.head[out], arcs.dependent[out]
    arcs.number[kept] = number
    arcs.above[number] = -1


@compile_internal(INT(ARCS, INT, INT, INT))
def connect(arcs, start, number, size):
    """Connect a node to the root; returns the next number of a contraction, -1 on failure."""
    arcs.path[0], arcs.place[start] = start, 0
    length = 1
    while True:
        node = arcs.path[length - 1]
        head = choose_head(arcs, node, size)
        if head < 0:
            return -1
        if arcs.alive[head] == 2:
            break
        if arcs.place[head] < 0:
            arcs.path[length], arcs.place[head] = head, length
            length += 1
            continue
        first = arcs.place[head]
        contract(arcs, first, length, number, size)
        number += 1
        for k in range(first + 1, length):
            arcs.place[arcs.path[k]] = -1
        length = first + 1
    for k in range(length):
        arcs.alive[arcs.path[k]], arcs.place[arcs.path[k]] = 2, -1
    return number


@compile_internal(FLOAT(FLOATS, INTS, FLOATS, FLOATS, INTS))
def find_best(theta, layout, out, work, iwork):
    """See `maximize`."""
    n, single_root = layout[0], layout[1] != 0
    size = n + 1
    arcs = make_arcs(work, iwork, size)
    copy_graph(arcs, theta, n, single_root)
    out[:] = 0.0
    number = size
    for d in range(1, size):
        if arcs.alive[d] == 1:
            number = connect(arcs, d, number, size)
            if number < 0:
                return -np.inf
    # a contraction's choice enters it at one word; all nodes on the way there lose their own
    value, roots = 0.0, 0
    for node in range(number - 1, 0, -1):
        if arcs.above[node] == -2:
            continue
        h, d = arcs.chosen_head[node], arcs.chosen_dependent[node]
        out[(d - 1) * size + h] = 1.0
        value += theta[(d - 1) * size + h]
        roots += h == 0
        lower = d
        while lower != node:
            higher = arcs.above[lower]
            arcs.above[lower] = -2
            lower = higher
    return -np.inf if single_root and roots > 1 else value


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """The best tree. work: 2 N N + 2 N, iwork: 2 N N + 10 N. Returns its score."""
    return find_best(theta, layout, out, work, iwork)


@compile_ability
def max_marginals(theta, layout, out, work, iwork):
    """The score of the best tree with each arc, found for one arc after another, O(n^4).

    work: 2 (n N) more than that of maximize. Returns the score of the best.
    """
    n = layout[0]
    size = n + 1
    fixed, z, rest = work[: n * size], work[n * size : 2 * n * size], work[2 * n * size :]
    value = find_best(theta, layout, z, rest, iwork)
    out[:] = -np.inf
    for p in range(n * size):
        if z[p] > 0.0:
            out[p] = value
    for p in range(n * size):
        fixed[p] = theta[p]
    for d in range(n):
        for p in range(d * size, (d + 1) * size):
            fixed[p] = -np.inf
        for p in range(d * size, (d + 1) * size):
            if out[p] == -np.inf and p != d * size + d + 1 and theta[p] > -np.inf:
                fixed[p] = theta[p]
                out[p] = find_best(fixed, layout, z, rest, iwork)
                fixed[p] = -np.inf
        for p in range(d * size, (d + 1) * size):
            fixed[p] = theta[p]
    return value
