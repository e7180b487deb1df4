"""How models grow with the radius of the l1 ball that holds their weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from maxmargin.plotting.style import BLUE, GREEN, GREY, ORANGE, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

#: number of a point -> label and look, on the left and on the right axis
COUNTS = {
    "n_nonzero": ("weights not zero", BLUE, "o", "-"),
    "n_features": ("features in use", ORANGE, "s", "-"),
}
SCORES = {
    "train_score": ("score, training", GREY, "v", ":"),
    "validation_score": ("score, validation", GREEN, "^", "--"),
}


class PathDisplay:
    """Weights that are not zero and scores, or the weights themselves, against the radius.

    Make one by `from_path`.

    Parameters
    ----------
    path : what `maxmargin.paths.l1_path` returned.

    Attributes
    ----------
    ax_, figure_ : where it is drawn. score_ax_ : the axes of the scores, on the right; None if
        there are none.
    lines_ : {name of a number, or number of a weight: its line}.
    """

    def __init__(self, path: Any):
        self.path = path

    @classmethod
    def from_path(
        cls,
        path: Any,
        *,
        kind: Literal["counts", "weights"] = "counts",
        n_weights: int = 20,
        ax: Axes | None = None,
    ) -> PathDisplay:
        """Draw a path. See `plot`."""
        return cls(path).plot(kind=kind, n_weights=n_weights, ax=ax)

    def plot(
        self,
        *,
        kind: Literal["counts", "weights"] = "counts",
        n_weights: int = 20,
        ax: Axes | None = None,
    ) -> PathDisplay:
        """Draw the path.

        Parameters
        ----------
        kind : "counts" for how many weights and features are in use, with scores on the right;
            "weights" for the profiles of single weights.
        n_weights : how many profiles to draw: those that are largest somewhere on the path.
        ax : axes to draw on; None means a new figure.
        """
        if kind not in ("counts", "weights"):
            raise ValueError(f'kind={kind!r} must be "counts" or "weights".')
        self.ax_: Axes = new_axes(ax)
        self.figure_: Figure | SubFigure = self.ax_.figure
        self.score_ax_: Axes | None = None
        self.lines_: dict[Any, Line2D] = {}
        self.ax_.set_xscale("log")
        self.ax_.set_xlabel("radius of the l1 ball")
        self.ax_.grid(True, which="major", color="0.9", linewidth=0.8)
        self.ax_.set_axisbelow(True)
        if kind == "counts":
            self._draw_counts()
        else:
            self._draw_weights(n_weights)
        if self.path.validated:
            best = self.path.points[self.path.best_index_].radius
            self.ax_.axvline(best, color=GREEN, linewidth=1, alpha=0.6)
        return self

    def _draw_counts(self) -> None:
        self._draw(self.ax_, COUNTS)
        self.ax_.set_ylabel("number")
        self.ax_.set_ylim(bottom=0)
        known = {name: own for name, own in SCORES.items() if np.isfinite(self._values(name)).any()}
        if known:
            self.score_ax_ = self.ax_.twinx()
            self.score_ax_.set_ylabel("score")
            self._draw(self.score_ax_, known)
        self.ax_.legend(
            handles=list(self.lines_.values()),
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=2,
            frameon=False,
        )

    def _draw(self, ax: Axes, numbers: dict[str, tuple[str, str, str, str]]) -> None:
        for name, (label, colour, mark, dash) in numbers.items():
            (self.lines_[name],) = ax.plot(
                self.path.radii,
                self._values(name),
                dash,
                color=colour,
                marker=mark,
                markersize=4,
                label=label,
            )

    def _values(self, name: str) -> np.ndarray:
        return np.array([getattr(point, name) for point in self.path.points], dtype=float)

    def _draw_weights(self, n_weights: int) -> None:
        size = abs(self.path.weights).max(axis=0)
        size = np.asarray(size.todense() if hasattr(size, "todense") else size).ravel()
        chosen = np.argsort(-size, kind="stable")[: min(n_weights, np.count_nonzero(size))]
        profiles = self.path.weights[:, chosen].toarray()
        for k, profile in zip(chosen.tolist(), profiles.T, strict=True):
            colour = BLUE if profile[-1] >= 0 else ORANGE
            (self.lines_[k],) = self.ax_.plot(self.path.radii, profile, color=colour, alpha=0.7)
        self.ax_.axhline(0.0, color=GREY, linewidth=0.8)
        self.ax_.set_ylabel(f"weights (the {len(chosen)} largest)")
