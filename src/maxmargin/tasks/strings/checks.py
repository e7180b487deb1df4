"""Pairs of strings and alignments as users give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from maxmargin.exceptions import SampleError
from maxmargin.structures.pair_alignment.pair_alignment import sides_of
from maxmargin.tasks.strings.features import Pair


def check_pairs(pairs: Any) -> list[Pair]:
    """Pairs of strings as a list; errors name the pair."""
    if isinstance(pairs, (str, Mapping)) or not hasattr(pairs, "__iter__"):
        raise TypeError(f"pairs is a {type(pairs).__name__}, expected a list of pairs of strings.")
    found = list(pairs)
    for i, pair in enumerate(found):
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise SampleError.of(i, f": {pair!r:.80}, expected two strings.", noun="pair")
        for string in pair:
            if isinstance(string, Mapping) or not hasattr(string, "__len__"):
                raise SampleError.of(
                    i, f": a string is a {type(string).__name__}, expected a str or a list of"
                    " symbols.", noun="pair",
                )  # fmt: skip
            try:
                set(string)
            except TypeError:
                raise SampleError.of(
                    i, ": symbols must have a hash, as texts, numbers and tuples do.", noun="pair"
                ) from None
    return found


def check_sizes(pairs: Sequence[Pair]) -> None:
    """Refuse pairs whose alignments are too many to be looked at; errors name the pair."""
    for i, pair in enumerate(pairs):
        m, n = map(len, pair)
        try:
            if m and n:
                sides_of((m, n))
        except ValueError as error:
            raise SampleError.of(i, f": {error}", noun="pair") from None


def check_alignments(alignments: Any, pairs: Sequence[Pair]) -> list[np.ndarray]:
    """Matched positions as arrays (k, 2); errors name the pair."""
    if not hasattr(alignments, "__len__") or len(alignments) != len(pairs):
        count = len(alignments) if hasattr(alignments, "__len__") else "no"
        raise ValueError(f"{len(pairs)} pairs but {count} alignments.")
    found = []
    for i, (links, (a, b)) in enumerate(zip(alignments, pairs, strict=True)):
        array = np.asarray(list(links) if hasattr(links, "__iter__") else links)
        array = array.reshape(0, 2).astype(np.int64) if array.size == 0 else array
        if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
            raise SampleError.of(i, ": expected pairs of integers, the positions.", noun="pair")
        array = array[np.argsort(array[:, 0], kind="stable")]
        low, high = array.min(axis=0, initial=0), array.max(axis=0, initial=-1)
        if low.min() < 0 or high[0] >= len(a) or high[1] >= len(b):
            raise SampleError.of(
                i, f": positions beyond those of strings of {len(a)} and {len(b)} symbols; they"
                " count from 0.", noun="pair",
            )  # fmt: skip
        if (np.diff(array, axis=0) < 1).any():
            raise SampleError.of(
                i, ": matches cross, or a symbol has two; an alignment of strings is monotone.",
                noun="pair",
            )  # fmt: skip
        found.append(array)
    return found
