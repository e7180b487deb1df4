"""How well links agree with those of people: overall and sentence by sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maxmargin.drawing.html_tables import table_html
from maxmargin.metrics import alignment_error_rate, alignment_precision, alignment_recall
from maxmargin.tasks.alignment.checks import Link, Links, Pair


@dataclass(frozen=True)
class PairScore:
    """One sentence pair: its number, AER, words, sure links missed and links not even possible."""

    number: int
    aer: float
    missed: tuple[tuple[str, str], ...]
    wrong: tuple[tuple[str, str], ...]

    @property
    def errors(self) -> int:
        return len(self.missed) + len(self.wrong)

    def __str__(self) -> str:
        parts = [f"pair {self.number}: AER {self.aer:.3f}"]
        for name, links in (("missed", self.missed), ("wrong", self.wrong)):
            if links:
                parts.append(f"{name} {_joined(links)}")
        return "; ".join(parts)


@dataclass(frozen=True)
class AlignmentReport:
    """Alignment error rate, precision, recall, and the pairs, worst first; `print(report)`."""

    aer: float
    precision: float
    recall: float
    n_predicted: int
    n_sure: int
    pairs: tuple[PairScore, ...]

    def __str__(self) -> str:
        lines = [
            f"AER {self.aer:.4f}, precision {self.precision:.4f}, recall {self.recall:.4f}"
            f" ({self.n_predicted} links predicted, {self.n_sure} sure, {len(self.pairs)} pairs)"
        ]
        lines += [str(pair) for pair in self.pairs[:10] if pair.errors]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """For notebooks: the same as a table of the worst pairs."""
        worst = [pair for pair in self.pairs[:10] if pair.errors]
        rows = [(own.number, own.aer, _joined(own.missed), _joined(own.wrong)) for own in worst]
        return table_html(("pair", "AER", "missed", "wrong"), rows, str(self).splitlines()[0])


def alignment_report(
    pairs: Sequence[Pair], predicted: Sequence[Sequence[Link]], links: Sequence[Links]
) -> AlignmentReport:
    """Compare predicted links with (sure, possible) ones."""
    sure, possible = [own[0] for own in links], [own[1] for own in links]
    scores = []
    for s, (pair, found, (own, allowed)) in enumerate(zip(pairs, predicted, links, strict=True)):
        missed = sorted(own - set(found))
        wrong = sorted(set(found) - allowed)
        aer = alignment_error_rate(set(found), own, allowed)
        scores.append(PairScore(s, aer, _words(pair, missed), _words(pair, wrong)))
    scores.sort(key=lambda score: (-score.aer, -score.errors, score.number))
    return AlignmentReport(
        aer=alignment_error_rate(predicted, sure, possible) if links else 0.0,
        precision=alignment_precision(predicted, sure, possible),
        recall=alignment_recall(predicted, sure),
        n_predicted=sum(map(len, predicted)),
        n_sure=sum(map(len, sure)),
        pairs=tuple(scores),
    )


def _words(pair: Pair, links: Sequence[Link]) -> tuple[tuple[str, str], ...]:
    return tuple((pair[0][i], pair[1][j]) for i, j in links)


def _joined(words: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{e}-{f}" for e, f in words)
