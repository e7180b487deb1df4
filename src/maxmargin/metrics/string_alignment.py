"""How well predicted alignments of strings agree with true ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from maxmargin.drawing.text_tables import align_cells

__all__ = ["StringAlignmentScores", "string_alignment_scores"]


class StringAlignmentScores(NamedTuple):
    """Agreement of alignments of strings.

    Parameters
    ----------
    exact : float
        Share of pairs of strings whose matches are all right, and none is missing.
    precision, recall, pairs_f1 : float
        Share of predicted matches that are right, of true ones that are found, and their F1 score.
    n_pairs, n_matches : int
        Numbers of pairs of strings and of true matches.
    """

    exact: float
    precision: float
    recall: float
    pairs_f1: float
    n_pairs: int
    n_matches: int

    def __str__(self) -> str:
        shares = [f"{own:.2%}" for own in self[:4]]
        rows = [["pairs", "matches", "exactly right", "precision", "recall", "F1"]]
        rows += [[f"{self.n_pairs:,}", f"{self.n_matches:,}", *shares]]
        return "\n".join(align_cells(rows))


def string_alignment_scores(
    truth: Sequence[Any], predicted: Sequence[Any], weight: np.ndarray | None = None
) -> StringAlignmentScores:
    """Compare alignments of strings, each a list of matched positions (i, j).

    Parameters
    ----------
    truth, predicted : sequence of list of (int, int)
        True and predicted matches of each pair of strings.
    weight : ndarray of shape (n_pairs,) or None, default=None
        Weights of the pairs; None means equal weights.

    Returns
    -------
    StringAlignmentScores
        The scores.
    """
    if len(truth) != len(predicted):
        raise ValueError(f"{len(truth)} true alignments but {len(predicted)} predicted ones.")
    weights = np.ones(len(truth)) if weight is None else np.asarray(weight)
    sums = np.zeros(4)
    matches = 0
    for own, true, found in zip(weights, truth, predicted, strict=True):
        a, b = ({(int(i), int(j)) for i, j in links} for links in (true, found))
        sums += own * np.array([len(a & b), len(a), len(b), a == b])
        matches += len(a)
    both, true_sum, found_sum, exact = sums.tolist()
    return StringAlignmentScores(
        exact=exact / max(float(weights.sum()), 1e-300) if len(truth) else 0.0,
        precision=both / found_sum if found_sum else 1.0,
        recall=both / true_sum if true_sum else 1.0,
        pairs_f1=2.0 * both / (true_sum + found_sum) if true_sum + found_sum else 1.0,
        n_pairs=len(truth),
        n_matches=matches,
    )
