"""Colours, axes and docstrings that all plots share."""

from __future__ import annotations

import inspect
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from maxmargin.optional import optional_module
from maxmargin.validation.docstrings import complete_docstring, complete_methods

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

BLUE, GREEN, ORANGE, PURPLE, GREY = "#0072B2", "#009E73", "#D55E00", "#CC79A7", "#555555"
#: for one run, solver or model after the other; the marks tell them apart without colour
SERIES = (BLUE, ORANGE, GREEN, PURPLE, "#E69F00", "#56B4E9", GREY)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
HINT = "pip install 'maxmargin[plot]'"


def has_matplotlib() -> bool:
    """Return whether matplotlib is installed.

    Returns
    -------
    bool
        True if plots can be drawn.
    """
    return find_spec("matplotlib") is not None


def import_matplotlib(part: str) -> Any:
    """A module of matplotlib, imported when something is drawn."""
    return optional_module(f"matplotlib.{part}", f"plotting needs matplotlib: {HINT}")


def new_axes(ax: Axes | None, size: tuple[float, float] | None = None) -> Axes:
    """Return the given axes, or those of a new pyplot figure."""
    if ax is not None:
        return ax
    return import_matplotlib("pyplot").subplots(figsize=size, layout="constrained")[1]


class Display:
    """A plot: class methods make one, `plot` draws it. All of them return it.

    Parameters
    ----------
    ax : matplotlib Axes or None, default=None
        Axes to draw on; None means a new figure.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the plot, the first of several.
    figure_ : matplotlib Figure
        Figure of the plot.
    """

    ax_: Axes

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        complete_docstring(cls)
        complete_methods(cls)
        for name, own in vars(cls).items():
            method = getattr(own, "__func__", own)
            text = inspect.cleandoc(getattr(method, "__doc__", None) or "")
            if text and "Returns\n---" not in text and (name == "plot" or name.startswith("from_")):
                returns = f"Returns\n-------\n{cls.__name__}\n    The plot.\n"
                method.__doc__ = f"{text}\n\n{returns}"

    @property
    def figure_(self) -> Figure | SubFigure:
        return self.ax_.figure
