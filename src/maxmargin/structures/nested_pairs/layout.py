"""Which positions may be paired, and the symbols that the scores of loops depend on."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from maxmargin._numba.nested_pairs.loops import LENGTHS, MOST, MOST_TERMS, OUTER_UNPAIRED
from maxmargin.structures.frozen import Frozen, read_only
from maxmargin.structures.matching.candidates import as_integers
from maxmargin.validation.options import Size, check_option

#: positions: charts of more would take gigabytes
MOST_POSITIONS = 3200
#: symbols: tables have their fourth power
MOST_SYMBOLS = 16


class NestedLayout(Frozen):
    """Positions, the pairs that are allowed, and a symbol at each position.

    Immutable; layouts are equal if all their values are.

    Parameters
    ----------
    n_positions : int
        Number of positions.
    pairs : array_like of shape (m, 2)
        Allowed pairs i < j, numbered from 0, in any order, none twice.
    symbols : array_like of int of shape (n_positions,) or None, default=None
        Symbols from 0 that the scores of loops depend on; zeros if they depend on none. None means
        that loops have no parts: there is one part per pair, and that is all.
    n_symbols : int or None, default=None
        Number of symbols; None means one more than the largest of `symbols`.
    """

    fields = ("n_positions", "pairs", "symbols", "n_symbols")

    def __init__(self, n_positions: int, pairs: Any, symbols: Any = None, n_symbols: Any = None):
        self.n_positions = check_positions(n_positions)
        self.pairs = _check_pairs(pairs, self.n_positions)
        self.symbols = _check_symbols(symbols, self.n_positions)
        known = 0 if self.symbols is None else int(self.symbols.max(initial=0)) + 1
        most = MOST_SYMBOLS if known else 0
        if known > most:
            raise ValueError(f"symbols must be below {most}, found {known - 1}.")
        if n_symbols is not None and not (
            isinstance(n_symbols, int | np.integer) and known <= n_symbols <= most
        ):
            raise ValueError(
                f"n_symbols must be an integer from {known} to {most}, found {n_symbols!r}."
            )
        self.n_symbols = known if n_symbols is None else int(n_symbols)

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return len(self.pairs) + (n_tied_parts(self.n_symbols) if self.n_symbols else 0)

    @cached_property
    def shortest(self) -> int:
        """The least number of positions between two that are paired."""
        return int((self.pairs[:, 1] - self.pairs[:, 0]).min()) - 1

    @cached_property
    def as_ints(self) -> np.ndarray:
        """What compiled code reads, see `_numba.nested_pairs.folding`."""
        n, m = self.n_positions, len(self.pairs)
        symbols = np.zeros(n, np.int64) if self.symbols is None else self.symbols
        head = [n, m, max(self.n_symbols, 1), int(self.n_symbols == 0)]
        return read_only(np.concatenate([head, symbols, *self.pairs.T]))

    def __repr__(self) -> str:
        return f"NestedLayout({self.n_positions} positions, {len(self.pairs)} pairs)"


def check_positions(n: Any) -> int:
    """A number of positions."""
    check_option("NestedLayout: n_positions", n, Size)
    if n > MOST_POSITIONS:
        raise ValueError(f"{n} positions, at most {MOST_POSITIONS} are possible: cut them.")
    return int(n)


def n_tied_parts(n_symbols: int) -> int:
    """The number of parts of loops."""
    return 4 * n_symbols**4 + 2 * n_symbols**3 + 3 * n_symbols**2 + OUTER_UNPAIRED + 1


def scratch_sizes(layout: NestedLayout) -> tuple[int, int]:
    """The floats and integers of work space that compiled code needs."""
    n, tied = layout.n_positions, n_tied_parts(max(layout.n_symbols, 1))
    charts = tied + LENGTHS**2 + n + 1 + 9 * n * (n + 1)
    return 2 * charts + max(n, MOST_TERMS), 3 + MOST + n * (n + 1)


def _check_pairs(pairs: Any, n: int) -> np.ndarray:
    found = as_integers("pairs", pairs)
    if found.ndim != 2 or found.shape[1] != 2 or not len(found):
        raise ValueError(f"pairs have shape {found.shape}, expected (m, 2), one pair or more.")
    wrong = (found[:, 0] < 0) | (found[:, 0] >= found[:, 1]) | (found[:, 1] >= n)
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        pair = tuple(found[place].tolist())
        raise ValueError(f"pairs: {pair} at place {place} is not i < j within {n} positions.")
    rising = np.sort(found[:, 0] * n + found[:, 1])
    if (rising[1:] == rising[:-1]).any():
        raise ValueError("pairs has a pair twice; np.unique(pairs, axis=0) has each once.")
    return read_only(found.astype(np.int64))


def _check_symbols(symbols: Any, n: int) -> np.ndarray | None:
    if symbols is None:
        return None
    found = as_integers("symbols", symbols)
    if found.shape != (n,) or found.min(initial=0) < 0:
        raise ValueError(f"symbols must be {n} numbers from 0, one per position.")
    return read_only(found.astype(np.int64))
