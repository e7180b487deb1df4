"""Reliability: what is drawn equals the table, before and after, for labels and for links."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from maxmargin import Bipartite, MatchingSVM, MulticlassSVM
from maxmargin.metrics import reliability
from maxmargin.plotting import ReliabilityDisplay
from maxmargin.tasks import RNAFolder


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    return X, np.array(["a", "b", "c"])[(X + rng.normal(size=X.shape)).argmax(axis=1)]


@pytest.fixture(scope="module")
def calibrated(data):
    X, y = data
    return MulticlassSVM(alpha=3.0).fit(X[:200], y[:200]).calibrate(X[200:400], y[200:400])


def test_curves_equal_the_tables(data):
    y, p = [0, 1, 1, 0], np.array([0.1, 0.9, 0.35, 0.4])
    display = ReliabilityDisplay.from_predictions(y, {"own": p}, n_bins=5)
    table = reliability(y, p, n_bins=5)
    known = table.count > 0
    line = display.lines_["own"]
    np.testing.assert_array_equal(line.get_xdata(), table.confidence[known])
    np.testing.assert_array_equal(line.get_ydata(), table.accuracy[known])
    assert line.get_label() == f"own: {table.error:.3f}"
    (strip,) = display.counts_ax_.patches
    heights, edges, _ = strip.get_data()
    np.testing.assert_allclose(heights @ np.diff(edges), 1.0)
    np.testing.assert_allclose(heights, table.count / 4 * 5)
    assert display.counts_ax_.get_xlabel() == "confidence"


def test_a_calibrated_estimator_is_drawn_before_and_after(data, calibrated):
    X, y = data
    display = ReliabilityDisplay.from_estimator(calibrated, X[400:], y[400:], n_bins=6)
    assert list(display.lines_) == ["before", "calibrated"]
    assert display.tables["calibrated"].error < display.tables["before"].error
    after = reliability(y[400:], calibrated.predict_marginals(X[400:]), 6)
    np.testing.assert_array_equal(display.tables["calibrated"].accuracy, after.accuracy)
    assert calibrated.temperature_ != 1.0
    fresh = MulticlassSVM(alpha=3.0).fit(X[:200], y[:200])
    both = ReliabilityDisplay.from_estimator(
        {"svm": fresh, "again": calibrated}, X[400:], y[400:], label="b"
    )
    assert list(both.lines_) == ["svm", "again, before", "again, calibrated"]
    np.testing.assert_array_equal(both.tables["svm"].count, both.tables["again, before"].count)
    assert both.counts_ax_.get_xlabel() == "probability of b"
    assert ReliabilityDisplay.from_estimator(fresh, X[400:], y[400:]).lines_.keys() == {""}


def test_links_are_drawn_by_the_probability_of_a_link():
    rng = np.random.default_rng(0)
    X = list(rng.normal(size=(20, 2, 3, 2)))
    y = [np.argwhere(x[:, :, 0] == x[:, :, 0].max()) for x in X]
    model = MatchingSVM(alpha=0.1).fit(X, y)
    table = ReliabilityDisplay.from_estimator(model, X, y, n_bins=1).tables[""]
    assert table.count.tolist() == [120]
    assert table.accuracy[0] == pytest.approx(20 / 120)
    p = np.concatenate([own.ravel() for own in model.predict_marginals(X)])
    assert table.confidence[0] == pytest.approx(p.mean())
    some = [Bipartite((2, 3), [(0, 1), (1, 2), (1, 0)], np.ones((3, 2)))]
    found = ReliabilityDisplay.from_estimator(model, some, [[(1, 2)]], n_bins=1).tables[""]
    assert found.accuracy[0] == pytest.approx(1 / 3)
    doubtful = [({(0, 0)}, {(0, 0), (1, 1), (1, 2)})]  # sure, and possible
    found = ReliabilityDisplay.from_estimator(model, X[:1], doubtful, n_bins=1).tables[""]
    assert found.count.tolist() == [4]
    assert found.accuracy[0] == 0.25
    with pytest.raises(ValueError, match="sample 0: y is not a set of links between"):
        ReliabilityDisplay.from_estimator(model, X[:1], [[(5, 5)]])


def test_everything_is_inside_the_figure_on_axes_of_the_callers_own():
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.subplots(1, 2)
    p = np.random.default_rng(0).uniform(size=200)
    display = ReliabilityDisplay.from_predictions((p > 0.4).astype(int), p, ax=axes[1])
    assert display.ax_ is axes[1]
    assert display.figure_ is figure
    for _ in range(2):  # the layout comes closer each time
        figure.draw_without_rendering()
    box = display.counts_ax_.get_tightbbox()
    assert box.y0 >= 0
    assert box.x1 <= figure.bbox.width


@pytest.mark.filterwarnings("ignore::maxmargin.exceptions.ConvergenceWarning")
def test_estimators_of_other_outputs_are_refused():
    sequences, structures = ["GGGAAACCC"] * 2, ["(((...)))"] * 2
    folder = RNAFolder(max_epochs=2).fit(sequences, structures)
    with pytest.raises(TypeError, match="RNAFolder has probabilities of neither labels nor"):
        ReliabilityDisplay.from_estimator(folder, sequences, structures)
