"""Colours and axes that all pictures share."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from maxmargin.optional import optional_module

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
