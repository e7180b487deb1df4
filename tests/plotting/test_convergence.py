"""Curves of runs: what they show equals what was measured."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from maxmargin import MulticlassSVM
from maxmargin.plotting import ConvergenceDisplay, has_matplotlib
from maxmargin.result import History, Record


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


X = np.random.default_rng(0).normal(size=(60, 4))
DATA = X, X[:, :3].argmax(axis=1)


@pytest.fixture(scope="module")
def model():
    return MulticlassSVM(alpha=0.1).fit(*DATA)


def record(**metrics):
    base = {"epoch": 1, "seconds": 0.5, "n_oracle": 1, "n_project": 0, "norm_w": 1.0}
    return Record(**base | metrics)


@pytest.mark.parametrize(
    "x, label",
    [("seconds", "training time (seconds)"), ("epoch", "epochs"), ("n_oracle", "oracle calls")],
)
def test_lines_equal_the_history(model, x, label):
    display = ConvergenceDisplay.from_result(model.result_, x=x)
    history = model.result_.history
    assert len(history) > 2
    assert list(display.lines_) == ["bcfw"]
    for name, line in display.lines_["bcfw"].items():
        np.testing.assert_array_equal(line.get_xdata(), [getattr(r, x) for r in history])
        np.testing.assert_array_equal(line.get_ydata(), [getattr(r, name) for r in history])
    assert set(display.lines_["bcfw"]) == {"primal", "dual", "gap"}
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
    display = ConvergenceDisplay({"run": history}).plot(x="epoch")
    np.testing.assert_array_equal(display.lines_["run"]["gap"].get_xdata(), [1, 3])
    display.figure_.canvas.draw()  # the negative bound is masked, not an error


def test_a_run_without_certificates_is_refused():
    history = History([record(primal=np.nan, dual=-np.inf, gap=np.nan)])
    with pytest.raises(ValueError, match="no record has a certificate"):
        ConvergenceDisplay({"run": history}).plot()
    with pytest.raises(ValueError, match="must be"):
        ConvergenceDisplay({"run": history}).plot(x="hours")


def test_several_runs_have_a_line_each_in_colours_and_marks_of_their_own(model):
    other = MulticlassSVM(alpha=0.1, solver="fw", max_epochs=50, tol=0.1).fit(*DATA)
    models = {"blocks": model, "batch": other}
    display = ConvergenceDisplay.from_estimator(models, x="epoch", y="gap", log=False)
    for name, own in models.items():
        assert list(display.lines_[name]) == ["gap"]
        gaps = [r.gap for r in own.result_.history]
        np.testing.assert_array_equal(display.lines_[name]["gap"].get_ydata(), gaps)
    first, second = (display.lines_[name]["gap"] for name in models)
    assert first.get_color() != second.get_color()
    assert first.get_marker() != second.get_marker()
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["blocks, gap", "batch, gap"]
    assert display.ax_.get_yscale() == "linear"
    both = ConvergenceDisplay.from_result({name: m.result_ for name, m in models.items()})
    assert [list(lines) for lines in both.lines_.values()] == [["primal", "dual"]] * 2


def test_errors_and_facts_of_recorders():
    history = History(
        [
            record(primal=2.0, dual=1.0, gap=1.0, train_error=0.5, validation_score=0.25),
            record(epoch=2, primal=1.5, dual=1.0, gap=0.5, extra={"mine": 7.0}),
        ]
    )
    display = ConvergenceDisplay({"run": history})
    lines = display.plot(x="epoch", y="error").lines_["run"]
    assert {n: line.get_ydata().tolist() for n, line in lines.items()} == {
        "train_error": [0.5],
        "validation_error": [0.75],
    }
    line = display.plot(x="epoch", y="mine").lines_["run"]["mine"]
    assert (line.get_xdata().tolist(), line.get_ydata().tolist()) == ([2], [7.0])
    with pytest.raises(ValueError, match=r"no record has y='yours'; they have dual, epoch, .*mine"):
        display.plot(y="yours")
    del history[0]
    with pytest.raises(ValueError, match="no record has an error: add one by a Recorder"):
        display.plot(y="error")


def test_without_matplotlib_the_error_names_the_extra(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    assert not has_matplotlib()
    with pytest.raises(ImportError, match=r"maxmargin\[plot\]"):
        ConvergenceDisplay.from_result(model.result_)
