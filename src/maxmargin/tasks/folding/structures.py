"""True structures: checked, and what of them nested pairs can tell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from maxmargin.exceptions import SampleError
from maxmargin.formats.rna import Pairs, parse_dot_bracket
from maxmargin.structures import NestedLayout, NestedPairs
from maxmargin.structures.nested_pairs.nested_pairs import why_not_nested
from maxmargin.tasks.folding.bases import is_canonical


class LeftOut(NamedTuple):
    """Numbers of true pairs that are not learned from, and of sequences that have some.

    other : not of Watson and Crick, nor G with U. close : fewer than `min_loop` bases between them.
    crossing : with others, as few as possible. sequences : in which there are any.
    """

    other: int = 0
    close: int = 0
    crossing: int = 0
    sequences: int = 0

    def describe(self, first: int) -> str:
        """In words; first : number of the first of the sequences."""
        some = f"{self.sequences} sequences have" if self.sequences > 1 else "1 sequence has"
        return (
            f"{some} pairs that are not learned from (the first is sequence {first}), because"
            f" foldings of nested canonical pairs lack such: pairs that cross others:"
            f" {self.crossing}, with too few bases between them: {self.close}, of bases that cannot"
            f" pair: {self.other}."
        )


def check_structures(structures: Any, sequences: Sequence[str]) -> list[Pairs]:
    """The pairs of dot-bracket strings."""
    if isinstance(structures, str):
        raise TypeError("structures is one string, expected a list of strings.")
    given = list(structures)
    if len(given) != len(sequences):
        raise ValueError(f"{len(sequences)} sequences, but {len(given)} structures.")
    found = []
    for i, (text, sequence) in enumerate(zip(given, sequences, strict=True)):
        if not isinstance(text, str):
            kind = type(text).__name__
            raise SampleError.of(i, f": y is of type {kind}, expected a dot-bracket string.")
        if len(text) != len(sequence):
            raise SampleError.of(
                i,
                f": y has {len(text)} places, but x has {len(sequence)} bases; give a dot or a"
                " bracket for each.",
            )
        try:
            found.append(parse_dot_bracket(text))
        except ValueError as error:
            raise SampleError.of(i, f": y: {error}. Correct it, or leave it out.") from None
    return found


def keep_nested(pairs: Pairs, codes: np.ndarray, min_loop: int) -> tuple[Pairs, LeftOut]:
    """As many of the pairs as can be learned from."""
    canonical = [(i, j) for i, j in pairs if is_canonical(codes[i], codes[j])]
    apart = [(i, j) for i, j in canonical if j - i > min_loop]
    kept = nest(apart)
    counts = len(pairs) - len(canonical), len(canonical) - len(apart), len(apart) - len(kept)
    return kept, LeftOut(*counts, int(len(kept) < len(pairs)))


def nest(pairs: Pairs) -> Pairs:
    """The largest set of these pairs in which none cross; their positions are all different."""
    if not why_not_nested(np.reshape(pairs, (-1, 2))):
        return pairs
    # of all positions, those that are paired tell what crosses
    structure, positions = NestedPairs(0), np.unique(pairs)
    layout = NestedLayout(len(positions), np.searchsorted(positions, pairs))
    chosen = structure.maximize(np.ones(len(pairs)), layout) > 0
    return [pair for pair, own in zip(pairs, chosen, strict=True) if own]


def add_up(counts: Iterable[LeftOut]) -> LeftOut:
    """The sum over sequences."""
    return LeftOut(*np.sum([LeftOut(), *counts], axis=0).tolist())
