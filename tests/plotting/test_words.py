"""Words as pictures: the images are those given, and wrong letters stand out."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from maxmargin.datasets import make_words
from maxmargin.plotting import ORANGE, WordsDisplay


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_words_show_images_and_mark_wrong_letters():
    words = make_words(3, random_state=0)
    read = [np.array(list(w)) for w in words.y]
    wrong = "x" if read[1][0] != "x" else "y"
    read[1][0] = wrong
    ax = WordsDisplay.from_predictions(
        words.X, words.y, {"chain": read}, words.image_shape, columns=2
    ).ax_
    texts = [t for t in ax.texts if len(t.get_text()) == 1]
    assert len(texts) == 2 * sum(len(w) for w in words.y)
    marked = [t for t in texts if t.get_color() == ORANGE]
    assert [t.get_text() for t in marked] == [wrong]
    assert marked[0].get_weight() == "bold"
    assert len(ax.lines) == 1  # the underline
    assert [t.get_text() for t in ax.texts if len(t.get_text()) > 1] == ["truth", "chain"] * 3
    for image, x in zip(ax.images, words.X, strict=True):
        letters = np.split(np.asarray(image.get_array()), len(x), axis=1)
        np.testing.assert_array_equal([letter.ravel() for letter in letters], x)


def test_no_text_overlaps_and_all_is_inside():
    words = make_words(6, random_state=0)
    figure = Figure(figsize=(7, 4.6), layout="constrained")
    display = WordsDisplay(words.X, words.y, {"a": words.y, "b": words.y}, words.image_shape)
    ax = display.plot(columns=2, ax=figure.subplots()).ax_
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    for i, one in enumerate(boxes):
        assert figure.bbox.x0 <= one.x0 < one.x1 <= figure.bbox.x1
        # letters with descenders may come within a pixel or two of the line below
        assert not any(one.padded(-2).overlaps(other.padded(-2)) for other in boxes[:i])


@pytest.mark.parametrize(
    "change, message",
    [
        ({"X": []}, "no words"),
        ({"image_shape": (4, 4)}, r"word 0: x has shape \(2, 6\), expected \(length, 16\)"),
        ({"truth": ["ab", "c"]}, "truth has 2 words, X has 1"),
        ({"predictions": {"m": ["abc"]}}, "word 0: m has 3 letters but x has 2"),
    ],
)
def test_words_that_do_not_fit_are_refused(change, message):
    good = {
        "X": [np.zeros((2, 6))],
        "truth": ["ab"],
        "predictions": {"m": ["ab"]},
        "image_shape": (3, 2),
    }
    WordsDisplay(**good).plot()
    with pytest.raises(ValueError, match=message):
        WordsDisplay(**good | change).plot()


def test_models_are_asked_what_they_read():
    class Deaf:
        def predict(self, X):
            return ["?" * len(x) for x in X]

    words = make_words(2, random_state=0)
    display = WordsDisplay.from_estimator(Deaf(), words.X, words.y, words.image_shape)
    assert display.predictions == {"read as": ["?" * len(w) for w in words.y]}
    assert display.figure_ is display.ax_.figure
    marked = [t.get_text() for t in display.ax_.texts if t.get_color() == ORANGE]
    assert marked == ["?"] * sum(len(w) for w in words.y)
    two = WordsDisplay.from_estimator({"a": Deaf(), "b": Deaf()}, words.X, words.y, (16, 8))
    assert list(two.predictions) == ["a", "b"]
