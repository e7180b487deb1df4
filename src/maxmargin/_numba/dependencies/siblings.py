"""Projective trees whose neighbouring dependents are scored in pairs. layout = (n, single_root).

Parts: arcs as in `dependencies.projective`; then for each head h, and words s and d on one side of
it, s nearer and none of its dependents between them, one part: first of all h < s < d of 0, ..., n,
then of all d < s < h of 1, ..., n, both in the order of their combinations (McDonald and Pereira
2006).

All spans s..t are made by steps q = s, ..., t - 1 from two shorter ones. Beside those of
`dependencies.projective` there are spans *between* two dependents of a head: all words of it hang
below s or t.
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
from maxmargin._numba.exponential import exp_low

INT, FLOAT, BOOL = types.int64, types.float64, types.boolean
#: kinds of spans, in the order in which they are made
BETWEEN, RIGHT_ARC, LEFT_ARC, LEFT, RIGHT = 0, 1, 2, 3, 4
KINDS = 5


class Spans(NamedTuple):
    """Numbers of all spans of each kind, (N, N) with N = n + 1: row s, column t."""

    between: np.ndarray
    right_arc: np.ndarray
    left_arc: np.ndarray
    left: np.ndarray
    right: np.ndarray


SPANS = tuple_type(Spans, dict.fromkeys(Spans._fields, FLOATS))


@compile_inlined
def make_spans(work, size):
    """Views of the first 5 N N numbers of the work space."""
    square = size * size
    return Spans(
        work[:square],
        work[square : 2 * square],
        work[2 * square : 3 * square],
        work[3 * square : 4 * square],
        work[4 * square : 5 * square],
    )


@compile_inlined
def number_pair(n, h, s, d):
    """The part of neighbouring dependents s and d of h."""
    first = n * (n + 1)
    if h < s:
        return first + d * (d - 1) * (d - 2) // 6 + s * (s - 1) // 2 + h
    first += (n + 1) * n * (n - 1) // 6
    return first + (h - 1) * (h - 2) * (h - 3) // 6 + (s - 1) * (s - 2) // 2 + d - 1


@compile_inlined
def score_step(kind, s, t, q, theta, n, single_root, spans):
    """The value of a span, if made by step q."""
    size = n + 1
    if kind == BETWEEN:
        return spans.right[s * size + q] + spans.left[(q + 1) * size + t]
    if kind == LEFT:
        return spans.left[s * size + q] + spans.left_arc[q * size + t]
    if kind == RIGHT:
        return spans.right_arc[s * size + q + 1] + spans.right[(q + 1) * size + t]
    if kind == RIGHT_ARC:
        arc = theta[(t - 1) * size + s]
        if q == s:
            return arc + spans.left[(s + 1) * size + t]
        if s == 0 and single_root:
            return -np.inf
        pair = theta[number_pair(n, s, q, t)]
        return arc + pair + spans.right_arc[s * size + q] + spans.between[q * size + t]
    arc = theta[(s - 1) * size + t]
    if q == s:
        return arc + spans.right[s * size + t - 1]
    pair = theta[number_pair(n, t, q, s)]
    return arc + pair + spans.between[s * size + q] + spans.left_arc[q * size + t]


@compile_internal(FLOAT(INT, INT, INT, FLOATS, INT, BOOL, SPANS, BOOL))
def make_span(kind, s, t, theta, n, single_root, spans, soft):
    """The largest value of a span's steps, or the log of the sum of their exponentials."""
    high = -np.inf
    for q in range(s, t):
        high = max(high, score_step(kind, s, t, q, theta, n, single_root, spans))
    if not soft or high == -np.inf:
        return high
    total = 0.0
    for q in range(s, t):
        total += exp_low(score_step(kind, s, t, q, theta, n, single_root, spans) - high)
    return high + np.log(total)


