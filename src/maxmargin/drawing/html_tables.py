"""What results and reports look like in a notebook: HTML without scripts, for light and dark pages.

Text takes the colour of the page around it, lines a share of that colour. Every string is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from maxmargin.drawing.numbers import format_fixed

__all__ = ["figure_html", "table_html"]

CELL = "padding: 0.15em 0.8em 0.15em 0; border: none; background: none"
RULE = "border-bottom: 1px solid rgba(128, 128, 128, 0.5)"


def table_html(columns: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """A table; numbers stand to the right. Floats are shown with four decimals."""
    head = "".join(
        f'<th style="{CELL}; {RULE}; text-align: left">{escape(c)}</th>' for c in columns
    )
    body = "".join(f"<tr>{''.join(_cell(value) for value in row)}</tr>" for row in rows)
    style = "caption-side: top; text-align: left; font-weight: bold; color: inherit"
    title = f'<caption style="{style}">{escape(caption)}</caption>' if caption else ""
    return (
        '<table style="border-collapse: collapse; font-size: 0.95em; margin: 0.4em 0">'
        f"{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _cell(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        style = f"{CELL}; text-align: right; font-variant-numeric: tabular-nums"
        return f'<td style="{style}">{format_fixed(value)}</td>'
    return f'<td style="{CELL}; text-align: left">{escape(str(value))}</td>'


def figure_html(title: str, metrics: dict[str, str], drawing: str = "") -> str:
    """A sentence, named values in a row below it, and a drawing (trusted HTML)."""
    items = "".join(
        f'<span style="margin-right: 1.6em; white-space: nowrap">'
        f'<span style="opacity: 0.7">{escape(name)}</span> {escape(value)}</span>'
        for name, value in metrics.items()
    )
    return (
        '<div style="font-family: system-ui, sans-serif; max-width: 42em">'
        f'<p style="margin: 0.3em 0"><strong>{escape(title)}</strong></p>'
        f'<p style="margin: 0.3em 0">{items}</p>{drawing}</div>'
    )
