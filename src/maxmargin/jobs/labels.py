"""Labels of any type, as texts and as lines of text."""

from __future__ import annotations

import numpy as np


def kind_of(labels: np.ndarray) -> str:
    """Whether they are texts or numbers, for messages."""
    return "texts" if labels.dtype.kind in "US" else "numbers"


def texts_of(labels: np.ndarray) -> list[str]:
    """Each label as text."""
    return [str(label) for label in labels.tolist()]


def line_of(labels: np.ndarray) -> str:
    """A line of labels separated by spaces."""
    texts = texts_of(labels)
    for text in texts:
        if not text or text.split() != [text]:
            raise ValueError(
                f"the label {text!r} is empty or has white space, so lines of labels cannot hold"
                " it; write npz."
            )
    return " ".join(texts) + "\n"
