"""Sentence pairs and links at the border: checked once, with errors that name the pair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from maxmargin.exceptions import SampleError
from maxmargin.metrics.links import Link, Links, check_range, is_link, link_set

Pair = tuple[Sequence[str], Sequence[str]]
_SIDES = ("source", "target")


def check_pairs(pairs: Any, empty_ok: bool = False) -> list[Pair]:
    """Pairs (source tokens, target tokens) as lists of str."""
    check_iterable(pairs)
    return [check_pair(s, pair, empty_ok) for s, pair in enumerate(pairs)]


def check_iterable(pairs: Any, name: str = "pairs") -> None:
    """Whether pairs can be gone through at all; name : of the argument."""
    if isinstance(pairs, (str, bytes, Mapping)) or not isinstance(pairs, Iterable):
        named = isinstance(pairs, str)
        hint = " Files are read by maxmargin.formats.alignment.read_pairs." if named else ""
        raise TypeError(
            f"{name} is {type(pairs).__name__}, expected a list of pairs"
            f" (source tokens, target tokens).{hint}"
        )


def check_pair(s: int, pair: Any, empty_ok: bool = False) -> Pair:
    """One pair; s is its number, for the errors."""
    if isinstance(pair, (str, bytes, Mapping, set)) or not hasattr(pair, "__len__"):
        raise TypeError(
            f"pair {s} is {type(pair).__name__}, expected (source tokens, target tokens)."
        )
    if len(pair) != 2:
        raise SampleError.of(
            s,
            f" has {len(pair)} members, expected two: (source tokens, target tokens)."
            " A single pair is passed as a list: [pair].",
            noun="pair",
        )
    source, target = (_check_tokens(s, name, own) for name, own in zip(_SIDES, pair, strict=True))
    if not empty_ok and not (source and target):
        side = "target" if source else "source"
        raise SampleError.of(
            s, f": its {side} sentence has no tokens. Leave such pairs out.", noun="pair"
        )
    return source, target


def _check_tokens(s: int, side: str, tokens: Any) -> list[str]:
    if isinstance(tokens, str):
        raise TypeError(
            f"pair {s}: its {side} sentence is a str, expected a list of tokens."
            " Split it: sentence.split(). A single pair is passed as a list: [pair]."
        )
    if isinstance(tokens, (bytes, Mapping, set)) or not isinstance(tokens, Iterable):
        raise TypeError(
            f"pair {s}: its {side} sentence is {type(tokens).__name__}, expected a list of str."
        )
    own = list(tokens)
    if not all(issubclass(kind, str) for kind in set(map(type, own))):
        t = next(t for t, token in enumerate(own) if not isinstance(token, str))
        hint = " Decode it: token.decode()." if isinstance(own[t], bytes) else ""
        raise TypeError(
            f"pair {s}: {side} token {t} is {own[t]!r} ({type(own[t]).__name__}),"
            f" expected str.{hint}"
        )
    return own


def check_links(links: Any, pairs: Sequence[Pair]) -> list[Links]:
    """(sure, possible) of each pair, sure ones among the possible; plain links are all sure."""
    if isinstance(links, (str, bytes, Mapping)) or not hasattr(links, "__len__"):
        raise TypeError(
            f"links is {type(links).__name__}, expected a list with (sure, possible) for each pair."
        )
    if len(links) != len(pairs):
        raise ValueError(f"{len(pairs)} pairs but links of {len(links)}.")
    checked = []
    for s, (own, pair) in enumerate(zip(links, pairs, strict=True)):
        both = (own, own) if _are_plain(own) else own
        if isinstance(both, (str, Mapping)) or not hasattr(both, "__len__") or len(both) != 2:
            raise SampleError.of(
                s,
                f": its links are {own!r}, expected (sure, possible), two sets of (i, j).",
                noun="pair",
            )
        sure, possible = (check_link_set(s, "links", x, pair) for x in both)
        checked.append((sure, sure | possible))
    return checked


def _are_plain(links: Any) -> bool:
    """Whether these are links themselves, as `predict` gives them, and not (sure, possible)."""
    if isinstance(links, (set, frozenset)):
        return True
    if isinstance(links, np.ndarray):
        return links.ndim == 2 or links.size == 0
    return isinstance(links, list) and all(map(is_link, links))


def _sets(links: Any) -> Sequence[Any]:
    """(sure, possible), or plain links alone."""
    split = isinstance(links, tuple) and len(links) == 2 and not any(map(is_link, links))
    return links if split else (links,)


def check_link_set(s: int, what: str, links: Any, pair: Pair) -> set[Link]:
    """Links (i, j) within the sentences of pair s."""
    if isinstance(links, (str, bytes, Mapping)) or not isinstance(links, Iterable):
        raise TypeError(
            f"pair {s}: {what} has {type(links).__name__}, expected a set of links (i, j)."
        )
    where = f"pair {s}: {what}: "
    found = link_set(links, where)
    check_range(found, len(pair[0]), len(pair[1]), where)
    return found


def check_columns(columns: Any, pairs: Sequence[Pair], names: Sequence[str] | None) -> dict:
    """Links of other aligners by name; the names must be those that were fitted, if any were."""
    if columns is None:
        columns = {}
    if not isinstance(columns, Mapping):
        raise TypeError(
            f"columns is {type(columns).__name__}, expected"
            " {name: one set of links (i, j) for each pair}."
        )
    if names is not None and sorted(columns) != sorted(names):
        raise ValueError(
            f"columns are {sorted(columns)}, but the aligner was fitted with {sorted(names)}:"
            " give links of the same aligners."
        )
    checked = {}
    for name, links in columns.items():
        if len(links) != len(pairs):
            raise ValueError(
                f"columns[{name!r}] has links of {len(links)}, not {len(pairs)} pairs."
            )
        what = f"columns[{name!r}]"
        checked[name] = [
            # (sure, possible), as files of links are read, means all that are possible
            set().union(*(check_link_set(s, what, x, pairs[s]) for x in _sets(own)))
            for s, own in enumerate(links)
        ]
    return checked
