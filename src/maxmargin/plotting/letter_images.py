"""Words as images of their letters, over what models read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.exceptions import SampleError
from maxmargin.plotting.style import GREY, ORANGE, Display, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINE, GUTTER = 1.2, 1.0  # in widths of a letter

Words = Sequence[Any]  # a sequence of letters (array, list, string) each


class WordsDisplay(Display):
    """Plot of words as letter images, with the true letters and those that models predict.

    Wrong letters are bold, orange and underlined. Use `from_estimator` or `from_predictions` to
    create one.

    Parameters
    ----------
    X : sequence of ndarray of shape (length, n_pixels)
        Letter images of each word, 0 = paper and 1 = ink.
    truth : sequence of sequences of str
        True letters of each word.
    predictions : dict
        {name of a model: the letters that it predicts for each word}.
    image_shape : tuple (height, width)
        Size of a letter image; height * width = n_pixels.
    """

    def __init__(
        self,
        X: Sequence[np.ndarray],
        truth: Words,
        predictions: Mapping[str, Words],
        image_shape: tuple[int, int],
    ):
        self.X = X
        self.truth = truth
        self.predictions = predictions
        self.image_shape = image_shape

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Sequence[np.ndarray],
        y: Words,
        image_shape: tuple[int, int],
        *,
        columns: int = 1,
        ax: Axes | None = None,
    ) -> WordsDisplay:
        """Plot the letters that one or several fitted models predict.

        Parameters
        ----------
        estimator : estimator or dict of estimators
            A fitted model, or {name: model}.
        y : sequence of sequences of str
            True letters of each word.
        """
        models = estimator if isinstance(estimator, Mapping) else {"read as": estimator}
        predictions = {name: model.predict(X) for name, model in models.items()}
        return cls(X, y, predictions, image_shape).plot(columns=columns, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        X: Sequence[np.ndarray],
        y: Words,
        predictions: Words | Mapping[str, Words],
        image_shape: tuple[int, int],
        *,
        columns: int = 1,
        ax: Axes | None = None,
    ) -> WordsDisplay:
        """Plot letters that one or several models predicted.

        Parameters
        ----------
        y : sequence of sequences of str
            True letters of each word.
        predictions : sequence of sequences of str or dict of these
            Predicted letters of each word, or {name: letters}.
        """
        named = predictions if isinstance(predictions, Mapping) else {"read as": predictions}
        return cls(X, y, named, image_shape).plot(columns=columns, ax=ax)

    def plot(self, *, columns: int = 1, ax: Axes | None = None) -> WordsDisplay:
        """Draw the words.

        Parameters
        ----------
        columns : int, default=1
            Number of words side by side.
        """
        lines = {"truth": self.truth, **self.predictions}
        _check_words(self.X, lines, self.image_shape)
        # One unit is the width of a letter.
        tall = self.image_shape[0] / self.image_shape[1]
        names = 0.55 * max(len(name) for name in lines)
        across = names + max(len(x) for x in self.X) + GUTTER
        down = tall + LINE * len(lines) + GUTTER
        rows = -(-len(self.X) // columns)
        # and the last underline
        size = (across * min(columns, len(self.X)), down * rows - GUTTER + 0.2)
        ax = new_axes(ax, (0.3 * size[0], 0.3 * size[1] + 0.3))
        for i, x in enumerate(self.X):
            left, top = names + across * (i % columns), down * (i // columns)
            _images(ax, np.reshape(x, (len(x), *self.image_shape)), left, top, tall)
            _readings(ax, {name: words[i] for name, words in lines.items()}, left, top + tall)
        ax.set(xlim=(0, size[0]), ylim=(size[1], 0), aspect="equal")
        ax.axis("off")
        self.ax_ = ax
        return self


def _readings(ax: Axes, lines: Mapping[str, Any], left: float, top: float) -> None:
    """The letters of one word: the truth and what each model read, a line each."""
    for row, (name, word) in enumerate(lines.items()):
        y = top + LINE * (row + 0.6)
        ax.text(left - 0.4, y, name, ha="right", va="center", fontsize="small", color=GREY)
        for place, (letter, right) in enumerate(zip(word, lines["truth"], strict=True)):
            _letter(ax, left + place + 0.5, y, str(letter), letter == right)


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
    X: Sequence[np.ndarray], lines: Mapping[str, Words], image_shape: tuple[int, int]
) -> None:
    if len(X) == 0:
        raise ValueError("there are no words to draw.")
    height, width = image_shape
    for i, x in enumerate(X):
        if np.ndim(x) != 2 or np.shape(x)[1] != height * width:
            raise SampleError.of(
                i,
                f": x has shape {np.shape(x)}, expected (length, {height * width})"
                f" for letters of {height} x {width} pixels.",
                noun="word",
            )
    for name, words in lines.items():
        if len(words) != len(X):
            raise ValueError(f"{name} has {len(words)} words, X has {len(X)}.")
        for i, (word, x) in enumerate(zip(words, X, strict=True)):
            if len(word) != len(x):
                raise SampleError.of(
                    i, f": {name} has {len(word)} letters but x has {len(x)}.", noun="word"
                )
