"""Pictures of runs and of predictions. Matplotlib is imported when something is drawn, not before.

Colours are those of Okabe and Ito, which readers with any common colour vision tell apart; lines
differ in style too, and wrong letters in weight, so that nothing is said by colour alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin.result import History, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D

__all__ = ["ConvergenceDisplay", "has_matplotlib", "plot_words"]

BLUE, GREEN, ORANGE, GREY = "#0072B2", "#009E73", "#D55E00", "#555555"
HINT = "pip install 'maxmargin[plot]'"

LINE, GUTTER = 1.2, 1.0  # of `plot_words`, in widths of a letter

Horizontal = Literal["seconds", "epoch"]
Words = Sequence[Any]  # a sequence of letters (array, list, string) each


def has_matplotlib() -> bool:
    """Whether pictures can be drawn here."""
    return find_spec("matplotlib") is not None


def _axes(ax: Axes | None, size: tuple[float, float] | None = None) -> Axes:
    """The given axes, or those of a new pyplot figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"plotting needs matplotlib: {HINT}") from error
    return plt.subplots(figsize=size, layout="constrained")[1]


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
                "no record has a certificate: the solver does not bound the objective"
                " (the perceptron never does)."
            )
        ax = _axes(ax)
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


def plot_words(
    X: Sequence[np.ndarray],
    truth: Words,
    predictions: Mapping[str, Words],
    image_shape: tuple[int, int],
    *,
    columns: int = 1,
    ax: Axes | None = None,
) -> Axes:
    """Draw words as their letter images, over the true letters and those that models read.

    Wrong letters are bold, orange and underlined.

    Parameters
    ----------
    X : one array (length, n_pixels) a word, 0 = paper and 1 = ink.
    truth : the letters of each word.
    predictions : {name of a model: the letters that it read in each word}.
    image_shape : (height, width) of a letter, height * width = n_pixels.
    columns : words side by side.
    ax : axes to draw on; None means a new figure.
    """
    lines = {"truth": truth, **predictions}
    _check_words(X, lines, image_shape)
    # One unit is the width of a letter.
    tall = image_shape[0] / image_shape[1]
    names = 0.55 * max(len(name) for name in lines)
    across = names + max(len(x) for x in X) + GUTTER
    down = tall + LINE * len(lines) + GUTTER
    rows = -(-len(X) // columns)
    size = (across * min(columns, len(X)), down * rows - GUTTER)
    ax = _axes(ax, (0.3 * size[0], 0.3 * size[1] + 0.3))
    for i, x in enumerate(X):
        left, top = names + across * (i % columns), down * (i // columns)
        _images(ax, np.reshape(x, (len(x), *image_shape)), left, top, tall)
        for row, (name, words) in enumerate(lines.items()):
            y = top + tall + LINE * (row + 0.6)
            ax.text(left - 0.4, y, name, ha="right", va="center", fontsize="small", color=GREY)
            for place, (letter, right) in enumerate(zip(words[i], truth[i], strict=True)):
                _letter(ax, left + place + 0.5, y, str(letter), letter == right)
    ax.set(xlim=(0, size[0]), ylim=(size[1], 0), aspect="equal")
    ax.axis("off")
    return ax


def _images(ax: Axes, letters: np.ndarray, left: float, top: float, tall: float) -> None:
    count = len(letters)
    ax.imshow(
        np.concatenate(list(letters), axis=1),
        cmap="gray_r",
        vmin=0,
        vmax=1,
        interpolation="nearest",
        extent=(left, left + count, top + tall, top),
    )
    ax.vlines(left + np.arange(count + 1), top, top + tall, color="0.75", linewidth=0.6)


def _letter(ax: Axes, x: float, y: float, letter: str, right: bool) -> None:
    style: dict[str, Any] = {} if right else {"color": ORANGE, "weight": "bold"}
    ax.text(x, y, letter, ha="center", va="center", family="monospace", **style)
    if not right:
        ax.plot([x - 0.3, x + 0.3], [y + 0.5, y + 0.5], "-", color=ORANGE, linewidth=1.2)


def _check_words(
    X: Sequence[np.ndarray],
    lines: Mapping[str, Words],
    image_shape: tuple[int, int],
) -> None:
    if len(X) == 0:
        raise ValueError("there are no words to draw.")
    height, width = image_shape
    for i, x in enumerate(X):
        if np.ndim(x) != 2 or np.shape(x)[1] != height * width:
            raise ValueError(
                f"word {i}: x has shape {np.shape(x)}, expected (length, {height * width})"
                f" for letters of {height} x {width} pixels."
            )
    for name, words in lines.items():
        if len(words) != len(X):
            raise ValueError(f"{name} has {len(words)} words, X has {len(X)}.")
        for i, (word, x) in enumerate(zip(words, X, strict=True)):
            if len(word) != len(x):
                raise ValueError(f"word {i}: {name} has {len(word)} letters but x has {len(x)}.")
