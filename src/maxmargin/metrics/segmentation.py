"""Segmentations: labels of pixels, points or nodes, sample by sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.drawing.html_tables import table_html
from maxmargin.drawing.text_tables import score_lines
from maxmargin.metrics.labels import ByLabel, LabelScore, in_order, pairs_of, safe_ratio
from maxmargin.optional import import_pandas

WORST = 10  # samples that are listed


@dataclass(frozen=True)
class SampleScore:
    """Scores of one sample of a segmentation.

    Parameters
    ----------
    number : int
        Index of the sample.
    error : float
        Fraction of wrong pixels or points.
    size : int
        Number of pixels or points.
    iou : tuple of float
        Intersection over union of each label, in the order of the report.
    """

    number: int
    error: float
    size: int
    iou: tuple[float, ...]


@dataclass(frozen=True)
class SegmentationReport(ByLabel):
    """Scores by label, ``report["tree"].iou``, and by sample, worst first; ``print(report)``.

    Parameters
    ----------
    rows : tuple of LabelScore
        Scores of each label over all pixels or points of all samples.
    samples : tuple of SampleScore
        Scores of each sample, worst first.
    noun : str, default="sample"
        Name of a sample in the printed report.
    """

    rows: tuple[LabelScore, ...]
    samples: tuple[SampleScore, ...]
    noun: str = "sample"

    @property
    def size(self) -> int:
        """Number of pixels or points."""
        return sum(own.size for own in self.samples)

    @property
    def error(self) -> float:
        """Fraction of wrong pixels or points."""
        return safe_ratio(sum(own.error * own.size for own in self.samples), self.size)

    @property
    def accuracy(self) -> float:
        """Fraction of correct pixels or points, 1 - error."""
        return 1.0 - self.error if self.size else 0.0

    @property
    def mean_iou(self) -> float:
        """Mean over labels of intersection over union."""
        return safe_ratio(sum(row.iou for row in self.rows), len(self.rows))

    def _title(self) -> str:
        nouns = self.noun if len(self.samples) == 1 else f"{self.noun}s"
        return (
            f"error {self.error:.4f}, mean IoU {self.mean_iou:.4f}"
            f" ({self.size} labels, {len(self.samples)} {nouns})"
        )

    def _cells(self) -> list[tuple[str, float, float, float, float, int]]:
        return [(str(r.label), r.precision, r.recall, r.f1, r.iou, r.support) for r in self.rows]

    def __str__(self) -> str:
        names = (" " * 5, "precision", "recall", "    f1", "   iou", "  support")
        lines = [self._title(), *score_lines(names, self._cells())]
        lines += [
            f"{self.noun} {own.number}: error {own.error:.4f}"
            for own in self.samples[:WORST]
            if own.error
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """For notebooks: the same as tables."""
        heads = ("", "precision", "recall", "f1", "IoU", "support")
        names = [f"IoU {row.label}" for row in self.rows]
        worst = [(own.number, own.error, *own.iou) for own in self.samples[:WORST]]
        return table_html(heads, self._cells(), self._title()) + table_html(
            (self.noun, "error", *names), worst
        )

    def to_frame(self) -> Any:
        """Convert the report to a data frame.

        Returns
        -------
        pandas.DataFrame
            One row per sample: its size, error and IoU by label.
        """
        rows = sorted(self.samples, key=lambda own: own.number)
        table: dict[str, list[Any]] = {"size": [own.size for own in rows]}
        table["error"] = [own.error for own in rows]
        for k, row in enumerate(self.rows):
            table[f"iou {row.label}"] = [own.iou[k] for own in rows]
        return import_pandas().DataFrame(table, index=[own.number for own in rows])


def segmentation_scores(
    y_true: Iterable[Any],
    y_pred: Iterable[Any],
    labels: Collection[Hashable] | None = None,
    *,
    noun: str = "sample",
) -> SegmentationReport:
    """Compute precision, recall and intersection over union by label, and the error of each sample.

    Parameters
    ----------
    y_true, y_pred : iterable of array_like
        True and predicted labels, one array of any shape per sample: (H, W) for an image, (N,) for
        a point cloud.
    labels : collection of labels or None, default=None
        Labels of the rows, in that order; None means all labels of both arguments, sorted.
    noun : str, default="sample"
        Name of a sample in the printed report.

    Returns
    -------
    SegmentationReport
        Scores by label and by sample.
    """
    counts = [_counts(truth, guess, wrong) for truth, guess, wrong in pairs_of(y_true, y_pred)]
    if labels is None:
        labels = in_order({label for own, _ in counts for label in own})
    none = np.zeros(3, dtype=np.int64)
    rows = []
    for label in labels:
        total = sum((own.get(label, none) for own, _ in counts), none)
        rows.append(LabelScore(label, *(int(count) for count in total)))
    samples = [
        SampleScore(i, safe_ratio(wrong, size), size, tuple(_iou(own.get(k, none)) for k in labels))
        for i, (own, (wrong, size)) in enumerate(counts)
    ]
    samples.sort(key=lambda own: (-own.error, own.number))
    return SegmentationReport(tuple(rows), tuple(samples), noun)


def intersection_over_union(
    y_true: Iterable[Any], y_pred: Iterable[Any], labels: Collection[Hashable] | None = None
) -> dict[Hashable, float]:
    """Compute the intersection over union of each label over all pixels or points.

    For label k it is ``|y_true = k and y_pred = k| / |y_true = k or y_pred = k|``.

    Parameters
    ----------
    y_true, y_pred : iterable of array_like
        True and predicted labels, one array per sample.
    labels : collection of labels or None, default=None
        Labels to score; None means all labels of both arguments, sorted.

    Returns
    -------
    dict of float
        Intersection over union of each label.
    """
    return {row.label: row.iou for row in segmentation_scores(y_true, y_pred, labels)}


def _counts(
    truth: np.ndarray, guess: np.ndarray, wrong: np.ndarray
) -> tuple[dict[Hashable, np.ndarray], tuple[int, int]]:
    """{label: (right, predicted, true)}, and how many are wrong, of how many."""
    found: dict[Hashable, np.ndarray] = {}
    for place, values in enumerate((truth[~wrong], guess.ravel(), truth.ravel())):
        for label, n in _tally(values):
            found.setdefault(label, np.zeros(3, dtype=np.int64))[place] = n
    return found, (int(wrong.sum()), wrong.size)


def _tally(values: np.ndarray) -> Iterable[tuple[Hashable, int]]:
    if values.dtype == object:  # labels of several types have no order
        return Counter(values.tolist()).items()
    own, count = np.unique(values, return_counts=True)
    return zip(own.tolist(), count.tolist(), strict=True)


def _iou(counts: np.ndarray) -> float:
    right, predicted, true = counts.tolist()
    return safe_ratio(right, predicted + true - right)
