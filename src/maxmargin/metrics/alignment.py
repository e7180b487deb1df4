"""Links of word alignments."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from maxmargin.metrics.labels import ratio
from maxmargin.metrics.links import is_link, link_set


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
    return ratio(hits_possible, n_predicted)


def alignment_recall(predicted: Iterable, sure: Iterable) -> float:
    """|A n S| / |S|, with A, S as in `alignment_error_rate`."""
    _, n_sure, hits_sure, _ = _link_counts(predicted, sure, None)
    return ratio(hits_sure, n_sure)


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
