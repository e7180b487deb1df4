"""Arcs of sentences: their feature rows for training, their scores for prediction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from maxmargin._numba.parsing import arc_features
from maxmargin.structures import Dependencies
from maxmargin.tasks.parsing.rows import ArcRows, Relations, make_scratch
from maxmargin.tasks.parsing.tokens import Coded
from maxmargin.validation.samples import LaidOutRows


def first_structure(structure: Dependencies) -> Dependencies:
    """What first trees are: projective, also where the others are not.

    With few sentences to learn from, that no arcs cross is worth more than arcs that do.
    """
    return Dependencies(True, structure.single_root)


class Arcs(NamedTuple):
    """All arcs of some sentences.

    coded : the sentences. heads : of their words, where they are known. longest, numbers : see
    `rows`. structure, relations : of first trees, as far as they are known.
    """

    coded: Coded
    heads: list[list[int]]
    longest: np.ndarray
    numbers: np.ndarray
    structure: Dependencies
    relations: Relations | None = None

    def select(self, chosen: Sequence[int]) -> Arcs:
        """Those of some of the sentences."""
        ptr = self.coded.ptr
        rows = np.concatenate([np.arange(ptr[i], ptr[i + 1]) for i in chosen])
        lengths = np.diff(ptr)[chosen]
        coded = Coded(self.coded.codes[rows], np.concatenate([[0], np.cumsum(lengths)]))
        return self._replace(coded=coded, heads=[self.heads[i] for i in chosen])

    def rows(self, guides: np.ndarray, n_columns: int) -> LaidOutRows:
        """Feature rows for training. guides : heads of all words in first trees, or empty."""
        rows = ArcRows(self.coded, guides, self.longest, self.numbers, n_columns)
        return LaidOutRows(rows, [(n,) for n in self.coded.lengths.tolist()])

    def scores(self, w: np.ndarray, guide: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The codes of each sentence, and the scores of its arcs.

        guide : weights of first trees, whose features w has, too; or empty.
        """
        scratch = make_scratch(self.coded.lengths.max(initial=0))
        oracle: Any = self.structure.oracle()
        first_w, second_w = (guide, w) if len(guide) else (w, guide)
        given = self.longest, self.numbers
        ptr = self.coded.ptr
        for first, last in pairwise(ptr):
            n = int(last - first - 3)
            codes, theta = self.coded.codes[first:last].ravel(), np.empty(n * (n + 1))
            more = np.empty(n * (n + 1) if len(guide) else 0)
            arc_features.score_arcs(codes, *given, first_w, second_w, theta, more, *scratch)
            if len(guide) and n:
                heads = oracle._call("maximize", theta, (n,))[0].reshape(n, n + 1).argmax(axis=1)
                if self.relations is not None:
                    own = Coded(self.coded.codes[first:last], np.array([0, n + 3]))
                    self.relations.write(own, heads)
                arc_features.add_guided_scores(codes, heads, *given, w, more, *scratch)
            yield codes, more if len(guide) else theta

    def predict(self, w: np.ndarray) -> np.ndarray:
        """The heads of all words by weights without first trees; none if there are no weights.

        The words know their relations to them from then on.
        """
        if not len(w) or not len(self.coded.lengths):
            return np.empty(0, dtype=np.int64)
        oracle, found = self.structure.oracle(), []
        for (_, theta), n in zip(self.scores(w, np.empty(0)), self.coded.lengths, strict=True):
            layout = (int(n),)
            found.append(self.structure.decode(oracle.maximize(theta, layout)[0], layout))
        heads = np.concatenate(found)
        if self.relations is not None:
            self.relations.write(self.coded, heads)
        return heads
