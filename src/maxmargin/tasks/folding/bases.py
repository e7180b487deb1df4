"""Sequences of bases and the pairs that they may form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.exceptions import SampleError
from maxmargin.structures import NestedLayout
from maxmargin.structures.nested_pairs.layout import MOST_POSITIONS

BASES = "ACGU"
#: symbols of a layout: the bases, and one for all other letters
N_SYMBOLS = 5
OTHER = 4
#: pairs that are predicted: those of Watson and Crick, and G with U
PAIRS = ("AU", "CG", "GC", "GU", "UA", "UG")
_IS_PAIR = np.zeros((N_SYMBOLS, N_SYMBOLS), dtype=bool)
_IS_PAIR[tuple(np.array([[BASES.index(b) for b in pair] for pair in PAIRS]).T)] = True
_CODES = np.full(128, -1, dtype=np.int64)
for _letters, _code in (("A", 0), ("C", 1), ("G", 2), ("UTP", 3), ("NRYSWKMBDHVXIZ.-*", OTHER)):
    for _letter in _letters:
        _CODES[[ord(_letter), ord(_letter.lower())]] = _code


def check_sequences(sequences: Any) -> list[str]:
    """Sequences as a list of strings."""
    if isinstance(sequences, str):
        raise TypeError("sequences is one string, expected a list of strings; one alone is [x].")
    found = list(sequences)
    for i, sequence in enumerate(found):
        if not isinstance(sequence, str):
            kind = type(sequence).__name__
            raise SampleError.of(i, f": x is of type {kind}, expected a string of bases.")
        if len(sequence) > MOST_POSITIONS:
            raise SampleError.of(
                i, f": x has {len(sequence)} bases, at most {MOST_POSITIONS} are possible."
            )
    return found


def encode_bases(sequence: str, i: int = 0) -> np.ndarray:
    """The symbols of a sequence; T and P, pseudouridine, are U; other letters of IUPAC are one.

    i : number of the sample, for errors.
    """
    # a letter outside of ASCII is one "?", which is no base
    codes = _CODES[np.frombuffer(sequence.encode("ascii", "replace"), dtype=np.uint8)]
    if (codes < 0).any():
        place = int(np.flatnonzero(codes < 0)[0])
        raise SampleError.of(
            i,
            f": x has the letter {sequence[place]!r} at place {place + 1}; bases are A, C, G, U (or"
            " T), and N or another letter of IUPAC's where the base is not known.",
        )
    return codes


def is_canonical(a: int, b: int) -> bool:
    """Whether two bases may be paired."""
    return bool(_IS_PAIR[a, b])


def find_pairs(
    codes: np.ndarray, min_loop: int, more: Sequence[tuple[int, int]] = ()
) -> np.ndarray:
    """The pairs that a sequence may form, (m, 2), in order; none alone.

    A pair is left out if neither the pair around it nor that inside it is possible: helices have
    two pairs or more. more : pairs that are not left out.
    """
    possible = np.triu(_IS_PAIR[codes[:, None], codes], min_loop + 1)
    stacked = possible[:-1, 1:] & possible[1:, :-1]  # (i, j + 1) with (i + 1, j)
    kept = np.zeros_like(possible)
    kept[:-1, 1:] |= stacked
    kept[1:, :-1] |= stacked
    if len(more):
        kept[tuple(np.transpose(more))] = True
    return np.argwhere(kept)


def make_layout(
    codes: np.ndarray, min_loop: int, more: Sequence[tuple[int, int]] = ()
) -> NestedLayout | None:
    """The layout of a sequence, None if it can form no pair."""
    pairs = find_pairs(codes, min_loop, more) if len(codes) > 1 else np.empty((0, 2))
    return NestedLayout(len(codes), pairs, codes, N_SYMBOLS) if len(pairs) else None
