"""Evaluations and descriptions of word aligners as plain documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.metrics.links import ComparedLinks, Link, Links, compare_links
from maxmargin.tasks.alignment.checks import Pair
from maxmargin.tasks.alignment.word_aligner import WordAligner
from maxmargin.tasks.documents import Drawing, Metric, Table
from maxmargin.tasks.link_documents import (
    harmonic_mean,
    kinds_table,
    link_drawing,
    make_metric,
    ratio_or_none,
)
from maxmargin.tasks.tagging.reports import strongest_weights
from maxmargin.validation.samples import as_dense

SHOWN_ROWS = 20
#: a source word is in this many pairs of the text at least
BANDS = (("not in the text", 0), ("1 to 9", 1), ("10 to 99", 10), ("100 to 999", 100))
LAST_BAND = ("1000 and more", 1000)


class EvaluatedLinks:
    """Predicted links beside true ones."""

    def __init__(
        self, pairs: Sequence[Pair], predicted: Sequence[Sequence[Link]], links: Sequence[Links]
    ):
        self.pairs, self.predicted, self.links = pairs, predicted, links
        self.kinds: list[ComparedLinks] = [
            compare_links(own, *truth) for own, truth in zip(predicted, links, strict=True)
        ]
        self.n_predicted = sum(map(len, predicted))
        self.n_sure = sum(len(sure) for sure, _ in links)
        right = sum(len(own.right) for own in self.kinds)
        possible = sum(len(own.possible) for own in self.kinds)
        self.precision = ratio_or_none(right + possible, self.n_predicted)
        self.recall = ratio_or_none(right, self.n_sure)
        both = self.n_predicted + self.n_sure
        self.aer = 1.0 - (2 * right + possible) / both if both else 0.0

    def errors(self, s: int) -> int:
        """Links of pair s that are wrong or missed."""
        return len(self.kinds[s].wrong) + len(self.kinds[s].missed)

    def aer_of(self, s: int) -> float:
        """The alignment error rate of pair s alone."""
        own = self.kinds[s]
        both = len(self.predicted[s]) + len(self.links[s][0])
        return 1.0 - (2 * len(own.right) + len(own.possible)) / both if both else 0.0

    def worst(self) -> list[int]:
        """Pairs, those with the most errors first."""
        return sorted(range(len(self.pairs)), key=lambda s: (-self.errors(s), -self.aer_of(s), s))

    def metrics(self, error_name: str = "AER") -> list[Metric]:
        """The numbers to tell."""
        without = sum(self.errors(s) == 0 for s in range(len(self.pairs)))
        return [
            make_metric(error_name, self.aer, "alignment error rate", "lower"),
            make_metric(
                "precision", self.precision, "share of the predicted links that are possible"
            ),
            make_metric("recall", self.recall, "share of the sure links that are predicted"),
            make_metric(
                "F1",
                harmonic_mean(self.precision, self.recall),
                "harmonic mean of precision and recall",
            ),
            make_metric(
                "pairs without error",
                ratio_or_none(without, len(self.pairs)),
                "share of the pairs with no link wrong or missed",
            ),
            make_metric(
                "links predicted", self.n_predicted, "in all pairs", "neither", percent=False
            ),
        ]

    def tables(self, model: WordAligner) -> list[Table]:
        """Links by kind and by frequency of the words, common mistakes, the worst pairs."""
        return [
            kinds_table(self.kinds, with_possible=True),
            self._by_frequency(model),
            self._mistakes("Links missed most often", "missed"),
            self._mistakes("Wrong links made most often", "wrong"),
            self._worst_pairs(),
        ]

    def _by_frequency(self, model: WordAligner) -> Table:
        statistics = model.statistics_
        bands = (*BANDS, LAST_BAND)
        least = np.array([own for _, own in bands])
        counts = np.zeros((len(bands), 4), dtype=int)  # sure, found, predicted, possible
        for pair, found, (sure, possible) in zip(
            self.pairs, self.predicted, self.links, strict=True
        ):
            words = statistics.numbers([pair])[0]
            seen = np.where(words >= 0, statistics.source_counts_[words], 0)
            band = np.searchsorted(least, seen, side="right") - 1
            for i, _ in sure:
                counts[band[i], 0] += 1
            for i, j in found:
                counts[band[i]] += [0, (i, j) in sure, 1, (i, j) in possible]
        rows = [
            [name, sure, ratio_or_none(right, sure), made, ratio_or_none(fine, made)]
            for (name, _), (sure, right, made, fine) in zip(bands, counts.tolist(), strict=True)
        ]
        return Table(
            title="By frequency of the source word",
            columns=["sentence pairs with the word", "sure", "recall", "predicted", "precision"],
            rows=rows,
            note="counted in the text without links",
        )

    def _mistakes(self, title: str, kind: str) -> Table:
        count: Counter[tuple[str, str]] = Counter()
        for (source, target), own in zip(self.pairs, self.kinds, strict=True):
            count.update((source[i], target[j]) for i, j in sorted(getattr(own, kind)))
        common = sorted(count.items(), key=lambda own: (-own[1], own[0]))[:SHOWN_ROWS]
        rows = [[source, target, n] for (source, target), n in common]
        return Table(title=title, columns=["source", "target", "times"], rows=rows, note="")

    def _worst_pairs(self) -> Table:
        rows = [
            [
                s + 1,
                self.aer_of(s),
                _listed(self.pairs[s], self.kinds[s].missed),
                _listed(self.pairs[s], self.kinds[s].wrong),
            ]
            for s in self.worst()[:SHOWN_ROWS]
            if self.errors(s)
        ]
        return Table(
            title="Sentence pairs with the most errors",
            columns=["pair", "AER", "missed", "wrong"],
            rows=rows,
            note="pairs are counted from 1, among those with links",
        )

    def agreement(self) -> list[Metric]:
        """The numbers to tell where the links are those of the directed models, not the truth."""
        meaning = "1 - AER, if their links were the truth: sure where both agree, else possible"
        share = make_metric(
            "agreement with the directed models", 1.0 - self.aer, meaning, "neither"
        )
        return [share, self.metrics()[-1]]

    def drawings(self, shown: int, known: bool) -> list[Drawing]:
        """The pairs with the most errors, or the first ones, where the truth is not known."""
        if not known:
            return [
                link_drawing(f"pair {s + 1}", self.pairs[s], self.predicted[s], None, 0)
                for s in range(min(shown, len(self.pairs)))
            ]
        return [
            link_drawing(
                f"pair {s + 1}: AER {self.aer_of(s):.3f}",
                self.pairs[s],
                self.predicted[s],
                self.links[s],
                self.errors(s),
            )
            for s in self.worst()[:shown]
        ]


def _listed(pair: Pair, links: set[Link]) -> str:
    return ", ".join(f"{pair[0][i]}-{pair[1][j]}" for i, j in sorted(links))


def strongest_tables(model: WordAligner, n: int = 6) -> list[Table]:
    """The features that speak most for a link and most against it, overall and by group."""
    names = [tuple(name.split(": ", 1)) for name in model.features_.feature_names_out()]
    weights = as_dense(model.coef_)
    rows: list[list[Any]] = [
        [*names[k], float(weights[k])] for k in strongest_weights(weights, 2 * n).tolist()
    ]
    columns = ["group", "feature", "weight"]
    tables = [Table(title="Strongest features", columns=columns, rows=rows, note="")]
    groups = np.array([group for group, _ in names])
    rows = []
    for group in dict.fromkeys(groups.tolist()):
        places = np.flatnonzero(groups == group)
        own = places[strongest_weights(weights[places], n)]
        rows += [[*names[k], float(weights[k])] for k in own.tolist()]
    note = "a positive weight speaks for a link, a negative one against it"
    return [*tables, Table(title="Features by group", columns=columns, rows=rows, note=note)]


def text_tables(model: WordAligner, n: int = 25) -> list[Table]:
    """What was learned from text without links: its size, and likely translations."""
    found = model.statistics_
    rows: list[list[Any]] = [
        ["sentence pairs", found.n_pairs_],
        ["source words", len(found.source_words_)],
        ["target words", len(found.target_words_)],
        ["word pairs kept", len(found.column_)],
    ]
    size = Table(title="Text without links", columns=["what", "number"], rows=rows, note="")
    rows = []
    for k, word in enumerate(found.source_words_[:n]):
        own = slice(int(found.row_ptr_[k]), int(found.row_ptr_[k + 1]))
        chances = found.hmm_[0, own]
        best = np.argsort(-chances, kind="stable")[:3]
        targets = [found.target_words_[found.column_[own][b]] for b in best.tolist()]
        texts = [f"{t} {chances[b]:.2f}" for t, b in zip(targets, best.tolist(), strict=True)]
        rows.append([word, int(found.source_counts_[k]), ", ".join(texts)])
    columns = ["word", "sentence pairs", "translations"]
    note = "probability of the target word given the source word, by the HMM"
    title = "Translations of the most frequent words"
    return [size, Table(title=title, columns=columns, rows=rows, note=note)]
