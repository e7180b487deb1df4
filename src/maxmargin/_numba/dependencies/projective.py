"""Projective dependency trees: Eisner's algorithm. layout = (n, 1 if single_root else 0).

Parts: for each word d = 1, ..., n a score of each head 0, ..., n, at (d - 1) (n + 1) + head; 0 is
the root. Those of a word as its own head are not read; -inf marks what is forbidden.

A span s..t of words is *complete* if all words of it hang below its head, which is s (right) or t
(left); it is *incomplete* if it is made by an arc between s and t. Each kind is stored in the order
in which it is read, row by row, complete ones in both orders. No back-pointers are stored: on the
way down the best split of one span at a time is looked for again, which is cheaper.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin._numba.compile import (
    FLOATS,
    compile_ability,
    compile_inlined,
    compile_internal,
    tuple_type,
    types,
)
from maxmargin._numba.exponential import exp_low

INT, FLOAT = types.int64, types.float64
#: kinds of spans
RIGHT, LEFT, RIGHT_ARC, LEFT_ARC = 0, 1, 2, 3


class Spans(NamedTuple):
    """Values of all spans, (N, N) with N = n + 1: row t, column s "at end", else row s."""

    right: np.ndarray
    right_at_end: np.ndarray
    left: np.ndarray
    left_at_end: np.ndarray
    right_arc: np.ndarray
    left_arc_at_end: np.ndarray


SPANS = tuple_type(Spans, dict.fromkeys(Spans._fields, FLOATS))


@compile_internal(FLOAT(FLOATS, FLOATS), no_nan=True)
def largest_sum(a, b):
    """The largest a[k] + b[k]."""
    high = -np.inf
    for k in range(len(a)):
        v = a[k] + b[k]
        high = v if v > high else high
    return high


@compile_internal(FLOAT(FLOATS, FLOATS))
def log_sum_of_sums(a, b):
    """Log sum over k of exp(a[k] + b[k])."""
    high = largest_sum(a, b)
    if high == -np.inf:
        return high
    total = 0.0
    for k in range(len(a)):
        total += exp_low(a[k] + b[k] - high)
    return high + np.log(total)


@compile_inlined
def make_spans(work, size):
    """Views of the first 6 N N numbers of the work space."""
    square = size * size
    return Spans(
        work[:square],
        work[square : 2 * square],
        work[2 * square : 3 * square],
        work[3 * square : 4 * square],
        work[4 * square : 5 * square],
        work[5 * square : 6 * square],
    )


@compile_inlined
def fill_spans(theta, n, single_root, spans, combine):
    """Values of all spans from those of shorter ones; combine: `largest_sum` or its like.

    Returns that of the whole.
    """
    size = n + 1
    for s in range(size):
        at = s * size + s
        spans.right[at], spans.right_at_end[at] = 0.0, 0.0
        spans.left[at], spans.left_at_end[at] = 0.0, 0.0
    for t in range(1, size):
        right_at_end = spans.right_at_end[t * size : (t + 1) * size]
        left_at_end = spans.left_at_end[t * size : (t + 1) * size]
        left_arc = spans.left_arc_at_end[t * size : (t + 1) * size]
        scores = theta[(t - 1) * size : t * size]
        for s in range(t - 1, -1, -1):
            right = spans.right[s * size : (s + 1) * size]
            right_arc = spans.right_arc[s * size : (s + 1) * size]
            last = 1 if s == 0 and single_root else t
            inner = combine(right[s:last], left_at_end[s + 1 : last + 1])
            if s == 0 and single_root:
                inner = left_at_end[1]
            right_arc[t] = inner + scores[s]
            if s > 0:
                left = spans.left[s * size : (s + 1) * size]
                left_arc[s] = inner + theta[(s - 1) * size + t]
                value = combine(left[s:t], left_arc[s:t])
                left[t] = value
                left_at_end[s] = value
            value = combine(right_arc[s + 1 : t + 1], right_at_end[s + 1 : t + 1])
            right[t] = value
            right_at_end[s] = value
    return spans.right[n]


@compile_internal(INT(FLOATS, FLOATS, INT))
def find_largest_sum(a, b, count):
    """The first k < count with the largest a[k] + b[k]."""
    best, high = 0, -np.inf
    for k in range(count):
        v = a[k] + b[k]
        if v > high:
            best, high = k, v
    return best


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """The best tree. work: 6 N N, iwork: 9 N. Returns its score, -inf if there is none."""
    n, single_root = layout[0], layout[1] != 0
    size = n + 1
    spans = make_spans(work, size)
    value = fill_spans(theta, n, single_root, spans, largest_sum)
    out[:] = 0.0
    if value == -np.inf:
        return value
    iwork[0], iwork[1], iwork[2] = RIGHT, 0, n
    count = 1
    while count > 0:
        count -= 1
        kind, s, t = iwork[3 * count], iwork[3 * count + 1], iwork[3 * count + 2]
        if s == t:
            continue
        top = 3 * count
        if kind == RIGHT:
            first = s * size + s + 1
            arcs, rest = spans.right_arc[first:], spans.right_at_end[t * size + s + 1 :]
            q = s + 1 + find_largest_sum(arcs, rest, t - s)
            iwork[top], iwork[top + 1], iwork[top + 2] = RIGHT_ARC, s, q
            iwork[top + 3], iwork[top + 4], iwork[top + 5] = RIGHT, q, t
        elif kind == LEFT:
            rest, arcs = spans.left[s * size + s :], spans.left_arc_at_end[t * size + s :]
            q = s + find_largest_sum(rest, arcs, t - s)
            iwork[top], iwork[top + 1], iwork[top + 2] = LEFT, s, q
            iwork[top + 3], iwork[top + 4], iwork[top + 5] = LEFT_ARC, q, t
        else:
            out[(t - 1) * size + s if kind == RIGHT_ARC else (s - 1) * size + t] = 1.0
            splits = 1 if s == 0 and single_root else t - s
            a, b = spans.right[s * size + s :], spans.left_at_end[t * size + s + 1 :]
            q = s + find_largest_sum(a, b, splits)
            iwork[top], iwork[top + 1], iwork[top + 2] = RIGHT, s, q
            iwork[top + 3], iwork[top + 4], iwork[top + 5] = LEFT, q + 1, t
        count += 2
    return value


@compile_internal(types.void(FLOATS, FLOATS, FLOAT, FLOATS))
def divide(a, b, amount, shares):
    """Divide an amount in proportion to exp(a[k] + b[k])."""
    high = largest_sum(a, b)
    total = 0.0
    for k in range(len(a)):
        shares[k] = exp_low(a[k] + b[k] - high)
        total += shares[k]
    scale = amount / total
    for k in range(len(a)):
        shares[k] *= scale


@compile_ability
def marginals(theta, layout, out, work, iwork):
    """The probability of each arc. work: 10 N N + N. Returns log Z.

    From the whole down, each span divides its probability among its splits, so that the sums are
    right whatever the size of the scores. Complete spans are numbered by their end here.
    """
    n, single_root = layout[0], layout[1] != 0
    size = n + 1
    square = size * size
    spans = make_spans(work, size)
    value = fill_spans(theta, n, single_root, spans, log_sum_of_sums)
    out[:] = 0.0
    if value == -np.inf:
        return value
    right, left = work[6 * square : 7 * square], work[7 * square : 8 * square]
    right_arc, left_arc = work[8 * square : 9 * square], work[9 * square : 10 * square]
    shares = work[10 * square : 10 * square + size]
    work[6 * square : 10 * square] = 0.0
    right[n * size] = 1.0
    for t in range(n, 0, -1):
        for s in range(t):
            p = right[t * size + s]
            if p > 0.0:
                a = spans.right_arc[s * size + s + 1 : s * size + t + 1]
                own = shares[: t - s]
                divide(a, spans.right_at_end[t * size + s + 1 : t * size + t + 1], p, own)
                for k in range(t - s):
                    right_arc[s * size + s + 1 + k] += own[k]
                    right[t * size + s + 1 + k] += own[k]
            p = left[t * size + s]
            if p > 0.0:
                a = spans.left[s * size + s : s * size + t]
                own = shares[: t - s]
                divide(a, spans.left_arc_at_end[t * size + s : t * size + t], p, own)
                for k in range(t - s):
                    left[(s + k) * size + s] += own[k]
                    left_arc[t * size + s + k] += own[k]
            out[(t - 1) * size + s] = right_arc[s * size + t]
            if s > 0:
                out[(s - 1) * size + t] = left_arc[t * size + s]
            p = right_arc[s * size + t] + left_arc[t * size + s]
            if p > 0.0:
                splits = 1 if s == 0 and single_root else t - s
                a = spans.right[s * size + s : s * size + s + splits]
                own = shares[:splits]
                divide(a, spans.left_at_end[t * size + s + 1 : t * size + s + 1 + splits], p, own)
                for k in range(splits):
                    right[(s + k) * size + s] += own[k]
                    left[t * size + s + k + 1] += own[k]
    return value


@compile_internal(types.void(FLOATS, FLOATS, FLOAT, FLOATS, INT, INT, FLOATS))
def raise_outside(a, b, outside, of_a, first, step, of_b):
    """Best scores outside of the halves of splits, from that outside of the span that is split.

    of_a[first + step k] is that of the half which scores a[k], of_b[k] that of b[k].
    """
    for k in range(len(a)):
        at = first + step * k
        of_a[at] = max(of_a[at], outside + b[k])
        of_b[k] = max(of_b[k], outside + a[k])


@compile_ability
def max_marginals(theta, layout, out, work, iwork):
    """The score of the best tree with each arc. work: 10 N N. Returns that of the best."""
    n, single_root = layout[0], layout[1] != 0
    size = n + 1
    square = size * size
    spans = make_spans(work, size)
    value = fill_spans(theta, n, single_root, spans, largest_sum)
    out[:] = -np.inf
    right, left = work[6 * square : 7 * square], work[7 * square : 8 * square]
    right_arc, left_arc = work[8 * square : 9 * square], work[9 * square : 10 * square]
    work[6 * square : 10 * square] = -np.inf
    right[n * size] = 0.0
    # in the order of `marginals`
    for t in range(n, 0, -1):
        for s in range(t):
            row, end = s * size, t * size
            a, b = spans.right_arc[row + s + 1 : row + t + 1], spans.right_at_end[end + s + 1 :]
            raise_outside(a, b, right[end + s], right_arc, row + s + 1, 1, right[end + s + 1 :])
            if s > 0:
                a, b = spans.left[row + s : row + t], spans.left_arc_at_end[end + s :]
                raise_outside(a, b, left[end + s], left, row + s, size, left_arc[end + s :])
                out[(s - 1) * size + t] = left_arc[end + s] + spans.left_arc_at_end[end + s]
            out[(t - 1) * size + s] = right_arc[row + t] + spans.right_arc[row + t]
            # what is outside of the two words and of the arc between them
            outside = right_arc[row + t] + theta[(t - 1) * size + s]
            if s > 0:
                outside = max(outside, left_arc[end + s] + theta[(s - 1) * size + t])
            splits = 1 if s == 0 and single_root else t - s
            a, b = spans.right[row + s : row + s + splits], spans.left_at_end[end + s + 1 :]
            raise_outside(a, b, outside, right, row + s, size, left[end + s + 1 :])
    return value
