"""Line charts as text: SVG that needs no library to make and no script to show.

Colours are middle tones and the rest takes the colour of the text around it, so that one drawing
serves light and dark pages.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from maxmargin.drawing.numbers import finite_or_none, format_short

__all__ = [
    "MISTAKES",
    "Axis",
    "Curve",
    "convergence_svg",
    "line_svg",
    "finite_or_none",
    "axis_ticks",
]

#: tell apart for all common kinds of colour vision, at least 3 : 1 on white and on near black
PALETTE = ("#2E7EBB", "#D1603D", "#2C9476", "#B0699E", "#94803A", "#6C78C4", "#7F7F7F", "#C2527A")
DASHES = ("", "6 4", "2 3", "8 3 2 3")
#: what `train_error` of a record is: the solver's own count, on weights that change on the way
MISTAKES = "samples wrong during the pass"
LEFT, RIGHT, TOP, BOTTOM = 62, 14, 30, 44


@dataclass(frozen=True)
class Curve:
    """Points under a name; a point with None, a NaN or an infinity is left out.

    low, high : ends of a bar through each point, the spread over seeds say; empty for none.
    """

    name: str
    x: Sequence[float | None]
    y: Sequence[float | None]
    colour: int = 0
    dash: int = 0
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()


@dataclass(frozen=True)
class Axis:
    """Values from `low` to `high` on pixels from `start` to `end`.

    whole : all values are integers, so that marks between those would mean nothing.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False
    whole: bool = False

    @classmethod
    def over(cls, values: Iterable[float], start: float, end: float, log: bool = False) -> Axis:
        """An axis that shows all values, with a little air; a single value gets the middle."""
        found = list(values)
        low, high = (min(found), max(found)) if found else (1.0, 10.0)
        if log:
            air = 10 ** (0.04 * math.log10(high / low)) if high > low else 2.0
            return cls(low / air, high * air, start, end, True)
        air = 0.04 * (high - low) or abs(high) / 2 or 1.0
        whole = all(value == int(value) for value in found)
        # an axis of counts or errors begins at zero, not at an odd number below it
        floor = 0.0 if 0 <= low <= 2 * air else low - air
        return cls(floor, high + air, start, end, whole=whole)

    def at(self, value: float) -> float:
        """The pixel of a value."""
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def axis_ticks(axis: Axis, wanted: int = 5) -> list[float]:
    """Round values along an axis: powers of ten on a logarithmic one, else steps of 1, 2 or 5."""
    if axis.log:
        marks = _log_ticks(axis.low, axis.high, wanted)
        if len(marks) > 2 or axis.high > 10 * axis.low:
            return marks
    span = axis.high - axis.low
    power = 10.0 ** math.floor(math.log10(span / wanted))
    step = next(m * power for m in (1, 2, 5, 10) if m * power * wanted >= span)
    first, last = math.ceil(axis.low / step), math.floor(axis.high / step)
    marks = [0.0 if k == 0 else float(f"{k * step:.12g}") for k in range(first, last + 1)]
    if axis.log:
        return [mark for mark in marks if mark > 0]
    return [mark for mark in marks if mark == int(mark)] if axis.whole else marks


def _log_ticks(low: float, high: float, wanted: int) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    skip = max(1, math.ceil((last - first) / (wanted + 1)))
    decades = math.log10(high / low)
    factors = (1, 2, 5) if decades < 2 else (1, 3) if decades < 3.5 else (1,)
    powers = range(first, last + 1)
    marks = [f * 10.0**k for k in powers if k % skip == 0 for f in factors]
    return [mark for mark in marks if low <= mark <= high]


def line_svg(
    curves: Sequence[Curve],
    *,
    title: str,
    x_label: str,
    y_label: str,
    log_x: bool = False,
    log_y: bool = False,
    width: int = 640,
    height: int = 280,
) -> str:
    """A chart of curves with a legend, as one <svg> element; zeros have no place on a log axis."""
    drawn = [(curve, _points(curve, log_x, log_y)) for curve in curves]
    drawn = [(curve, points) for curve, points in drawn if points]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img" aria-label="{escape(title)}" fill="none"'
        ' stroke-linecap="round" stroke-linejoin="round" font-family="system-ui, sans-serif"'
        f' font-size="11" style="max-width: 100%; height: auto"><title>{escape(title)}</title>'
    )
    if not drawn:
        note = '<text x="50%" y="50%" text-anchor="middle" fill="currentColor">nothing to draw'
        return f"{head}{note}</text></svg>"
    x = Axis.over([p[0] for _, ps in drawn for p in ps], LEFT, width - RIGHT, log_x)
    spread = [v for _, ps in drawn for p in ps for v in p[1:] if v > 0 or not log_y]
    y = Axis.over(spread, height - BOTTOM, TOP, log_y)
    body = [_frame(x, y, x_label, y_label), _legend([curve for curve, _ in drawn])]
    body += [_line(curve, points, x, y) for curve, points in drawn]
    return head + "".join(body) + "</svg>"


