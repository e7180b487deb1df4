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
    """All measures of one comparison, and the counts of each label in `rows`.

    hamming_loss : share of wrong entries. exact_match : share of samples without a wrong one.
    micro_f1 : of all entries together; macro_f1 : mean over labels; example_f1, jaccard : mean over
    samples of 2 |A and B| / (|A| + |B|) and |A and B| / |A or B|.
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
    """Compare sets of labels. labels : what columns are called; None means their numbers."""
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
    """F1 of all entries together ("micro"), its mean over labels ("macro") or over samples.

    As in scikit-learn, a sample (or label) that is empty in both counts as 0, right as it is.
    """
    names = {"micro": "micro", "macro": "macro", "example": "samples"}
    if average not in names:
        raise ValueError(f'average={average!r} must be "micro", "macro" or "example".')
    a, b = _pair(truth, predicted)
    if not a.size:
        return 0.0
    if a.shape[1] == 1:  # which scikit-learn takes for a single label
        per_row = np.where(a | b, (a & b).astype(float), 0.0)
        both, total = int((a & b).sum()), int(a.sum() + b.sum())
        return float(per_row.mean()) if average == "example" else 2 * both / max(total, 1)
    return float(f1_score(a, b, average=names[average], zero_division=0.0))


def jaccard(truth: Any, predicted: Any) -> float:
    """The mean over samples of |A and B| / |A or B|; 0 for a sample without labels in both."""
    a, b = _pair(truth, predicted)
    if not a.size:
        return 0.0
    if a.shape[1] == 1:
        return float((a & b).mean())
    return float(jaccard_score(a, b, average="samples", zero_division=0.0))


def exact_match(truth: Any, predicted: Any) -> float:
    """The share of samples all of whose labels are right."""
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
