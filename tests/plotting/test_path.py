"""Pictures of paths."""

import numpy as np
import pytest

from maxmargin import MulticlassSVM
from maxmargin.paths import alpha_path, eps_path, iterates_path, l1_path
from maxmargin.plotting import PathDisplay, PathsDisplay

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 6)), np.tile([0, 1], 20)
    X[:, 0] += y
    return X, y


@pytest.fixture(scope="module")
def path(data):
    X, y = data
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
    names = [own.get_text() for own in display.ax_.get_legend().get_texts()]
    assert names[2:] == ["score, training", "score, validation", "best, validation"]


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


def test_penalties_have_three_panels_with_the_best_marked(data):
    path = alpha_path(MulticlassSVM(), *data, [1.0, 0.1], validation=data)
    display = PathDisplay.from_path(path)
    assert list(display.axes_) == ["objective", "norm", "error"]
    assert display.ax_.xaxis_inverted()
    assert display.axes_["error"].get_xlabel() == "alpha (large on the left)"
    for name in ("primal", "dual", "hinge", "norm_w"):
        assert display.lines_[name].get_xdata().tolist() == [1.0, 0.1]
        expected = [getattr(point, name) for point in path.points]
        assert display.lines_[name].get_ydata().tolist() == expected
    errors = [1 - point.validation_score for point in path.points]
    assert display.lines_["validation_error"].get_ydata().tolist() == errors
    assert set(display.best_line_.get_xdata()) == {path.alphas[path.best_index_]}
    assert display.axes_["error"].get_legend().get_texts()[-1].get_text() == "best, validation"
    ax = plt.subplots()[1]
    assert PathDisplay.from_path(path, ax=ax).axes_ == {"objective": ax}
    quiet = alpha_path(MulticlassSVM(), *data, [1.0], train_score=False)
    assert list(PathDisplay.from_path(quiet).axes_) == ["objective", "norm"]


def test_a_curve_that_hardly_rises_is_not_cut(data):
    path = alpha_path(MulticlassSVM(), *data, [1.0, 0.999], train_score=False)
    display = PathDisplay.from_path(path)
    highest = max(point.norm_w for point in path.points)
    low, high = display.axes_["norm"].get_ylim()
    assert low == 0
    assert high >= 1.05 * highest
    assert display.best_line_ is None
    assert display.axes_["norm"].get_legend() is None


def test_models_between_breakpoints_are_steps(data):
    path = eps_path(MulticlassSVM(), *data, 0.1, alpha_min=0.1)
    display = PathDisplay.from_path(path)
    x, y = display.lines_["norm_w"].get_data()
    assert len(x) == 2 * len(path)
    np.testing.assert_allclose(x[1:-1:2], path.breakpoints[1:-1])
    assert y[::2].tolist() == y[1::2].tolist() == [point.norm_w for point in path.points]
    primal, dual = (display.lines_[name].get_ydata() for name in ("primal", "dual"))
    assert ((primal - dual) <= 0.1 * primal).all()
    marks = [own for own in display.ax_.lines if own.get_label() == "_breakpoint"]
    assert len(marks) == len(path) - 1


def test_paths_beside_one_another(data):
    optima = alpha_path(MulticlassSVM(), *data, [1.0, 0.1], validation=data)
    run = iterates_path(MulticlassSVM(), *data, max_epochs=6)
    display = PathsDisplay.from_paths({"reg-path": optima, "dual-ex": run})
    assert set(display.lines_) == {
        ("hinge", "reg-path"),
        ("hinge", "dual-ex"),
        ("validation_error", "reg-path"),
    }
    line = display.lines_["hinge", "dual-ex"]
    assert line.get_xdata().tolist() == [point.norm_w for point in run.points]
    assert line.get_ydata().tolist() == [point.hinge for point in run.points]
    assert display.axes_["hinge"].get_yscale() == "linear"
    longer = iterates_path(MulticlassSVM(), *data, max_epochs=30)
    wide = PathsDisplay.from_paths({"run": longer}, x="n_epochs", panels=["hinge"])
    assert wide.axes_["hinge"].get_xscale() == "log"
    again = PathsDisplay.from_paths({"run": run}, x="n_epochs", panels=["train_error"])
    assert again.axes_["train_error"].get_xlabel() == "epochs"
    assert PathDisplay.from_path(run, kind="norm").ax_.get_xlabel() == "epochs"


def test_bad_pictures_of_paths(path):
    with pytest.raises(ValueError, match="give at least one"):
        PathsDisplay({})
    with pytest.raises(ValueError, match="'size' must be one of norm_w"):
        PathsDisplay.from_paths({"l1": path}, x="size")
    with pytest.raises(ValueError, match="axes: 1 for 2 panels"):
        PathsDisplay.from_paths({"l1": path}, axes=[plt.subplots()[1]])
