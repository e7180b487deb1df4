"""Symbols of strings as codes: themselves, what they begin with, and learned classes."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage

Similarity = Literal["auto", "blosum62"] | Mapping[tuple[Any, Any], float] | None
#: classes that are learned, few and many
CLASSES = (8, 24)
#: views of a symbol: itself, its base, its class among few, and among many
SYMBOL, BASE, FEW, MANY = 0, 1, 2, 3
#: zeros between strings, as far as features look beyond a symbol
PADDING = 4

_AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYVBZX"
#: letters that tell proteins from other strings
_USUAL = frozenset("ACDEFGHIKLMNPQRSTVWYX")
#: rows of BLOSUM62 up to its diagonal, in half bits (Henikoff and Henikoff 1992)
_BLOSUM62 = """
4|-1 5|-2 0 6|-2 -2 1 6|0 -3 -3 -3 9|-1 1 0 0 -3 5|-1 0 0 2 -4 2 5|0 -2 0 -1 -3 -2 -2 6
-2 0 1 -1 -3 0 0 -2 8|-1 -3 -3 -3 -1 -3 -3 -4 -3 4|-1 -2 -3 -4 -1 -2 -3 -4 -3 2 4
-1 2 0 -1 -3 1 1 -2 -1 -3 -2 5|-1 -1 -2 -3 -1 0 -2 -3 -2 1 2 -1 5
-2 -3 -3 -3 -2 -3 -3 -3 -1 0 0 -3 0 6|-1 -2 -2 -1 -3 -1 -1 -2 -2 -3 -3 -1 -2 -4 7
1 -1 1 0 -1 0 0 0 -1 -2 -2 0 -1 -2 -1 4|0 -1 0 -1 -1 -1 -1 -2 -2 -1 -1 -1 -1 -2 -1 1 5
-3 -3 -4 -4 -2 -2 -3 -2 -2 -3 -2 -3 -1 1 -4 -3 -2 11
-2 -2 -2 -3 -2 -1 -2 -3 2 -1 -1 -2 -1 3 -3 -2 -2 2 7
0 -3 -3 -3 -1 -2 -2 -3 -3 3 1 -2 1 -1 -2 -2 0 -3 -1 4
-2 -1 3 4 -3 0 1 -1 0 -3 -4 0 -3 -3 -2 0 -1 -4 -3 -3 4
-1 0 0 1 -3 3 4 -2 0 -3 -3 1 -1 -3 -1 0 -1 -3 -2 -2 1 4
0 -1 -1 -1 -2 -1 -1 -1 -1 -1 -1 -1 -1 -1 -2 0 0 -2 -1 -1 -1 -1 -1
"""


class Strings(NamedTuple):
    """Strings side by side, with zeros between them.

    codes : (n_views, n_places). same : (2, n_places), numbers by which equal symbols, and equal
    bases, are told, also of those that training did not have. starts, lengths : of each string.
    numbers : of the symbol at each place among `known`, 1 for the first, 0 for none.
    """

    codes: np.ndarray
    same: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    numbers: np.ndarray
    known: list[Hashable]


class SymbolCodes:
    """Codes of symbols in several views; 0 stands for what training did not have.

    symbols : those of training. bases : what they begin with. classes : (n_bases + 1, 2), of each
    base, from 0 for what is not known. given : the user's class of symbols, in place of the learned
    ones where few are used.
    """

    def __init__(
        self, symbols: Sequence[Hashable], bases: Sequence[Hashable], classes: np.ndarray,
        given: Mapping[Any, Any] | None,
    ):  # fmt: skip
        self._symbols = {symbol: k for k, symbol in enumerate(symbols, start=1)}
        self._bases = {base: k for k, base in enumerate(bases, start=1)}
        self._classes, self._given = classes, given
        self._others: dict[Hashable, int] = {}
        self._numbers = itertools.count(max(len(symbols), len(bases)) + 1)
        names = dict.fromkeys(given.values()) if given else {}
        self._names = {name: k for k, name in enumerate(names, start=1)}
        few = len(names) if given else CLASSES[0]
        self.sizes = len(symbols) + 1, len(bases) + 1, few + 1, CLASSES[1] + 1

    def encode(self, strings: Sequence[Sequence[Hashable]]) -> Strings:
        """The codes of strings."""
        known: dict[Hashable, int] = {}
        for string in strings:
            for symbol in string:
                known.setdefault(symbol, len(known) + 1)
        table = np.array([[0] * 6, *map(self._row, known)], dtype=np.int64)
        lengths = np.array([len(string) for string in strings], dtype=np.int64)
        starts = PADDING + np.concatenate([[0], np.cumsum(lengths + PADDING)])
        numbers = np.zeros(starts[-1], dtype=np.int64)
        for start, string in zip(starts, strings, strict=False):
            numbers[start : start + len(string)] = [known[symbol] for symbol in string]
        rows = table[numbers].T
        return Strings(rows[:4], rows[4:], starts[:-1], lengths, numbers, list(known))

    def _row(self, symbol: Hashable) -> list[int]:
        first = find_base(symbol)
        base = self._bases.get(first, 0)
        few, many = self._classes[base].tolist()
        if self._given is not None:
            few = self._names.get(self._given.get(symbol), 0)
        own = self._symbols.get(symbol, 0)
        return [own, base, few, many, own or self._number(symbol), base or self._number(first)]

    def _number(self, other: Hashable) -> int:
        """The number of what training did not have, in all strings the same."""
        return self._others.setdefault(other, next(self._numbers))


def find_base(symbol: Hashable) -> Hashable:
    """The first letter of a symbol without marks, else the kind of its first character."""
    if not isinstance(symbol, str) or not symbol:
        return symbol
    plain = unicodedata.normalize("NFD", symbol.lower())
    kinds = [unicodedata.category(character) for character in plain]
    letters = (character for character, kind in zip(plain, kinds, strict=True) if kind[0] == "L"
               and kind != "Lm")  # fmt: skip
    return next(letters, kinds[0])


def learn_classes(
    pairs: Sequence[tuple[Any, Any]], alignments: Sequence[Any], bases: Sequence[Hashable]
) -> np.ndarray:
    """Classes of bases by what they are matched with and by their neighbours; row 0 for none."""
    number, size = {base: k for k, base in enumerate(bases)}, len(bases)
    matched, beside = np.zeros((size, size)), np.zeros((size + 1, 2, size + 1))
    for strings, links in zip(pairs, alignments, strict=True):
        a, b = ([number[find_base(symbol)] for symbol in string] for string in strings)
        for i, j in links:
            matched[a[i], b[j]] += 1.0
            matched[b[j], a[i]] += 1.0
        for own in (a, b):
            for left, right in zip([-1, *own], [*own, -1], strict=True):
                beside[left, 1, right] += 1.0
                beside[right, 0, left] += 1.0
    found = np.zeros((size + 1, len(CLASSES)), dtype=np.int64)
    if size < 2:
        found[1:] = 1
        return found
    total = matched.sum(axis=1) + 1.0
    shares = (matched + np.diag(total) / 2) / np.sqrt(np.outer(total, total))
    values, vectors = np.linalg.eigh(shares)
    neighbours = _with_unit_rows(np.log1p(beside[:-1].reshape(size, -1)))
    for column, count in enumerate(CLASSES):
        top = _with_unit_rows((vectors * values)[:, -count:])
        # neighbours, at a smaller weight, tell vowels from consonants where matches are few
        tree = linkage(np.hstack([top, 0.7 * neighbours]), "ward")
        found[1:, column] = fcluster(tree, count, "maxclust")
    return found


def _with_unit_rows(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def look_like_proteins(symbols: Sequence[Hashable]) -> bool:
    """Whether symbols are letters of amino acids, most of them there."""
    letters = {symbol.upper() if isinstance(symbol, str) else symbol for symbol in symbols}
    return letters <= {*_AMINO_ACIDS, "*", "U", "O", "J"} and len(letters & _USUAL) >= 15


def tabulate_similarity(similarity: Any, symbols: Sequence[Hashable]) -> np.ndarray:
    """Similarities of symbols, (n + 1, n + 1), of about unit size; row and column 0 for none."""
    size = len(symbols)
    found = np.zeros((size + 1, size + 1))
    if similarity == "blosum62":
        table, letters = _read_blosum(), {a: k for k, a in enumerate(_AMINO_ACIDS)}
        places = [letters.get(str(symbol).upper(), len(letters) - 1) for symbol in symbols]
        found[1:, 1:] = table[np.ix_(places, places)] / 2.0
        return found
    for k, a in enumerate(symbols, start=1):
        for m, b in enumerate(symbols, start=1):
            found[k, m] = similarity.get((a, b), similarity.get((b, a), 0.0))
    typical = np.sqrt(np.mean(np.square([*similarity.values()] or [1.0])))
    return found / max(typical, 1e-12)


def _read_blosum() -> np.ndarray:
    rows = [list(map(int, row.split())) for row in _BLOSUM62.strip().replace("\n", "|").split("|")]
    table = np.zeros((len(rows), len(rows)))
    for k, row in enumerate(rows):
        table[k, : k + 1] = table[: k + 1, k] = row
    return table
