"""Dependency trees as arcs above the words of a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from maxmargin.drawing.arcs import Arc, compare_arcs, stack_arcs
from maxmargin.plotting.style import BLUE, GREY, ORANGE, Display, import_matplotlib, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: widths of a letter and of a space between words, and heights of a level of arcs, in inches
LETTER, SPACE, LEVEL = 0.095, 0.18, 0.24


class DependencyDisplay(Display):
    """Plot of a dependency tree: arcs from heads to dependents, above the words.

    Arcs that are in the true tree are blue, others orange; dashed arcs below the words are those of
    the true tree that were missed. Use `from_estimator` or `from_predictions` to create one.

    Parameters
    ----------
    words : sequence of str
        Words of the sentence.
    predicted : list of (int, str)
        Predicted tree: for each word its head, from 1, 0 for the root, and its relation.
    tree : list of (int, str) or None, default=None
        True tree to compare with.
    """

    def __init__(self, words: Sequence[str], predicted: Sequence[Any], tree: Any = None):
        self.words = words
        self.predicted = predicted
        self.tree = tree

    @classmethod
    def from_estimator(
        cls, parser: Any, sentence: Sequence[Any], tree: Any = None, *, ax: Axes | None = None
    ) -> DependencyDisplay:
        """Plot the tree that a fitted `DependencyParser` predicts for a sentence.

        Parameters
        ----------
        parser : DependencyParser
            A fitted parser.
        sentence : sequence of tokens
            The sentence, as the parser takes it.
        """
        [predicted] = parser.predict([sentence])
        return cls.from_predictions(sentence, predicted, tree, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        sentence: Sequence[Any],
        predicted: Sequence[Any],
        tree: Any = None,
        *,
        ax: Axes | None = None,
    ) -> DependencyDisplay:
        """Plot a predicted tree of a sentence, from any source.

        Parameters
        ----------
        sentence : sequence of tokens
            Tokens as strings, as tuples that begin with the form, or as dicts with a form.
        """
        words = [_form(token) for token in sentence]
        return cls(words, predicted, tree).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> DependencyDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None means a new figure that fits the sentence.
        """
        n = len(self.words)
        predicted = _arcs(self.predicted, n, "predicted")
        truth = None if self.tree is None else _arcs(self.tree, n, "tree")
        self.ax_ = draw_arcs(ax, self.words, predicted, truth)
        return self


def draw_arcs(
    ax: Axes | None, words: Sequence[str], predicted: list[Arc], truth: list[Arc] | None
) -> Axes:
    """Draw predicted arcs above the words, and those of the truth that were missed below."""
    _, wrong, missed = compare_arcs(predicted, truth)
    above, below = stack_arcs(predicted), stack_arcs(missed)
    places, right = _place_words(words)
    top, low = max(above.values(), default=1), max(below.values(), default=0)
    ax = new_axes(ax, (max(right, 1.0), LEVEL * (top + low + 3.5)))
    for word, x in zip(words, places, strict=True):
        ax.text(x, -0.5, word, ha="center", va="center", fontsize=9, parse_math=False)
    for arc, level in above.items():
        _draw_arc(ax, arc, places, 0.0, level, ORANGE if arc in wrong else BLUE)
    for arc, level in below.items():
        _draw_arc(ax, arc, places, -1.0, -level, GREY, linestyle="--")
    ax.set(xlim=(0, max(right, 1.0)), ylim=(-low - 2, top + 1))
    ax.set_axis_off()
    return ax


def _form(token: Any) -> str:
    if isinstance(token, str):
        return token
    return token["form"] if isinstance(token, Mapping) else token[0]


def _arcs(tree: Sequence[Any], n: int, name: str) -> list[Arc]:
    """The arcs of a tree of n words."""
    if len(tree) != n:
        raise ValueError(f"{name} has {len(tree)} heads, but the sentence has {n} words.")
    arcs = [Arc(int(head) - 1, t, str(relation)) for t, (head, relation) in enumerate(tree)]
    for arc in arcs:
        if not -1 <= arc.start < n:
            raise ValueError(f"{name}: word {arc.end + 1} has head {arc.start + 1} of {n} words.")
    return arcs


def _place_words(words: Sequence[str]) -> tuple[list[float], float]:
    """The middle of each word, and the end of the last, in inches."""
    places, x = [], SPACE
    for word in words:
        width = LETTER * max(len(word), 3)
        places.append(x + width / 2)
        x += width + SPACE
    return places, x


def _draw_arc(
    ax: Axes, arc: Arc, places: Sequence[float], base: float, level: float, colour: str, **line: Any
) -> None:
    patches, Path = import_matplotlib("patches"), import_matplotlib("path").Path
    end, at = places[arc.end], base + level
    start = places[arc.start] if arc.start >= 0 else end
    side = 0.0 if start == end else min(abs(start - end) / 2, 0.12) * (1 if start < end else -1)
    left, tip = start + side / 4, end - side / 4
    corners = [(left, base), (left, at), (start + side, at), (end - side, at), (tip, at)]
    moves = [Path.MOVETO, Path.CURVE3, Path.CURVE3, Path.LINETO, Path.CURVE3, Path.CURVE3]
    path = Path([*corners, (tip, base)], moves)
    if not side:
        path = Path([(end, at), (end, base)])
    ax.add_patch(
        patches.FancyArrowPatch(
            path=path, arrowstyle="-|>", mutation_scale=7, color=colour, linewidth=1.1, **line
        )
    )
    ax.text((start + end) / 2, at, arc.label, ha="center", va="bottom" if level > 0 else "top",
            fontsize=7, color=colour, parse_math=False)  # fmt: skip
