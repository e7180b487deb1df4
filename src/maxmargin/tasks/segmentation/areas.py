"""Labels of nodes, pixels or points beside the truth: numbers, tables and which samples to draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.tasks.documents import Confusion, Drawing, Evaluation, Metric, Table
from maxmargin.tasks.labels import kind_of, texts_of

#: rows of the table of samples
MAX_ROWS = 200


class Areas:
    """Counts of true and predicted labels of each sample.

    classes : the labels that the model knows; the last is the foreground, whose overlap with the
    truth is measured. truth, predicted : one array of labels per sample, in any shape. noun : what
    has a label ("pixel"). names : what to call the samples. nothing of the arrays is kept.
    """

    def __init__(
        self,
        classes: np.ndarray,
        truth: Sequence[Any],
        predicted: Sequence[Any],
        noun: str,
        names: Sequence[str],
    ):
        for own in truth[:1]:
            if kind_of(classes) != kind_of(np.asarray(own)):
                raise ValueError(
                    f"the labels of the data are {kind_of(np.asarray(own))}, those of the model"
                    f" are {kind_of(classes)}; give data with labels of the same kind."
                )
        found = [classes, *(np.unique(own) for own in truth)]
        self.labels = np.unique(np.concatenate(found))
        self.foreground = int(np.searchsorted(self.labels, classes[-1]))
        self.unknown = texts_of(np.setdiff1d(self.labels, classes))
        self.noun, self.names = noun, list(names)
        pairs = zip(truth, predicted, strict=True)
        self.counts = np.array([self._count(t, p) for t, p in pairs], dtype=np.int64)
        self.total = self.counts.sum(axis=0)

    def _count(self, truth: Any, predicted: Any) -> np.ndarray:
        n = len(self.labels)
        t, p = (np.searchsorted(self.labels, np.ravel(own)) for own in (truth, predicted))
        return np.bincount(t * n + p, minlength=n * n).reshape(n, n)

    def errors(self, i: int) -> int:
        """Wrong labels of sample i."""
        return int(self.counts[i].sum() - np.trace(self.counts[i]))

    def worst(self, shown: int) -> list[int]:
        """Samples with the most errors, then in order."""
        ranked = sorted(range(len(self.names)), key=lambda i: (-self.errors(i), i))
        return ranked[: max(shown, 0)]

    def title(self, i: int) -> str:
        """What stands above a drawing of sample i."""
        size = int(self.counts[i].sum())
        return f"{self.names[i]}: {self.errors(i):,} of {size:,} {self.noun}s wrong"

    def evaluation(self, counts: dict[str, Any], drawings: list[Drawing]) -> Evaluation:
        """The document."""
        return Evaluation(
            data=dict(counts),
            error=_error(self.total),
            error_name=f"share of wrong {self.noun}s",
            metrics=self._metrics(),
            tables=[self._label_table(), self._sample_table()],
            confusion=Confusion(labels=texts_of(self.labels), counts=self.total.tolist()),
            drawings=drawings,
        )

    def _metrics(self) -> list[Metric]:
        error, overlaps = _error(self.total), [_iou(self.total, k) for k in self._used()]
        known = [own for own in overlaps if own is not None]
        foreground = texts_of(self.labels)[self.foreground]
        return [
            _metric(f"{self.noun} error", error, f"share of wrong {self.noun}s", "lower"),
            _metric(
                "accuracy", None if error is None else 1.0 - error, f"share of right {self.noun}s"
            ),
            _metric(
                "IoU",
                _iou(self.total, self.foreground),
                f"overlap over union of label {foreground}",
            ),
            _metric("mean IoU", float(np.mean(known)) if known else None, "mean over the labels"),
        ]

    def _used(self) -> list[int]:
        """Labels that are in the truth or predicted."""
        return np.flatnonzero(self.total.sum(axis=0) + self.total.sum(axis=1)).tolist()

    def _label_table(self) -> Table:
        names = texts_of(self.labels)
        rows = []
        for k in self._used():
            right = self.total[k, k]
            true, guessed = self.total[k].sum(), self.total[:, k].sum()
            rows.append(
                [
                    names[k],
                    _ratio(right, guessed),
                    _ratio(right, true),
                    _ratio(2 * right, true + guessed),
                    _iou(self.total, k),
                    int(true),
                    int(guessed),
                ]
            )
        columns = ["label", "precision", "recall", "F1", "IoU", "true", "predicted"]
        note = ""
        if self.unknown:
            shown = ", ".join(self.unknown[:5]) + ", ..." * (len(self.unknown) > 5)
            note = f"the model has not learned {shown}: its {self.noun}s count as wrong"
        return Table(title="Labels", columns=columns, rows=rows, note=note)

    def _sample_table(self) -> Table:
        order = self.worst(MAX_ROWS)
        rows = [
            [
                self.names[i],
                int(self.counts[i].sum()),
                self.errors(i),
                _error(self.counts[i]),
                _iou(self.counts[i], self.foreground),
            ]
            for i in order
        ]
        note = f"IoU of label {texts_of(self.labels)[self.foreground]}"
        if len(self.names) > MAX_ROWS:
            note += f"; the {MAX_ROWS} worst of {len(self.names):,} samples"
        columns = ["sample", f"{self.noun}s", "wrong", "error", "IoU"]
        return Table(title="Samples, worst first", columns=columns, rows=rows, note=note)


def _error(counts: np.ndarray) -> float | None:
    return _ratio(counts.sum() - np.trace(counts), counts.sum())


def _iou(counts: np.ndarray, k: int) -> float | None:
    return _ratio(counts[k, k], counts[k].sum() + counts[:, k].sum() - counts[k, k])


def _ratio(part: Any, whole: Any) -> float | None:
    return float(part / whole) if whole else None


def _metric(name: str, value: float | None, text: str, better: Any = "higher") -> Metric:
    return Metric(name=name, value=value, better=better, percent=True, help=text)
