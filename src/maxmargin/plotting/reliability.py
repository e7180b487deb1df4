"""How often labels are right, by the probability that a model gives them."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.exceptions import SampleError, UncalibratedWarning
from maxmargin.metrics import ReliabilityTable, reliability
from maxmargin.metrics.calibration import Strategy
from maxmargin.plotting.style import GREY, MARKERS, SERIES, Display, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

#: what tells lines apart without colour, besides their marks
DASHES = ("-", "--", ":", "-.")


class ReliabilityDisplay(Display):
    """Reliability diagram: accuracy over confidence.

    On the diagonal, probabilities are frequencies; below it, a model is overconfident, above it
    underconfident. The strip below shows the distribution of the probabilities, as a curve with
    unit area. Use `from_estimator` or `from_predictions` to create one.

    Parameters
    ----------
    tables : dict of ReliabilityTable
        {name: table}; see `metrics.reliability`.
    label : hashable or None, default=None
        The label whose probability is drawn; None means the most probable one.

    Attributes
    ----------
    counts_ax_ : matplotlib Axes
        Axes of the strip.
    lines_ : dict
        {name: its line}.
    """

    def __init__(self, tables: Mapping[str, ReliabilityTable], label: Hashable = None):
        self.tables = dict(tables)
        self.label = label

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        probabilities: Any,
        *,
        n_bins: int = 15,
        strategy: Strategy = "uniform",
        labels: Sequence[Hashable] | None = None,
        label: Hashable = None,
        ax: Axes | None = None,
    ) -> ReliabilityDisplay:
        """Plot the probabilities of one or several models.

        Parameters
        ----------
        y_true : iterable of array_like
            True labels of each sample.
        probabilities : iterable of array_like or dict of these
            Probabilities, as for `metrics.reliability`, or {name: probabilities}.
        n_bins : int, default=15
            Number of bins.
        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of equal width from 0 to 1, or of about equal counts.
        labels : sequence of hashable or None, default=None
            Labels of the columns; None means those of y_true, sorted.
        """
        several = probabilities if isinstance(probabilities, Mapping) else {"": probabilities}
        tables = {
            name: reliability(y_true, own, n_bins, strategy, labels=labels, label=label)
            for name, own in several.items()
        }
        return cls(tables, label).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        n_bins: int = 15,
        strategy: Strategy = "uniform",
        label: Hashable = None,
        ax: Axes | None = None,
    ) -> ReliabilityDisplay:
        """Plot the probabilities of one or several fitted estimators.

        For a calibrated estimator, the probabilities before calibration are drawn, too. For links,
        the probability of a link is drawn, links that are possible but not sure excluded.

        Parameters
        ----------
        estimator : estimator or dict of estimators
            A fitted estimator, or {name: estimator}.
        X : sequence of samples
            Samples that neither `fit` nor `calibrate` has seen.
        y : sequence of outputs
            True outputs in the form that `fit` takes.
        n_bins : int, default=15
            Number of bins.
        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of equal width from 0 to 1, or of about equal counts.
        """
        several = estimator if isinstance(estimator, Mapping) else {"": estimator}
        shown: dict[str, Any] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UncalibratedWarning)  # the drawing shows how far
            for name, own in several.items():
                calibrated = getattr(own, "temperature_", 1.0) != 1.0
                if calibrated:
                    shown[f"{name}, before".lstrip(", ")] = _at_one(own).predict_marginals(X)
                last = f"{name}, calibrated".lstrip(", ") if calibrated else name
                shown[last] = own.predict_marginals(X)
        any_estimator = next(iter(several.values()))
        labels = getattr(any_estimator, "classes_", None)
        if labels is None:
            try:
                y, kept = _linked(X, y, next(iter(shown.values())))
            except SampleError:
                raise
            except (AttributeError, IndexError, TypeError, ValueError) as error:
                raise TypeError(
                    f"{type(any_estimator).__name__} has probabilities of neither labels nor links"
                    f" that y could be compared with ({error}). Use from_predictions, with the"
                    " probabilities of events and whether they happened."
                ) from error
            shown = {
                name: [own[mask] for own, mask in zip(p, kept, strict=True)]
                for name, p in shown.items()
            }
            labels, label = [0, 1], 1 if label is None else label
        return cls.from_predictions(
            y, shown, n_bins=n_bins, strategy=strategy, labels=labels, label=label, ax=ax
        )

    def plot(self, *, ax: Axes | None = None) -> ReliabilityDisplay:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on, with the strip below them; None means a new figure.
        """
        ax = new_axes(ax, (5.2, 6.2))
        self.ax_ = ax
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        strip = ax.inset_axes((0.0, -0.3, 1.0, 0.25), sharex=ax)  # layouts make room for it
        self.counts_ax_: Axes = strip
        self.lines_: dict[str, Line2D] = {}
        for number, (name, table) in enumerate(self.tables.items()):
            self._draw(number, name, table)
        what = "confidence" if self.label is None else f"probability of {self.label}"
        share = "right" if self.label is None else "true"
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), ylabel=f"share that is {share}")
        ax.tick_params(labelbottom=False)
        strip.set(xlabel=what, ylabel="density", ylim=(0, None))
        for own in (ax, strip):
            own.grid(True, color="0.9", linewidth=0.8)
            own.set_axisbelow(True)
        ax.legend(frameon=False, loc="best", title="calibration error", alignment="left")
        return self

    def _draw(self, number: int, name: str, table: ReliabilityTable) -> None:
        colour, known = SERIES[number % len(SERIES)], table.count > 0
        (self.lines_[name],) = self.ax_.plot(
            table.confidence[known],
            table.accuracy[known],
            DASHES[number % len(DASHES)],
            color=colour,
            marker=MARKERS[number % len(MARKERS)],
            markersize=5,
            label=f"{name}: {table.error:.3f}".lstrip(": "),
        )
        self.counts_ax_.stairs(
            table.count / np.diff(table.edges) / max(1, table.count.sum()),
            table.edges,
            color=colour,
            linestyle=DASHES[number % len(DASHES)],
            linewidth=1.5,
            fill=False,
        )


