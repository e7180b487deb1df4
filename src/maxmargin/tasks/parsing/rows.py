"""Feature rows of arcs and relations, made by compiled code where they are asked for."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from maxmargin._numba.parsing import arc_features
from maxmargin.tasks.parsing.tokens import MOST_TAGS, Coded, encode_text
from maxmargin.validation.samples import Rows, SampleRows, as_dense

#: parts of speech, with those of the root and of unknown ones
_TAGS = 64
#: how much longer than in training an arc between two parts of speech may be
_SLACK = 2
#: no arc is longer
_NO_LIMIT = 1 << 30


class ArcRows(SampleRows):
    """A row for each arc of each sentence, in the order of the parts of `Dependencies`.

    guides : heads of all words in other trees, or empty. longest : see `learn_longest`. numbers :
    see `number_features`.
    """

    def __init__(
        self,
        coded: Coded,
        guides: np.ndarray,
        longest: np.ndarray,
        numbers: np.ndarray,
        n_columns: int,
    ):
        self._coded, self._guides = coded, guides
        self._longest, self._numbers = longest, numbers
        self._words = np.concatenate([[0], np.cumsum(coded.lengths)])
        self.lengths = coded.lengths * (coded.lengths + 1)
        self.n_columns = n_columns

    @property
    def matrix(self) -> sparse.csr_array:
        return self.part(0, len(self.lengths)).matrix

    def part(self, first: int, last: int) -> Rows:
        """The rows of some of the sentences."""
        coded, lengths = self._coded.part(first, last), self.lengths[first:last]
        guides = self._guides
        if len(guides):
            guides = guides[self._words[first] : self._words[last]]
        indptr = np.empty(int(lengths.sum()) + 1, dtype=np.int64)
        scratch = make_scratch(coded.lengths.max(initial=0))
        flat: Any = coded.codes.ravel()
        given = flat, coded.ptr, guides, self._longest, self._numbers, indptr
        # once to count the columns, once to write them
        size = arc_features.write_rows(*given, np.empty(0, dtype=np.int32), *scratch)
        columns = np.empty(size, dtype=np.int32)
        if size:
            arc_features.write_rows(*given, columns, *scratch)
        return Rows(_ones(columns, indptr, self.n_columns), lengths)


def make_scratch(words: int) -> tuple[np.ndarray, np.ndarray]:
    """Work space for a sentence, and for the columns of an arc."""
    size = 3 * (words + 1) ** 2 + 5 * (words + 1)
    return np.empty(size, np.int64), np.empty(arc_features.MOST, np.int64)


def number_features(
    coded: Coded, heads: np.ndarray, guides: np.ndarray, numbers: np.ndarray, known: int
) -> int:
    """Number the features of true arcs after those that are known; returns how many there are.

    numbers : of each hash, -1 for those that no true arc has; changed. With those that only wrong
    arcs have, rows of Hungarian sentences were twice as long.
    """
    scratch = make_scratch(coded.lengths.max(initial=0))
    flat = coded.codes.ravel()
    return arc_features.number_columns(flat, coded.ptr, heads, guides, known, numbers, *scratch)


def relation_rows(coded: Coded, heads: np.ndarray, bits: int) -> sparse.csr_array:
    """A row for each word and its head."""
    words = len(heads)
    indptr = np.empty(words + 1, dtype=np.int64)
    columns = np.empty(words * arc_features.MOST_OF_RELATION, dtype=np.int32)
    kin, ids = np.empty(5 * (coded.lengths.max() + 1), np.int64), np.empty(64, np.int64)
    size = arc_features.write_relation_rows(
        coded.codes.ravel(), coded.ptr, heads, (1 << bits) - 1, indptr, columns, kin, ids
    )
    return _ones(columns[:size], indptr, 1 << bits)


class Relations(NamedTuple):
    """A model of relations: weights (n_columns, n_relations) as one array, and the names."""

    w: np.ndarray
    names: np.ndarray

    @classmethod
    def of(cls, labeler: Any) -> Relations | None:
        """Those of a fitted MulticlassSVM; None for None."""
        return None if labeler is None else cls(as_dense(labeler.coef_), labeler.classes_)

    def find(self, codes: np.ndarray, heads: np.ndarray) -> np.ndarray:
        """The number of the relation of each word of a sentence to its head."""
        n, count = len(heads), len(self.names)
        out, kin, ids = (np.empty(size, np.int64) for size in (n, 5 * (n + 1), 64))
        mask, scores = len(self.w) // count - 1, np.empty(count)
        arc_features.label_arcs(codes, heads, mask, self.w, count, out, kin, ids, scores)
        return out

    def write(self, coded: Coded, heads: np.ndarray) -> None:
        """Let words know their relations in first trees with these heads."""
        texts, word = np.array([encode_text(str(name)) for name in self.names]), 0
        for first, last in pairwise(coded.ptr):
            codes, n = coded.codes[first:last], int(last - first - 3)
            found = self.find(codes.ravel(), heads[word : word + n])
            codes[2:-1, arc_features.LABEL] = texts[found]
            word += n


def _ones(columns: np.ndarray, indptr: np.ndarray, width: int) -> sparse.csr_array:
    data = np.ones(len(columns), dtype=np.int8)
    return sparse.csr_array((data, columns, indptr), shape=(len(indptr) - 1, width))


def learn_longest(coded: Coded, heads: list[list[int]]) -> np.ndarray:
    """The length of arcs by the parts of speech of head and dependent and by direction.

    Arcs that are longer than in training are pruned: they have one feature in place of dozens. Arcs
    of the root and of unknown parts of speech are not.
    """
    longest = np.ones((_TAGS, _TAGS, 2), dtype=np.int64)
    index = coded.codes[:, arc_features.INDEX]
    for first, own in zip(coded.ptr, heads, strict=False):
        head, word = np.array(own, dtype=np.int64), np.arange(1, len(own) + 1)
        at = index[first + 1 + head], index[first + 1 + word], (head < word).astype(np.int64)
        np.maximum.at(longest, at, np.abs(head - word) + _SLACK)
    longest[0] = longest[MOST_TAGS + 1 :] = longest[:, MOST_TAGS + 1 :] = _NO_LIMIT
    return longest.ravel()
