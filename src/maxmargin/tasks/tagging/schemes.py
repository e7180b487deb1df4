"""Tags that mark chunks: which may follow which.

BIO (or IOB2): B-X begins a chunk of type X, I-X continues it, O is outside. IOBES: a chunk of
several tokens ends with E-X, and a chunk of one token is S-X.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

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
