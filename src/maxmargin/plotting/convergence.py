"""How objective, bound, gap and errors go along one run or several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.plotting.style import BLUE, GREEN, GREY, MARKERS, ORANGE, SERIES, Display, new_axes
from maxmargin.result import History, Record, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

Horizontal = Literal["seconds", "epoch", "n_oracle", "n_project"]
ACROSS = {
    "seconds": "training time (seconds)",
    "epoch": "epochs",
    "n_oracle": "oracle calls",
    "n_project": "projections",
}
#: y -> what is drawn of each record, and the axis' label
QUANTITIES = {
    "objective": (("primal", "dual"), "objective and bound"),
    "gap": (("gap",), "gap"),
    "error": (("train_error", "validation_error"), "error"),
}
DASHES = ("-", "--", ":", "-.")


class ConvergenceDisplay(Display):
    """Plot of the convergence of one or several training runs.

    For one run, y="objective" draws the objective, its lower bound and their gap; the optimum lies
    in the shaded band between the first two. For several runs, it draws the objectives as solid
    lines and the bounds as dashed ones. Use `from_result` or `from_estimator` to create one.

    Parameters
    ----------
    histories : dict of History
        {name of a run: its records}. Records without a number are omitted from that number's line.

    Attributes
    ----------
    lines_ : dict
        {name of a run: {name of a number: its line}}.
    """

    def __init__(self, histories: Mapping[str, History]):
        self.histories = dict(histories)

    @classmethod
    def from_result(
        cls,
        result: Result | Mapping[str, Result],
        *,
        x: Horizontal = "seconds",
        y: str = "objective",
        log: bool = True,
        ax: Axes | None = None,
    ) -> ConvergenceDisplay:
        """Plot the training runs of one or several results.

        Parameters
        ----------
        result : Result or dict of Result
            The result of a run, or {name: result}.
        """
        if isinstance(result, Result):
            result = {result.state.solver or "run": result}
        histories = {name: own.history for name, own in result.items()}
        return cls(histories).plot(x=x, y=y, log=log, ax=ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        x: Horizontal = "seconds",
        y: str = "objective",
        log: bool = True,
        ax: Axes | None = None,
    ) -> ConvergenceDisplay:
        """Plot the training runs of one or several estimators.

        Parameters
        ----------
        estimator : estimator or dict of estimators
            A fitted estimator, or {name: estimator}.
        """
        several = isinstance(estimator, Mapping)
        for own in estimator.values() if several else (estimator,):
            check_is_fitted(own, "result_")
        result: Any
        if several:
            result = {name: own.result_ for name, own in estimator.items()}
        else:
            result = estimator.result_
        return cls.from_result(result, x=x, y=y, log=log, ax=ax)

    def plot(
        self,
        *,
        x: Horizontal = "seconds",
        y: str = "objective",
        log: bool = True,
        ax: Axes | None = None,
    ) -> ConvergenceDisplay:
        """Draw the runs.

        Parameters
        ----------
        x : {"seconds", "epoch", "n_oracle", "n_project"}, default="seconds"
            Horizontal axis; seconds of training do not include those of certificates.
        y : str, default="objective"
            "objective" (with the bound), "gap", "error" (of training, and 1 - validation score), or
            any quantity of the records, such as one that a `Recorder` added.
        log : bool, default=True
            Whether the vertical axis is logarithmic; numbers below zero are then not drawn.
        """
        if x not in ACROSS:
            raise ValueError(f"x={x!r} must be one of {', '.join(map(repr, ACROSS))}.")
        names, label = QUANTITIES.get(y, ((y,), y))
        alone = len(self.histories) == 1
        if alone and y == "objective":
            names, label = ("primal", "dual", "gap"), "objective, bound and gap"
        series = self._series(x, y, names)
        ax = new_axes(ax)
        self.ax_ = ax
        if log:
            ax.set_yscale("log", nonpositive="mask")
        if alone and y == "objective":
            self._draw_one(series)
        else:
            self._draw_many(series)
        ax.set_xlabel(ACROSS[x])
        ax.set_ylabel(label)
        ax.grid(True, which="major", color="0.9", linewidth=0.8)
        ax.set_axisbelow(True)
        ax.legend(frameon=False)
        return self

    def _series(
        self, x: str, y: str, names: Iterable[str]
    ) -> dict[str, dict[str, tuple[np.ndarray, np.ndarray]]]:
        """For each run, the numbers that are known of it, each with where it was measured."""
        found: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]] = {}
        for run, history in self.histories.items():
            rows = [(getattr(record, x), _metrics(record)) for record in history]
            found[run] = {}
            for name in names:
                known = [(at, own[name]) for at, own in rows if _known(own, name, y)]
                if known:
                    found[run][name] = (np.array([p[0] for p in known]),
                                        np.array([p[1] for p in known]))  # fmt: skip
        if not any(found.values()):
            raise ValueError(_nothing(y, self.histories))
        return found

    def _draw_one(self, series: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]]) -> None:
        (run, known), ax = next(iter(series.items())), self.ax_
        styles = {
            "primal": ("-", BLUE, "objective (primal)"),
            "dual": ("--", GREEN, "lower bound (dual)"),
            "gap": (":", ORANGE, "gap"),
        }
        lines = {}
        for name, (dash, colour, label) in styles.items():
            (lines[name],) = ax.plot(
                *known[name], dash, color=colour, label=label, marker="o", markersize=3.5
            )
        across, dual = known["dual"]
        shown = np.where((dual > 0) | (ax.get_yscale() != "log"), dual, np.nan)
        ax.fill_between(across, shown, known["primal"][1], color=GREY, alpha=0.15, linewidth=0)
        self.lines_: dict[str, dict[str, Line2D]] = {run: lines}

    def _draw_many(self, series: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]]) -> None:
        self.lines_ = {}
        several = len(series) > 1
        for number, (run, known) in enumerate(series.items()):
            self.lines_[run] = {}
            for dash, (name, (across, values)) in zip(DASHES, known.items(), strict=False):
                label = f"{run}, {name.replace('_', ' ')}" if several else name.replace("_", " ")
                (self.lines_[run][name],) = self.ax_.plot(
                    across,
                    values,
                    dash,
                    color=SERIES[number % len(SERIES)],
                    marker=MARKERS[number % len(MARKERS)],
                    markersize=4,
                    label=label,
                )


def _metrics(record: Record) -> dict[str, float]:
    return record.metrics() | {"validation_error": 1.0 - record.validation_score}


def _known(metrics: dict[str, float], name: str, y: str) -> bool:
    """Whether a record has the number; an objective counts only with its certificate."""
    value = metrics.get(name)
    if value is None or not np.isfinite(value):
        return False
    return y != "objective" or bool(np.isfinite(metrics["gap"]))


def _nothing(y: str, histories: Mapping[str, History]) -> str:
    if y in ("objective", "gap"):
        return (
            "no record has a certificate: perceptrons bound nothing, and without a penalty"
            " (alpha > 0) or a bounded domain no solver does."
        )
    if y == "error":
        return "no record has an error: add one by a Recorder, or give EarlyStopping."
    metrics = sorted(
        {name for history in histories.values() for own in history for name in _metrics(own)}
    )
    return f"no record has y={y!r}; they have {', '.join(metrics) or 'nothing'}."
