"""What is told of links, predicted and true: numbers, tables and drawings, for several tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from maxmargin.metrics.links import ComparedLinks, Link, Links
from maxmargin.tasks.documents import Drawing, Metric, Table


def make_metric(
    name: str,
    value: float | None,
    help: str,
    better: Literal["higher", "lower", "neither"] = "higher",
    percent: bool = True,
) -> Metric:
    """A number of an evaluation, a share unless said otherwise."""
    return Metric(name=name, value=value, better=better, percent=percent, help=help)


def ratio_or_none(part: float, whole: float) -> float | None:
    """None where there is nothing to divide by."""
    return part / whole if whole else None


def harmonic_mean(precision: float | None, recall: float | None) -> float | None:
    """The harmonic mean."""
    if precision is None or recall is None:
        return None
    return ratio_or_none(2 * precision * recall, precision + recall) or 0.0


def kinds_table(compared: Sequence[ComparedLinks], with_possible: bool) -> Table:
    """How many links became what."""
    rows = [
        ["right", sum(len(own.right) for own in compared), "predicted, and sure"],
        [
            "possible",
            sum(len(own.possible) for own in compared),
            "predicted, not sure but possible",
        ],
        ["wrong", sum(len(own.wrong) for own in compared), "predicted, but not even possible"],
        ["missed", sum(len(own.missed) for own in compared), "sure, but not predicted"],
    ]
    if not with_possible:
        rows = [
            ["right", rows[0][1], "predicted, and true"],
            ["wrong", rows[2][1], "predicted, but not true"],
            ["missed", rows[3][1], "true, but not predicted"],
        ]
    return Table(title="Links by kind", columns=["kind", "links", "meaning"], rows=rows, note="")


def link_drawing(
    title: str,
    sides: tuple[Sequence[str], Sequence[str]],
    predicted: Iterable[Link],
    truth: Links | None,
    errors: int,
) -> Drawing:
    """One sample as a matrix of links.

    sides : names of rows and columns. truth : None where it is not known.
    """
    sure, possible = truth or (set(), set())
    return Drawing(
        kind="links",
        title=title,
        errors=errors,
        truth_known=truth is not None,
        source=list(sides[0]),
        target=list(sides[1]),
        sure=_pairs(sure),
        possible=_pairs(possible | sure),
        predicted=_pairs(predicted),
    )


def _pairs(links: Iterable[Link]) -> list[list[int]]:
    return sorted([int(i), int(j)] for i, j in links)
