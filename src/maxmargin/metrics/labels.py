"""Labels of sequences, and of anything else that is a list of label arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.drawing.html_tables import table_html
from maxmargin.drawing.text_tables import score_lines
from maxmargin.exceptions import SampleError
from maxmargin.optional import import_pandas

Labels = Sequence[Any]
Pair = tuple[np.ndarray, np.ndarray, np.ndarray]  # truth, prediction, where they differ


@dataclass(frozen=True)
class LabelScore:
    """Counts of one label or chunk type, with the scores that follow from them.

    Parameters
    ----------
    label : hashable
        The label.
    correct : int
        Number of correct predictions of the label.
    predicted : int
        Number of predictions of the label.
    support : int
        Number of true occurrences of the label.
    """

    label: Hashable
    correct: int
    predicted: int
    support: int

    @property
    def precision(self) -> float:
        """Fraction correct / predicted."""
        return safe_ratio(self.correct, self.predicted)

    @property
    def recall(self) -> float:
        """Fraction correct / support."""
        return safe_ratio(self.correct, self.support)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, 2 correct / (predicted + support)."""
        return safe_ratio(2 * self.correct, self.predicted + self.support)

    @property
    def iou(self) -> float:
        """Intersection over union, correct / (predicted + support - correct)."""
        return safe_ratio(self.correct, self.predicted + self.support - self.correct)


class ByLabel:
    """Scores of labels, found by their label, in the order of the rows."""

    rows: tuple[LabelScore, ...]

    def __getitem__(self, label: Hashable) -> LabelScore:
        for row in self.rows:
            if row.label == label:
                return row
        raise KeyError(label)

    def __iter__(self) -> Iterator[LabelScore]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class SequenceReport(ByLabel):
    """Scores by label or chunk type; ``report["NP"].f1``, ``print(report)``, ``report.to_frame()``.

    Parameters
    ----------
    rows : tuple of LabelScore
        Scores of each label or chunk type.
    overall : LabelScore
        Pooled counts of all rows (micro average).
    n_samples : int
        Number of sequences.
    n_tokens : int
        Number of tokens.
    token_error, sequence_error : float
        Results of the functions of these names, whatever the rows are.
    """

    rows: tuple[LabelScore, ...]
    overall: LabelScore
    n_samples: int
    n_tokens: int
    token_error: float
    sequence_error: float

    @property
    def macro_f1(self) -> float:
        """Mean of F1 over the rows."""
        return safe_ratio(sum(row.f1 for row in self.rows), len(self.rows))

    def __str__(self) -> str:
        names = ("", "precision", "recall", "    f1", "support")
        head, *body = score_lines(names, self._cells())
        body.insert(-1, "-" * len(head))
        return "\n".join([head, *body, self._caption()])

    def _cells(self) -> list[tuple[str, float, float, float, int]]:
        rows = (*self.rows, self.overall)
        return [(str(own.label), own.precision, own.recall, own.f1, own.support) for own in rows]

    def _caption(self) -> str:
        return (
            f"{self.n_samples} sequences, {self.n_tokens} tokens; "
            f"token error {self.token_error:.4f}, sequence error {self.sequence_error:.4f}"
        )

    def _repr_html_(self) -> str:
        """For notebooks: the same as a table."""
        names = ("", "precision", "recall", "f1", "support")
        return table_html(names, self._cells(), self._caption())

    def to_frame(self) -> Any:
        """Convert the report to a data frame.

        Returns
        -------
        pandas.DataFrame
            One row per label, then the overall row.
        """
        names = ["precision", "recall", "f1", "support", "predicted", "correct"]
        rows = [*self.rows, self.overall]
        table = {name: [getattr(row, name) for row in rows] for name in names}
        return import_pandas().DataFrame(table, index=[row.label for row in rows])


def hamming_loss(
    y_true: Iterable[Labels], y_pred: Iterable[Labels], *, normalize: bool = True
) -> float:
    """Compute the mean over samples of the fraction of wrong labels.

    It is 1/n sum_i 1/T_i sum_t [y_it != y'_it]. See `token_error` for equal weights of all labels,
    whatever the length of their sample.

    Parameters
    ----------
    y_true : iterable of sequences
        True labels of each sample; those that are None are unknown, and left out.
    y_pred : iterable of sequences
        Predicted labels of each sample.
    normalize : bool, default=True
        Divide by the lengths T_i; if False, the result is the mean number of errors per sample.

    Returns
    -------
    float
        Hamming loss.
    """
    pairs = list(pairs_of(y_true, y_pred))
    losses = [safe_ratio(wrong.sum(), wrong.size if normalize else 1) for *_, wrong in pairs]
    return safe_ratio(sum(losses), len(losses))


