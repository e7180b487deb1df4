"""Numbers as people read them, on pages, in notebooks and in terminals."""

from __future__ import annotations

import math
from datetime import datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Any

NONE = "–"  # noqa: RUF001
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def finite_or_none(value: Any) -> float | None:
    """A finite number, or None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def format_short(value: float | None, digits: int = 4) -> str:
    """A number for people: few digits, and a power of ten where it is very small or large."""
    if value is None or not math.isfinite(value):
        return NONE
    if value == 0:
        return "0"
    if 1e-4 <= abs(value) < 1e6:
        return f"{value:.{digits}g}" if abs(value) < 1e4 else _thin(f"{value:,.0f}")
    mantissa, power = f"{value:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    tens = "10" + str(int(power)).translate(SUPERSCRIPT)
    return tens if mantissa == "1" else f"{mantissa}·{tens}"


def format_value(found: Any) -> str:
    """A cell of a table."""
    if found is None:
        return NONE
    if isinstance(found, bool):
        return "yes" if found else "no"
    if isinstance(found, int):
        return _thin(f"{found:,}") if abs(found) >= 10_000 else str(found)
    if isinstance(found, float):
        return format_short(found) if math.isfinite(found) else NONE
    return str(found)


def format_count(found: Any) -> str:
    """An integer, with thin spaces from five digits on; other things as `format_value` does."""
    whole = finite_or_none(found)
    if whole is None or whole != int(whole):
        return format_value(found)
    return format_value(int(whole))


def format_percent(share: Any) -> str:
    """A share as a percentage: two decimals, or two significant digits where those are 0.00."""
    found = finite_or_none(share)
    if found is None:
        return NONE
    digits = f"{100 * found:.2f}"
    if found and float(digits) == 0:
        digits = f"{100 * found:.2g}"
    return f"{digits}\u202f%"


def format_seconds(found: Any) -> str:
    """A span of time."""
    time = finite_or_none(found)
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


def format_megabytes(found: Any) -> str:
    """Memory, in MB."""
    size = finite_or_none(found)
    if size is None:
        return NONE
    mega = size / 1e6
    return f"{format_value(round(mega)) if mega >= 1000 else format_short(mega, 3)}\u202fMB"


def format_bounds(low: float, high: float) -> tuple[str, str]:
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
        return _thin(f"{near:,.{max(0, decimals)}f}")
    return format_short(near, digits)


def format_plain(found: int | float | None) -> str:
    """A number in a terminal; None is a dash."""
    if found is None:
        return "-"
    if isinstance(found, bool):
        return "yes" if found else "no"
    if isinstance(found, float):
        return f"{found:.4g}" if abs(found) < 1e4 else f"{found:,.0f}"
    return f"{found:,}"


def format_fixed(found: Any) -> str:
    """A cell of a table of scores: four decimals, other things as they are."""
    return f"{found:.4f}" if isinstance(found, float) else str(found)


def _thin(digits: str) -> str:
    return digits.replace(",", "\u202f")


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
