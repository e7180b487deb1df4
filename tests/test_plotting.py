"""Figures: what they show equals what was measured."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from maxmargin import MulticlassSVM
from maxmargin.datasets import make_words
from maxmargin.plotting import ORANGE, ConvergenceDisplay, has_matplotlib, plot_words
from maxmargin.result import History, Record


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    return MulticlassSVM(alpha=0.1).fit(X, X[:, :3].argmax(axis=1))


def record(**facts):
    base = {"epoch": 1, "seconds": 0.5, "n_oracle": 1, "n_project": 0, "norm_w": 1.0}
    return Record(**base | facts)


@pytest.mark.parametrize("x, label", [("seconds", "training time (seconds)"), ("epoch", "epochs")])
def test_lines_equal_the_history(model, x, label):
    display = ConvergenceDisplay.from_result(model.result_, x=x)
    history = model.result_.history
    assert len(history) > 2
    for name, line in display.lines_.items():
        np.testing.assert_array_equal(line.get_xdata(), [getattr(r, x) for r in history])
        np.testing.assert_array_equal(line.get_ydata(), [getattr(r, name) for r in history])
    assert set(display.lines_) == {"primal", "dual", "gap"}
    assert display.ax_.get_xlabel() == label
    assert display.ax_.get_ylabel()
    assert display.ax_.get_yscale() == "log"
    assert len(display.ax_.get_legend().get_texts()) == 3


def test_from_estimator_draws_on_the_given_axes(model):
    ax = Figure().subplots()
    display = ConvergenceDisplay.from_estimator(model, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert not plt.get_fignums()


def test_from_estimator_wants_a_fitted_one():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        ConvergenceDisplay.from_estimator(MulticlassSVM())


def test_records_without_certificate_are_left_out():
    history = History(
        [
            record(primal=2.0, dual=-1.0, gap=3.0),
            record(epoch=2, primal=np.inf, dual=-np.inf, gap=np.inf),
            record(epoch=3, primal=1.5, dual=1.0, gap=0.5),
        ]
    )
    display = ConvergenceDisplay(history).plot(x="epoch")
    np.testing.assert_array_equal(display.lines_["gap"].get_xdata(), [1, 3])
    display.figure_.canvas.draw()  # the negative bound is masked, not an error


def test_a_run_without_certificates_is_refused():
    history = History([record(primal=np.nan, dual=-np.inf, gap=np.nan)])
    with pytest.raises(ValueError, match="no record has a certificate"):
        ConvergenceDisplay(history).plot()
    with pytest.raises(ValueError, match="must be"):
        ConvergenceDisplay(history).plot(x="hours")


def test_words_show_images_and_mark_wrong_letters():
    words = make_words(3, random_state=0)
    read = [np.array(list(w)) for w in words.y]
    wrong = "x" if read[1][0] != "x" else "y"
    read[1][0] = wrong
    ax = plot_words(words.X, words.y, {"chain": read}, words.image_shape, columns=2)
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
    ax = plot_words(
        words.X, words.y, {"a": words.y, "b": words.y}, words.image_shape, columns=2,
        ax=figure.subplots(),
    )  # fmt: skip
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
    plot_words(**good)
    with pytest.raises(ValueError, match=message):
        plot_words(**good | change)


def test_without_matplotlib_the_error_names_the_extra(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    assert not has_matplotlib()
    with pytest.raises(ImportError, match=r"maxmargin\[plot\]"):
        ConvergenceDisplay.from_result(model.result_)
