"""Base pairs of RNA as arcs above its bases, or as lines across a circle of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from maxmargin.drawing.arcs import Arc, compare_arcs, place_on_circle
from maxmargin.formats.rna import parse_dot_bracket
from maxmargin.plotting.style import BLUE, GREY, ORANGE, Display, import_matplotlib, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: bases up to which letters are drawn
MOST_LETTERS = 160


class FoldingDisplay(Display):
    """Plot of the base pairs of an RNA sequence.

    Pairs that are in the true structure are blue, others orange, those that were missed dashed. Use
    `from_estimator` or `from_predictions` to create one.

    Parameters
    ----------
    sequence : str
        Bases.
    predicted : str
        Predicted structure, as dot-brackets.
    structure : str or None, default=None
        True structure to compare with.
    kind : {"arcs", "circle"}, default="arcs"
        Arcs above the bases, with missed pairs below them; or lines across a circle.
    """

    def __init__(
        self,
        sequence: str,
        predicted: str,
        structure: str | None = None,
        kind: Literal["arcs", "circle"] = "arcs",
    ):
        self.sequence = sequence
        self.predicted = predicted
        self.structure = structure
        self.kind = kind

    @classmethod
    def from_estimator(
        cls,
        folder: Any,
        sequence: str,
        structure: str | None = None,
        *,
        kind: Literal["arcs", "circle"] = "arcs",
        ax: Axes | None = None,
    ) -> FoldingDisplay:
        """Plot the structure that a fitted `RNAFolder` predicts for a sequence.

        Parameters
        ----------
        folder : RNAFolder
            A fitted folder.
        kind : {"arcs", "circle"}, default="arcs"
            How pairs are drawn.
        """
        [predicted] = folder.predict([sequence])
        return cls.from_predictions(sequence, predicted, structure, kind=kind, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        sequence: str,
        predicted: str,
        structure: str | None = None,
        *,
        kind: Literal["arcs", "circle"] = "arcs",
        ax: Axes | None = None,
    ) -> FoldingDisplay:
        """Plot a predicted structure, from any source.

        Parameters
        ----------
        kind : {"arcs", "circle"}, default="arcs"
            How pairs are drawn.
        """
        return cls(sequence, predicted, structure, kind).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> FoldingDisplay:
        """Draw the plot."""
        if self.kind not in ("arcs", "circle"):
            raise ValueError(f"kind={self.kind!r} must be 'arcs' or 'circle'.")
        n, circle = len(self.sequence), self.kind == "circle"
        predicted = _pairs(self.predicted, n, "predicted")
        truth = None if self.structure is None else _pairs(self.structure, n, "structure")
        drawn = compare_arcs(predicted, truth)
        places = np.array(place_on_circle(n) if circle else [(t, 0) for t in range(n)], dtype=float)
        places = places.reshape(-1, 2) * [1.0, -1.0]
        self.ax_ = new_axes(ax, (5.0, 5.0) if circle else (min(2 + 0.08 * n, 16.0), 4.0))
        lines = import_matplotlib("collections").LineCollection
        for own, colour, side, style in zip(
            drawn, (BLUE, ORANGE, GREY), (1, 1, -1), ("-", "-", "--"), strict=True
        ):
            paths = [_path(places[list(arc.sides)], 0 if circle else side) for arc in own]
            self.ax_.add_collection(lines(paths, colors=colour, linestyles=style, linewidths=1.1))
        if n <= MOST_LETTERS:
            for base, place in zip(self.sequence, places, strict=True):
                x, y = place * 1.05 if circle else place
                self.ax_.text(x, y, base, ha="center", va="center", fontsize=6, parse_math=False)
        self.ax_.autoscale_view()
        self.ax_.margins(0.08)
        if circle:
            turn = np.linspace(0.0, 2.0 * np.pi, 100)
            self.ax_.plot(np.cos(turn), np.sin(turn), color=GREY, linewidth=0.5)
            self.ax_.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15))
        self.ax_.set_aspect("equal")
        self.ax_.set_axis_off()
        return self


def _pairs(structure: str, n: int, name: str) -> list[Arc]:
    if len(structure) != n:
        raise ValueError(f"{name} has {len(structure)} places, but the sequence has {n} bases.")
    try:
        return [Arc(i, j) for i, j in parse_dot_bracket(structure)]
    except ValueError as error:
        raise ValueError(f"{name}: {error}.") from None


def _path(ends: np.ndarray, side: int) -> np.ndarray:
    """A half circle between two places, above or below them, or a line (0)."""
    turn = np.linspace(np.pi, 0.0, 24 if side else 2)
    half = (ends[1] - ends[0]) / 2
    across = np.array([-half[1], half[0]]) * side
    return ends.mean(axis=0) + np.cos(turn)[:, None] * half + np.sin(turn)[:, None] * across
