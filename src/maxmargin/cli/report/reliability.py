"""How often labels are right that were given a certain probability, drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from maxmargin.cli.report.markup import Html, el
from maxmargin.cli.report.tables import grid_html
from maxmargin.drawing.svg import Curve, line_svg

__all__ = ["reliability_html"]


def reliability_html(rows: Sequence[Sequence[Any]]) -> Html:
    """Accuracy over confidence beside the diagonal, and the same in figures."""
    found = [[float(c), float(a), int(n)] for c, a, n in rows]
    confidence = [row[0] for row in found]
    chart = line_svg(
        [
            Curve("if probabilities were frequencies", [0.0, 1.0], [0.0, 1.0], colour=6, dash=1),
            Curve("found", confidence, [row[1] for row in found]),
        ],
        title="Reliability of the probabilities",
        x_label="confidence: mean probability of the chosen label",
        y_label="accuracy",
        width=420,
        height=320,
    )
    table = grid_html("", ["confidence", "accuracy", "labels"], found)
    return el(
        "div",
        el("h4", "Reliability"),
        el(
            "p",
            "Labels with about the same probability, taken together: above the diagonal the model"
            " is too careful, below it too sure. A point that stands for few labels says little.",
            class_="note",
        ),
        el("figure", Html(chart), class_="still"),
        el("details", el("summary", "In figures"), table),
    )
