"""How solvers scale: what a comparison measured, against the size of the training data."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.plotting.style import MARKERS, SERIES, Display, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABELS = {
    "seconds": "training time (seconds)",
    "wall_seconds": "wall time (seconds)",
    "peak_bytes": "memory above that of the data (bytes)",
    "n_oracle": "oracle calls",
    "n_project": "projections",
    "relative_gap": "gap / objective",
    "train_error": "training error",
    "test_error": "test error",
}


class ComparisonDisplay(Display):
    """Plot of one number of a comparison against the size of the training data, a line per solver.

    Points are means over seeds, bars extend from the minimum to the maximum. Both axes are
    logarithmic, so that a power of the size is a straight line; its exponent is in the legend where
    the comparison has estimated it. Runs that failed are omitted. Use `from_folder` to create one.

    Parameters
    ----------
    runs : sequence of dict
        Measurements for each solver, size and seed; dictionaries with "solver", "size" and the
        numbers.
    size_name : str, default="samples"
        Unit of the size, such as "sentences".
    exponents : dict or None, default=None
        {(solver, name of a number): exponent}.

    Attributes
    ----------
    lines_ : dict
        {solver: its line}.
    """

    def __init__(
        self,
        runs: Sequence[Mapping[str, Any]],
        size_name: str = "samples",
        exponents: Mapping[tuple[str, str], float] | None = None,
    ):
        self.runs = runs
        self.size_name = size_name
        self.exponents = exponents

    @classmethod
    def from_folder(
        cls, path: str | os.PathLike, *, y: str = "seconds", ax: Axes | None = None
    ) -> ComparisonDisplay:
        """Plot the comparison that ``maxmargin compare`` wrote to a folder, finished or not.

        Parameters
        ----------
        path : str or path
            The folder.
        """
        folder = Path(path).expanduser()
        files = sorted(folder.glob("runs/*.json"))
        if not files:
            raise ValueError(
                f"{str(folder)!r} is not a comparison, or has no run yet: no runs/*.json."
            )
        runs = [_read(file) for file in files]
        summary = (
            _read(folder / "comparison.json") if (folder / "comparison.json").is_file() else {}
        )
        exponents = {
            (own["solver"], own["quantity"]): own["exponent"]
            for own in summary.get("exponents", [])
            if own.get("exponent") is not None
        }
        return cls(runs, summary.get("size_name", "samples"), exponents).plot(y=y, ax=ax)

    def plot(self, *, y: str = "seconds", ax: Axes | None = None) -> ComparisonDisplay:
        """Draw one number of all runs.

        Parameters
        ----------
        y : str, default="seconds"
            Its name in the runs: "seconds", "peak_bytes", "n_oracle", "relative_gap",
            "train_error", "test_error", ...
        """
        curves = self._curves(y)
        self.ax_ = new_axes(ax)
        self.lines_ = {}
        for number, (solver, sizes) in enumerate(curves.items()):
            means = np.array([np.mean(values) for values in sizes.values()])
            low = means - [min(values) for values in sizes.values()]
            high = [max(values) for values in sizes.values()] - means
            bars = self.ax_.errorbar(
                list(sizes),
                means,
                (low, high),
                color=SERIES[number % len(SERIES)],
                marker=MARKERS[number % len(MARKERS)],
                capsize=3,
                label=self._name(solver, y),
            )
            self.lines_[solver] = bars.lines[0]
        self.ax_.set(xscale="log", yscale="log")
        self.ax_.set_xlabel(self.size_name)
        self.ax_.set_ylabel(LABELS.get(y, y.replace("_", " ")))
        self.ax_.grid(True, which="major", color="0.9", linewidth=0.8)
        self.ax_.set_axisbelow(True)
        self.ax_.legend(frameon=False)
        return self

    def _name(self, solver: str, y: str) -> str:
        exponent = (self.exponents or {}).get((solver, y))
        return solver if exponent is None else f"{solver}, grows as size^{exponent:.2f}"

    def _curves(self, y: str) -> dict[str, dict[float, list[float]]]:
        """{solver: {size: values over seeds}}, sizes in order; a mean of zero has no logarithm."""
        curves: dict[str, dict[float, list[float]]] = {}
        for run in sorted(self.runs, key=lambda own: (own["solver"], own["size"])):
            value = _number(run, y)
            if value is not None and np.isfinite(value):
                curves.setdefault(run["solver"], {}).setdefault(run["size"], []).append(value)
        curves = {
            solver: {size: values for size, values in sizes.items() if np.mean(values) > 0}
            for solver, sizes in curves.items()
        }
        curves = {solver: sizes for solver, sizes in curves.items() if sizes}
        if not curves:
            names = {
                name
                for run in self.runs
                for name, own in run.items()
                if isinstance(own, int | float) and name not in ("size", "seed")
            }
            raise ValueError(
                f"no run has a positive y={y!r}; numbers are {', '.join(sorted(names))}."
            )
        return curves


def _number(run: Mapping[str, Any], y: str) -> Any:
    """What a run measured, None if it failed; of memory, what training itself took."""
    if run.get("status") == "failed":
        return None
    value, base = run.get(y), run.get("base_bytes")
    if y == "peak_bytes" and value is not None and base is not None:
        return value - base
    return value


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{str(file)!r} is not JSON, or is cut short ({error}).") from error
