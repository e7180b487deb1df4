"""Word alignments as a matrix of source words by target words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.metrics.links import Link, as_links, check_range, compare_links, link_set
from maxmargin.plotting.style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    Display,
    import_matplotlib,
    new_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CELL, PAD = 0.22, 0.06  # inches: of a cell, around everything
LONGEST = 18  # letters of a label


def _cross(arm: float, tip: float) -> np.ndarray:
    """Outline of a diagonal cross: a quarter of it, turned four times."""
    quarter = np.array([(0, arm), (tip - arm, tip), (tip, tip - arm)])
    turns = [np.array([(c, s), (-s, c)]) for c, s in ((1, 0), (0, -1), (-1, 0), (0, 1))]
    return np.vstack([quarter @ turn for turn in turns])


_ring = np.linspace(0, 2 * np.pi, 41)
# Outlines of the marks, in widths of a cell, and how they are filled.
SHAPES = {
    "square": 0.44 * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]),
    "dot": 0.25 * np.column_stack([np.cos(_ring), np.sin(_ring)]),
    "diamond": 0.29 * np.array([(0, -1), (1, 0), (0, 1), (-1, 0)]),
    "cross": _cross(0.09, 0.29),
}
STYLES: dict[str, tuple[str, dict[str, Any]]] = {
    "sure": ("square", {"facecolor": "#D5DCE4", "edgecolor": "none"}),
    "possible": ("square", {"facecolor": "none", "edgecolor": "#9A9A9A", "linewidth": 0.9}),
    "right": ("dot", {"facecolor": BLUE, "edgecolor": "none"}),
    "right (possible)": ("diamond", {"facecolor": GREEN, "edgecolor": "none"}),
    "wrong": ("cross", {"facecolor": ORANGE, "edgecolor": "none"}),
    "missed": ("dot", {"facecolor": "none", "edgecolor": PURPLE, "linewidth": 2.0}),
    "link": ("dot", {"facecolor": BLUE, "edgecolor": "none"}),
}


class AlignmentDisplay(Display):
    """Plot of word alignments: marks in a matrix of source words (rows) and target words (columns).

    Sure links are filled squares and possible ones outlined squares. Predicted links are blue dots
    where sure, green diamonds where possible, orange crosses where neither; purple rings are sure
    links that were missed. Words in a script that matplotlib's default font lacks need another:
    ``plt.rcParams["font.family"]``. Use `from_estimator` or `from_predictions` to create one.

    Parameters
    ----------
    source, target : sequence of str
        Tokens of the two sentences.
    predicted : iterable of (i, j)
        Predicted links, counted from 0.
    sure, possible : iterable of (i, j) or None, default=None
        Annotated links to compare with; sure links are possible, too.
    """

    def __init__(
        self,
        source: Sequence[str],
        target: Sequence[str],
        predicted: Iterable[Any],
        sure: Iterable[Any] | None = None,
        possible: Iterable[Any] | None = None,
    ):
        self.source = source
        self.target = target
        self.predicted = predicted
        self.sure = sure
        self.possible = possible

    @classmethod
    def from_estimator(
        cls,
        aligner: Any,
        pair: tuple[Sequence[str], Sequence[str]],
        links: Any = None,
        *,
        ax: Axes | None = None,
    ) -> AlignmentDisplay:
        """Plot the links that a fitted `WordAligner` predicts for a sentence pair.

        Parameters
        ----------
        aligner : WordAligner
            A fitted aligner.
        pair : tuple (source tokens, target tokens)
            The sentence pair.
        links : tuple (sure, possible), iterable of (i, j), or None, default=None
            Annotated links of the pair to compare with; plain links are sure.
        """
        [predicted] = aligner.predict([pair])
        return cls.from_predictions(pair, predicted, links, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        pair: tuple[Sequence[str], Sequence[str]],
        predicted: Iterable[Any],
        links: Any = None,
        *,
        ax: Axes | None = None,
    ) -> AlignmentDisplay:
        """Plot predicted links of a sentence pair, from any source.

        Parameters
        ----------
        pair : tuple (source tokens, target tokens)
            The sentence pair.
        links : tuple (sure, possible), iterable of (i, j), or None, default=None
            Annotated links of the pair to compare with; plain links are sure.
        """
        sure, possible = (None, None) if links is None else as_links(links)
        return cls(*pair, predicted, sure, possible).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> AlignmentDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None means a new figure that fits the sentences.
        """
        layers = self._layers()
        rows, columns = ([_cut(word) for word in words] for words in (self.source, self.target))
        self.ax_ = new_axes(ax)
        _words(self.ax_, rows, columns)
        for name, links in layers.items():
            _draw(self.ax_, name, links)
        _legend(self.ax_, layers)
        if ax is None:
            _fit(self.ax_)
        return self

    def _layers(self) -> dict[str, set[Link]]:
        """The links by what they are, in the order in which they are drawn."""
        compared = compare_links(self.predicted, self.sure, self.possible)
        check_range(compared.all(), len(self.source), len(self.target))
        if self.sure is None and self.possible is None:
            return {"link": compared.right}
        sure = link_set(() if self.sure is None else self.sure)
        return {
            "sure": sure,
            "possible": link_set(() if self.possible is None else self.possible) - sure,
            "right": compared.right,
            "right (possible)": compared.possible,
            "wrong": compared.wrong,
            "missed": compared.missed,
        }


