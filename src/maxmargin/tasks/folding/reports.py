"""What predicted structures are worth: in all, by family; the worst of them."""

from __future__ import annotations

from dataclasses import dataclass

from maxmargin.drawing.text_tables import align_cells
from maxmargin.formats.rna import Pairs, write_dot_bracket
from maxmargin.metrics import PairScores, pair_scores

#: worst structures that are kept
_WORST = 3


@dataclass(frozen=True)
class FoldingReport:
    """Scores of predicted pairs; `print(report)`.

    scores : means over all sequences. families : (family, its scores) by size. worst : (sequence,
    true structure, predicted structure), those with the lowest F1 first.
    """

    scores: PairScores
    families: tuple[tuple[str, PairScores], ...]
    worst: tuple[tuple[str, str, str], ...]

    @classmethod
    def of(
        cls, sequences: list[str], truth: list[Pairs], predicted: list[Pairs], families: list[str]
    ) -> FoldingReport:
        """Compare pairs of sequences."""
        own = [pair_scores([a], [b]).f1 for a, b in zip(truth, predicted, strict=True)]
        groups = []
        for family in dict.fromkeys(families):
            some = [i for i, other in enumerate(families) if other == family]
            scores = pair_scores([truth[i] for i in some], [predicted[i] for i in some])
            groups.append((family, scores))
        order = sorted(range(len(own)), key=lambda i: own[i])[:_WORST]
        worst = tuple(
            (
                sequences[i],
                write_dot_bracket(truth[i], len(sequences[i])),
                write_dot_bracket(predicted[i], len(sequences[i])),
            )
            for i in order
            if own[i] < 1.0
        )
        groups.sort(key=lambda group: (-group[1].n_samples, group[0]))
        return cls(pair_scores(truth, predicted), tuple(groups), worst)

    def __str__(self) -> str:
        rows = [["family", "sequences", "F1", "precision", "recall"]]
        for name, own in (*self.families, ("all", self.scores)):
            figures = [f"{value:.3f}" for value in (own.f1, own.precision, own.recall)]
            rows.append([name, str(own.n_samples), *figures])
        return "\n".join(align_cells(rows))
