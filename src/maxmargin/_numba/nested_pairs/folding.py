"""Nested pairs: the best, and sums over all, by one recursion.

layout = (n, m, K, whether there are no tied parts), the symbols of n positions, then i of the m
pairs, then their j.

Parts: one per pair, then those of `loops` if there are any. Spans i..j of a multiloop:
  left     one branch, which starts at i
  single   one branch, which ends at j
  far      one branch, with more than CAP unpaired positions before it
  one      one branch or more
  two      two branches or more
All are sums over (or the best of) a few terms. On the way down each item divides its amount among
its terms, in proportion (or all goes to the best one); what arrives at parts is the answer. Charts
have a place for each i and j, so that terms stand in rows: to skip what may not be paired took more
time.
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
from maxmargin._numba.exponential import exp_low, largest_entry
from maxmargin._numba.nested_pairs.loops import (
    BULGE,
    CAP,
    INTERIOR,
    LENGTHS,
    MOST,
    MULTI,
    MULTI_BRANCH,
    MULTI_UNPAIRED,
    OUTER_BRANCH,
    OUTER_UNPAIRED,
    SIDES,
    SMALL,
    SMALL_SIDES,
    branch_parts,
    first_length,
    hairpin_parts,
)

INT, FLOAT, BOOL = types.int64, types.float64, types.boolean
#: amounts that are not followed further down: all of them together are less than rounding
LEAST = 1e-20


class Charts(NamedTuple):
    """Values of all items, or the amounts that arrive at them.

    tied: of tied parts. loops: (LENGTHS, LENGTHS) by the sides a and CAP - b of interior loops.
    outer: of n + 1 prefixes. Others (n + 1, n) at i n + j: pair; end, mismatch: a pair with its
    scores as inner pair of an interior loop; the spans above. branch: pairs with their scores as
    branches of multiloops, those of j at j n and after it, i falling.
    """

    tied: np.ndarray
    loops: np.ndarray
    outer: np.ndarray
    pair: np.ndarray
    end: np.ndarray
    mismatch: np.ndarray
    branch: np.ndarray
    left: np.ndarray
    single: np.ndarray
    far: np.ndarray
    one: np.ndarray
    two: np.ndarray


class Task(NamedTuple):
    """symbols: of the positions. terms: of an item. ids: of parts. sizes: n, K, whether plain.

    counts: branches of each j that start at the present i or after it. starts: i of branches.
    """

    symbols: np.ndarray
    terms: np.ndarray
    ids: np.ndarray
    sizes: np.ndarray
    counts: np.ndarray
    starts: np.ndarray


CHARTS = tuple_type(Charts, dict.fromkeys(Charts._fields, FLOATS))
TASK = tuple_type(Task, dict.fromkeys(Task._fields, INTS) | {"terms": FLOATS})


@compile_inlined
def make_charts(work, n, tied):
    """Views of the first numbers of the work space, see `scratch_sizes`."""
    square, a = n * (n + 1), tied + LENGTHS * LENGTHS
    b = a + n + 1
    return Charts(
        work[:tied],
        work[tied:a],
        work[a:b],
        work[b : b + square],
        work[b + square : b + 2 * square],
        work[b + 2 * square : b + 3 * square],
        work[b + 3 * square : b + 4 * square],
        work[b + 4 * square : b + 5 * square],
        work[b + 5 * square : b + 6 * square],
        work[b + 6 * square : b + 7 * square],
        work[b + 7 * square : b + 8 * square],
        work[b + 8 * square : b + 9 * square],
    )


@compile_internal(FLOAT(FLOATS), reorder=True)
def add_up(x):
    """The sum, in an order that is quick."""
    total = 0.0
    for t in range(len(x)):
        total += x[t]
    return total


@compile_internal(FLOAT(FLOATS, BOOL))
def combine(terms, log):
    """The largest, or the log of the sum of exp; then exp of terms are left, to a common factor."""
    high = largest_entry(terms)
    if not log or high == -np.inf:
        return high
    for t in range(len(terms)):
        terms[t] = exp_low(terms[t] - high)
    return high + np.log(add_up(terms))


@compile_inlined
def combine_two(a, b, log):
    """The same of two terms."""
    high, low = max(a, b), min(a, b)
    return high + np.log1p(exp_low(low - high)) if log and low > -np.inf else high


@compile_internal(types.void(FLOATS, FLOAT, BOOL))
def divide(terms, amount, log):
    """In place of what `combine` left the shares: in proportion, or all to the first largest."""
    if log:
        scale = amount / add_up(terms)
        for t in range(len(terms)):
            terms[t] *= scale
        return
    high = largest_entry(terms)
    for t in range(len(terms)):
        best = terms[t] == high
        terms[t] = amount if best else 0.0
        amount = 0.0 if best else amount


@compile_inlined
def share_of_first(a, b, amount, log):
    """The share of a beside b."""
    e = exp_low(min(a, b) - max(a, b)) if log and min(a, b) > -np.inf else 0.0
    return amount / (1.0 + e) if a >= b else amount * e / (1.0 + e)


@compile_internal(FLOAT(FLOATS, INTS, INT))
def sum_of(scores, ids, count):
    """The sum of scores of some parts."""
    total = 0.0
    for c in range(count):
        total += scores[ids[c]]
    return total


@compile_internal(types.void(FLOATS, INTS, INT, FLOAT))
def add_to(amounts, ids, count, amount):
    """Add the same amount to some parts."""
    for c in range(count):
        amounts[ids[c]] += amount


@compile_internal(types.void(FLOATS, FLOATS))
def add_into(x, out):
    """Out += x."""
    for t in range(len(x)):
        out[t] += x[t]


@compile_internal(types.void(FLOATS, FLOATS, INT))
def fill_loops(tied, loops, base):
    """Scores of loops by their sides; see `spread_loops`."""
    for a in range(LENGTHS):
        for b in range(LENGTHS - a):
            v = 0.0
            if a > 0 and b > 0:
                v = tied[base + INTERIOR + a + b] + tied[base + SIDES + abs(a - b)]
                if max(a, b) <= SMALL:
                    v += tied[base + SMALL_SIDES + (min(a, b) - 1) * SMALL + max(a, b) - 1]
            elif a + b > 0:
                v = tied[base + BULGE + a + b]
            loops[a * LENGTHS + CAP - b] = v


@compile_internal(types.void(FLOATS, FLOATS, INT))
def spread_loops(loops, tied, base):
    """Amounts of loops by their sides, to those of parts."""
    for a in range(LENGTHS):
        for b in range(LENGTHS - a):
            v = loops[a * LENGTHS + CAP - b]
            if a > 0 and b > 0:
                tied[base + INTERIOR + a + b] += v
                tied[base + SIDES + abs(a - b)] += v
                if max(a, b) <= SMALL:
                    tied[base + SMALL_SIDES + (min(a, b) - 1) * SMALL + max(a, b) - 1] += v
            elif a + b > 0:
                tied[base + BULGE + a + b] += v


@compile_inlined
def first_inner(i, j, a):
    """The first end of an inner pair that starts a positions after i + 1."""
    return max(i + 2 + a, j - 1 - CAP + a)


@compile_inlined
def stack_part(symbols, k, i, j, p, q):
    """The part of (i, j) stacked on (p, q)."""
    return ((symbols[i] * k + symbols[j]) * k + symbols[p]) * k + symbols[q]


@compile_inlined
def end_part(symbols, k, x, y):
    """The part of an end of a helix."""
    return 4 * k**4 + 2 * k**3 + k**2 + symbols[x] * k + symbols[y]


@compile_inlined
def mismatch_part(symbols, k, x, y):
    """The part of an end of a helix and its neighbours in an interior loop."""
    pair = symbols[x] * k + symbols[y]
    return 2 * k**4 + (pair * k + symbols[x + 1]) * k + symbols[y - 1]


@compile_inlined
def one_by_one_part(symbols, k, i, j):
    """The part of two positions in an interior loop of 1 x 1 that (i, j) closes."""
    return 4 * k**4 + 2 * k**3 + 2 * k**2 + symbols[i + 1] * k + symbols[j - 1]


@compile_internal(INT(TASK, CHARTS, INT, INT, INT))
def collect_inner(task, values, i, j, count):
    """Append the terms in which (i, j) closes a loop with one branch; returns their number.

    Rows a = 0, 1, ... of inner pairs (i + 1 + a, q), q rising to j - 1.
    """
    n, k, symbols, tied = task.sizes[0], task.sizes[1], task.symbols, values.tied
    close = tied[end_part(symbols, k, i, j)]
    high = close + tied[mismatch_part(symbols, k, i, j)]
    for a in range(min(LENGTHS, j - i - 2)):
        h, low = i + 1 + a, first_inner(i, j, a)
        side = (a + 1) * LENGTHS  # of b = -1
        own = task.terms[count : count + j - low]
        sides = values.loops[side - (j - low) : side]
        chart, shift = (values.end, close) if a < 2 else (values.mismatch, high)
        inner = chart[h * n + low : h * n + j]
        for t in range(len(own)):
            own[t] = sides[t] + inner[t] + shift
        last = len(own) - 1
        for b in range(min(2, len(own))):
            q = j - 1 - b
            if a + b < 2:
                stack = tied[stack_part(symbols, k, i, j, h, q)]
                own[last - b] = values.loops[side - 1 - b] + stack + values.pair[h * n + q]
            elif a == 1:
                own[last - b] += tied[one_by_one_part(symbols, k, i, j)]
            else:
                own[last - b] = values.loops[side - 1 - b] + close + values.end[h * n + q]
        count += j - low
    return count


@compile_internal(types.void(TASK, CHARTS, INT, INT, INT))
def spread_inner(task, amounts, i, j, count):
    """Move the shares of these terms to where they belong. count: of terms before them."""
    n, k, symbols, tied = task.sizes[0], task.sizes[1], task.symbols, amounts.tied
    close, high = 0.0, 0.0
    for a in range(min(LENGTHS, j - i - 2)):
        h, low = i + 1 + a, first_inner(i, j, a)
        side = (a + 1) * LENGTHS
        own = task.terms[count : count + j - low]
        last = len(own) - 1
        add_into(own, amounts.loops[side - (j - low) : side])
        for b in range(min(2, len(own))):
            q, share = j - 1 - b, own[last - b]
            if a + b < 2:
                tied[stack_part(symbols, k, i, j, h, q)] += share
                amounts.pair[h * n + q] += share
                own[last - b] = 0.0
            elif a == 1:
                tied[one_by_one_part(symbols, k, i, j)] += share
            else:
                amounts.end[h * n + q] += share
                close += share
                own[last - b] = 0.0
        chart = amounts.end if a < 2 else amounts.mismatch
        add_into(own, chart[h * n + low : h * n + j])
        total = add_up(own)
        close += total
        high += total if a >= 2 else 0.0
        count += j - low
    tied[end_part(symbols, k, i, j)] += close
    tied[mismatch_part(symbols, k, i, j)] += high


@compile_inlined
def count_near(i, j):
    """The number of terms of a loop with one branch that has 0, 1, ..., CAP positions before it.

    And as many after it as are needed for more than CAP in all.
    """
    return CAP + 1 if j - i > CAP + 3 else 0


@compile_internal(INT(TASK, CHARTS, INT, INT))
def collect_pair(task, values, i, j):
    """The terms of a pair, without its own score; returns how many there are.

    Hairpin, two branches or more, one far inside, those of `count_near`, interior loops.
    """
    n, k, terms, ids, tied = task.sizes[0], task.sizes[1], task.terms, task.ids, values.tied
    inside = (i + 1) * n + j - 1
    if task.sizes[2] != 0:
        terms[0], terms[1] = 0.0, values.one[inside]
        return 2
    terms[0] = sum_of(tied, ids, hairpin_parts(task.symbols, k, i, j, ids))
    close = sum_of(tied, ids, branch_parts(task.symbols, k, i, j, MULTI, ids))
    terms[1], terms[2] = close + values.two[inside], close + values.far[inside]
    near = count_near(i, j)
    close += (CAP + 1) * tied[first_length(k) + MULTI_UNPAIRED]
    for a in range(near):
        terms[3 + a] = close + values.left[(i + 1 + a) * n + j - CAP - 2 + a]
    return collect_inner(task, values, i, j, 3 + near)


@compile_internal(types.void(TASK, CHARTS, CHARTS, INT, INT, FLOAT, BOOL))
def spread_pair(task, values, amounts, i, j, amount, log):
    """Divide the amount of a pair."""
    n, k, terms, ids, tied = task.sizes[0], task.sizes[1], task.terms, task.ids, amounts.tied
    count = collect_pair(task, values, i, j)
    combine(terms[:count], log)
    divide(terms[:count], amount, log)
    inside = (i + 1) * n + j - 1
    if task.sizes[2] != 0:
        amounts.one[inside] += terms[1]
        return
    tied[4 * k**4 + 2 * k**3 + task.symbols[i] * k + task.symbols[j]] += amount
    add_to(tied, ids, hairpin_parts(task.symbols, k, i, j, ids), terms[0])
    amounts.two[inside] += terms[1]
    amounts.far[inside] += terms[2]
    near, single = count_near(i, j), 0.0
    for a in range(near):
        amounts.left[(i + 1 + a) * n + j - CAP - 2 + a] += terms[3 + a]
        single += terms[3 + a]
    tied[first_length(k) + MULTI_UNPAIRED] += (CAP + 1) * single
    count = branch_parts(task.symbols, k, i, j, MULTI, ids)
    add_to(tied, ids, count, terms[1] + terms[2] + single)
    spread_inner(task, amounts, i, j, 3 + near)


@compile_internal(types.void(FLOATS, INTS, FLOATS, FLOATS))
def add_branches(before, starts, branches, terms):
    """Terms = what is before each branch and the branch."""
    for c in range(len(starts)):
        terms[c] = before[starts[c] - 1] + branches[c]


@compile_internal(types.void(FLOATS, INTS, FLOATS, FLOATS))
def spread_branches(shares, starts, before, branches):
    """Move the shares of these terms to where they belong."""
    for c in range(len(starts)):
        before[starts[c] - 1] += shares[c]
        branches[c] += shares[c]


@compile_inlined
def count_later(task, i, j):
    """The number of branches that start after i and end at j."""
    count = task.counts[j]
    return count - 1 if count > 0 and task.starts[j * task.sizes[0] + count - 1] == i else count


@compile_internal(types.void(TASK, CHARTS, INT, BOOL))
def fill_pairs(task, values, i, log):
    """Values of the pairs of i, in place of their scores."""
    n, k, symbols, tied, ids = task.sizes[0], task.sizes[1], task.symbols, values.tied, task.ids
    for j in range(i + 1, n):
        at = i * n + j
        if values.pair[at] == -np.inf:
            continue
        count = collect_pair(task, values, i, j)
        value = values.pair[at] + combine(task.terms[:count], log)
        value += tied[4 * k**4 + 2 * k**3 + symbols[i] * k + symbols[j]]
        values.pair[at] = value
        values.end[at] = value + tied[end_part(symbols, k, j, i)]
        if 0 < i and j + 1 < n:
            values.mismatch[at] = values.end[at] + tied[mismatch_part(symbols, k, j, i)]
        count = branch_parts(symbols, k, j, i, MULTI_BRANCH, ids)
        place = j * n + task.counts[j]
        values.branch[place] = value + sum_of(tied, ids, count)
        task.starts[place] = i
        task.counts[j] += 1


@compile_internal(types.void(TASK, CHARTS, INT, BOOL))
def fill_spans(task, values, i, log):
    """Values of the spans that start at i, when those of its pairs are known."""
    n = task.sizes[0]
    unpaired = values.tied[first_length(task.sizes[1]) + MULTI_UNPAIRED]
    for j in range(i + 1, n):
        at, place, count = i * n + j, j * n, count_later(task, i, j)
        branch = values.branch[place + count] if count < task.counts[j] else -np.inf
        starts, branches = task.starts[place : place + count], values.branch[place : place + count]
        add_branches(values.one[i * n :], starts, branches, task.terms)
        more = combine(task.terms[:count], log)
        values.left[at] = combine_two(values.left[at - 1] + unpaired, branch, log)
        values.single[at] = combine_two(values.single[at + n] + unpaired, branch, log)
        if i + CAP + 1 < n:
            beyond = (CAP + 1) * unpaired + values.left[at + (CAP + 1) * n]
            values.far[at] = combine_two(values.far[at + n] + unpaired, beyond, log)
        values.two[at] = combine_two(values.two[at - 1] + unpaired, more, log)
        more = combine_two(more, values.single[at], log)
        values.one[at] = combine_two(values.one[at - 1] + unpaired, more, log)


@compile_internal(types.void(TASK, CHARTS, CHARTS, INT, BOOL))
def spread_spans(task, values, amounts, i, log):
    """Divide the amounts of the spans that start at i."""
    n, at_unpaired = task.sizes[0], first_length(task.sizes[1]) + MULTI_UNPAIRED
    unpaired, steps = values.tied[at_unpaired], 0.0
    for j in range(n - 1, i, -1):
        at, place, count = i * n + j, j * n, count_later(task, i, j)
        branch = values.branch[place + count] if count < task.counts[j] else -np.inf
        one, two, far = amounts.one[at], amounts.two[at], amounts.far[at]
        if one >= LEAST or two >= LEAST:
            starts = task.starts[place : place + count]
            add_branches(
                values.one[i * n :], starts, values.branch[place : place + count], task.terms
            )
            more, after = combine(task.terms[:count], log), 0.0
            if one >= LEAST:
                ends = combine_two(more, values.single[at], log)
                part = share_of_first(values.one[at - 1] + unpaired, ends, one, log)
                own = share_of_first(values.single[at], more, one - part, log)
                amounts.one[at - 1] += part
                amounts.single[at] += own
                steps += part
                after += one - part - own
            if two >= LEAST:
                part = share_of_first(values.two[at - 1] + unpaired, more, two, log)
                amounts.two[at - 1] += part
                steps += part
                after += two - part
            if after >= LEAST:
                divide(task.terms[:count], after, log)
                branches = amounts.branch[place : place + count]
                spread_branches(task.terms, starts, amounts.one[i * n :], branches)
        if far >= LEAST:
            beyond = (CAP + 1) * unpaired + values.left[at + (CAP + 1) * n]
            part = share_of_first(values.far[at + n] + unpaired, beyond, far, log)
            amounts.far[at + n] += part
            amounts.left[at + (CAP + 1) * n] += far - part
            steps += part + (CAP + 1) * (far - part)
        single, left = amounts.single[at], amounts.left[at]
        if single >= LEAST:
            part = share_of_first(values.single[at + n] + unpaired, branch, single, log)
            amounts.single[at + n] += part
            amounts.branch[place + count] += single - part
            steps += part
        if left >= LEAST:
            part = share_of_first(values.left[at - 1] + unpaired, branch, left, log)
            amounts.left[at - 1] += part
            amounts.branch[place + count] += left - part
            steps += part
    amounts.tied[at_unpaired] += steps


@compile_internal(INT(TASK, CHARTS, INT))
def collect_outer(task, values, j):
    """The terms of the prefix that ends with j: unpaired, then paired with 0, 1, ..., j - 1."""
    n, k, tied, ids = task.sizes[0], task.sizes[1], values.tied, task.ids
    task.terms[0] = values.outer[j] + tied[first_length(k) + OUTER_UNPAIRED]
    for i in range(j):
        value = values.pair[i * n + j]
        if value > -np.inf:
            count = branch_parts(task.symbols, k, j, i, OUTER_BRANCH, ids)
            value += values.outer[i] + sum_of(tied, ids, count)
        task.terms[1 + i] = value
    return 1 + j


@compile_internal(types.void(TASK, CHARTS, CHARTS, BOOL))
def spread_outer(task, values, amounts, log):
    """Divide the amount of the whole."""
    n, k, ids = task.sizes[0], task.sizes[1], task.ids
    amounts.outer[n] = 1.0
    for j in range(n - 1, -1, -1):
        if amounts.outer[j + 1] < LEAST:
            continue
        count = collect_outer(task, values, j)
        combine(task.terms[:count], log)
        divide(task.terms[:count], amounts.outer[j + 1], log)
        amounts.outer[j] += task.terms[0]
        amounts.tied[first_length(k) + OUTER_UNPAIRED] += task.terms[0]
        for i in range(j):
            own = task.terms[1 + i]
            if own > 0.0:
                amounts.outer[i] += own
                amounts.pair[i * n + j] += own
                size = branch_parts(task.symbols, k, j, i, OUTER_BRANCH, ids)
                add_to(amounts.tied, ids, size, own)


@compile_internal(FLOAT(TASK, CHARTS, BOOL))
def fill_values(task, values, log):
    """Values of all items; returns that of the whole."""
    n = task.sizes[0]
    for i in range(n - 1, -1, -1):
        fill_pairs(task, values, i, log)
        fill_spans(task, values, i, log)
    values.outer[0] = 0.0
    for j in range(n):
        count = collect_outer(task, values, j)
        values.outer[j + 1] = combine(task.terms[:count], log)
    return values.outer[n]


@compile_internal(types.void(TASK, CHARTS, CHARTS, BOOL))
def spread_amounts(task, values, amounts, log):
    """Divide the amount 1 of the whole, down to the parts."""
    n, k, symbols, tied, ids = task.sizes[0], task.sizes[1], task.symbols, amounts.tied, task.ids
    spread_outer(task, values, amounts, log)
    for i in range(n):
        spread_spans(task, values, amounts, i, log)
        for j in range(i + 1, n):
            at, place = i * n + j, j * n + count_later(task, i, j)
            if place == j * n + task.counts[j]:
                continue
            task.counts[j] -= 1
            branch = amounts.branch[place]
            inner = amounts.end[at] + amounts.mismatch[at]
            amount = amounts.pair[at] + inner + branch
            amounts.pair[at] = amount
            if amount < LEAST:
                continue
            if inner > 0.0:
                tied[end_part(symbols, k, j, i)] += inner
                tied[mismatch_part(symbols, k, j, i)] += amounts.mismatch[at]
            add_to(tied, ids, branch_parts(symbols, k, j, i, MULTI_BRANCH, ids), branch)
            spread_pair(task, values, amounts, i, j, amount, log)
    spread_loops(amounts.loops, tied, first_length(k))


@compile_internal(FLOAT(FLOATS, INTS, FLOATS, FLOATS, INTS, BOOL))
def fold(theta, layout, out, work, iwork, log):
    """Write the best output or the expected one; returns its score or log Z."""
    n, m, k, plain = layout[0], layout[1], layout[2], layout[3]
    tied = first_length(k) + OUTER_UNPAIRED + 1
    size = tied + LENGTHS * LENGTHS + n + 1 + 9 * n * (n + 1)
    values, amounts = make_charts(work, n, tied), make_charts(work[size:], n, tied)
    iwork[0], iwork[1], iwork[2] = n, k, plain
    a, b = 3 + MOST, 3 + MOST + n
    task = Task(
        layout[4 : 4 + n], work[2 * size :], iwork[3:a], iwork[:3], iwork[a:b], iwork[b : b + n * n]
    )
    task.counts[:] = 0
    starts, ends = layout[4 + n : 4 + n + m], layout[4 + n + m : 4 + n + 2 * m]
    work[:size] = -np.inf
    for t in range(tied):
        values.tied[t] = 0.0 if plain != 0 else theta[m + t]
    fill_loops(values.tied, values.loops, first_length(k))
    for p in range(m):
        values.pair[starts[p] * n + ends[p]] = theta[p]
    value = fill_values(task, values, log)
    out[:] = 0.0
    if value > -np.inf:
        work[size : 2 * size] = 0.0
        spread_amounts(task, values, amounts, log)
        for p in range(m):
            out[p] = amounts.pair[starts[p] * n + ends[p]]
        for t in range(len(out) - m):
            out[m + t] = amounts.tied[t]
    return value


@compile_ability
def maximize(theta, layout, out, work, iwork):
    """The best output. work, iwork: see `NestedPairs`. Returns its score, -inf if there is none."""
    return fold(theta, layout, out, work, iwork, False)


@compile_ability
def marginals(theta, layout, out, work, iwork):
    """Expected parts under p(z) proportional to exp(theta . z). Returns log Z."""
    return fold(theta, layout, out, work, iwork, True)
