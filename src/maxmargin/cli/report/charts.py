"""Curves for the page's script, with a drawing that stands in where scripts do not run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from maxmargin.cli.report.markup import Html, data_block, el, visible_text
from maxmargin.cli.report.tables import grid_html
from maxmargin.drawing.svg import MISTAKES, convergence_svg, finite_or_none

__all__ = ["chart_html", "convergence_chart", "subsample_records"]

MAX_POINTS = 400
#: of all curves of a chart together
MAX_TOTAL = 20_000
ACROSS = (
    ("epoch", "passes over the data", "passes"),
    ("seconds", "training time (s)", "seconds"),
    ("n_oracle", "oracle calls", "oracle calls"),
)
FIELDS = ("gap", "primal", "dual", "train_error", "validation_error", "validation_score")


def chart_html(spec: dict[str, Any], fallback: str, label: str) -> Html:
    """A chart with its data; `fallback` is an SVG drawing that the script takes the place of."""
    return el(
        "figure",
        el("div", Html(fallback), class_="plot"),
        data_block(spec),
        class_="chart",
        aria_label=label,
    )


def convergence_chart(
    runs: Sequence[tuple[str, str, list[dict[str, Any]]]],
    facet_name: str = "",
    names: Sequence[str] = (),
) -> Html | None:
    """Curves of one run or of many.

    runs : (name, facet, records) of each. names : all names in order, so that each has the same
    colour in every chart.
    """
    most = max(20, min(MAX_POINTS, MAX_TOTAL // max(1, len(runs))))
    names = list(dict.fromkeys([*names, *(name for name, _, _ in runs)]))
    series: list[dict[str, Any]] = []
    left_out = 0
    for name, facet, records in runs:
        kept = subsample_records(records, most)
        left_out += len(records) - len(kept)
        series.append(
            {
                "name": visible_text(name),
                "facet": visible_text(facet),
                "group": names.index(name),
                "data": _columns(kept),
            }
        )
    quantities = _quantities(series)
    if not quantities:
        return None
    spec = {
        "x": [
            {"key": key, "label": label, "short": short}
            for key, label, short in ACROSS
            if any(v is not None for s in series for v in s["data"].get(key, ()))
        ],
        "y": quantities,
        "series": series,
        "groups": [visible_text(name) for name in names],
        "facets": list(dict.fromkeys(s["facet"] for s in series)),
        "facetName": facet_name,
        "logX": False,
    }
    longest = max(runs, key=lambda run: len(run[2]))[2]
    drawn = chart_html(
        spec, convergence_svg(subsample_records(longest, MAX_POINTS)), "Convergence curves"
    )
    notes = f"{left_out} points between those drawn are left out." if left_out else ""
    return el(
        "div", drawn, el("p", notes, class_="note") if notes else None, _points_table(runs, most)
    )


def subsample_records(records: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """At most `most` records, denser at the beginning, where curves bend; first and last stay."""
    n = len(records)
    if n <= most:
        return records
    even = {round(k * (n - 1) / (most // 2)) for k in range(most // 2 + 1)}
    early = {round(math.exp(k * math.log(n) / (most // 2))) - 1 for k in range(most // 2 - 1)}
    kept = sorted(even | {k for k in early if 0 <= k < n})
    return [records[k] for k in kept]


def _columns(records: list[dict[str, Any]]) -> dict[str, list[float | None]]:
    """The numbers by name, with five digits; a score of 0 to 1 is an error too."""
    columns = {
        key: [_digits(r.get(key)) for r in records] for key in ("epoch", "seconds", "n_oracle")
    }
    for key in FIELDS:
        own = [_digits(r.get(key)) for r in records]
        if any(v is not None for v in own):
            columns[key] = own
    scores = columns.get("validation_score")
    if scores and all(v is None or 0 <= v <= 1 for v in scores):
        columns["validation_error"] = [None if v is None else _digits(1 - v) for v in scores]
        del columns["validation_score"]
    return columns


def _digits(value: Any) -> float | None:
    found = finite_or_none(value)
    return None if found is None else float(f"{found:.7g}")


def _quantities(series: list[dict[str, Any]]) -> list[dict[str, Any]]:
    known = {key for s in series for key in s["data"]}
    wanted = (
        ("gap", "Gap", True, (("gap", "gap"),)),
        ("objective", "Objective", False, (("primal", "objective"), ("dual", "lower bound"))),
        (
            "error",
            "Error",
            False,
            (("train_error", MISTAKES), ("validation_error", "validation error")),
        ),
        ("score", "Score", False, (("validation_score", "validation score"),)),
    )
    found = []
    for key, label, log, curves in wanted:
        own = [
            {"key": field, "name": name, "dash": dash}
            for dash, (field, name) in enumerate(curves)
            if field in known
        ]
        if own:
            found.append({"key": key, "label": label, "log": log, "curves": own})
    return found


def _points_table(runs: Sequence[tuple[str, str, list[dict[str, Any]]]], most: int) -> Html | None:
    """The points as a table, folded away: for screen readers and to copy from."""
    columns = ["epoch", "seconds", "n_oracle", "primal", "dual", "gap", "train_error"]
    names = ["pass", "seconds", "oracle calls", "objective", "bound", "gap", MISTAKES]
    if len(runs) != 1:
        return None  # a comparison has tables of its own
    rows = [
        [finite_or_none(r.get(key)) for key in columns]
        for r in subsample_records(runs[0][2], min(most, 60))
    ]
    kept = [k for k in range(len(columns)) if any(row[k] is not None for row in rows)]
    table = grid_html("", [names[k] for k in kept], [[row[k] for k in kept] for row in rows])
    return el("details", el("summary", "The points as a table"), table)
