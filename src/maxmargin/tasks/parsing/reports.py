"""What a parser's predictions are worth: in all, by relation, by length; the worst trees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from maxmargin.drawing.text_tables import align_cells
from maxmargin.metrics import AttachmentScores, attachment_scores
from maxmargin.structures.base import LONGEST

#: lengths of sentences that are shown together, up to the first number, the second, ...
LENGTHS = (10, 20, 40)


@dataclass(frozen=True)
class ParsingReport:
    """Attachment scores of predicted trees; `print(report)`.

    scores : of all words. relations : (relation, words, recall and precision of heads with this
    relation) by frequency. lengths : (lengths of sentences, their scores). worst : numbers of
    sentences, those with most wrong words first. trees : (forms, true tree, predicted tree) of all.
    """

    scores: AttachmentScores
    relations: tuple[tuple[str, int, float, float], ...]
    lengths: tuple[tuple[str, AttachmentScores], ...]
    worst: tuple[int, ...]
    trees: tuple[tuple[list[str], Any, Any], ...]

    @classmethod
    def of(
        cls, forms: list[list[str]], truth: Sequence[Any], predicted: Sequence[Any]
    ) -> ParsingReport:
        """Compare trees of sentences with these forms."""
        pairs = list(zip(truth, predicted, strict=True))
        words = [both for own in pairs for both in zip(*own, strict=True)]
        true = Counter(a[1] for a, _ in words)
        found, right = Counter(b[1] for _, b in words), Counter(a[1] for a, b in words if a == b)
        relations = tuple(
            (name, count, right[name] / count, right[name] / max(found[name], 1))
            for name, count in true.most_common()
        )
        lengths = []
        for low, high in pairwise((0, *LENGTHS, LONGEST)):
            some = [own for own in pairs if low < len(own[0]) <= high]
            name = f"{low + 1} to {high}" if high < LONGEST else f"more than {low}"
            if some:
                lengths.append((name, attachment_scores(*zip(*some, strict=True))))
        wrong = [sum(a != b for a, b in zip(*own, strict=True)) for own in pairs]
        worst = sorted((i for i, count in enumerate(wrong) if count), key=lambda i: -wrong[i])
        trees = tuple((own, *both) for own, both in zip(forms, pairs, strict=True))
        scores = attachment_scores(truth, predicted)
        return cls(scores, relations, tuple(lengths), tuple(worst), trees)

    def __str__(self) -> str:
        rows = [["words in a sentence", "words", "UAS", "LAS"]]
        for name, own in (*self.lengths, ("all", self.scores)):
            rows.append([name, str(own.n_words), f"{own.uas:.2%}", f"{own.las:.2%}"])
        table = [["relation", "words", "recall", "precision"]]
        table += [[name, str(n), f"{a:.2%}", f"{b:.2%}"] for name, n, a, b in self.relations]
        return "\n".join([*align_cells(rows), "", *align_cells(table)])
