"""Links of word alignments: (i, j) says that source word i and target word j go together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

__all__ = ["ComparedLinks", "Link", "Links", "as_links", "check_range", "compare_links", "link_set"]

Link = tuple[int, int]
Links = tuple[set[Link], set[Link]]  # sure and possible; possible includes sure


@dataclass(frozen=True)
class ComparedLinks:
    """Predicted and annotated links of one sentence pair, sorted by what became of them.

    right : predicted and sure. possible : predicted and possible but not sure. wrong : predicted
    and neither. missed : sure but not predicted. left : possible, not sure, not predicted.
    """

    right: set[Link]
    possible: set[Link]
    wrong: set[Link]
    missed: set[Link]
    left: set[Link]

    def all(self) -> set[Link]:
        """Return every link of any kind."""
        return self.right | self.possible | self.wrong | self.missed | self.left


def compare_links(
    predicted: Iterable[Any],
    sure: Iterable[Any] | None = None,
    possible: Iterable[Any] | None = None,
) -> ComparedLinks:
    """Compare predicted links with annotated ones; sure links are possible ones too.

    With neither `sure` nor `possible` there is nothing to compare with: all count as right.
    """
    A = link_set(predicted)
    if sure is None and possible is None:
        return ComparedLinks(A, set(), set(), set(), set())
    S = link_set(sure or ())
    P = link_set(possible or ()) | S
    return ComparedLinks(A & S, A & (P - S), A - P, S - A, P - S - A)


def as_links(item: Any, where: str = "") -> Links:
    """Return (sure, possible) as sets, given that or plain links, which are then all sure.

    where : what errors begin with, here and below, such as "pair 3: ".
    """
    items = item if isinstance(item, (set, frozenset)) else list(item)
    if len(items) == 2 and not any(is_link(part) for part in items):
        sure, possible = (link_set(part, where) for part in items)
        return sure, possible | sure
    sure = link_set(items, where)
    return sure, set(sure)


def link_set(items: Iterable[Any], where: str = "") -> set[Link]:
    """Return links as a set of pairs of int; ValueError for anything else."""
    links = set()
    for item in items:
        if not is_link(item):
            raise ValueError(f"{where}found {item!r}, expected a link (i, j) of integers")
        i, j = (int(k) for k in item)
        if min(i, j) < 0:
            raise ValueError(f"{where}found link ({i}, {j}), but positions count from 0")
        links.add((i, j))
    return links


def check_range(links: Iterable[Link], n_source: int, n_target: int, where: str = "") -> None:
    """Raise ValueError for a link to a word that is not there."""
    for i, j in sorted(links):
        if i >= n_source or j >= n_target:
            raise ValueError(
                f"{where}link ({i}, {j}) is out of range: the source has {n_source} words and "
                f"the target {n_target}, counted from 0"
            )


def is_link(item: Any) -> bool:
    """Whether `item` is a pair of integers (tuple, list or array)."""
    if isinstance(item, (set, frozenset, str)) or not hasattr(item, "__len__"):
        return False
    return len(item) == 2 and all(isinstance(k, Integral) for k in item)
