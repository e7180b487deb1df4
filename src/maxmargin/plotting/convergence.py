"""How objective and bound approach each other along a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.plotting.style import BLUE, GREEN, GREY, ORANGE, new_axes
from maxmargin.result import History, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

Horizontal = Literal["seconds", "epoch"]


class ConvergenceDisplay:
    """Objective, its lower bound and their gap along a run, on a logarithmic axis.

    The best possible objective lies in the shaded band between bound and objective. Make one by
    `from_result` or `from_estimator`.

    Parameters
    ----------
    history : records of a run; those without a certificate are left out.

    Attributes
    ----------
    ax_, figure_ : where it is drawn. lines_ : {"primal", "dual", "gap"} to the lines. All are set
    by `plot`.
    """

    def __init__(self, history: History):
        self.history = history

    @classmethod
    def from_result(
        cls, result: Result, *, x: Horizontal = "seconds", ax: Axes | None = None
    ) -> ConvergenceDisplay:
        """Draw the run that gave `result`."""
        return cls(result.history).plot(x=x, ax=ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, x: Horizontal = "seconds", ax: Axes | None = None
    ) -> ConvergenceDisplay:
        """Draw the run that fitted `estimator`."""
        check_is_fitted(estimator, "result_")
        return cls.from_result(estimator.result_, x=x, ax=ax)

    def plot(self, *, x: Horizontal = "seconds", ax: Axes | None = None) -> ConvergenceDisplay:
        """Draw against training time (certificates not counted) or epochs.

        Parameters
        ----------
        x : "seconds" or "epoch".
        ax : axes to draw on; None means a new figure.
        """
        if x not in ("seconds", "epoch"):
            raise ValueError(f'x={x!r} must be "seconds" or "epoch".')
        records = [record for record in self.history if np.isfinite(record.gap)]
        if not records:
            raise ValueError(
                "no record has a certificate: perceptrons bound nothing, and without a penalty"
                " (alpha > 0) or a bounded domain no solver does."
            )
        ax = new_axes(ax)
        self.ax_: Axes = ax
        self.figure_: Figure | SubFigure = ax.figure
        across = [getattr(record, x) for record in records]
        primal, dual, gap = (
            np.array([getattr(record, name) for record in records])
            for name in ("primal", "dual", "gap")
        )
        ax.set_yscale("log", nonpositive="mask")
        marker: dict[str, Any] = {"marker": "o", "markersize": 3.5}
        (upper,) = ax.plot(across, primal, "-", color=BLUE, label="objective (primal)", **marker)
        (lower,) = ax.plot(across, dual, "--", color=GREEN, label="lower bound (dual)", **marker)
        (between,) = ax.plot(across, gap, ":", color=ORANGE, label="gap", **marker)
        self.lines_: dict[str, Line2D] = {"primal": upper, "dual": lower, "gap": between}
        shown = np.where(dual > 0, dual, np.nan)
        ax.fill_between(across, shown, primal, color=GREY, alpha=0.15, linewidth=0)
        ax.set_xlabel("training time (seconds)" if x == "seconds" else "epochs")
        ax.set_ylabel("objective, bound and gap")
        ax.grid(True, which="major", color="0.9", linewidth=0.8)
        ax.set_axisbelow(True)
        ax.legend(frameon=False)
        return self
