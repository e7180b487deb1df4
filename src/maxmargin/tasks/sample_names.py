"""Names of files in messages that tell samples by their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from maxmargin.exceptions import SampleError


@contextmanager
def name_samples(names: Sequence[str], held_out: Sequence[str] = ()) -> Iterator[None]:
    """Within, "cloud 3" of a SampleError becomes names[3], or held_out[3] if it is held out.

    Numbers beyond the names stay as they are, and so do those of a "sample": a model that a task
    has inside does not say whether it is held out.
    """
    try:
        yield
    except SampleError as error:
        message = error.told(held_out if error.held_out else names)
        if error.noun == "sample" or message == str(error):
            raise
        raise ValueError(message) from error
