"""Dates, phrases and keys as people read them, and the numbers of pages."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from maxmargin.drawing.numbers import (
    finite_or_none,
    format_bounds,
    format_count,
    format_megabytes,
    format_percent,
    format_seconds,
    format_value,
)

__all__ = [
    "format_bounds",
    "format_count",
    "format_megabytes",
    "format_time",
    "format_percent",
    "format_seconds",
    "as_sentence",
    "format_value",
]

STATUS = {
    "converged": ("✓", "converged"),
    "max_epochs": ("◦", "ended at the limit of passes"),
    "time_limit": ("◦", "ended at the time limit"),
    "stopped": ("◦", "stopped early"),
    "interrupted": ("◦", "interrupted"),
    "failed": ("✗", "failed"),
}


def format_time(stamp: Any) -> str:
    """A date and time, from an ISO string or seconds since 1970; other things as they are."""
    try:
        at = datetime.fromisoformat(stamp) if isinstance(stamp, str) else None
        if at is None and finite_or_none(stamp) is not None:
            at = datetime.fromtimestamp(float(stamp)).astimezone()
    except (ValueError, OverflowError, OSError):
        at = None
    if at is None:
        return str(stamp)
    return f"{at.day} {at:%B %Y, %H:%M}"


def as_sentence(phrase: Any) -> str:
    """A phrase with a capital and one full stop."""
    words = str(phrase)
    return f"{words[:1].upper()}{words[1:].removesuffix('.')}."
