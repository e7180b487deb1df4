"""Names of files in messages that tell samples by their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_SAMPLE = re.compile(r"\b(held-out )?(?:cloud|image) (\d+)\b")


@contextmanager
def named(names: Sequence[str], held_out: Sequence[str] = ()) -> Iterator[None]:
    """Within, "cloud 3" of a ValueError becomes names[3], "held-out cloud 3" held_out[3].

    Numbers beyond the names stay as they are.
    """
    try:
        yield
    except ValueError as error:
        message = _SAMPLE.sub(
            lambda found: _name(found, held_out if found[1] else names), str(error)
        )
        if message == str(error):
            raise
        raise ValueError(message) from error


def _name(found: re.Match[str], names: Sequence[str]) -> str:
    number = int(found[2])
    return names[number] if number < len(names) else found[0]
