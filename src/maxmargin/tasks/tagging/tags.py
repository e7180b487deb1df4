"""Tags of sentences as users give them, checked."""

from __future__ import annotations

from itertools import chain
from numbers import Real
from types import NoneType
from typing import Any

import numpy as np

from maxmargin.exceptions import SampleError
from maxmargin.validation.samples import learn_classes, locate_row


def check_tags(
    tags: Any, lengths: np.ndarray, partial: bool = False
) -> tuple[list[Any], list[Any]]:
    """Check that there is one tag per token; errors name the sentence.

    Parameters
    ----------
    tags : sequence of sequences
        Tags of each sentence.
    lengths : ndarray of shape (n_sentences,)
        Number of tokens of each.
    partial : bool, default=False
        Whether tags may be None, which stands for an unknown one.

    Returns
    -------
    tags : list
        The tags of each sentence.
    classes : list
        All different ones but None, sorted.
    """
    if isinstance(tags, (str, dict)) or not hasattr(tags, "__iter__"):
        kind = "None" if tags is None else type(tags).__name__
        raise TypeError(f"tags is {kind}, expected a list with one list of tags per sentence.")
    tags = list(tags)
    if len(tags) != len(lengths):
        raise ValueError(f"{len(lengths)} sentences but {len(tags)} lists of tags.")
    for i, (own, length) in enumerate(zip(tags, lengths.tolist(), strict=True)):
        if isinstance(own, (str, dict)) or hasattr(own, "columns") or not hasattr(own, "__len__"):
            kind = "None" if own is None else f"a {type(own).__name__}"
            frame = " Give the column that holds them." if hasattr(own, "columns") else ""
            raise TypeError(f"sentence {i}: its tags are {kind}, expected a list of tags.{frame}")
        if len(own) != length:
            raise SampleError.of(i, f": {len(own)} tags but {length} tokens.", noun="sentence")
    flat = list(chain.from_iterable(tags))
    kinds = {kind: _kind_of_tag(kind) for kind in set(map(type, flat))}
    known = [tag for tag in flat if tag is not None] if NoneType in kinds and partial else flat
    if known is not flat:
        del kinds[NoneType]
        if not known:
            raise ValueError("all tags are None: there is nothing to learn or to score.")
    first = next((tag for tag in known if type(tag) is not float or tag == tag), "")  # not NaN
    wanted = kinds.get(type(first), "str")
    if not wanted or len(set(kinds.values())) > 1:
        wanted = wanted or "str"
        row = next(r for r, tag in enumerate(flat) if kinds.get(type(tag), wanted) != wanted)
        i, t = locate_row(row, lengths)
        found = f"the tag {flat[row]!r} is {type(flat[row]).__name__}"
        hint = ""
        if flat[row] is None and not partial:
            hint = (
                " All tags must be known here: leave the sentence out, or train with"
                " segments=False, which takes None."
            )
        hint = " Tags that are unknown are None." if partial and flat[row] != flat[row] else hint
        raise TypeError(f"sentence {i}, token {t}: {found}, expected {wanted}.{hint}")
    return tags, learn_classes(np.array(known))[0].tolist()


def _kind_of_tag(kind: type) -> str:
    """Tags of one such kind can be told from each other and sorted; "" if they cannot."""
    if issubclass(kind, str):
        return "str"
    if issubclass(kind, Real):
        return "a number"
    return "" if issubclass(kind, NoneType | tuple | list | dict | set) else kind.__name__
