"""Sets of labels, given as matrices of zeros and ones: a row for each sample."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.metrics import f1_score, jaccard_score

from maxmargin.metrics.labels import ByLabel, LabelScore

Average = Literal["micro", "macro", "example"]


@dataclass(frozen=True)
class MultiLabelReport(ByLabel):
    """Metrics of multi-label predictions and the counts of each label.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    hamming_loss : float
        Fraction of wrong entries.
    exact_match : float
        Fraction of samples whose labels are all correct.
    micro_f1 : float
        F1 over all entries.
    macro_f1 : float
        Mean of F1 over labels; 0 for a label that never occurs and is never predicted.
    example_f1 : float
        Mean over samples of ``2 |A and B| / (|A| + |B|)``, A and B being the true and the predicted
        labels; 1 for a sample where both are empty.
    jaccard : float
        Mean over samples of ``|A and B| / |A or B|``; 1 for a sample where both are empty.
    rows : tuple of LabelScore
        Counts of each label.
    """

    n_samples: int
    hamming_loss: float
    exact_match: float
    micro_f1: float
    macro_f1: float
    example_f1: float
    jaccard: float
    rows: tuple[LabelScore, ...]


def multi_label_scores(
    truth: Any, predicted: Any, labels: Sequence[Hashable] | None = None
) -> MultiLabelReport:
    """Compute all metrics of multi-label predictions.

    Parameters
    ----------
    truth, predicted : array_like of shape (n_samples, n_labels)
        True and predicted labels, of zeros and ones.
    labels : sequence of hashable or None, default=None
        Names of the columns; None means their indices.

    Returns
    -------
    MultiLabelReport
        The metrics, with one row per label.
    """
    a, b = _pair(truth, predicted)
    names = range(a.shape[1]) if labels is None else labels
    if len(names) != a.shape[1]:
        raise ValueError(f"{len(names)} labels are named, but there are {a.shape[1]} columns.")
    counts = zip(names, (a & b).sum(axis=0), b.sum(axis=0), a.sum(axis=0), strict=True)
    return MultiLabelReport(
        n_samples=len(a),
        hamming_loss=float((a != b).mean()) if a.size else 0.0,
        exact_match=exact_match(a, b),
        micro_f1=multi_label_f1(a, b, "micro"),
        macro_f1=multi_label_f1(a, b, "macro"),
        example_f1=multi_label_f1(a, b, "example"),
        jaccard=jaccard(a, b),
        rows=tuple(LabelScore(name, int(c), int(p), int(s)) for name, c, p, s in counts),
    )


def multi_label_f1(truth: Any, predicted: Any, average: Average = "micro") -> float:
    """Compute the F1 score of multi-label predictions.

    A sample without labels for which none are predicted is right and counts as 1, as by
    scikit-learn's ``zero_division=1.0``. A label that never occurs and is never predicted has no
    evidence in its favour and counts as 0, as by scikit-learn's default.

    Parameters
    ----------
    truth, predicted : array_like of shape (n_samples, n_labels)
        True and predicted labels, of zeros and ones.
    average : {"micro", "macro", "example"}, default="micro"
        F1 over all entries, its mean over labels, or its mean over samples.

    Returns
    -------
    float
        F1 score.
    """
    names = {"micro": "micro", "macro": "macro", "example": "samples"}
    if average not in names:
        raise ValueError(f'average={average!r} must be "micro", "macro" or "example".')
    a, b = _pair(truth, predicted)
    if not a.size:
        return 0.0
    if a.shape[1] == 1:  # which scikit-learn takes for a single label
        per_row = np.where(a | b, (a & b).astype(float), 1.0)
        both, total = int((a & b).sum()), int(a.sum() + b.sum())
        return float(per_row.mean()) if average == "example" else 2 * both / max(total, 1)
    nothing = 1.0 if average == "example" else 0.0
    return float(f1_score(a, b, average=names[average], zero_division=nothing))


def jaccard(truth: Any, predicted: Any) -> float:
    """Compute the mean over samples of the Jaccard index ``|A and B| / |A or B|``.

    Parameters
    ----------
    truth, predicted : array_like of shape (n_samples, n_labels)
        True and predicted labels, of zeros and ones.

    Returns
    -------
    float
        Mean index; a sample without labels for which none are predicted counts as 1, as by
        scikit-learn's ``zero_division=1.0``.
    """
    a, b = _pair(truth, predicted)
    if not a.size:
        return 0.0
    if a.shape[1] == 1:
        return float((a == b).mean())
    return float(jaccard_score(a, b, average="samples", zero_division=1.0))


def exact_match(truth: Any, predicted: Any) -> float:
    """Compute the fraction of samples whose labels are all correct.

    Parameters
    ----------
    truth, predicted : array_like of shape (n_samples, n_labels)
        True and predicted labels, of zeros and ones.

    Returns
    -------
    float
        Fraction from 0 to 1.
    """
    a, b = _pair(truth, predicted)
    return float((a == b).all(axis=1).mean()) if len(a) else 0.0


def _pair(truth: Any, predicted: Any) -> tuple[np.ndarray, np.ndarray]:
    found = []
    for name, values in (("truth", truth), ("predicted", predicted)):
        matrix = np.asarray(values)
        if matrix.ndim != 2:
            raise ValueError(f"{name} has shape {matrix.shape}, expected (n_samples, n_labels).")
        wrong = (matrix != 0) & (matrix != 1)
        if wrong.any():
            i, k = np.argwhere(wrong)[0].tolist()
            raise ValueError(f"{name}[{i}, {k}] is {matrix[i, k]!r}, expected 0 or 1.")
        found.append(matrix.astype(np.int64))
    if found[0].shape != found[1].shape:
        raise ValueError(f"truth has shape {found[0].shape}, predicted {found[1].shape}.")
    return found[0], found[1]
