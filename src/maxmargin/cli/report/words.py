"""Numbers, times and dates as people read them."""

from __future__ import annotations

import math
from datetime import datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Any

from maxmargin.drawing.svg import number, short

__all__ = [
    "bounds",
    "count",
    "megabytes",
    "moment",
    "percent",
    "seconds",
    "sentence",
    "value",
    "word",
]

NONE = "–"  # noqa: RUF001
STATUS = {
    "converged": ("✓", "converged"),
    "max_epochs": ("◦", "ended at the limit of passes"),
    "time_limit": ("◦", "ended at the time limit"),
    "stopped": ("◦", "stopped early"),
    "interrupted": ("◦", "interrupted"),
    "failed": ("✗", "failed"),
}


def count(found: Any) -> str:
    """An integer, with thin spaces from five digits on; anything else as `value` shows it."""
    whole = number(found)
    if whole is None or whole != int(whole):
        return value(found)
    return value(int(whole))


def percent(share: Any) -> str:
    """A share as a percentage with two decimals, fewer where they are zeros."""
    found = number(share)
    if found is None:
        return NONE
    digits = f"{100 * found:.2f}"
    if found and float(digits) == 0:
        digits = f"{100 * found:.2g}"
    return f"{digits}\u202f%"


def seconds(found: Any) -> str:
    """A span of time."""
    time = number(found)
    if time is None:
        return NONE
    if time < 1:
        return f"{1000 * time:.3g}\u202fms"
    if time < 120:
        return f"{time:.3g}\u202fs"
    minutes = round(time / 60)
    if minutes < 120:
        return f"{int(time // 60)}\u202fmin {int(time % 60)}\u202fs"
    return f"{minutes // 60}\u202fh {minutes % 60}\u202fmin"


def megabytes(found: Any) -> str:
    """Memory, in MB."""
    size = number(found)
    if size is None:
        return NONE
    mega = size / 1e6
    return f"{value(round(mega)) if mega >= 1000 else short(mega, 3)}\u202fMB"


def moment(stamp: Any) -> str:
    """A date and time, from an ISO string or seconds since 1970; other things as they are."""
    try:
        at = datetime.fromisoformat(stamp) if isinstance(stamp, str) else None
        if at is None and number(stamp) is not None:
            at = datetime.fromtimestamp(float(stamp)).astimezone()
    except (ValueError, OverflowError, OSError):
        at = None
    if at is None:
        return str(stamp)
    return f"{at.day} {at:%B %Y, %H:%M}"


def bounds(low: float, high: float) -> tuple[str, str]:
    """Two numbers with as many digits as it takes to tell them apart, and one more.

    The first is rounded down and the second up: what is between them is between these, too.
    """
    for digits in range(4, 16):
        if low == high or _rounded(low, digits) != _rounded(high, digits):
            break
    digits += low != high
    return _rounded(low, digits, ROUND_FLOOR), _rounded(high, digits, ROUND_CEILING)


def _rounded(found: float, digits: int, way: str = ROUND_HALF_EVEN) -> str:
    exact = Decimal(repr(float(found)))
    if not exact:
        return "0"
    decimals = digits - 1 - exact.adjusted()
    near = float(exact.quantize(Decimal(1).scaleb(-decimals), rounding=way))
    if 1e4 <= abs(near) < 1e6:
        return f"{near:,.{max(0, decimals)}f}".replace(",", "\u202f")
    return short(near, digits)


def value(found: Any) -> str:
    """A cell of a table."""
    if found is None:
        return NONE
    if isinstance(found, bool):
        return "yes" if found else "no"
    if isinstance(found, int):
        return f"{found:,}".replace(",", "\u202f") if abs(found) >= 10_000 else str(found)
    if isinstance(found, float):
        return short(found) if math.isfinite(found) else NONE
    return str(found)


def sentence(phrase: Any) -> str:
    """A phrase with a capital and one full stop."""
    words = str(phrase)
    return f"{words[:1].upper()}{words[1:].removesuffix('.')}."


def word(name: Any) -> str:
    """A key as words: "n_oracle" is "oracle calls"."""
    known = {
        "n_oracle": "oracle calls",
        "n_project": "projections",
        "peak_bytes": "peak memory",
        "base_bytes": "memory before training",
        "train_bytes": "memory added by training",
        "seconds": "time",
        "n_epochs": "passes",
        "relative_gap": "relative gap",
        "test_error": "test error",
        "train_error": "training error",
    }
    return known.get(str(name), str(name).replace("_", " "))
