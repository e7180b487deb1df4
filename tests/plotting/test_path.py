"""Pictures of paths."""

import numpy as np
import pytest

from maxmargin import MulticlassSVM
from maxmargin.paths import l1_path
from maxmargin.plotting import PathDisplay

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def path():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 6)), np.tile([0, 1], 20)
    X[:, 0] += y
    return l1_path(MulticlassSVM(alpha=0.1), X, y, [0.1, 1.0], validation=(X, y))


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def test_counts_and_scores_are_drawn_against_the_radius(path):
    display = PathDisplay.from_path(path)
    assert set(display.lines_) == {"n_nonzero", "n_features", "train_score", "validation_score"}
    for name, line in display.lines_.items():
        assert line.get_xdata().tolist() == [0.1, 1.0]
        assert line.get_ydata().tolist() == [getattr(point, name) for point in path.points]
    assert display.ax_.get_xlabel() == "radius of the l1 ball"
    assert display.score_ax_.get_ylabel() == "score"
    assert len(display.ax_.get_legend().get_texts()) == 4


def test_profiles_of_the_largest_weights(path):
    ax = plt.subplots()[1]
    display = PathDisplay.from_path(path, kind="weights", n_weights=2, ax=ax)
    assert display.ax_ is ax
    assert display.score_ax_ is None
    assert len(display.lines_) == 2
    weights = path.weights.toarray()
    for k, line in display.lines_.items():
        np.testing.assert_array_equal(line.get_ydata(), weights[:, k])
    assert np.abs(weights).max() in [np.abs(line.get_ydata()).max() for line in ax.lines[:2]]


def test_no_scores_no_second_axis():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10, 2)), np.tile([0, 1], 5)
    path = l1_path(MulticlassSVM(alpha=0.1), X, y, [1.0], train_score=False)
    display = PathDisplay.from_path(path)
    assert display.score_ax_ is None
    assert set(display.lines_) == {"n_nonzero", "n_features"}


def test_an_unknown_kind(path):
    with pytest.raises(ValueError, match="kind='pie'"):
        PathDisplay.from_path(path, kind="pie")
