"""What tasks on label sequences have in common: metrics, tables, confusion, worst samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from maxmargin.metrics import MultiLabelReport, SequenceReport, chunk_scores, per_label_scores
from maxmargin.tasks.documents import Confusion, Drawing, Evaluation, Metric, Table
from maxmargin.tasks.labels import kind_of
from maxmargin.tasks.tagging.schemes import mark_chunks

#: labels shown in a confusion table
MAX_LABELS = 40
#: what stands for the other labels there
OTHERS = "(others)"
#: pairs of labels shown of those taken for one another
MAX_PAIRS = 15
#: tokens shown of one sample
MAX_SHOWN = 200

Labels = Sequence[Sequence[str]]


def score_table(
    title: str, report: SequenceReport | MultiLabelReport, what: str, note: str = ""
) -> Table:
    """Precision, recall and F1 of each label or chunk type, most frequent first.

    The last row is over all of them, where the report has that.
    """
    rows = sorted(report.rows, key=lambda row: (-row.support, str(row.label)))
    overall = [report.overall] if isinstance(report, SequenceReport) else []
    return Table(
        title=title,
        columns=[what, "precision", "recall", "F1", "true", "predicted"],
        rows=[
            [str(row.label), row.precision, row.recall, row.f1, row.support, row.predicted]
            for row in [*rows, *overall]
        ],
        note=note,
    )


def sequence_metrics(labels: SequenceReport, chunks: SequenceReport | None) -> list[Metric]:
    """Accuracies of tokens and sentences, and chunk F1 where there are chunks."""
    metrics = [
        _metric("token accuracy", 1 - labels.token_error, "share of tokens with the right tag"),
        _metric("sentence accuracy", 1 - labels.sequence_error, "share with every tag right"),
        _metric("macro F1", labels.macro_f1, "F1 of the tags, each counted alike"),
    ]
    if chunks is not None:
        whole = chunks.overall
        found = [
            _metric("chunk F1", whole.f1, "F1 of whole chunks by the rules of conlleval"),
            _metric("chunk precision", whole.precision, "share of predicted chunks that are right"),
            _metric("chunk recall", whole.recall, "share of true chunks that are found"),
        ]
        metrics = found + metrics
    return metrics


def _metric(name: str, value: float, text: str) -> Metric:
    return Metric(name=name, value=value, better="higher", percent=True, help=text)


def score_labels(truth: Labels, predicted: Labels) -> tuple[SequenceReport, SequenceReport | None]:
    """Scores by label; scores by chunk type too if the true labels mark chunks."""
    found = {label for own in truth for label in own}
    chunks = chunk_scores(truth, predicted) if mark_chunks(found) else None
    return per_label_scores(truth, predicted), chunks


def label_evaluation(
    truth: Labels,
    predicted: Labels,
    counts: dict[str, Any],
    drawn: Callable[[int, int], Drawing],
    shown: int,
    known: Sequence[str],
    whole: str = "sequence",
) -> Evaluation:
    """How labels compare.

    `drawn` draws sample i with this many errors, `known` are the labels that the model has learned,
    `whole` is what a sample is.
    """
    report = per_label_scores(truth, predicted)
    matrix, note = confusion_table(truth, predicted)
    return Evaluation(
        data=dict(counts),
        error=report.token_error,
        error_name="share of wrong labels",
        metrics=[
            _error("label error", report.token_error, "share of wrong labels"),
            _error(f"{whole} error", report.sequence_error, "share with any label wrong"),
        ],
        tables=[
            score_table("Labels", report, "label", unknown_note(truth, known, whole)),
            confused_table(truth, predicted, note),
        ],
        confusion=matrix,
        drawings=[drawn(i, errors) for i, errors in worst_samples(truth, predicted, shown)],
    )


def unknown_note(truth: Labels, known: Sequence[str], whole: str) -> str:
    """Which true labels the model has not learned, and in how many samples they occur."""
    strange = [set(own).difference(known) for own in truth]
    names = sorted(set().union(*strange))
    if not names:
        return ""
    count = sum(map(bool, strange))
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return (
        f"{count:,} of {len(truth):,} {whole}s {'has' if count == 1 else 'have'} labels that the"
        f" model has not learned, which count as wrong: {', '.join(names[:10])}{more}."
    )


def _error(name: str, value: float, text: str) -> Metric:
    return Metric(name=name, value=value, better="lower", percent=True, help=text)


def check_kinds(model: Any, outputs: Sequence[Any]) -> None:
    """Fail unless the labels of the data are of the model's kind, numbers or texts."""
    if kind_of(model.classes_) != kind_of(outputs[0]):
        raise ValueError(
            f"the labels of the data are {kind_of(outputs[0])}, those of the model are"
            f" {kind_of(model.classes_)}; give data with labels of the same kind."
        )


