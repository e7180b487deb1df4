"""Measures of dependency trees: a tree is a list of (head, relation), one per word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["AttachmentScores", "attachment_scores"]


class AttachmentScores(NamedTuple):
    """Shares of words, from 0 to 1.

    Parameters
    ----------
    uas : float
        Share of words with the right head.
    las : float
        Share of words with the right head and relation.
    exact : float
        Share of sentences in which all heads are right.
    n_words : int
        Number of words.
    """

    uas: float
    las: float
    exact: float
    n_words: int


def attachment_scores(truth: Sequence[Any], predicted: Sequence[Any]) -> AttachmentScores:
    """Compare predicted dependency trees with true ones; all words count, also punctuation.

    Parameters
    ----------
    truth, predicted : sequence of trees
        Lists of (head, relation), one tree per sentence.

    Returns
    -------
    AttachmentScores
        Unlabelled and labelled attachment scores.
    """
    if len(truth) != len(predicted):
        raise ValueError(f"{len(truth)} true trees, but {len(predicted)} predicted ones.")
    heads = both = words = exact = 0
    for i, (own, found) in enumerate(zip(truth, predicted, strict=True)):
        if len(own) != len(found):
            raise ValueError(f"sentence {i}: {len(own)} words, but {len(found)} are predicted.")
        right = [a[0] == b[0] for a, b in zip(own, found, strict=True)]
        heads += sum(right)
        both += sum(same and a[1] == b[1] for same, a, b in zip(right, own, found, strict=True))
        words += len(own)
        exact += all(right)
    whole = max(words, 1)
    return AttachmentScores(heads / whole, both / whole, exact / max(len(truth), 1), words)