def _fit(ax: Axes) -> None:
    """Give the figure the size that its cells, words and legend take.

    Matplotlib's own layout engines do not know how a fixed aspect moves labels and legend.
    """
    figure: Any = ax.figure
    figure.set_layout_engine("none")
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    inner = CELL * np.abs([right - left, high - low])
    figure.set_size_inches(4 * inner)
    ax.set_position((0.25, 0.25, 0.25, 0.25))
    around: Any = ax.get_tightbbox()
    cells = ax.get_window_extent()
    before = np.subtract(cells.min, around.min) / figure.dpi + PAD
    after = np.subtract(around.max, cells.max) / figure.dpi + PAD
    size = before + inner + after
    figure.set_size_inches(size)
    ax.set_position((*(before / size), *(inner / size)))


def _words(ax: Axes, rows: list[str], columns: list[str]) -> None:
    """Label rows and columns, and rule the cells."""
    # A word may hold dollar signs, which must not start a formula.
    style: dict[str, Any] = {"parse_math": False, "fontsize": 9}
    ax.set_yticks(range(len(rows)), rows, **style)
    ax.set_xticks(range(len(columns)), columns, rotation=60, ha="left", rotation_mode="anchor",
                  **style)  # fmt: skip
    ax.set_xticks(np.arange(len(columns) + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(len(rows) + 1) - 0.5, minor=True)
    ax.tick_params(which="both", length=0)
    ax.tick_params(axis="x", top=True, labeltop=True, labelbottom=False, pad=1)
    ax.grid(True, which="minor", color="0.9", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[:].set_color("0.75")
    # One cell at least, so that an empty sentence has axes, too.
    ax.set(xlim=(-0.5, max(len(columns), 1) - 0.5), ylim=(max(len(rows), 1) - 0.5, -0.5))
    ax.set_aspect("equal")


def _draw(ax: Axes, name: str, links: set[Link]) -> None:
    PolyCollection = import_matplotlib("collections").PolyCollection
    shape, style = STYLES[name]
    # In units of a cell, so that marks fit the cells whatever the size of the axes.
    outlines = [SHAPES[shape] + (j, i) for i, j in sorted(links)]
    zorder = 1.5 if shape == "square" else 2.5
    ax.add_collection(PolyCollection(outlines, label=name, zorder=zorder, **style), autolim=False)


def _legend(ax: Axes, layers: dict[str, set[Link]]) -> None:
    Line2D, Path = import_matplotlib("lines").Line2D, import_matplotlib("path").Path
    handles = []
    for name, links in layers.items():
        shape, style = STYLES[name]
        outline = SHAPES[shape]
        marker = Path(np.vstack([outline, outline[:1]]), closed=True)
        handles.append(
            Line2D(
                [],
                [],
                linestyle="",
                marker=marker,
                # a path's largest coordinate becomes half of this
                markersize=24 * np.abs(outline).max(),
                markerfacecolor=style["facecolor"],
                markeredgecolor=style["edgecolor"],
                markeredgewidth=style.get("linewidth", 0),
                label=f"{name}: {len(links)}",
            )
        )
    ax.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        frameon=False,
        fontsize=9,
        labelcolor=GREY,
        handletextpad=0.3,
    )


def _cut(word: str) -> str:
    return word if len(word) <= LONGEST else word[: LONGEST - 1] + "…"
