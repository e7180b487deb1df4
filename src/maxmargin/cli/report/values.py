"""What cannot be drawn, shown as its values: a page with one odd part beats no page."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from maxmargin.cli.report.markup import Html, bdi, clip_text, el

__all__ = ["drawn_or_values", "values_html"]


def drawn_or_values(draw: Callable[[Any], Html | None], document: Any) -> Html | None:
    """`draw(document)`, or its values if the document is not what it should be."""
    try:
        return draw(document)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return values_html(document)


def values_html(document: Any) -> Html:
    """The document as JSON, or its beginning."""
    words = json.dumps(document, ensure_ascii=False, default=str)
    return el("pre", el("code", bdi(clip_text(words, 2000))), class_="scroll", tabindex="0")
