"""How models change along a path: over radii, penalties, or the epochs of one run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from maxmargin.plotting.style import BLUE, GREEN, GREY, ORANGE, Display, import_matplotlib, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

#: label, colour, mark and dash of a line
Look = tuple[str, str, str, str]
#: number of a point -> its look, by the kind of picture
LOOKS: dict[str, dict[str, Look]] = {
    "counts": {
        "n_nonzero": ("weights not zero", BLUE, "o", "-"),
        "n_features": ("features in use", ORANGE, "s", "-"),
    },
    "objective": {
        "primal": ("objective", BLUE, "o", "-"),
        "dual": ("lower bound", ORANGE, "s", "--"),
        "hinge": ("hinge loss", GREY, "v", ":"),
    },
    "norm": {"norm_w": ("|w|", BLUE, "o", "-")},
    "error": {
        "train_error": ("error, training", GREY, "v", ":"),
        "validation_error": ("error, validation", GREEN, "^", "--"),
    },
}
SCORES: dict[str, Look] = {
    "train_score": ("score, training", GREY, "v", ":"),
    "validation_score": ("score, validation", GREEN, "^", "--"),
}
KINDS = (*LOOKS, "weights")
PANELS = ("objective", "norm", "error")
PARAMETERS = {
    "radius": "radius of the l1 ball",
    "alpha": "alpha (large on the left)",
    "n_epochs": "epochs",
}
#: what is free above the highest point, as a share of it
HEADROOM = 0.05


def path_values(path: Any, name: str) -> np.ndarray:
    """A number of all points; errors are 1 - score."""
    if name.endswith("_error"):
        return 1.0 - path_values(path, name.replace("_error", "_score"))
    return np.array([getattr(point, name) for point in path.points], dtype=float)


class PathDisplay(Display):
    """Plot of objective, norm and errors, or of the weights, along a path.

    Models that hold between breakpoints are drawn as steps, breakpoints as thin lines. Use
    `from_path` to create one.

    Parameters
    ----------
    path : Path
        Result of a function of `maxmargin.paths`.

    Attributes
    ----------
    axes_ : dict of matplotlib Axes
        {kind: axes}.
    score_ax_ : matplotlib Axes or None
        Axes of the scores, on the right of "counts".
    lines_ : dict
        {name of a number, or index of a weight: its line}.
    best_line_ : matplotlib Line2D or None
        Vertical line at the best point in the last axes, which the legend names; None without
        validation scores.
    """

    def __init__(self, path: Any):
        self.path = path

    @classmethod
    def from_path(
        cls,
        path: Any,
        *,
        kind: Literal["counts", "weights", "objective", "norm", "error"] | None = None,
        n_weights: int = 20,
        ax: Axes | None = None,
    ) -> PathDisplay:
        """Plot a path."""
        return cls(path).plot(kind=kind, n_weights=n_weights, ax=ax)

    def plot(
        self,
        *,
        kind: Literal["counts", "weights", "objective", "norm", "error"] | None = None,
        n_weights: int = 20,
        ax: Axes | None = None,
    ) -> PathDisplay:
        """Draw the path.

        Parameters
        ----------
        kind : {"counts", "weights", "objective", "norm", "error"} or None, default=None
            "counts": numbers of weights and features in use, with scores on the right; "weights":
            profiles of single weights; "objective": with its bound and the hinge loss; "norm": of
            the weights; "error": 1 - score on training and validation data. None means "counts" for
            radii, else the last three below one another, or the first of them if `ax` is given.
        n_weights : int, default=20
            Number of profiles: those of the weights that are largest anywhere on the path.
        """
        if kind is not None and kind not in KINDS:
            raise ValueError(f"kind={kind!r} must be one of {', '.join(KINDS)}, or None.")
        self.score_ax_: Axes | None = None
        self.lines_: dict[Any, Line2D] = {}
        self.best_line_: Line2D | None
        self.axes_: dict[str, Axes] = self._axes(kind, ax)
        self.ax_ = next(iter(self.axes_.values()))
        last = list(self.axes_.values())[-1]
        for name, own in self.axes_.items():
            self.best_line_ = self._frame(own)
            if name == "weights":
                handles = self._draw_weights(own, n_weights)
            else:
                handles = self._draw_kind(own, name)
            if own is last and self.best_line_:
                handles.append(self.best_line_)
            self._name(own, handles, 2 if name == "counts" else len(handles))
        last.set_xlabel(PARAMETERS[self.path.parameter])
        return self

    def _axes(self, kind: str | None, ax: Axes | None) -> dict[str, Axes]:
        if kind is None and self.path.parameter == "radius":
            kind = "counts"
        if kind is not None or ax is not None:
            return {kind or PANELS[0]: new_axes(ax)}
        names = [name for name in PANELS if name != "error" or self._known(LOOKS[name])]
        found = import_matplotlib("pyplot").subplots(
            len(names), figsize=(6.4, 2.4 * len(names)), sharex=True, layout="constrained"
        )[1]
        return dict(zip(names, found, strict=True))

    def _frame(self, ax: Axes) -> Line2D | None:
        """Axes without curves; the line at the best point, if that is known."""
        ax.set_xscale("log")
        ax.grid(True, which="major", color="0.9", linewidth=0.8)
        ax.set_axisbelow(True)
        for alpha in self._ends()[1:-1] if self._stepped() else ():
            ax.axvline(alpha, color=GREY, linewidth=0.6, alpha=0.4, label="_breakpoint")
        if self.path.parameter == "alpha" and not ax.xaxis_inverted():
            ax.invert_xaxis()
        if not self.path.validated:
            return None
        best = self.path.values[self.path.best_index_]
        return ax.axvline(best, color=GREEN, linewidth=1, alpha=0.6, label="best, validation")

    def _known(self, looks: dict[str, Look]) -> dict[str, Look]:
        """Those numbers that are known somewhere."""
        return {
            name: look
            for name, look in looks.items()
            if np.isfinite(path_values(self.path, name)).any()
        }

    def _draw_kind(self, ax: Axes, kind: str) -> list[Line2D]:
        """Draw the numbers of this kind; the lines that a legend names."""
        known = self._known(LOOKS[kind])
        self._draw(ax, known)
        ax.set_ylabel("number" if kind == "counts" else "|w|" if kind == "norm" else kind)
        drawn = np.concatenate([[0.0], *(self._curve(name)[1] for name in known)])
        highest = float(drawn[np.isfinite(drawn)].max())
        ax.set_ylim(0, max(ax.get_ylim()[1], (1 + HEADROOM) * highest))
        handles = [self.lines_[name] for name in known]
        if kind == "counts":
            handles += self._draw_scores(ax)
        return handles if len(handles) > 1 else []

    @staticmethod
    def _name(ax: Axes, handles: list[Line2D], columns: int) -> None:
        """A legend above the axes, if there is anything to name."""
        if handles:
            ax.legend(
                handles=handles,
                loc="lower center",
                bbox_to_anchor=(0.5, 1.0),
                ncols=columns,
                frameon=False,
            )

    def _draw_scores(self, ax: Axes) -> list[Line2D]:
        known = {
            n: own for n, own in SCORES.items() if np.isfinite(path_values(self.path, n)).any()
        }
        if known:
            self.score_ax_ = ax.twinx()
            self.score_ax_.set_ylabel("score")
            self._draw(self.score_ax_, known)
        return [self.lines_[name] for name in known]

    def _draw(self, ax: Axes, numbers: dict[str, Look]) -> None:
        for name, (label, colour, mark, dash) in numbers.items():
            x, y = self._curve(name)
            (self.lines_[name],) = ax.plot(x, y, dash, color=colour, label=label, markersize=4)
            if not self._stepped():
                self.lines_[name].set_marker(mark)

    def _stepped(self) -> bool:
        return hasattr(self.path, "breakpoints")

    def _ends(self) -> np.ndarray:
        """Breakpoints, that at infinity brought near."""
        found = self.path.breakpoints.copy()
        if not np.isfinite(found[0]):
            found[0] = 3 * found[1]
        return found

    def _curve(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """A point each, or for models that hold between breakpoints, their whole steps."""
        values = path_values(self.path, name)
        if not self._stepped():
            return self.path.values, values
        ends = self._ends()
        if name in ("primal", "dual"):  # which change with alpha though the model does not
            x = np.geomspace(ends[0], ends[-1], 200)
            x[0], x[-1] = ends[0], ends[-1]
            return x, np.array([self.path.certificate(own)[name == "dual"] for own in x])
        return np.repeat(ends, 2)[1:-1], np.repeat(values, 2)

    def _draw_weights(self, ax: Axes, n_weights: int) -> list[Line2D]:
        size = abs(self.path.weights).max(axis=0)
        size = np.asarray(size.todense() if hasattr(size, "todense") else size).ravel()
        chosen = np.argsort(-size, kind="stable")[: min(n_weights, np.count_nonzero(size))]
        profiles = self.path.weights[:, chosen].toarray()
        for k, profile in zip(chosen.tolist(), profiles.T, strict=True):
            colour = BLUE if profile[-1] >= 0 else ORANGE
            (self.lines_[k],) = ax.plot(self.path.values, profile, color=colour, alpha=0.7)
        ax.axhline(0.0, color=GREY, linewidth=0.8)
        ax.set_ylabel(f"weights (the {len(chosen)} largest)")
        return []