def convergence_svg(records: list[dict], width: int = 640, height: int = 280) -> str:
    """Objective, lower bound and gap along a run, against passes over the data.

    records : metrics of the records of a run, as in `history.jsonl`. Without any certificate the
    errors are drawn instead.
    """
    x = [finite_or_none(r.get("epoch")) for r in records]
    sized = {"x_label": "passes over the data", "width": width, "height": height}
    gaps = [finite_or_none(r.get("gap")) for r in records]
    if any(gap is not None for gap in gaps):
        parts = (("primal", "objective", 0), ("dual", "lower bound", 2), ("gap", "gap", 1))
        curves = [
            Curve(name, x, [finite_or_none(r.get(key)) for r in records], colour, dash)
            for dash, (key, name, colour) in enumerate(parts)
        ]
        title, y_label, log = "Objective, lower bound and gap", "objective, bound, gap", True
    else:
        names = (("train_error", MISTAKES), ("validation_score", "validation score"))
        curves = [
            Curve(name, x, [finite_or_none(r.get(key)) for r in records], k, k)
            for k, (key, name) in enumerate(names)
        ]
        title, y_label, log = "Errors along the run", "error or score", False
    return line_svg(curves, title=title, y_label=y_label, log_y=log, **sized)  # type: ignore[arg-type]


def _points(curve: Curve, log_x: bool, log_y: bool) -> list[tuple[float, ...]]:
    """(x, y) or (x, y, low, high) of the points that have a place on the axes."""
    points: list[tuple[float, ...]] = []
    for k, (a, b) in enumerate(zip(curve.x, curve.y, strict=True)):
        x, y = finite_or_none(a), finite_or_none(b)
        if x is None or y is None or (log_x and x <= 0) or (log_y and y <= 0):
            continue
        ends = (
            (finite_or_none(curve.low[k]), finite_or_none(curve.high[k]))
            if curve.low
            else (None, None)
        )
        points.append((x, y) if None in ends else (x, y, *ends))  # type: ignore[arg-type]
    return points


def _frame(x: Axis, y: Axis, x_label: str, y_label: str) -> str:
    parts = []
    for mark in axis_ticks(y):
        at = f"{y.at(mark):.1f}"
        parts.append(
            f'<path d="M{x.start} {at}H{x.end}" stroke="currentColor" stroke-opacity="0.13"/>'
            f'<text x="{x.start - 8}" y="{at}" dy="0.32em" text-anchor="end"'
            f' fill="currentColor" fill-opacity="0.8">{format_short(mark)}</text>'
        )
    for mark in axis_ticks(x, 7):
        at = f"{x.at(mark):.1f}"
        parts.append(
            f'<path d="M{at} {y.start}v5" stroke="currentColor" stroke-opacity="0.5"/>'
            f'<text x="{at}" y="{y.start + 18}" text-anchor="middle" fill="currentColor"'
            f' fill-opacity="0.8">{format_short(mark)}</text>'
        )
    middle = (x.start + x.end) / 2
    parts.append(
        f'<path d="M{x.start} {y.start}H{x.end}" stroke="currentColor" stroke-opacity="0.5"/>'
        f'<text x="{middle}" y="{y.start + 37}" text-anchor="middle" fill="currentColor">'
        f"{escape(x_label)}{' (log)' if x.log else ''}</text>"
        f'<text transform="translate(12 {(y.start + y.end) / 2}) rotate(-90)" fill="currentColor"'
        f' text-anchor="middle">{escape(y_label)}{" (log)" if y.log else ""}</text>'
    )
    return "".join(parts)


def _legend(curves: Sequence[Curve]) -> str:
    parts, at = [], float(LEFT)
    for curve in curves:
        parts.append(
            f'<path d="M{at:.0f} 14h22" {_stroke(curve)}/>'
            f'<text x="{at + 28:.0f}" y="14" dy="0.32em" fill="currentColor">'
            f"{escape(curve.name)}</text>"
        )
        at += 46 + 6.2 * len(curve.name)
    return "".join(parts)


def _line(curve: Curve, points: list[tuple[float, ...]], x: Axis, y: Axis) -> str:
    placed = [(x.at(p[0]), y.at(p[1])) for p in points]
    path = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in placed)
    parts = [f'<path d="{path}" {_stroke(curve)}/>']
    for p in points:
        if len(p) > 2 and not (y.log and p[2] <= 0):
            bar = f"M{x.at(p[0]):.1f} {y.at(p[2]):.1f}V{y.at(p[3]):.1f}"
            parts.append(f'<path d="{bar}" stroke="{_colour(curve)}" stroke-opacity="0.6"/>')
    if len(placed) <= 60:
        spots = "".join(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.2"/>' for a, b in placed)
        parts.append(f'<g fill="{_colour(curve)}">{spots}</g>')
    return "".join(parts)


def _colour(curve: Curve) -> str:
    return PALETTE[curve.colour % len(PALETTE)]


def _stroke(curve: Curve) -> str:
    dash = DASHES[curve.dash % len(DASHES)]
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'stroke="{_colour(curve)}" stroke-width="1.8"{dashed}'
