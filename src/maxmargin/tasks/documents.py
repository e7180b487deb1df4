"""What task commands, run folders and reports tell each other: plain values that JSON can hold.

A number that is not finite is None in a document. Strings come from the data as they are; whoever
shows them escapes them.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NotRequired, TypedDict

__all__ = [
    "AreaMap",
    "Confusion",
    "Drawing",
    "Evaluation",
    "Metric",
    "Table",
    "finite_values",
    "share_metric",
]


class Metric(TypedDict):
    """One number: its name, what is better, whether it is a share, and what it means."""

    name: str
    value: float | None
    better: Literal["higher", "lower", "neither"]
    percent: bool
    help: str


def share_metric(name: str, value: float, text: str) -> Metric:
    """A share of which more is better."""
    return Metric(name=name, value=value, better="higher", percent=True, help=text)


class Table(TypedDict):
    """Rows of strings and numbers under column names."""

    title: str
    columns: list[str]
    rows: list[list[Any]]
    note: str


class Confusion(TypedDict):
    """counts[a][b]: how often the true label a was predicted as b."""

    labels: list[str]
    counts: list[list[int]]


class AreaMap(TypedDict):
    """What each place of a small picture is.

    codes : height x width bytes, row after row, packed by zlib, then base64: 0 where there is
    nothing, else 1 + a place in `views.ROLES`.
    """

    name: str
    height: int
    width: int
    codes: str


class Drawing(TypedDict, total=False):
    """One sample, its truth and its prediction, to be drawn as what it is.

    kind says how, and which of the other keys there are:

    - "tokens": tokens, truth, predicted (a string for each token);
    - "outline": tokens, truth, predicted, depth (how far in each token stands);
    - "images": images (rows of numbers 0 to 1, flattened), height, width, truth, predicted;
    - "links": source, target (the words, or the names of rows and columns), sure, possible,
      predicted (pairs [i, j], from 0; possible includes sure);
    - "arcs": tokens, truth, predicted (triples [from, to, label] of places of tokens, from 0; from
      is -1 where an arc comes from the root);
    - "circle": the same, around a circle, for pairs of many tokens;
    - "areas": maps (`AreaMap`s of one sample), labels (background and foreground), and
      picture, if there is one: the colours of the first map's places, 3 bytes each, packed
      alike.

    legend, if it is there, tells what colours mean in place of what reports say of the kind.
    Always there: title, errors (how many), and truth_known; without a truth, `truth`, `sure` and
    `possible` are empty.
    """

    kind: str
    title: str
    errors: int
    truth_known: bool
    legend: str
    tokens: list[str]
    depth: list[int]
    truth: list[Any]
    predicted: Any
    images: list[list[float]]
    height: int
    width: int
    source: list[str]
    target: list[str]
    sure: list[list[int]]
    possible: list[list[int]]
    maps: list[AreaMap]
    labels: list[str]
    picture: str


class Evaluation(TypedDict):
    """How a model does on some data.

    data : what the data are, e.g. {"files": "dev.txt", "sentences": 200, "tokens": 4711}.
    error : the one number to compare by, 0 is perfect; error_name says which. drawings : some
    samples, worst mistakes first. reliability : [confidence, accuracy, count] of variables whose
    label was given about the same probability, where the model has probabilities. compared : tables
    that set the model beside others.
    """

    data: dict[str, Any]
    error: float | None
    error_name: str
    metrics: list[Metric]
    tables: list[Table]
    confusion: Confusion | None
    drawings: list[Drawing]
    reliability: NotRequired[list[list[float]]]
    compared: NotRequired[list[Table]]


def finite_values(value: Any) -> Any:
    """The same value with None for every number that JSON cannot hold."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): finite_values(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [finite_values(own) for own in value]
    return value.item() if hasattr(value, "item") else value
