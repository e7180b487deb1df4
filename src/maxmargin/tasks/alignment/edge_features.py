"""Features of word pairs (edges) by kind: spelling, places, counts, beliefs of models, links.

Each function returns {name: one number an edge}, all of order 1, mostly 0 for unlikely edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin._numba.alignment import similarity
from maxmargin.tasks.alignment.checks import Pair
from maxmargin.tasks.alignment.pair_edges import Edges
from maxmargin.tasks.alignment.translation_models import start_pointers
from maxmargin.tasks.alignment.word_forms import plain_word
from maxmargin.tasks.alignment.word_statistics import Association, WordStatistics

Features = dict[str, np.ndarray]

_NEIGHBOURS = {
    "before both": (-1, -1), "after both": (1, 1), "before source": (-1, 0),
    "after source": (1, 0), "before target": (0, -1), "after target": (0, 1),
    "crossed before": (-1, 1), "crossed after": (1, -1),
}  # fmt: skip
_STEPS = (0.03, 0.1, 0.3, 0.5, 0.7, 0.9)
_RARE = 5  # sentence pairs; words in no more are rare
_LONG = 3  # letters; words with no more are alike by chance


def spelling_features(pairs: Sequence[Pair], edges: Edges) -> Features:
    """How alike the two words are written; marks and numbers."""
    sides = [_Side(pairs, 0, edges.row), _Side(pairs, 1, edges.column)]
    prefix, subsequence = np.empty(len(edges)), np.empty(len(edges))
    similarity.compare_words(
        sides[0].letters, sides[0].ptr, sides[1].letters, sides[1].ptr, edges.row, edges.column,
        prefix, subsequence, np.empty(np.diff(sides[1].ptr).max(initial=0) + 1, dtype=np.int64),
    )  # fmt: skip
    lengths, marks, digits = ([getattr(s, x) for s in sides] for x in ("length", "mark", "digit"))
    same = (prefix == 1.0) & (lengths[0] == lengths[1])
    longer = np.maximum(*lengths)
    words = ~marks[0] & ~marks[1] & (longer > _LONG)
    return {
        "same word": same * 1.0,
        "same long word": (same & words) * 1.0,
        "common prefix": prefix * words,
        "common letters": np.maximum(0.0, 2 * subsequence - 1) * words,
        "nearly the same": ((subsequence > 0.75) & words & ~same) * 1.0,
        "length difference": np.minimum(np.abs(lengths[0] - lengths[1]) / 10, 1.0),
        "same punctuation": (marks[0] & marks[1] & same) * 1.0,
        "other punctuation": (marks[0] & marks[1] & ~same) * 1.0,
        "punctuation and word": (marks[0] ^ marks[1]) * 1.0,
        "same number": (digits[0] & digits[1] & same) * 1.0,
        "other number": (digits[0] & digits[1] & ~same) * 1.0,
        "number and word": (digits[0] ^ digits[1]) * 1.0,
    }


class _Side:
    """The letters of all words of one side, and properties of each edge's word there."""

    def __init__(self, pairs: Sequence[Pair], side: int, word_of: np.ndarray):
        words = [plain_word(word) for pair in pairs for word in pair[side]]
        text = "".join(words).encode("utf-32-le", "surrogatepass")
        self.letters = np.frombuffer(text, dtype=np.int32).copy()
        self.ptr = start_pointers([len(word) for word in words])
        self.length = np.diff(self.ptr)[word_of]
        mark = np.array([not any(map(str.isalnum, word)) for word in words], dtype=bool)
        digit = np.array([any(map(str.isdigit, word)) for word in words], dtype=bool)
        self.mark, self.digit = mark[word_of], digit[word_of]


def place_features(edges: Edges) -> Features:
    """How far apart the words are, as shares of their sentences and in words."""
    apart = np.abs((edges.i + 0.5) / edges.rows - (edges.j + 0.5) / edges.columns)
    words = apart * np.minimum(edges.rows, edges.columns)
    last = (edges.i == edges.rows - 1) & (edges.j == edges.columns - 1)
    return {
        "distance": apart,
        "distance squared": apart * apart,
        "distance root": np.sqrt(apart),
        "distance in words": np.minimum(words / 10, 2.0),
        "near": (words < 1.5) * 1.0,
        "far": (words > 5) * 1.0,
        "both first": ((edges.i == 0) & (edges.j == 0)) * 1.0,
        "both last": last * 1.0,
        "short sentence": 1.0 / np.minimum(edges.rows, edges.columns),
    }