def token_error(y_true: Iterable[Labels], y_pred: Iterable[Labels]) -> float:
    """Compute the fraction of wrong labels among all labels.

    It is sum_i sum_t [y_it != y'_it] / sum_i T_i.

    Parameters
    ----------
    y_true : iterable of sequences
        True labels of each sample; those that are None are unknown, and left out.
    y_pred : iterable of sequences
        Predicted labels of each sample.

    Returns
    -------
    float
        Error rate from 0 to 1.
    """
    pairs = list(pairs_of(y_true, y_pred))
    n_wrong = sum(wrong.sum() for *_, wrong in pairs)
    return safe_ratio(n_wrong, sum(wrong.size for *_, wrong in pairs))


def sequence_error(y_true: Iterable[Labels], y_pred: Iterable[Labels]) -> float:
    """Compute the fraction of samples with at least one wrong label.

    Parameters
    ----------
    y_true : iterable of sequences
        True labels of each sample; those that are None are unknown, and left out.
    y_pred : iterable of sequences
        Predicted labels of each sample.

    Returns
    -------
    float
        Error rate from 0 to 1.
    """
    pairs = list(pairs_of(y_true, y_pred))
    return safe_ratio(sum(bool(wrong.any()) for *_, wrong in pairs), len(pairs))


def per_label_scores(
    y_true: Iterable[Labels], y_pred: Iterable[Labels], labels: Collection[Hashable] | None = None
) -> SequenceReport:
    """Compute precision and recall of each label over all tokens.

    Parameters
    ----------
    y_true : iterable of sequences
        True labels of each sample; those that are None are unknown, and left out.
    y_pred : iterable of sequences
        Predicted labels of each sample.
    labels : collection of labels or None, default=None
        Labels of the rows, in that order; None means all labels of both arguments, sorted.

    Returns
    -------
    SequenceReport
        One row per label. The overall row pools the rows; with all labels its precision and recall
        are the accuracy.
    """
    pairs = list(pairs_of(y_true, y_pred))
    correct, predicted, support = Counter[Hashable](), Counter[Hashable](), Counter[Hashable]()
    for t, p, wrong in pairs:
        support.update(t.ravel().tolist())
        predicted.update(p.ravel().tolist())
        correct.update(t[~wrong].tolist())
    if labels is None:
        labels = in_order(support.keys() | predicted.keys())
    return make_report(labels, correct, predicted, support, pairs)


def safe_ratio(part: float, whole: float) -> float:
    """Part / whole, 0.0 if the whole is 0."""
    return float(part / whole) if whole else 0.0


def pairs_of(y_true: Iterable, y_pred: Iterable) -> Iterator[Pair]:
    """Truth, prediction and where they differ, sample by sample, checked.

    Labels that are None in y_true are unknown, and left out; so are samples without any other.
    """
    y_true, y_pred = list(y_true), list(y_pred)
    if len(y_true) != len(y_pred):
        raise ValueError(f"y_true has {len(y_true)} samples, y_pred has {len(y_pred)}")
    n_unknown = 0
    for i, (t, p) in enumerate(zip(y_true, y_pred, strict=True)):
        t, p = np.asarray(t), np.asarray(p)
        if t.ndim == 0 or p.ndim == 0:
            raise SampleError.of(
                i,
                ": found a single label, expected a sequence of labels; "
                "put one sequence in a list: [y]",
            )
        if t.shape != p.shape:
            found = (len(t), len(p)) if t.ndim == p.ndim == 1 else (t.shape, p.shape)
            raise SampleError.of(i, f": y_true has {found[0]} labels, y_pred has {found[1]}")
        known = find_known(t)
        if not known.all():
            n_unknown += not known.any()
            t, p = t[known], p[known]
            if not known.any():
                continue
        # Arrays of types that do not compare (str, int) may give one bool for the whole.
        yield t, p, np.broadcast_to(np.asarray(t != p, dtype=bool), t.shape)
    if n_unknown and n_unknown == len(y_true):
        raise ValueError("all labels of y_true are None: there is nothing to compare.")


def find_known(labels: np.ndarray) -> np.ndarray:
    """Which labels are not None."""
    if labels.dtype != object:
        return np.ones(labels.shape, dtype=bool)
    return np.array([label is not None for label in labels.ravel()], dtype=bool).reshape(
        labels.shape
    )


def in_order(labels: Iterable[Any]) -> list[Hashable]:
    """Labels sorted; by type first if they are of several."""
    labels = list(labels)
    try:
        return sorted(labels)
    except TypeError:  # labels of several types
        return sorted(labels, key=lambda label: (type(label).__name__, str(label)))


def make_report(
    labels: Collection, correct: Counter, predicted: Counter, support: Counter, pairs: list[Pair]
) -> SequenceReport:
    """The report of counts by label."""
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
        token_error=safe_ratio(sum(n_wrong), n_tokens),
        sequence_error=safe_ratio(int(np.count_nonzero(n_wrong)), len(pairs)),
    )
