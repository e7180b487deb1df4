"""Trees as labelled spans of binary ones, and features of all spans of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np
from scipy import sparse

from maxmargin.structures.base import Layout
from maxmargin.structures.constituents import list_spans
from maxmargin.validation.brackets import CHAIN, INNER, Node, fold_tree
from maxmargin.validation.samples import Rows, SampleRows

#: longest spans whose parts of speech are one feature
_SHORT = 4
#: how tags begin that tell clauses and phrases apart, in the Penn Treebank or UD: of verbs, modals,
#: prepositions, "to", conjunctions, commas and relatives
_MARKS = ("V",), ("MD", "AUX"), ("IN", "ADP"), ("TO", "PART"), ("CC",), (",",), ("W", "SCONJ")


def check_labels(tree: Node) -> None:
    """Raise an error if a label could be taken for one that binary trees need."""

    def visit(node: Node, below: list[None]) -> None:
        if below and (CHAIN in node.label or node.label.startswith(INNER)):
            raise ValueError(
                f"label {node.label!r} has {CHAIN!r} in it, or begins with {INNER!r}, which mark"
                " chains and inner spans here: rename it."
            )

    fold_tree(tree, visit)


def simplify_label(label: str, known: Any) -> str:
    """A label that is known: of a rare chain its top, of others none."""
    top = label.split(CHAIN)[0]
    return label if label in known else top if top in known else ""


class SpanFeatures:
    """Makes features of all spans: words and parts of speech at their ends, inside and beside."""

    def __init__(self, bits: int):
        self.bits = bits
        self._codes: dict[str, int] = {}
        self._last: tuple[Any, np.ndarray] = None, np.empty(0)

    def hash_spans(self, sentence: Sequence[tuple[str, str]]) -> np.ndarray:
        """Numbers of the features of each span, (n_spans, n_features), from 0 to 2 ** bits - 1."""
        if self._last[0] is not sentence:  # both trees of a sentence need them
            self._last = sentence, self._hash_spans(sentence)
        return self._last[1]

    def _hash_spans(self, sentence: Sequence[tuple[str, str]]) -> np.ndarray:
        n = len(sentence)
        forms = self._encode(["<"] * 2 + [form.lower() for form, _ in sentence] + [">"] * 2)
        ends = self._encode(["<"] * 2 + [form.lower()[-3:] for form, _ in sentence] + [">"] * 2)
        tags = self._encode(["<"] * 2 + [tag for _, tag in sentence] + [">"] * 2)
        i, j = list_spans(n)
        first, last, before, after = i + 2, j + 1, i + 1, j + 2
        length = np.minimum(j - i, 5) + (j - i > 10) + (j - i > 20)
        W, T, E = (lambda at, own=own: own[at] for own in (forms, tags, ends))
        short = np.where(j - i <= _SHORT, self._sequence(tags, i, j), 0)
        marks, verbs = _count_marks([tag for _, tag in sentence], i, j)
        kinds = [
            (length,), (W(first), length), (W(last), length), (W(before),), (W(after),),
            (T(first), length), (T(last), length), (T(before), length), (T(after), length),
            (E(first), T(first)), (E(last), T(last)),
            (T(first), T(last), length), (W(first), T(last)), (T(first), W(last)),
            (T(before), T(first)), (T(last), T(after)), (T(before), T(after), length),
            (T(before), T(first), T(last), T(after)), (T(before), T(first), T(last)),
            (T(first), T(last), T(after)), (W(before), T(first)), (T(last), W(after)),
            (W(first), W(last)), (T(first), T(first + 1), T(last), T(last - 1)),
            (T(before - 1), T(before), T(first)), (T(last), T(after), T(after + 1)),
            (short, length), (short, T(before), T(after)), (i == 0, j == n, T(last), length),
            (marks,), (marks, T(first)), (marks, T(before), T(after)), (marks, T(last), T(after)),
            (verbs, T(first), T(last)),
        ]  # fmt: skip
        with np.errstate(over="ignore"):
            return np.stack([self._mix(k, kind) for k, kind in enumerate(kinds, 1)], axis=1)

    def hash_guided(self, sentence: Sequence[tuple[str, str]], guide: np.ndarray) -> np.ndarray:
        """The same for what another tree, the guide, has there, (2 n - 1, 3) of (i, j, label)."""
        n, (i, j) = len(sentence), list_spans(len(sentence))
        tags = self._encode(["<", *(tag for _, tag in sentence), ">"])
        label, place = np.zeros((n + 1, n + 1), dtype=np.int64), np.arange(n + 1)
        label[guide[:, 0], guide[:, 1]] = guide[:, 2] + 1  # 0 is no span of the guide
        # end of its longest span that begins at i and ends at j or before; the same from the right
        stop = np.maximum.accumulate(np.where(label, place, 0), axis=1)
        start = np.minimum.accumulate(np.where(label, place[:, None], n)[::-1], axis=0)[::-1]
        own, split = label[i, j], stop[i, j - 1]
        left, right = label[i, split], label[start[i + 1, j], j]
        before, after = label[start[0, i], i], label[j, stop[j, n]]
        count = np.pad(np.cumsum(np.cumsum(label > 0, axis=0), axis=1), (1, 0))
        crossing = count[i, j] - count[i, i + 1] + count[j, n + 1] - count[i + 1, n + 1]
        crossing = np.minimum(crossing - count[j, j + 1] + count[i + 1, j + 1], 3)
        length = np.minimum(j - i, 5) + (j - i > 10) + (j - i > 20)
        first, last, outer, middle = tags[i + 1], tags[j], (tags[i], tags[j + 1]), tags[split + 1]
        kinds = [
            (own,), (own, crossing), (own, length), (own, first, last), (own, left, right),
            (own, before), (own, after), (before, left, right), (left, right, after),
            (own, middle), (left, middle, right), (own, before, after),
            (crossing, first, last), (own, *outer),
        ]  # fmt: skip
        with np.errstate(over="ignore"):
            return np.stack([self._mix(k, kind) for k, kind in enumerate(kinds, 64)], axis=1)

    def _encode(self, texts: list[str]) -> np.ndarray:
        found = [self._codes.get(text) for text in texts]
        for k, text in enumerate(texts):
            if found[k] is None:
                found[k] = self._codes[text] = crc32(text.encode("utf-8", "surrogatepass")) + 1
        return np.array(found, dtype=np.uint64)

    def _sequence(self, tags: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        total = np.zeros(len(i), dtype=np.uint64)
        with np.errstate(over="ignore"):
            for d in range(_SHORT):
                own = np.where(i + d < j, tags[np.minimum(i + d + 2, len(tags) - 1)], 7)
                total = total * np.uint64(0x9E3779B97F4A7C15) + own.astype(np.uint64)
        return total

    def _mix(self, kind: int, values: tuple[Any, ...]) -> np.ndarray:
        total: Any = np.uint64(kind)
        for own in values:
            total = (total ^ np.asarray(own).astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
            total = total ^ (total >> np.uint64(29))
        return (total >> np.uint64(64 - self.bits)).astype(np.int64)


def _count_marks(tags: list[str], i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which of the marks are inside spans, as a number each, and how many verbs, up to three."""
    found = np.array([[tag.startswith(own) for tag in tags] for own in _MARKS])
    total = np.pad(np.cumsum(found, axis=1), ((0, 0), (1, 0)))
    counts = total[:, j] - total[:, i]
    return 2 ** np.arange(len(_MARKS)) @ (counts > 0), np.minimum(counts[0], 3)


