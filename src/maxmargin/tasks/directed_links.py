"""Links without any gold: what the translation models of two directions agree on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maxmargin.links import Link
from maxmargin.tasks.association import Pair, WordStatistics
from maxmargin.tasks.pair_edges import Edges
from maxmargin.tasks.word_forms import plain_word

_CHUNK = 2000  # sentence pairs at a time, which bounds the memory


def intersected_links(
    statistics: WordStatistics, pairs: Sequence[Pair], least: float = 0.3
) -> list[list[Link]]:
    """The links (i, j) of each pair in which both directed HMM aligners agree, sorted.

    Forward, each target word links to the source word with the largest posterior, backward the
    other way round, if that posterior is at least `least`. Links in both are kept: they form a
    matching. A good start where nobody has aligned anything by hand, and labels to train on.
    """
    found: list[list[Link]] = []
    for a in range(0, len(pairs), _CHUNK):
        found += _links(statistics, pairs[a : a + _CHUNK], least)
    return found


def _links(statistics: WordStatistics, pairs: Sequence[Pair], least: float) -> list[list[Link]]:
    lengths = np.array([[len(side) for side in pair] for pair in pairs], dtype=np.int64)
    edges = Edges(lengths[:, 0], lengths[:, 1])
    words = [
        np.array([plain_word(word) for pair in pairs for word in pair[side]]) for side in (0, 1)
    ]
    same = words[0][edges.row] == words[1][edges.column]
    belief = statistics.association(statistics.numbers(pairs), edges, same)
    forward, backward = belief.hmm_forward, belief.hmm_backward
    both = (forward >= least) & (backward >= least)
    both &= forward > edges.best_rival(forward, "target")
    both &= backward > edges.best_rival(backward, "source")
    chosen = np.flatnonzero(both)
    pair_of = np.searchsorted(edges.ptr, chosen, side="right") - 1
    found: list[list[Link]] = [[] for _ in pairs]
    for s, e in zip(pair_of.tolist(), chosen.tolist(), strict=True):
        found[s].append((int(edges.i[e]), int(edges.j[e])))
    return found
