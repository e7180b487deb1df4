"""Heads of words: whether they are a tree, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise


def find_cycle(heads: Sequence[int]) -> list[int]:
    """The words of a cycle, empty if there is none. heads : from 1, 0 is the root."""
    state = [0] * (len(heads) + 1)  # 0 not met, else the word from which it was met first
    for start in range(1, len(heads) + 1):
        word = start
        while word and not state[word]:
            state[word] = start
            word = heads[word - 1]
        if word and state[word] == start:
            cycle = [word]
            while heads[cycle[-1] - 1] != word:
                cycle.append(heads[cycle[-1] - 1])
            return cycle
    return []


def find_crossing(heads: Sequence[int]) -> tuple[int, int] | None:
    """Two words whose arcs cross, None if there are none."""
    arcs = sorted((min(h, d), -max(h, d), d) for d, h in enumerate(heads, start=1))
    open_arcs: list[tuple[int, int]] = []  # (right end, word), nested
    for left, right, word in arcs:
        while open_arcs and open_arcs[-1][0] <= left:
            open_arcs.pop()
        if open_arcs and open_arcs[-1][0] < -right:
            return open_arcs[-1][1], word
        open_arcs.append((-right, word))
    return None


def why_no_tree(heads: Sequence[int], projective: bool, single_root: bool) -> str:
    """What is wrong with heads, in a sentence; empty if they are such a tree."""
    n = len(heads)
    for word, head in enumerate(heads, start=1):
        if not 0 <= head <= n or head == word:
            return f"word {word} has head {head}, expected another word from 1 to {n}, or 0"
    cycle = find_cycle(heads)
    if cycle:
        return f"words {', '.join(map(str, cycle))} are a cycle, and a tree has none"
    roots = [word for word, head in enumerate(heads, start=1) if head == 0]
    if single_root and len(roots) > 1:
        return f"words {', '.join(map(str, roots))} have head 0, and single_root allows one"
    crossing = find_crossing(heads) if projective else None
    if crossing:
        one, other = crossing
        return (
            f"the arcs {heads[one - 1]} -> {one} and {heads[other - 1]} -> {other} cross, and in"
            " projective trees none do"
        )
    return ""


def lift_arcs(heads: Sequence[int]) -> list[int]:
    """A projective tree near a tree: the shortest arc that crosses others is lifted, and so on.

    A lifted word hangs from the head of its head (Nivre and Nilsson 2005). A tree with a single
    root keeps it: no arc from the root's word crosses others.
    """
    found = list(heads)
    while find_crossing(found):
        crossing = [
            (abs(head - word), word) for word, head in enumerate(found, start=1)
            if head and not _covers(found, head, word)
        ]  # fmt: skip
        _, word = min(crossing)
        found[word - 1] = found[found[word - 1] - 1]
    return found


def _covers(heads: Sequence[int], head: int, word: int) -> bool:
    """Whether all words between a word and its head hang below that head."""
    for between in range(min(head, word) + 1, max(head, word)):
        while between and between != head:
            between = heads[between - 1]
        if not between:
            return False
    return True


def find_siblings(heads: Sequence[int]) -> list[tuple[int, int, int]]:
    """All (head, near, far): neighbouring dependents on one side of their head."""
    found = []
    for h in range(len(heads) + 1):
        own = [d for d, head in enumerate(heads, start=1) if head == h]
        right, left = [d for d in own if d > h], [d for d in own[::-1] if d < h]
        found += [(h, *pair) for side in (right, left) for pair in pairwise(side)]
    return found
