"""Labels of any type, as texts and as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np


def kind_of(labels: np.ndarray) -> str:
    """Whether they are texts or numbers, for messages."""
    return "texts" if labels.dtype.kind in "US" else "numbers"


def texts_of(labels: np.ndarray) -> list[str]:
    """Each label as text."""
    return [str(label) for label in labels.tolist()]


def lines_of(
    labels: Sequence[np.ndarray], probabilities: Sequence[np.ndarray] = ()
) -> Iterator[str]:
    """A line of each sample; each label followed by / and its probability, where that is known."""
    for i, own in enumerate(labels):
        if not len(probabilities):
            yield _line(_checked(own))
            continue
        shares = probabilities[i].tolist()
        yield _line([f"{a}/{p:.4f}" for a, p in zip(_checked(own), shares, strict=True)])


def _line(texts: list[str]) -> str:
    return " ".join(texts) + "\n"


def _checked(labels: np.ndarray) -> list[str]:
    """Labels that lines separated by spaces can hold."""
    texts = texts_of(labels)
    for text in texts:
        if not text or text.split() != [text]:
            raise ValueError(
                f"the label {text!r} is empty or has white space, so lines of labels cannot hold"
                " it; write npz."
            )
    return texts
