"""Links of word alignments."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from maxmargin.metrics.labels import safe_ratio
from maxmargin.metrics.links import is_link, link_set


def alignment_error_rate(
    predicted: Iterable, sure: Iterable, possible: Iterable | None = None
) -> float:
    """Compute the alignment error rate, with counts summed over sentences.

    It is ``1 - (|A n S| + |A n P|) / (|A| + |S|)``, and 0 without predicted and sure links.

    Parameters
    ----------
    predicted : iterable
        Predicted links A: for one sentence a set, list or (m, 2) array of pairs (i, j); for several
        sentences a list of these.
    sure : iterable
        Sure links S, in the same form.
    possible : iterable or None, default=None
        Possible links P, likewise; sure links are always included. None means the sure links.

    Returns
    -------
    float
        Error rate from 0 (best) to 1.
    """
    n_predicted, n_sure, hits_sure, hits_possible = _link_counts(predicted, sure, possible)
    if n_predicted + n_sure == 0:
        return 0.0
    return 1.0 - (hits_sure + hits_possible) / (n_predicted + n_sure)


def alignment_precision(
    predicted: Iterable, sure: Iterable, possible: Iterable | None = None
) -> float:
    """Compute the precision ``|A n P| / |A|`` of predicted links.

    Parameters
    ----------
    predicted : iterable
        Predicted links A: for one sentence a set, list or (m, 2) array of pairs (i, j); for several
        sentences a list of these.
    sure : iterable
        Sure links S, in the same form.
    possible : iterable or None, default=None
        Possible links P, likewise; sure links are always included. None means the sure links.

    Returns
    -------
    float
        Precision from 0 to 1.
    """
    n_predicted, _, _, hits_possible = _link_counts(predicted, sure, possible)
    return safe_ratio(hits_possible, n_predicted)


def alignment_recall(predicted: Iterable, sure: Iterable) -> float:
    """Compute the recall ``|A n S| / |S|`` of predicted links.

    Parameters
    ----------
    predicted : iterable
        Predicted links A: for one sentence a set, list or (m, 2) array of pairs (i, j); for several
        sentences a list of these.
    sure : iterable
        Sure links S, in the same form.

    Returns
    -------
    float
        Recall from 0 to 1.
    """
    _, n_sure, hits_sure, _ = _link_counts(predicted, sure, None)
    return safe_ratio(hits_sure, n_sure)


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