def count_features(
    statistics: WordStatistics, numbers: tuple[np.ndarray, np.ndarray], edges: Edges
) -> Features:
    """How often the words occur in the unlabelled text."""
    tables = statistics.source_counts_, statistics.target_counts_
    found = []
    for own, table, word_of in zip(numbers, tables, (edges.row, edges.column), strict=True):
        found.append(np.where(own >= 0, table[own], 0)[word_of])
    # as shares of the largest count, so that these do not grow with the size of the text
    scale = np.log1p(max(int(table.max(initial=1)) for table in tables))
    logs = [np.log1p(own) / scale for own in found]
    most, least = np.maximum(*found), np.minimum(*found)
    return {
        "count difference": np.abs(logs[0] - logs[1]),
        "rarity": 1.0 - np.maximum(*logs),
        "both rare": (most <= _RARE) * 1.0,
        "one rare": ((least <= _RARE) & (most > 10 * _RARE)) * 1.0,
        "source unknown": (found[0] == 0) * 1.0,
        "target unknown": (found[1] == 0) * 1.0,
        "frequent source": np.maximum(0.0, logs[0] - 0.5),
        "frequent target": np.maximum(0.0, logs[1] - 0.5),
    }


def belief_features(found: Association, edges: Edges) -> Features:
    """What the translation models believe of an edge, its neighbours and its rivals."""
    forward, backward, dice = found.hmm_forward, found.hmm_backward, found.dice
    both = np.sqrt(forward * backward)
    rivals = {
        (name, side): edges.best_rival(value, side)
        for name, value in (("dice", dice), ("agreement", both))
        for side in ("source", "target")
    }
    best = (both > rivals["agreement", "source"]) & (both > rivals["agreement", "target"])
    out = {
        "dice": dice,
        "mixture forward": found.mixture_forward,
        "mixture backward": found.mixture_backward,
        "mixture agreement": np.sqrt(found.mixture_forward * found.mixture_backward),
        "forward": forward,
        "backward": backward,
        "agreement": both,
        "least": np.minimum(forward, backward),
        "most": np.maximum(forward, backward),
        # from 0 at about 1e-3 to 1 at certainty
        "log agreement": np.maximum(0.0, 1.0 + np.log(np.maximum(both, 1e-6)) / 7),
        "best of both": (best & (both > _STEPS[0])) * 1.0,
    }
    out |= {f"agreement > {step}": (both > step) * 1.0 for step in _STEPS}
    for (name, side), rival in rivals.items():
        value = out[name]
        out[f"{name} over rivals of {side}"] = np.maximum(0.0, value - rival)
        out[f"{name} under rivals of {side}"] = np.maximum(0.0, rival - value)
    for side in ("source", "target"):
        strongest = np.maximum(rivals["agreement", side], both)
        out[f"no agreement of {side}"] = 1.0 - np.minimum(1.0, strongest)
    for name, (di, dj) in _NEIGHBOURS.items():
        out[f"agreement {name}"] = edges.shifted(both, di, dj)
    for name in ("before both", "after both"):
        out[f"dice {name}"] = edges.shifted(dice, *_NEIGHBOURS[name])
    before, after = out["agreement before both"], out["agreement after both"]
    out["agreement on both sides"] = np.minimum(before, after)
    out["agreement around, itself none"] = (before + after) * (both < 0.1) / 2
    return out


def conjoin_features(words: Features, near: Features, seen: Features) -> Features:
    """Beliefs weighed by places and counts."""
    both = words["agreement"]
    unknown = seen["source unknown"] + seen["target unknown"]
    return {
        "dice, near": words["dice"] * near["near"],
        "agreement, far": both * near["far"],
        "agreement x distance": both * near["distance"],
        "agreement, both rare": both * seen["both rare"],
        "agreement, frequent": both * (seen["frequent source"] + seen["frequent target"]),
        "unknown, near": unknown * near["near"],
    }


def given_links(name: str, links: Sequence[Any], edges: Edges) -> Features:
    """Links of another aligner, here and next to here."""
    on = np.zeros(len(edges))
    for s, own in enumerate(links):
        for i, j in own:
            on[edges.ptr[s] + i * edges.target_lengths[s] + j] = 1.0
    return {
        name: on,
        f"{name} before both": edges.shifted(on, -1, -1),
        f"{name} after both": edges.shifted(on, 1, 1),
        f"{name}, only one of source": on * (edges.best_rival(on, "source") == 0),
        f"{name}, only one of target": on * (edges.best_rival(on, "target") == 0),
    }


def vector_cosines(vectors: Any, pairs: Sequence[Pair], edges: Edges) -> Features:
    """How alike the words' vectors are. vectors.cosines(source, target) returns (J, K)."""
    found = [np.asarray(vectors.cosines(*pair), dtype=np.float64).ravel() for pair in pairs]
    cosine = np.maximum(0.0, np.concatenate(found)) if found else np.empty(0)
    out = {"cosine": cosine}
    for side in ("source", "target"):
        rival = edges.best_rival(cosine, side)
        out[f"cosine over rivals of {side}"] = np.maximum(0.0, cosine - rival)
    return out
