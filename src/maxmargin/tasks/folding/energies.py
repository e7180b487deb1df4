"""Free energies of loops, as far as parts of `NestedPairs` can tell them.

Stacked pairs, dangling bases, loop initiation, ends of helices and sides of interior loops are
those of the nearest neighbour model at 37 degrees (Xia et al. 1998; Mathews et al. 1999 and 2004;
Turner and Mathews 2010), in kcal/mol; they equal the tables of ViennaRNA's rna_turner2004.par. The
rest is approximate, one number each: mismatches of hairpins (-2.5 to 0.2 in the tables) and of
interior loops, loops of 1 x 1 and 1 x 2, stable hairpins of four bases, multiloops (1999: 3.4, and
0.4 for each branch). With 3.4, and mismatches and 1 x 1 of the tables, families that were not
learned from were folded a little worse: mean F1 0.552 instead of 0.563, from 60 sequences.
"""

from __future__ import annotations

import numpy as np

from maxmargin._numba.nested_pairs import loops
from maxmargin.structures.nested_pairs.layout import n_tied_parts
from maxmargin.tasks.folding.bases import BASES, N_SYMBOLS

#: kcal/mol of one unit of a log-probability at 37 degrees
KT = 0.61632
_ORDER = ("CG", "GC", "GU", "UG", "AU", "UA")
#: of (i, j) on (p, q): rows ij, columns qp
_STACK = (
    (-2.4, -3.3, -2.1, -1.4, -2.1, -2.1),
    (-3.3, -3.4, -2.5, -1.5, -2.2, -2.4),
    (-2.1, -2.5, 1.3, -0.5, -1.4, -1.3),
    (-1.4, -1.5, -0.5, 0.3, -0.6, -1.0),
    (-2.1, -2.2, -1.4, -0.6, -1.1, -0.9),
    (-2.1, -2.4, -1.3, -1.0, -0.9, -1.3),
)
#: base A, C, G, U after the pair whose last base comes first: x of x y
_AFTER = {
    "GC": (-1.1, -0.4, -1.3, -0.6), "CG": (-1.7, -0.8, -1.7, -1.2),
    "UG": (-0.7, -0.1, -0.7, -0.1), "GU": (-0.8, -0.5, -0.8, -0.6),
    "UA": (-0.7, -0.1, -0.7, -0.1), "AU": (-0.8, -0.5, -0.8, -0.6),
}  # fmt: skip
#: and before it: before y of x y
_BEFORE = {
    "GC": (-0.5, -0.3, -0.2, -0.1), "CG": (-0.2, -0.3, -0.0, -0.0),
    "UG": (-0.3, -0.3, -0.4, -0.2), "GU": (-0.3, -0.1, -0.2, -0.2),
    "UA": (-0.3, -0.3, -0.4, -0.2), "AU": (-0.3, -0.1, -0.2, -0.2),
}  # fmt: skip
_HAIRPIN = (
    5.4, 5.4, 5.4, 5.4, 5.6, 5.7, 5.4, 6.0, 5.5, 6.4, 6.5, 6.6, 6.7, 6.8, 6.9, 6.9, 7.0, 7.1, 7.1,
    7.2, 7.2, 7.3, 7.3, 7.4, 7.4, 7.5, 7.5, 7.5, 7.6, 7.6, 7.7,
)  # fmt: skip
_BULGE = (
    0.0, 3.8, 2.8, 3.2, 3.6, 4.0, 4.4, 4.6, 4.7, 4.8, 4.9, 5.0, 5.1, 5.2, 5.3, 5.4, 5.4,
)  # fmt: skip
_INTERIOR = (
    0.0, 0.0, 1.0, 1.0, 1.1, 2.0, 2.0, 2.1, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8, 2.9, 2.9, 3.0,
)  # fmt: skip
_END, _PER_SIDE, _MOST_SIDES = 0.5, 0.6, 3.0
_MULTI, _MULTI_BRANCH = 3.8, 0.4


def loop_energies() -> np.ndarray:
    """The energy of each part of loops, of a layout with `N_SYMBOLS` symbols."""
    k = N_SYMBOLS
    found = np.zeros(n_tied_parts(k))
    stack, hairpin, interior, four = (
        found[at * k**4 : (at + 1) * k**4].reshape(k, k, k, k) for at in range(4)
    )
    after, before = found[4 * k**4 :][: 2 * k**3].reshape(2, k, k, k)
    _, end, one_by_one = found[4 * k**4 + 2 * k**3 :][: 3 * k**2].reshape(3, k, k)
    for row, outer in enumerate(_ORDER):
        i, j = map(BASES.index, outer)
        for column, inner in enumerate(_ORDER):
            q, p = map(BASES.index, inner)
            stack[i, j, p, q] = _STACK[row][column]
        end[i, j] = 0.0 if {*outer} == {*"CG"} else _END
        after[i, j, :4], before[i, j, :4] = _AFTER[outer], _BEFORE[outer]
        hairpin[i, j] = -1.5 if {*outer} == {*"CG"} else -0.8
        for x, y, bonus in (("U", "U", -0.9), ("G", "A", -0.9), ("G", "G", -0.8)):
            hairpin[i, j, BASES.index(x), BASES.index(y)] += bonus
        for x, y, bonus in (("U", "U", -0.7), ("G", "A", -1.0), ("A", "G", -0.8)):
            interior[i, j, BASES.index(x), BASES.index(y)] = bonus
    one_by_one[2, 2] = -1.4
    # the loops that are known to be stable: GNRA and UNCG
    four[2, :4, [0, 2], 0] = -1.5
    four[3, :4, 1, 2] = -1.5
    lengths = found[4 * k**4 + 2 * k**3 + 3 * k**2 :]
    lengths[: loops.BULGE] = _HAIRPIN
    lengths[loops.BULGE :][: loops.LENGTHS] = _BULGE
    lengths[loops.INTERIOR :][: loops.LENGTHS] = _INTERIOR
    sides = np.minimum(_PER_SIDE * np.arange(loops.LENGTHS), _MOST_SIDES)
    lengths[loops.SIDES :][: loops.LENGTHS] = sides
    lengths[loops.SMALL_SIDES + 1] = 0.7  # of 1 x 2
    lengths[loops.MULTI], lengths[loops.MULTI_BRANCH] = _MULTI, _MULTI_BRANCH
    return found