def _at_one(estimator: Any) -> Any:
    """The same estimator before it was calibrated."""
    found = copy(estimator)
    if hasattr(found, "model_"):
        found.model_ = _at_one(found.model_)
    else:
        found.temperature_ = 1.0
    return found


def _linked(X: Any, y: Any, probabilities: Any) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Links as zeros and ones, and which of them count, in the shape of their probabilities."""
    truth, kept = [], []
    for i, (x, own, p) in enumerate(zip(X, y, probabilities, strict=True)):
        pair = isinstance(own, tuple) and len(own) == 2 and isinstance(own[0], set | frozenset)
        sure, possible = own if pair else (own, ())
        on, open_ = (_switches(i, x, links, p.shape) for links in (sure, possible))
        mask = (on == 1) | (open_ == 0)
        truth.append(on[mask])
        kept.append(mask)
    return truth, kept


def _switches(i: int, x: Any, links: Any, shape: tuple[int, ...]) -> np.ndarray:
    pairs = np.asarray(sorted(map(tuple, links)), dtype=np.int64).reshape(-1, 2)
    if hasattr(x, "edges"):
        chosen = set(map(tuple, pairs.tolist()))
        return np.array([int(tuple(edge) in chosen) for edge in x.edges.tolist()])
    if len(shape) != 2 or (len(pairs) and (pairs.max(axis=0) >= shape).any()):
        raise SampleError.of(i, f": y is not a set of links between {shape}; use from_predictions.")
    found = np.zeros(shape, dtype=np.int64)
    found[pairs[:, 0], pairs[:, 1]] = 1
    return found
