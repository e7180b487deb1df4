"""Tags as segments, and features of whole segments of tokens."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.exceptions import SampleError
from maxmargin.features.segments import SegmentRows
from maxmargin.metrics.chunks import chunk_spans
from maxmargin.tasks.tagging.schemes import is_chunk_tag
from maxmargin.validation.samples import Rows

#: the label of tokens outside of all chunks, each a segment of its own
OUTSIDE = "O"
#: true chunks that must have a text for it to be a feature
_OFTEN = 2

Segment = tuple[int, int, str]
Gazetteer = Mapping[str, Sequence[str]]


def list_segments(i: int, tags: Sequence[Any]) -> list[Segment]:
    """Chunks by the rules of conlleval, and tokens outside of them; errors name sentence i."""
    odd = next((tag for tag in tags if not is_chunk_tag(tag) or tag[2:] == OUTSIDE), None)
    if odd is not None:
        raise SampleError.of(
            i,
            f": segments=True needs tags O, B-X, I-X (and E-X, S-X), found {odd!r}. Rename the"
            " tags, or use segments=False.",
            noun="sentence",
        )
    found: list[Segment] = []
    for begin, end, kind in [*chunk_spans(tags), (len(tags), len(tags), OUTSIDE)]:
        found += [(t, t + 1, OUTSIDE) for t in range(found[-1][1] if found else 0, begin)]
        found += [(begin, end, kind)] if end > begin else []
    return found


def write_tags(segments: Sequence[Segment], scheme: str = "BIO") -> list[str]:
    """The tags of segments: O, and B-X, I-X, or what "IOBES" or "IOB1" has in their place."""
    found: list[str] = []
    last = OUTSIDE
    for begin, end, kind in segments:
        letters = ["B"] + ["I"] * (end - begin - 1)
        if scheme == "IOBES":
            letters[-1] = "E" if end > begin + 1 else "S"
        elif scheme == "IOB1" and kind != last:
            letters[0] = "I"
        last = kind
        found += [OUTSIDE if kind == OUTSIDE else f"{own}-{kind}" for own in letters]
    return found


def find_scheme(
    tags: Sequence[Sequence[str]], segments: Sequence[list[Segment]]
) -> tuple[str, list[int]]:
    """The one of BIO, IOBES and IOB1 that most sentences have, and those that do not have it."""
    best, others = "", list(range(len(tags) + 1))
    for scheme in ("BIO", "IOBES", "IOB1"):
        rows = enumerate(zip(tags, segments, strict=True))
        wrong = [i for i, (own, found) in rows if list(own) != write_tags(found, scheme)]
        if len(wrong) < len(others):
            best, others = scheme, wrong
        if not others:
            break
    return best, others


def position_tags(labels: Sequence[str]) -> list[str]:
    """What the parts of a position stand for: where segments begin, then where they go on."""
    return [write_tags([(0, 2, label)])[inside] for inside in (0, 1) for label in labels]


class SegmentTexts:
    """Features of segments: their columns as one text, the shape of their words, what is beside.

    texts : that are features. lists : names of phrases, which are features where a whole segment is
    one of them, in upper or lower case. most : positions of a segment.
    """

    def __init__(self, texts: Sequence[str], lists: Gazetteer | None, most: int):
        self._number = {text: k for k, text in enumerate(texts)}
        self._lists: dict[str, list[int]] = {}
        for k, phrases in enumerate((lists or {}).values(), start=len(texts)):
            for phrase in phrases:
                self._lists.setdefault(" ".join(phrase.lower().split()), []).append(k)
        self._most, self.n_columns = most, len(texts) + len(lists or {})

    @staticmethod
    def learn(sentences: Sequence[Any], segments: Sequence[list[Segment]], most: int) -> list[str]:
        """The texts of true chunks, those that come often enough."""
        counts: Counter[str] = Counter()
        for tokens, own in zip(sentences, segments, strict=True):
            true = {(begin, end - begin) for begin, end, kind in own if kind != OUTSIDE}
            for begin, length, _, texts in _list_texts(tokens, most):
                if (begin, length) in true:
                    counts.update(texts)
        return sorted(text for text, count in counts.items() if count >= _OFTEN)

    def make_rows(self, positions: Rows, sentences: Sequence[Any]) -> SegmentRows:
        """The rows of positions, and a row for each first position and length."""
        number, columns, places = self._number, [], []
        row = 0
        for tokens in sentences:
            for begin, length, words, texts in _list_texts(tokens, self._most):
                found = [number[text] for text in texts if text in number]
                found += self._lists.get(words, ())
                columns += found
                places += [row + begin * self._most + length - 1] * len(found)
            row += len(tokens) * self._most
        counts = np.bincount(np.array(places, dtype=np.int64), minlength=row)
        indptr, ones = np.concatenate([[0], np.cumsum(counts)]), np.ones(len(columns), np.int8)
        matrix = sparse.csr_array(
            (ones, np.array(columns, dtype=np.int32), indptr), shape=(row, self.n_columns)
        )
        return SegmentRows(positions, Rows(matrix, self._most * positions.lengths))


def _list_texts(tokens: Sequence[Any], most: int) -> Iterator[tuple[int, int, str, list[str]]]:
    """Begin, length, words and other texts of each segment of some tokens, in this order."""
    columns = [[token] if isinstance(token, str) else token for token in tokens]
    n, last = len(tokens), ["<", *(own[-1] for own in columns), ">"]
    words, shapes = [own[0].lower() for own in columns], [_shape(own[0]) for own in columns]
    for begin in range(n):
        kinds = [[] for _ in range(len(columns[0]) + 1)]  # type: list[list[str]]
        for end in range(begin + 1, min(n, begin + most) + 1):
            kinds[0].append(words[end - 1])
            kinds[1].append(shapes[end - 1])
            for c in range(1, len(columns[0])):
                kinds[c + 1].append(columns[end - 1][c])
            texts = [f"a|{end - begin}|{last[begin]}|{last[end + 1]}"]
            if end > begin + 1:  # features of tokens tell what is in one
                texts += [f"{c}|{' '.join(own)}" for c, own in enumerate(kinds)]
                texts[2] = "1|" + " ".join(key for key, _ in groupby(kinds[1]))
            yield begin, end - begin, " ".join(kinds[0]), texts


def _shape(word: str) -> str:
    """Letters as A or a, digits as 0, each run once."""
    found = re.sub(r"\d+", "0", re.sub(r"[^\W\d_]", lambda m: "aA"[m[0].isupper()], word))
    return re.sub(r"(.)\1+", r"\1", found)