@compile_internal(FLOAT(FLOATS, INT, BOOL, SPANS, BOOL))
def fill_spans(theta, n, single_root, spans, soft):
    """Values of all spans; returns that of the whole."""
    size = n + 1
    for s in range(size):
        spans.right[s * size + s], spans.left[s * size + s] = 0.0, 0.0
    for t in range(1, size):
        for s in range(t - 1, -1, -1):
            at = s * size + t
            if s > 0:
                spans.between[at] = make_span(BETWEEN, s, t, theta, n, single_root, spans, soft)
            spans.right_arc[at] = make_span(RIGHT_ARC, s, t, theta, n, single_root, spans, soft)
            if s > 0:
                spans.left_arc[at] = make_span(LEFT_ARC, s, t, theta, n, single_root, spans, soft)
                spans.left[at] = make_span(LEFT, s, t, theta, n, single_root, spans, soft)
            spans.right[at] = make_span(RIGHT, s, t, theta, n, single_root, spans, soft)
    return spans.right[n]


@compile_inlined
def add_step(kind, s, t, q, mass, n, spans, out):
    """Add a mass to the parts of a step and to the two spans that it is made from."""
    size = n + 1
    if kind == BETWEEN:
        spans.right[s * size + q] += mass
        spans.left[(q + 1) * size + t] += mass
    elif kind == LEFT:
        spans.left[s * size + q] += mass
        spans.left_arc[q * size + t] += mass
    elif kind == RIGHT:
        spans.right_arc[s * size + q + 1] += mass
        spans.right[(q + 1) * size + t] += mass
    elif kind == RIGHT_ARC:
        out[(t - 1) * size + s] += mass
        if q == s:
            spans.left[(s + 1) * size + t] += mass
        else:
            out[number_pair(n, s, q, t)] += mass
            spans.right_arc[s * size + q] += mass
            spans.between[q * size + t] += mass
    else:
        out[(s - 1) * size + t] += mass
        if q == s:
            spans.right[s * size + t - 1] += mass
        else:
            out[number_pair(n, t, q, s)] += mass
            spans.between[s * size + q] += mass
            spans.left_arc[q * size + t] += mass


@compile_internal(
    types.void(INT, INT, INT, FLOATS, INT, BOOL, SPANS, FLOAT, SPANS, FLOAT, FLOATS, FLOATS, BOOL)
)
def divide_span(kind, s, t, theta, n, single_root, spans, value, masses, mass, shares, out, soft):
    """Divide the mass of a span among its steps, or give it to the best of them."""
    best, high, total = s, -np.inf, 0.0
    for q in range(s, t):
        score = score_step(kind, s, t, q, theta, n, single_root, spans)
        if soft:
            shares[q] = exp_low(score - value)
            total += shares[q]  # 1 but for the rounding of large scores
        elif score > high:
            best, high = q, score
    if not soft:
        add_step(kind, s, t, best, mass, n, masses, out)
        return
    mass /= total
    for q in range(s, t):
        add_step(kind, s, t, q, mass * shares[q], n, masses, out)


@compile_internal(FLOAT(FLOATS, INTS, FLOATS, FLOATS, BOOL))
def find_parts(theta, layout, out, work, soft):
    """From the whole down to single words, by the order in which spans were made reversed.

    work: 10 (n + 1)^2, values and masses of all spans, and n + 1. Returns the value of the whole.
    """
    n, single_root = layout[0], layout[1] != 0
    size = n + 1
    square = size * size
    spans, masses = make_spans(work, size), make_spans(work[KINDS * square :], size)
    shares = work[2 * KINDS * square : 2 * KINDS * square + size]
    value = fill_spans(theta, n, single_root, spans, soft)
    out[:] = 0.0
    if value == -np.inf:
        return value
    work[KINDS * square : 2 * KINDS * square] = 0.0
    masses.right[n] = 1.0
    for t in range(n, 0, -1):
        for s in range(t):
            for kind in range(KINDS - 1, -1, -1):
                at = kind * square + s * size + t
                mass = work[KINDS * square + at]
                if mass > 0.0:
                    divide_span(
                        kind, s, t, theta, n, single_root, spans, work[at], masses, mass, shares,
                        out, soft,
                    )  # fmt: skip
    return value


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """The best tree; returns its score. See `find_parts`."""
    return find_parts(theta, layout, out, work, False)


@compile_ability
def marginals(theta, layout, out, work, iwork):
    """The probability of each part; returns log Z. See `find_parts`."""
    return find_parts(theta, layout, out, work, True)