def confusion_table(truth: Labels, predicted: Labels) -> tuple[Confusion, str]:
    """The most frequent labels first, the rest of them pooled; and a note if there is a rest."""
    pairs: Counter[tuple[str, str]] = Counter()
    for t, p in zip(truth, predicted, strict=True):
        pairs.update(zip(t, p, strict=True))
    often: Counter[str] = Counter()
    for (t, p), count in pairs.items():
        often[t] += count
        often[p] += 0
    ranked = sorted(often, key=lambda label: (-often[label], label))
    names, note = ranked, ""
    if len(ranked) > MAX_LABELS:
        names = [*ranked[: MAX_LABELS - 1], OTHERS]
        note = f"The {MAX_LABELS - 1} most frequent of {len(ranked)} labels; the others are pooled."
    place = {label: min(k, len(names) - 1) for k, label in enumerate(ranked)}
    counts = np.zeros((len(names), len(names)), dtype=np.int64)
    for (t, p), count in pairs.items():
        counts[place[t], place[p]] += count
    return Confusion(labels=list(names), counts=counts.tolist()), note


def confused_table(truth: Labels, predicted: Labels, note: str = "") -> Table:
    """The mistakes made most often, and how many more kinds of them there are."""
    pairs: Counter[tuple[str, str]] = Counter()
    for t, p in zip(truth, predicted, strict=True):
        pairs.update((a, b) for a, b in zip(t, p, strict=True) if a != b)
    ranked = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))
    shown, rest = ranked[:MAX_PAIRS], ranked[MAX_PAIRS:]
    if rest:
        times = sum(count for _, count in rest)
        more = f"{len(rest):,} more pair{'s' * (len(rest) > 1)} of labels, {times:,} times in all."
        note = f"{more} {note}".rstrip()
    return Table(
        title="Mistakes made most often",
        columns=["true", "predicted", "count"],
        rows=[[t, p, count] for (t, p), count in shown],
        note=note,
    )


def worst_samples(truth: Labels, predicted: Labels, shown: int) -> list[tuple[int, int]]:
    """(sample, number of errors) of those with the most errors, then in order."""
    errors = [
        sum(a != b for a, b in zip(t, p, strict=True))
        for t, p in zip(truth, predicted, strict=True)
    ]
    ranked = sorted(range(len(errors)), key=lambda i: (-errors[i], i))
    return [(i, errors[i]) for i in ranked[: max(shown, 0)]]


def shown_window(truth: Sequence[str], predicted: Sequence[str]) -> slice:
    """The part of a long sample to show: from a little before its first error."""
    if len(truth) <= MAX_SHOWN:
        return slice(0, len(truth))
    wrong = (t for t, (a, b) in enumerate(zip(truth, predicted, strict=True)) if a != b)
    start = min(max(next(wrong, 0) - 10, 0), len(truth) - MAX_SHOWN)
    return slice(start, start + MAX_SHOWN)


def drawing_title(name: str, errors: int, length: int, part: slice) -> str:
    """What stands above a drawing."""
    cut = "" if part.stop - part.start == length else f", {part.start + 1} to {part.stop} shown"
    return f"{name}: {errors} of {length} wrong{cut}"


def weight_table(title: str, columns: Sequence[str], rows: Any, note: str = "") -> Table:
    """Rows of names and a weight."""
    return Table(
        title=title,
        columns=list(columns),
        rows=[[*map(str, row[:-1]), float(row[-1])] for row in rows],
        note=note,
    )
