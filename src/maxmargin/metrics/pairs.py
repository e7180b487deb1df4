"""Pairs of positions: precision, recall and F1 of each sample."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np


class PairScores(NamedTuple):
    """Scores of pairs, means over samples.

    Parameters
    ----------
    f1, precision, recall : float
        Twice the pairs in common by those of both sides; by those predicted; by the true ones. Of a
        sample where both have none, 1.
    exact : float
        Share of samples with all pairs right.
    n_samples : int
        Number of samples.
    """

    f1: float
    precision: float
    recall: float
    exact: float
    n_samples: int


def pair_scores(
    y_true: Sequence[Iterable[Sequence[int]]], y_pred: Sequence[Iterable[Sequence[int]]]
) -> PairScores:
    """Compare pairs of positions, such as base pairs of RNA.

    Parameters
    ----------
    y_true : sequence of iterables of (i, j)
        True pairs of each sample; (j, i) is the same pair.
    y_pred : sequence of iterables of (i, j)
        Predicted pairs.

    Returns
    -------
    PairScores
        Means over samples; zeros if there are none.
    """
    if len(y_true) != len(y_pred):
        raise ValueError(f"{len(y_true)} true samples, but {len(y_pred)} predicted ones.")
    rows = []
    for true, predicted in zip(y_true, y_pred, strict=True):
        a, b = ({(min(pair), max(pair)) for pair in own} for own in (true, predicted))
        both = len(a & b)
        empty = float(not a and not b)
        rows.append((
            2 * both / (len(a) + len(b)) if a or b else 1.0,
            both / len(b) if b else empty, both / len(a) if a else empty, float(a == b),
        ))  # fmt: skip
    f1, precision, recall, exact = np.mean(rows, axis=0).tolist() if rows else [0.0] * 4
    return PairScores(f1, precision, recall, exact, len(rows))
