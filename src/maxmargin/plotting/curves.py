"""How methods compare along the way, over several random runs of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from maxmargin.plotting.style import MARKERS, SERIES, Display, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

LABELS = {
    "passes": "effective passes",
    "seconds": "seconds of training",
    "suboptimality": "primal suboptimality",
    "test_error": "test error",
}


class CurvesDisplay(Display):
    """Plot of the median over random runs of each method, with a shaded range.

    Parameters
    ----------
    rows : sequence of dict
        One for each method, run and time: dictionaries with "method", "seed", "passes", "seconds"
        and the measured numbers.

    Attributes
    ----------
    lines_ : dict
        {method: its line}.
    """

    def __init__(self, rows: Sequence[Mapping[str, Any]]):
        self.rows = rows

    def plot(
        self,
        *,
        x: Literal["passes", "seconds"] = "passes",
        y: str = "suboptimality",
        spread: Literal["range", "quartiles"] = "range",
        ax: Axes | None = None,
    ) -> CurvesDisplay:
        """Draw one number of all methods, with both axes logarithmic.

        Parameters
        ----------
        x : {"passes", "seconds"}, default="passes"
            Horizontal axis; of seconds the median over the runs is taken at each pass.
        y : str, default="suboptimality"
            "suboptimality", "test_error", or any number of the rows.
        spread : {"range", "quartiles"}, default="range"
            Shade from minimum to maximum, or between the quartiles.
        """
        if x not in ("passes", "seconds"):
            raise ValueError(f'x={x!r} must be "passes" or "seconds".')
        if spread not in ("range", "quartiles"):
            raise ValueError(f'spread={spread!r} must be "range" or "quartiles".')
        curves = self._curves(x, y, (0, 100) if spread == "range" else (25, 75))
        self.ax_ = new_axes(ax)
        self.lines_: dict[str, Line2D] = {}
        for number, (method, (across, low, middle, high)) in enumerate(curves.items()):
            colour = SERIES[number % len(SERIES)]
            (self.lines_[method],) = self.ax_.plot(
                across,
                middle,
                color=colour,
                marker=MARKERS[number % len(MARKERS)],
                linestyle="-" if number < len(SERIES) else "--",
                markersize=3.5,
                linewidth=1.2,
                label=method,
            )
            self.ax_.fill_between(across, low, high, color=colour, alpha=0.2, linewidth=0)
        self.ax_.set_xscale("log")
        self.ax_.set_yscale("log", nonpositive="mask")
        self.ax_.set_xlabel(LABELS[x])
        self.ax_.set_ylabel(LABELS.get(y, y.replace("_", " ")))
        self.ax_.grid(True, which="major", color="0.9", linewidth=0.8)
        self.ax_.set_axisbelow(True)
        return self

    def _curves(
        self, x: str, y: str, share: tuple[int, int]
    ) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """{method: x, low, median, high}, in the order in which methods first occur."""
        found: dict[str, dict[float, list[tuple[float, float]]]] = {}
        for row in self.rows:
            if y in row and np.isfinite(row[y]):
                moments = found.setdefault(row["method"], {})
                moments.setdefault(row["passes"], []).append((row[x], row[y]))
        if not found:
            names = sorted({name for row in self.rows for name in row})
            raise ValueError(f"no row has y={y!r}; they have {', '.join(names) or 'nothing'}.")
        curves = {}
        for method, moments in found.items():
            runs = [np.array(moments[at]) for at in sorted(moments)]
            across = np.array([np.median(own[:, 0]) for own in runs])
            levels = [np.percentile(own[:, 1], [share[0], 50, share[1]]) for own in runs]
            curves[method] = (across, *np.array(levels).T)
        return curves
