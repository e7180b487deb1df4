"""Tags that mark chunks: which may follow which.

BIO (or IOB2): B-X begins a chunk of type X, I-X continues it, O is outside. IOBES: a chunk of
several tokens ends with E-X, and a chunk of one token is S-X.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from itertools import pairwise
from typing import Any, NamedTuple

from maxmargin.exceptions import InfeasibleError, SampleError

_CHUNK_TAG = re.compile(r"[BIES]-.+")


class Forbidden(NamedTuple):
    """Pairs of neighbours that a scheme rules out, and tags that must not begin or end."""

    pairs: list[tuple[str, str]]
    first: list[str]
    last: list[str]


def is_chunk_tag(tag: Any) -> bool:
    """Whether the tag is O, B-X, I-X, E-X or S-X."""
    return isinstance(tag, str) and (tag == "O" or _CHUNK_TAG.fullmatch(tag) is not None)


def mark_chunks(tags: Iterable[Any]) -> bool:
    """Whether tags look like BIO or IOBES: all are of that form, and not all are O."""
    found = set(tags) - {"O"}
    return bool(found) and all(map(is_chunk_tag, found))


def forbidden_by_scheme(tags: Collection[str]) -> Forbidden:
    """What BIO forbids, or IOBES if any of the tags is E-X or S-X."""
    closes = any(tag[0] in "ES" for tag in tags)

    def inside(tag: str) -> str | None:
        """The type of the chunk that must have begun before this tag."""
        return tag[2:] if tag[0] in "IE" else None

    def goes_on(left: str, right: str) -> bool:
        return left[0] in "BI" and left[2:] == inside(right)

    def allowed(left: str, right: str) -> bool:
        if goes_on(left, right):
            return True
        return inside(right) is None and not (closes and left[0] in "BI")

    return Forbidden(
        pairs=[(left, right) for left in tags for right in tags if not allowed(left, right)],
        first=[tag for tag in tags if inside(tag) is not None],
        last=[tag for tag in tags if closes and tag[0] in "BI"],
    )


def forbidden_by_data(classes: list[Any], tags: list[Any]) -> Forbidden:
    """What the scheme of tags to learn from forbids; an error if one of them is against it."""
    odd = next((tag for tag in classes if not is_chunk_tag(tag)), None)
    if odd is not None:
        i = next(i for i, own in enumerate(tags) if odd in list(own))
        raise SampleError.of(
            i,
            f": bio=True needs tags O, B-X, I-X (and E-X, S-X), found {odd!r}."
            " Rename the tags, or use bio=False.",
            noun="sentence",
        )
    found = forbidden_by_scheme(classes)
    pairs = set(found.pairs)
    for i, own in enumerate(tags):
        own = list(own)
        wrong = [f"{a} {b}" for a, b in pairwise(own) if (a, b) in pairs]
        wrong += [f"{tag} at the start" for tag in own[:1] if tag in found.first]
        wrong += [f"{tag} at the end" for tag in own[-1:] if tag in found.last]
        if wrong:
            raise InfeasibleError.of(
                i,
                f": its tags have {wrong[0]!r}, which bio=True forbids (tags: "
                f"{' '.join(map(str, own))}). Correct the tags, e.g. begin every chunk with B-, or"
                " use bio=False.",
                noun="sentence",
            )
    return found
