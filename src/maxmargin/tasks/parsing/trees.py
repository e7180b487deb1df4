"""Trees of sentences as users give them: a (head, relation) for each word."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from numbers import Integral
from typing import Any, Literal

from maxmargin.exceptions import SampleError
from maxmargin.structures.dependencies.heads import find_crossing, lift_arcs, why_no_tree

#: a tree: for each word its head, from 1, 0 for the root, and its relation to it
Tree = list[tuple[int, str]]
#: what becomes of trees with crossing arcs where they must be projective
Crossing = Literal["lift", "drop", "raise"]
#: share of arcs that cross others, above which trees are not taken for projective
MOST_CROSSING = 0.1

logger = logging.getLogger("maxmargin")


def check_trees(
    trees: Any, lengths: Sequence[int], single_root: bool
) -> tuple[list[list[int]], list[list[str]]]:
    """The heads and the relations of all sentences; errors name the sentence and the word."""
    if isinstance(trees, (str, dict)) or not hasattr(trees, "__iter__"):
        raise TypeError(
            f"trees is a {type(trees).__name__}, expected a list with a tree per sentence."
        )
    trees = list(trees)
    if len(trees) != len(lengths):
        raise ValueError(f"{len(lengths)} sentences but {len(trees)} trees.")
    heads, relations = [], []
    for i, (tree, length) in enumerate(zip(trees, lengths, strict=True)):
        if not hasattr(tree, "__len__") or len(tree) != length:
            found = len(tree) if hasattr(tree, "__len__") else "no"
            raise SampleError.of(i, f": {found} heads but {length} tokens.", noun="sentence")
        pairs = [_check_pair(i, t, pair) for t, pair in enumerate(tree, start=1)]
        own = [head for head, _ in pairs]
        why = why_no_tree(own, False, single_root)
        if why:
            hint = " Use single_root=False." if "single_root" in why else " Correct or drop it."
            raise SampleError.of(i, f": {why}.{hint}", noun="sentence")
        heads.append(own)
        relations.append([relation for _, relation in pairs])
    return heads, relations


def _check_pair(i: int, t: int, pair: Any) -> tuple[int, str]:
    if isinstance(pair, Integral):
        pair = pair, "_"
    good = isinstance(pair, tuple | list) and len(pair) == 2
    if not good or isinstance(pair[0], bool) or not isinstance(pair[0], Integral):
        raise SampleError.of(
            i, f", word {t}: {pair!r}, expected (head, relation) with an integer.", noun="sentence"
        )
    if not isinstance(pair[1], str):
        raise SampleError.of(
            i, f", word {t}: the relation {pair[1]!r} is not a str.", noun="sentence"
        )
    return int(pair[0]), pair[1]


def share_of_crossing(heads: list[list[int]]) -> float:
    """The share of arcs that must be lifted to have no crossing ones, about."""
    lifted = sum(
        a != b for own in heads for a, b in zip(own, lift_arcs(own), strict=True)
    )  # fmt: skip
    return lifted / max(sum(map(len, heads)), 1)


def make_projective(heads: list[list[int]], crossing: str) -> tuple[list[list[int]], list[int]]:
    """Heads without crossing arcs, and which sentences they are of."""
    found, kept, changed = [], [], 0
    for i, own in enumerate(heads):
        if find_crossing(own):
            changed += 1
            if crossing == "raise":
                why = why_no_tree(own, True, False)
                raise SampleError.of(
                    i,
                    f': {why}. Use projective=False, or crossing="lift" or "drop".',
                    noun="sentence",
                )
            if crossing == "drop":
                continue
            own = lift_arcs(own)
        found.append(own)
        kept.append(i)
    if changed:
        done = "lifted" if crossing == "lift" else "dropped"
        logger.info("%d of %d trees have crossing arcs; %s", changed, len(heads), done)
    return found, kept


def tree_arcs(tree: Tree) -> list[tuple[int, int, str]]:
    """The arcs of a tree: from, to, relation, places from 0, -1 for the root."""
    return [(head - 1, t, relation) for t, (head, relation) in enumerate(tree)]