class SpanRows(SampleRows):
    """A row for each span of each sentence, made where they are asked for.

    numbers : column of each hash, -1 for none. n_labels : of a span. guides : trees whose spans
    are features, too; none if it is empty.
    """

    def __init__(
        self,
        features: SpanFeatures,
        sentences: Sequence[Any],
        numbers: np.ndarray,
        n_labels: int,
        guides: Sequence[np.ndarray] = (),
    ):
        self._features, self._sentences, self._numbers = features, sentences, numbers
        self._guides = guides
        self.layouts: list[Layout] = [(len(own), n_labels) for own in sentences]
        self.lengths = np.array([n * (n + 1) // 2 for n, _ in self.layouts], dtype=np.int64)
        self.n_columns = int(numbers.max()) + 1

    @property
    def matrix(self) -> sparse.csr_array:
        return self.part(0, len(self.lengths)).matrix

    def part(self, first: int, last: int) -> Rows:
        """The rows of some of the sentences."""
        hashes = [self._features.hash_spans(own) for own in self._sentences[first:last]]
        guides = zip(self._sentences[first:last], self._guides[first:last], strict=False)
        for k, own in enumerate(guides):
            hashes[k] = np.hstack([hashes[k], self._features.hash_guided(*own)])
        columns = self._numbers[np.concatenate(hashes)]
        columns.sort(axis=1)
        kept = columns >= 0
        kept[:, 1:] &= columns[:, 1:] != columns[:, :-1]  # two features may share a hash
        indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        found = columns[kept]
        data = np.ones(len(found), dtype=np.int8)
        shape = (len(columns), self.n_columns)
        return Rows(sparse.csr_array((data, found, indptr), shape=shape), self.lengths[first:last])
