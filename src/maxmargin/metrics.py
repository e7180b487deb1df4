"""Measures of structured predictions: sequences, chunks, segmentations, word alignments.

Samples are ragged lists of label sequences (lists or arrays). Labels may be of any type, and a
label may occur on one side only. A ratio whose denominator is zero is 0.0, in every function here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.links import is_link, link_set

__all__ = [
    "LabelScore",
    "SequenceReport",
    "alignment_error_rate",
    "alignment_precision",
    "alignment_recall",
    "chunk_f1",
    "chunk_scores",
    "chunk_spans",
    "hamming_loss",
    "intersection_over_union",
    "per_label_scores",
    "sequence_error",
    "token_error",
]

Labels = Sequence[Any]
Span = tuple[int, int, str]
Pair = tuple[np.ndarray, np.ndarray, np.ndarray]  # truth, prediction, where they differ


@dataclass(frozen=True)
class LabelScore:
    """Counts of one label (or chunk type): correct, predicted, and support = in the truth."""

    label: Hashable
    correct: int
    predicted: int
    support: int

    @property
    def precision(self) -> float:
        """Correct / predicted."""
        return _ratio(self.correct, self.predicted)

    @property
    def recall(self) -> float:
        """Correct / support."""
        return _ratio(self.correct, self.support)

    @property
    def f1(self) -> float:
        """2 correct / (predicted + support), the harmonic mean of precision and recall."""
        return _ratio(2 * self.correct, self.predicted + self.support)

    @property
    def iou(self) -> float:
        """Correct / (predicted + support - correct), intersection over union."""
        return _ratio(self.correct, self.predicted + self.support - self.correct)


@dataclass(frozen=True)
class SequenceReport:
    """Scores by label or chunk type; `report["NP"].f1`, `print(report)`, `report.to_frame()`.

    `overall` pools the counts of all rows (micro average); `token_error` and `sequence_error` are
    those of the functions of that name, whatever the rows are.
    """

    rows: tuple[LabelScore, ...]
    overall: LabelScore
    n_samples: int
    n_tokens: int
    token_error: float
    sequence_error: float

    def __getitem__(self, label: Hashable) -> LabelScore:
        for row in self.rows:
            if row.label == label:
                return row
        raise KeyError(label)

    def __iter__(self) -> Iterator[LabelScore]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def macro_f1(self) -> float:
        """Sum over rows of f1 / number of rows."""
        return _ratio(sum(row.f1 for row in self.rows), len(self.rows))

    def __str__(self) -> str:
        rows = [*self.rows, self.overall]
        wide = max(len(str(row.label)) for row in rows)
        digits = max(7, *(len(str(row.support)) for row in rows))
        head = f"{'':{wide}}  precision  recall      f1  {'support':>{digits}}"
        body = [
            f"{row.label!s:{wide}}  {row.precision:9.4f}  {row.recall:6.4f}  {row.f1:6.4f}"
            f"  {row.support:{digits}d}"
            for row in rows
        ]
        body.insert(-1, "-" * len(head))
        foot = (
            f"{self.n_samples} sequences, {self.n_tokens} tokens; "
            f"token error {self.token_error:.4f}, sequence error {self.sequence_error:.4f}"
        )
        return "\n".join([head, *body, foot])

    def _repr_html_(self) -> str:
        """For notebooks: the same as a table."""
        from maxmargin.notebook import table_html

        rows = [(str(r.label), r.precision, r.recall, r.f1, r.support) for r in self.rows]
        all_of = self.overall
        rows.append(("overall", all_of.precision, all_of.recall, all_of.f1, all_of.support))
        foot = f"token error {self.token_error:.4f}, sequence error {self.sequence_error:.4f}"
        caption = f"{self.n_samples} sequences, {self.n_tokens} tokens; {foot}"
        return table_html(("", "precision", "recall", "f1", "support"), rows, caption)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, one row per label, then the overall row."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install pandas") from error
        names = ["precision", "recall", "f1", "support", "predicted", "correct"]
        rows = [*self.rows, self.overall]
        table = {name: [getattr(row, name) for row in rows] for name in names}
        return pd.DataFrame(table, index=[row.label for row in rows])


def hamming_loss(
    y_true: Iterable[Labels], y_pred: Iterable[Labels], *, normalize: bool = True
) -> float:
    """1/n sum_i 1/T_i sum_t [y_it != y'_it]: the mean over samples of the share of errors.

    With `normalize=False` the inner 1/T_i is left out: the mean number of errors per sample. To
    count all labels alike, whatever the sample they are in, see `token_error`.
    """
    pairs = list(_pairs(y_true, y_pred))
    losses = [_ratio(wrong.sum(), wrong.size if normalize else 1) for *_, wrong in pairs]
    return _ratio(sum(losses), len(losses))


def token_error(y_true: Iterable[Labels], y_pred: Iterable[Labels]) -> float:
    """sum_i sum_t [y_it != y'_it] / sum_i T_i: the share of wrong labels among all labels."""
    pairs = list(_pairs(y_true, y_pred))
    n_wrong = sum(wrong.sum() for *_, wrong in pairs)
    return _ratio(n_wrong, sum(wrong.size for *_, wrong in pairs))


def sequence_error(y_true: Iterable[Labels], y_pred: Iterable[Labels]) -> float:
    """1/n sum_i [y_i != y'_i]: the share of samples with at least one wrong label."""
    pairs = list(_pairs(y_true, y_pred))
    return _ratio(sum(bool(wrong.any()) for *_, wrong in pairs), len(pairs))


def per_label_scores(
    y_true: Iterable[Labels],
    y_pred: Iterable[Labels],
    labels: Collection[Hashable] | None = None,
) -> SequenceReport:
    """Precision = correct / predicted, recall = correct / support, per label over all tokens.

    Rows are `labels` in that order, else every label found on either side, sorted. The overall row
    pools these rows; with all labels it is the share of right labels.
    """
    pairs = list(_pairs(y_true, y_pred))
    correct, predicted, support = Counter[Hashable](), Counter[Hashable](), Counter[Hashable]()
    for t, p, wrong in pairs:
        support.update(t.ravel().tolist())
        predicted.update(p.ravel().tolist())
        correct.update(t[~wrong].tolist())
    if labels is None:
        labels = _sorted(support.keys() | predicted.keys())
    return _report(labels, correct, predicted, support, pairs)


def intersection_over_union(
    y_true: Iterable[Labels],
    y_pred: Iterable[Labels],
    labels: Collection[Hashable] | None = None,
) -> dict[Hashable, float]:
    """|y_true = k and y_pred = k| / |y_true = k or y_pred = k| over all nodes, per label k."""
    return {row.label: row.iou for row in per_label_scores(y_true, y_pred, labels)}


def chunk_spans(tags: Sequence[str]) -> list[Span]:
    """Return the chunks (start, stop, type) of one tag sequence, stop not included.

    The rules are conlleval's, which take any sequence: a chunk starts at B- or S-, at I- or E-
    after O, E- or S-, and wherever the type changes; it ends before B-, S- or O, after E- or S-,
    and where the type changes. So IOB1, IOB2 and IOBES are read alike. The type is what follows
    the first hyphen, possibly nothing.
    """
    spans: list[Span] = []
    start: int | None = None
    last, last_type = "O", ""
    for i, tag in enumerate([*tags, "O"]):
        now, _, kind = str(tag).partition("-")
        starts = _starts(last, now, last_type, kind)
        if start is not None and (starts or _ends(last, now, last_type, kind)):
            spans.append((start, i, last_type))
            start = None
        if starts:
            start = i
        last, last_type = now, kind
    return spans


def chunk_scores(
    y_true: Iterable[Sequence[str]], y_pred: Iterable[Sequence[str]]
) -> SequenceReport:
    """Precision = correct / predicted, recall = correct / true chunks, per type, as conlleval.

    A predicted chunk is correct when start, stop and type are those of a true chunk. The
    overall row pools all types: its f1 is conlleval's FB1 (as a share, not in per cent).
    """
    pairs = list(_pairs(y_true, y_pred))
    correct, predicted, support = Counter[str](), Counter[str](), Counter[str]()
    for t, p, _ in pairs:
        truth, guess = set(chunk_spans(t.tolist())), set(chunk_spans(p.tolist()))
        support.update(kind for *_, kind in truth)
        predicted.update(kind for *_, kind in guess)
        correct.update(kind for *_, kind in truth & guess)
    return _report(_sorted(support.keys() | predicted.keys()), correct, predicted, support, pairs)


def chunk_f1(y_true: Iterable[Sequence[str]], y_pred: Iterable[Sequence[str]]) -> float:
    """2 correct / (predicted + true chunks), over chunks of all types, by conlleval's rules."""
    return chunk_scores(y_true, y_pred).overall.f1


def alignment_error_rate(
    predicted: Iterable, sure: Iterable, possible: Iterable | None = None
) -> float:
    """AER = 1 - (|A n S| + |A n P|) / (|A| + |S|), counts summed over sentences.

    Parameters
    ----------
    predicted, sure, possible : the links A, S, P
        For one sentence a set (or list, or (m, 2) array) of pairs (i, j); for several a list of
        such. Sure links count as possible ones whether or not P lists them; P is S by default.

    With no predicted and no sure link there is nothing to err on: 0.0.
    """
    n_predicted, n_sure, hits_sure, hits_possible = _link_counts(predicted, sure, possible)
    if n_predicted + n_sure == 0:
        return 0.0
    return 1.0 - (hits_sure + hits_possible) / (n_predicted + n_sure)


def alignment_precision(
    predicted: Iterable, sure: Iterable, possible: Iterable | None = None
) -> float:
    """|A n P| / |A|, with A, S, P as in `alignment_error_rate`."""
    n_predicted, _, _, hits_possible = _link_counts(predicted, sure, possible)
    return _ratio(hits_possible, n_predicted)


def alignment_recall(predicted: Iterable, sure: Iterable) -> float:
    """|A n S| / |S|, with A, S as in `alignment_error_rate`."""
    _, n_sure, hits_sure, _ = _link_counts(predicted, sure, None)
    return _ratio(hits_sure, n_sure)


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0


def _pairs(y_true: Iterable, y_pred: Iterable) -> Iterator[Pair]:
    y_true, y_pred = list(y_true), list(y_pred)
    if len(y_true) != len(y_pred):
        raise ValueError(f"y_true has {len(y_true)} samples, y_pred has {len(y_pred)}")
    for i, (t, p) in enumerate(zip(y_true, y_pred, strict=True)):
        t, p = np.asarray(t), np.asarray(p)
        if t.ndim == 0 or p.ndim == 0:
            raise ValueError(
                f"sample {i}: found a single label, expected a sequence of labels; "
                "put one sequence in a list: [y]"
            )
        if t.shape != p.shape:
            found = (len(t), len(p)) if t.ndim == p.ndim == 1 else (t.shape, p.shape)
            raise ValueError(f"sample {i}: y_true has {found[0]} labels, y_pred has {found[1]}")
        # Arrays of types that do not compare (str, int) may give one bool for the whole.
        yield t, p, np.broadcast_to(np.asarray(t != p, dtype=bool), t.shape)


def _sorted(labels: Iterable[Any]) -> list[Hashable]:
    labels = list(labels)
    try:
        return sorted(labels)
    except TypeError:  # labels of several types
        return sorted(labels, key=lambda label: (type(label).__name__, str(label)))


def _report(
    labels: Collection, correct: Counter, predicted: Counter, support: Counter, pairs: list[Pair]
) -> SequenceReport:
    rows = tuple(LabelScore(k, correct[k], predicted[k], support[k]) for k in labels)
    overall = LabelScore(
        "overall",
        sum(row.correct for row in rows),
        sum(row.predicted for row in rows),
        sum(row.support for row in rows),
    )
    n_wrong = [int(wrong.sum()) for *_, wrong in pairs]
    n_tokens = sum(wrong.size for *_, wrong in pairs)
    return SequenceReport(
        rows=rows,
        overall=overall,
        n_samples=len(pairs),
        n_tokens=n_tokens,
        token_error=_ratio(sum(n_wrong), n_tokens),
        sequence_error=_ratio(int(np.count_nonzero(n_wrong)), len(pairs)),
    )


def _ends(last: str, now: str, last_type: str, kind: str) -> bool:
    return last in ("E", "S") or now in ("B", "S", "O") or last_type != kind


def _starts(last: str, now: str, last_type: str, kind: str) -> bool:
    if now in ("O", "."):
        return False
    after_end = now in ("I", "E") and last in ("O", "E", "S")
    return now in ("B", "S") or after_end or last_type != kind


def _link_counts(
    predicted: Iterable, sure: Iterable, possible: Iterable | None
) -> tuple[int, int, int, int]:
    """Return |A|, |S|, |A n S|, |A n P| over all sentences."""
    links = {"predicted": list(predicted), "sure": list(sure)}
    links["possible"] = links["sure"] if possible is None else list(possible)
    if any(is_link(item) for value in links.values() for item in value):
        links = {name: [value] for name, value in links.items()}
    sizes = {name: len(value) for name, value in links.items()}
    if len(set(sizes.values())) > 1:
        found = ", ".join(f"{name} has {size}" for name, size in sizes.items())
        raise ValueError(f"numbers of sentences differ: {found}")
    counts = np.zeros(4, dtype=np.int64)
    for i, sentence in enumerate(zip(*links.values(), strict=True)):
        a, s, p = (link_set(item, f"sentence {i}: ") for item in sentence)
        counts += [len(a), len(s), len(a & s), len(a & (s | p))]
    n_predicted, n_sure, hits_sure, hits_possible = counts.tolist()
    return n_predicted, n_sure, hits_sure, hits_possible
