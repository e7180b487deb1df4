"""How fast a quantity grows with the size of the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from scipy.stats import t

CONFIDENCE = 0.95


class Growth(NamedTuple):
    """Quantity ~ size ** exponent; low to high is the interval of 95 % confidence.

    The interval is None where two points leave no freedom to judge the fit.
    """

    exponent: float
    low: float | None
    high: float | None


def growth_exponent(sizes: Sequence[float], values: Sequence[float]) -> Growth | None:
    """The slope of log(value) on log(size) by least squares; None if there is none.

    Needs two sizes or more and positive values throughout. The interval is Student's, which takes
    the points' deviations from the line for independent and equally wide.
    """
    if len(sizes) != len(values):
        raise ValueError(f"{len(sizes)} sizes, but {len(values)} values.")
    if len(set(sizes)) < 2 or min(sizes) <= 0 or not all(0 < v < math.inf for v in values):
        return None
    n = len(sizes)
    x, y = [math.log(size) for size in sizes], [math.log(value) for value in values]
    middle, level = math.fsum(x) / n, math.fsum(y) / n
    spread = math.fsum((a - middle) ** 2 for a in x)
    slope = math.fsum((a - middle) * (b - level) for a, b in zip(x, y, strict=True)) / spread
    if n == 2:
        return Growth(slope, None, None)
    residual = math.fsum((b - level - slope * (a - middle)) ** 2 for a, b in zip(x, y, strict=True))
    error = math.sqrt(residual / (n - 2) / spread)
    width = float(t.ppf(0.5 + CONFIDENCE / 2, n - 2)) * error
    return Growth(slope, slope - width, slope + width)
