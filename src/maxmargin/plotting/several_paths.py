"""Several paths beside one another, by the norm of their weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.plotting.one_path import path_values
from maxmargin.plotting.style import MARKERS, SERIES, Display, import_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

LABELS = {
    "norm_w": "|w|",
    "hinge": "hinge loss, training",
    "primal": "objective",
    "train_error": "error, training",
    "validation_error": "error, validation",
    "n_epochs": "epochs",
    "n_oracle": "oracle calls",
    "seconds": "seconds",
}
#: from this factor on, axes are logarithmic
WIDE = 15.0


class PathsDisplay(Display):
    """Plot of several paths: loss and error against the norm of the weights.

    It compares paths of regularised optima with paths of iterates, as in the papers on the dual
    extragradient method. Optima have the least hinge loss of all weights of their norm; the
    question is how the error behaves along either path.

    Parameters
    ----------
    paths : dict of Path
        {name: result of a function of `maxmargin.paths`}.

    Attributes
    ----------
    axes_ : dict of matplotlib Axes
        {number: axes}.
    lines_ : dict
        {(number, name of a path): its line}.
    """

    def __init__(self, paths: Mapping[str, Any]):
        if not paths:
            raise ValueError("paths: give at least one, such as {'reg-path': alpha_path(...)}.")
        self.paths = dict(paths)

    @classmethod
    def from_paths(
        cls,
        paths: Mapping[str, Any],
        *,
        x: str = "norm_w",
        panels: Sequence[str] = ("hinge", "validation_error"),
        axes: Sequence[Axes] | None = None,
    ) -> PathsDisplay:
        """Plot several paths."""
        return cls(paths).plot(x=x, panels=panels, axes=axes)

    def plot(
        self,
        *,
        x: str = "norm_w",
        panels: Sequence[str] = ("hinge", "validation_error"),
        axes: Sequence[Axes] | None = None,
    ) -> PathsDisplay:
        """Draw the paths; those without one of the numbers are omitted from its panel.

        Parameters
        ----------
        x : str, default="norm_w"
            Number of the points on the horizontal axis, named as in `panels`.
        panels : sequence of str, default=("hinge", "validation_error")
            Numbers to draw: "norm_w", "hinge", "primal", "train_error", "validation_error",
            "n_epochs", "n_oracle" or "seconds".
        axes : sequence of matplotlib Axes or None, default=None
            One for each panel; None means a new figure.
        """
        for name in (x, *panels):
            if name not in LABELS:
                raise ValueError(f"{name!r} must be one of {', '.join(LABELS)}.")
        found = self._axes(len(panels)) if axes is None else list(axes)
        if len(found) != len(panels):
            raise ValueError(f"axes: {len(found)} for {len(panels)} panels.")
        self.ax_ = found[0]
        self.axes_: dict[str, Axes] = dict(zip(panels, found, strict=True))
        self.lines_: dict[tuple[str, str], Line2D] = {}
        for panel, ax in self.axes_.items():
            self._draw(ax, x, panel)
        return self

    def _axes(self, count: int) -> list[Axes]:
        size = (4.8 * count, 3.6)
        return list(
            import_matplotlib("pyplot").subplots(
                1, count, figsize=size, squeeze=False, layout="constrained"
            )[1][0]
        )

    def _draw(self, ax: Axes, x: str, panel: str) -> None:
        for k, (name, path) in enumerate(self.paths.items()):
            across, up = path_values(path, x), path_values(path, panel)
            if not np.isfinite(up).any():
                continue
            (self.lines_[panel, name],) = ax.plot(
                across,
                up,
                color=SERIES[k % len(SERIES)],
                marker=MARKERS[k % len(MARKERS)],
                markersize=3.5,
                linestyle="-" if k % 2 == 0 else "--",
                label=name,
            )
        points = [(path_values(path, x), path_values(path, panel)) for path in self.paths.values()]
        if _is_wide(np.concatenate([across for across, _ in points])):
            ax.set_xscale("log")
        if _is_wide(np.concatenate([up for _, up in points])):
            ax.set_yscale("log")
        ax.set_xlabel(LABELS[x])
        ax.set_ylabel(LABELS[panel])
        ax.grid(True, which="major", color="0.9", linewidth=0.8)
        ax.set_axisbelow(True)
        if ax.get_legend_handles_labels()[0]:
            ax.legend(frameon=False)


def _is_wide(values: np.ndarray) -> bool:
    """Whether the positive ones differ by so much that a logarithmic axis shows more."""
    known = values[np.isfinite(values) & (values > 0)]
    return len(known) > 0 and known.max() > WIDE * known.min()
