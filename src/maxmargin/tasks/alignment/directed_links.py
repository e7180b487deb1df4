"""Links without any gold: what the translation models of two directions agree on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.metrics.links import Link, Links
from maxmargin.tasks.alignment.checks import check_pairs
from maxmargin.tasks.alignment.pair_edges import Edges, split_by_edges
from maxmargin.tasks.alignment.word_forms import plain_word
from maxmargin.tasks.alignment.word_statistics import Pair, WordStatistics
from maxmargin.validation.samples import is_number


def intersected_links(
    statistics: WordStatistics, pairs: Sequence[Pair], least: float = 0.3
) -> list[list[Link]]:
    """Compute the links of each pair in which both directed HMM aligners agree.

    Forward, each target word links to the source word with the largest posterior, backward vice
    versa, if that posterior is at least `least`. The intersection is a matching: a baseline without
    any manual alignment, and labels to train on.

    Parameters
    ----------
    statistics : WordStatistics
        Fitted statistics.
    pairs : sequence of (source tokens, target tokens)
        Tokenised sentence pairs.
    least : float, default=0.3
        Smallest posterior of a link.

    Returns
    -------
    list of list of (i, j)
        Sorted links of each pair.
    """
    return [sorted(sure) for sure, _ in directed_links(statistics, pairs, least)]


def directed_links(
    statistics: WordStatistics, pairs: Sequence[Pair], least: float = 0.3
) -> list[Links]:
    """(sure, possible) of each pair: links in which both directed HMM aligners agree, or one alone.

    Sure links are those of `intersected_links`; possible ones are what either direction links.
    """
    if not isinstance(statistics, WordStatistics):
        raise TypeError(
            f"statistics is {type(statistics).__name__}, expected a fitted WordStatistics."
        )
    check_is_fitted(statistics, "hmm_")
    if not (is_number(least) and 0 <= least <= 1):
        raise ValueError(f"least={least!r} must be a probability, from 0 to 1.")
    checked = check_pairs(pairs, empty_ok=True)
    found: list[Links] = []
    for part in split_by_edges(checked):
        found += _links(statistics, checked[part], least)
    return found


def _links(statistics: WordStatistics, pairs: Sequence[Pair], least: float) -> list[Links]:
    lengths = np.array([[len(side) for side in pair] for pair in pairs], dtype=np.int64)
    edges = Edges(lengths[:, 0], lengths[:, 1])
    words = [
        np.array([plain_word(word) for pair in pairs for word in pair[side]]) for side in (0, 1)
    ]
    same = words[0][edges.row] == words[1][edges.column]
    belief = statistics.association(statistics.numbers(pairs), edges, same)
    forward, backward = belief.hmm_forward, belief.hmm_backward
    forth = (forward >= least) & (forward > edges.best_rival(forward, "target"))
    back = (backward >= least) & (backward > edges.best_rival(backward, "source"))
    found: list[Links] = [(set(), set()) for _ in pairs]
    for which, chosen in enumerate((forth & back, forth | back)):
        places = np.flatnonzero(chosen)
        pair_of = np.searchsorted(edges.ptr, places, side="right") - 1
        ends = zip(edges.i[places].tolist(), edges.j[places].tolist(), strict=True)
        for s, link in zip(pair_of.tolist(), ends, strict=True):
            found[s][which].add(link)
    return found
