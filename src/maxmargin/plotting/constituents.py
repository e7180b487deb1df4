"""Constituents as arcs above the words of a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from maxmargin.drawing.arcs import Arc
from maxmargin.plotting.dependencies import draw_arcs
from maxmargin.plotting.style import Display
from maxmargin.validation.brackets import Node, clean_tree, list_constituents, parse_tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ConstituencyDisplay(Display):
    """Plot of a tree of constituents: arcs from the first word of each to its last.

    Constituents that are in the true tree are blue, others orange; dashed arcs below the words are
    those of the true tree that were missed. Use `from_estimator` or `from_predictions` to create
    one.

    Parameters
    ----------
    predicted : str
        Predicted tree, bracketed.
    tree : str or None, default=None
        True tree to compare with.
    """

    def __init__(self, predicted: str, tree: str | None = None):
        self.predicted = predicted
        self.tree = tree

    @classmethod
    def from_estimator(
        cls,
        parser: Any,
        sentence: Sequence[Any],
        tree: str | None = None,
        *,
        ax: Axes | None = None,
    ) -> ConstituencyDisplay:
        """Plot the tree that a fitted `ConstituencyParser` predicts for a sentence.

        Parameters
        ----------
        parser : ConstituencyParser
            A fitted parser.
        sentence : sequence of tokens
            The sentence, as the parser takes it.
        """
        return cls.from_predictions(parser.predict([sentence])[0], tree, ax=ax)

    @classmethod
    def from_predictions(
        cls, predicted: str, tree: str | None = None, *, ax: Axes | None = None
    ) -> ConstituencyDisplay:
        """Plot a predicted tree, from any source."""
        return cls(predicted, tree).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> ConstituencyDisplay:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on; None means a new figure that fits the sentence.
        """
        predicted = _read(self.predicted, "predicted")
        words, truth = [form for form, _ in predicted.words()], None
        if self.tree is not None:
            tree = _read(self.tree, "tree")
            if len(tree.words()) != len(words):
                raise ValueError(f"tree has {len(tree.words())} words, predicted {len(words)}.")
            truth = _arcs(tree)
        self.ax_ = draw_arcs(ax, words, _arcs(predicted), truth)
        return self


def _read(text: Any, name: str) -> Node:
    if not isinstance(text, str | Node):
        raise TypeError(f"{name} is a {type(text).__name__}, expected a bracketed tree.")
    found = clean_tree(parse_tree(text) if isinstance(text, str) else text)
    if found is None:
        raise ValueError(f"{name} has no words.")
    return found


def _arcs(tree: Node) -> list[Arc]:
    return [Arc(begin, end - 1, label) for begin, end, label in list_constituents(tree)]
