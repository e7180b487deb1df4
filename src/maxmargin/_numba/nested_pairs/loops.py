"""Tied parts of loops: which of them a loop switches on.

Positions have symbols 0, ..., K - 1. A pair is oriented from a loop: of (x, y), x is the position
before the loop's first unpaired one, y the one after its last. So the pair (i, j) closes a loop
inside as (i, j), and is a branch of the loop around it as (j, i).

Parts, in this order, with K = n_symbols:
  K^4  stack: of (i, j) and (i + 1, j - 1), or with a single position between them on one side
  K^4  hairpin mismatch: closing pair, first and last position of loops of more than 3
  K^4  interior mismatch: the same for both pairs of interior loops of 2 x 2 and more
  K^4  hairpins of 4 positions
  K^3  after: pair x y in a multiloop or outside of all, and the position after x
  K^3  before: the same with the position before y
  K^2  pairs i j; K^2 ends of helices x y; K^2 interior loops of 1 x 1
  31   hairpins by length, capped; 17 bulges; 17 interior loops; 17 differences of their sides
  16   interior loops by shorter and longer side, both up to 4
  5    multiloops; their branches; their unpaired positions; branches outside; unpaired ones there
"""

from __future__ import annotations

from maxmargin._numba.compile import INTS, compile_internal, types

INT = types.int64
#: unpaired positions of an interior loop at most; one with more is a multiloop with one branch.
#: With 30 all took twice the time, and one interior loop in a hundred of real RNA has more than 16.
CAP = 16
LENGTHS, SMALL, LONGEST_HAIRPIN = CAP + 1, 4, 30
#: places after those that depend on K
HAIRPIN, BULGE = 0, LONGEST_HAIRPIN + 1
INTERIOR, SIDES, SMALL_SIDES = (BULGE + times * LENGTHS for times in (1, 2, 3))
MULTI = SMALL_SIDES + SMALL * SMALL
MULTI_BRANCH, MULTI_UNPAIRED, OUTER_BRANCH, OUTER_UNPAIRED = range(MULTI + 1, MULTI + 5)
#: most parts of a loop but those of its branches, and most terms of a pair
MOST, MOST_TERMS = 8, LENGTHS + 3 + LENGTHS * (LENGTHS + 1) // 2


@compile_internal(INT(INT))
def first_length(k):
    """The first part that does not depend on symbols."""
    return 4 * k**4 + 2 * k**3 + 3 * k**2


@compile_internal(INT(INTS, INT, INT, INT, INTS))
def hairpin_parts(symbols, k, i, j, ids):
    """The parts of a hairpin that (i, j) closes; returns how many there are."""
    length, pair = j - i - 1, symbols[i] * k + symbols[j]
    ids[0] = 4 * k**4 + 2 * k**3 + 3 * k**2 + HAIRPIN + min(length, LONGEST_HAIRPIN)
    if length <= 3:
        ids[1] = 4 * k**4 + 2 * k**3 + k**2 + pair
        return 2
    ids[1] = k**4 + (pair * k + symbols[i + 1]) * k + symbols[j - 1]
    if length > 4:
        return 2
    start = (symbols[i + 1] * k + symbols[i + 2]) * k + symbols[i + 3]
    ids[2] = 3 * k**4 + start * k + symbols[i + 4]
    return 3


@compile_internal(INT(INTS, INT, INT, INT, INT, INTS))
def branch_parts(symbols, k, x, y, kind, ids):
    """The parts of the pair (x, y) in a multiloop or outside; returns how many there are.

    kind: MULTI as the pair that closes a multiloop, MULTI_BRANCH, or OUTER_BRANCH.
    """
    pair, ends = symbols[x] * k + symbols[y], 4 * k**4 + 2 * k**3 + k**2
    ids[0], ids[1] = ends + 2 * k**2 + kind, ends + pair
    count = 2
    if x + 1 < len(symbols):
        ids[count] = 4 * k**4 + pair * k + symbols[x + 1]
        count += 1
    if y > 0:
        ids[count] = 4 * k**4 + k**3 + pair * k + symbols[y - 1]
        count += 1
    return count
