"""Arcs between the words of a sentence or the bases of a molecule, as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from maxmargin.drawing.svg import PALETTE

__all__ = ["Arc", "arcs_svg", "circle_svg", "compare_arcs", "place_on_circle", "stack_arcs"]

#: pixels: of a letter, between tokens, of a level of arcs, of a line of text
LETTER, SPACE, LEVEL, LINE = 7.3, 16, 17, 18
RIGHT, WRONG = PALETTE[0], PALETTE[1]
#: radius of a circle of tokens, at least and at most; places between two numbers around it
LEAST_RADIUS, MOST_RADIUS, NUMBERED = 90, 260, 20


class Arc(NamedTuple):
    """An arc from one token to another, counted from 0; -1 is the root, above all tokens."""

    start: int
    end: int
    label: str = ""

    @property
    def sides(self) -> tuple[int, int]:
        """The tokens of the arc, from left to right; those of the root are one."""
        own = (self.start, self.end) if self.start >= 0 else (self.end, self.end)
        return min(own), max(own)


def stack_arcs(arcs: Iterable[Arc]) -> dict[Arc, int]:
    """The level of each arc, from 1, so that arcs are above those that they span."""
    placed: dict[Arc, int] = {}
    for arc in sorted(arcs, key=lambda own: own.sides[1] - own.sides[0]):
        low, high = arc.sides
        below = [n for own, n in placed.items() if own.sides[0] < high and low < own.sides[1]]
        placed[arc] = 1 + max(below, default=0)
    top = 1 + max(placed.values(), default=0)
    return {arc: top if arc.start < 0 else level for arc, level in placed.items()}


def compare_arcs(
    predicted: Iterable[Arc], truth: Iterable[Arc] | None
) -> tuple[list[Arc], list[Arc], list[Arc]]:
    """The arcs that are right, those that are wrong, and those that were missed."""
    found, true = list(dict.fromkeys(predicted)), None if truth is None else set(truth)
    if true is None:
        return found, [], []
    missed = sorted(true.difference(found), key=lambda own: own.sides)
    return [own for own in found if own in true], [own for own in found if own not in true], missed


def arcs_svg(
    tokens: Sequence[str], predicted: Iterable[Arc], truth: Iterable[Arc] | None, title: str
) -> str:
    """Predicted arcs above the tokens, wrong ones in another colour, missed ones dashed below."""
    right, wrong, missed = compare_arcs(predicted, truth)
    above, below = stack_arcs([*right, *wrong]), stack_arcs(missed)
    space = SPACE if any(len(token) > 1 for token in tokens) else SPACE / 3
    places, x = [], float(SPACE)
    for token in tokens:
        width = LETTER * max(len(token), 1)
        places.append(x + width / 2)
        x += width + space
    base = LINE + LEVEL * max(above.values(), default=0)
    height = base + LINE + (LEVEL * max(below.values()) + LINE if below else 0)
    parts = [
        f'<text x="{place:.1f}" y="{base + 13}" text-anchor="middle">{escape(token)}</text>'
        for place, token in zip(places, tokens, strict=True)
    ]
    for arc, level in above.items():
        parts.append(_arc_svg(arc, places, base, -LEVEL * level, WRONG if arc in wrong else RIGHT))
    for arc, level in below.items():
        parts.append(_arc_svg(arc, places, base + LINE, LEVEL * level, WRONG, dash=True))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {x:.0f} {height}" width="{x:.0f}"'
        f' height="{height}" role="img" aria-label="{escape(title)}" fill="currentColor"'
        ' font-family="ui-monospace, monospace" font-size="12">' + "".join(parts) + "</svg>"
    )


def place_on_circle(n: int) -> list[tuple[float, float]]:
    """Places of n tokens around a circle of radius 1, clockwise from the top, where it is open."""
    turns = [2.0 * math.pi * (t + 1.0) / (n + 1.0) for t in range(n)]
    return [(math.sin(turn), -math.cos(turn)) for turn in turns]


def circle_svg(
    tokens: Sequence[str], predicted: Iterable[Arc], truth: Iterable[Arc] | None, title: str
) -> str:
    """Tokens around a circle and lines between those that are paired; missed ones are dashed."""
    kinds = compare_arcs(predicted, truth)
    radius = min(max(1.6 * len(tokens), LEAST_RADIUS), MOST_RADIUS)
    middle, places = radius + 2 * LINE, place_on_circle(len(tokens))
    size = min(11.0, 5.0 * radius / max(len(tokens), 1))
    parts = []
    for arcs, look in zip(
        kinds,
        (f'stroke="{RIGHT}"', f'stroke="{WRONG}"', f'stroke="{WRONG}" stroke-dasharray="4 3"'),
        strict=True,
    ):
        ends = [[middle + radius * x for own in arc.sides for x in places[own]] for arc in arcs]
        line = "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for a, b, c, d in ends)
        parts.append(f'<path d="{line}" fill="none" {look} stroke-width="1.2"/>' if line else "")
    for t, (token, (x, y)) in enumerate(zip(tokens, places, strict=True)):
        for text, away in (
            (token, radius + 0.6 * size),
            (str(t + 1) if (t + 1) % NUMBERED == 0 else "", radius + size + 9),
        ):
            if text:
                parts.append(
                    f'<text x="{middle + away * x:.1f}" y="{middle + away * y + size / 3:.1f}"'
                    f' text-anchor="middle" font-size="{size:.1f}">{escape(text)}</text>'
                )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * middle:.0f} {2 * middle:.0f}"'
        f' width="{2 * middle:.0f}" height="{2 * middle:.0f}" role="img"'
        f' aria-label="{escape(title)}" fill="currentColor" font-family="ui-monospace, monospace">'
        + "".join(parts)
        + "</svg>"
    )


def _arc_svg(
    arc: Arc, places: Sequence[float], base: float, rise: float, colour: str, dash: bool = False
) -> str:
    """A line from one token to the other, with a point at the end and its label."""
    end, at = places[arc.end], base + rise
    start = places[arc.start] if arc.start >= 0 else end
    side = 0.0 if start == end else min(abs(start - end) / 2, 10.0) * (1 if start < end else -1)
    tip = end - side / 4
    line = f"M{tip:.1f} {base:.0f}"
    if side:
        line = (
            f"M{start + side / 4:.1f} {base:.0f}Q{start + side / 4:.1f} {at:.0f} {start + side:.1f}"
            f" {at:.0f}H{end - side:.1f}Q{tip:.1f} {at:.0f} {tip:.1f} {base:.0f}"
        )
    else:
        line += f"V{at:.0f}"
    away = 5 if rise < 0 else -5
    point = f"M{tip - 3:.1f} {base - away:.0f}h6L{tip:.1f} {base:.0f}Z"
    dashes = ' stroke-dasharray="4 3"' if dash else ""
    label = ""
    if arc.label:
        label = (
            f'<text x="{(start + end) / 2:.1f}" y="{at + (-3 if rise < 0 else 11):.0f}"'
            f' text-anchor="middle" font-size="10" fill="{colour}">{escape(arc.label)}</text>'
        )
    return (
        f'<path d="{line}" fill="none" stroke="{colour}" stroke-width="1.5"{dashes}/>'
        f'<path d="{point}" fill="{colour}"/>{label}'
    )
