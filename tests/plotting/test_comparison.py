"""Scaling plots: means over seeds at their sizes, from the files of a comparison."""

import json

import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure

from maxmargin.plotting import ComparisonDisplay


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "runs").mkdir()
    for solver, rate in (("bcfw", 1.0), ("fw", 3.0)):
        for size in (1000, 100):
            for seed in (0, 1):
                run = {"solver": solver, "size": size, "seed": seed, "status": "converged"}
                run |= {"seconds": rate * size / 100 + seed, "n_project": 0, "test_error": None}
                name = f"{solver}-{size}-{seed}.json"
                (tmp_path / "runs" / name).write_text(json.dumps(run))
    return tmp_path


def test_points_are_means_in_order_of_size(folder):
    display = ComparisonDisplay.from_folder(folder)
    assert list(display.lines_) == ["bcfw", "fw"]
    assert display.lines_["bcfw"].get_xdata().tolist() == [100, 1000]
    assert display.lines_["bcfw"].get_ydata().tolist() == [1.5, 10.5]
    assert display.lines_["fw"].get_ydata().tolist() == [3.5, 30.5]
    assert display.ax_.get_xscale() == display.ax_.get_yscale() == "log"
    assert display.ax_.get_xlabel() == "samples"
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["bcfw", "fw"]


def test_names_and_exponents_come_from_the_summary(folder):
    exponents = [
        {"solver": "bcfw", "quantity": "seconds", "exponent": 0.845},
        {"solver": "fw", "quantity": "n_oracle", "exponent": 1.0},
    ]
    summary = {"size_name": "sentences", "exponents": exponents}
    (folder / "comparison.json").write_text(json.dumps(summary))
    ax = Figure().subplots()
    display = ComparisonDisplay.from_folder(folder, ax=ax)
    assert display.ax_ is ax
    assert ax.get_xlabel() == "sentences"
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["bcfw, grows as size^0.84", "fw"]


def test_failed_cells_are_left_out_and_memory_is_that_of_training():
    runs = [
        {"solver": "a", "size": 10, "status": "converged", "peak_bytes": 70, "base_bytes": 50},
        {"solver": "a", "size": 10, "status": "failed", "peak_bytes": 900, "base_bytes": 50},
        {"solver": "a", "size": 20, "status": "max_epochs", "peak_bytes": 90, "base_bytes": 50},
    ]
    line = ComparisonDisplay(runs).plot(y="peak_bytes").lines_["a"]
    assert line.get_ydata().tolist() == [20, 40]


def test_zeros_count_in_means_but_a_mean_of_zero_is_not_drawn():
    runs = [
        {"solver": solver, "size": size, "status": "converged", "test_error": error}
        for solver, size, error in (("a", 10, 0.5), ("a", 10, 0.0), ("a", 20, 0.0), ("b", 10, 0.0))
    ]
    display = ComparisonDisplay(runs).plot(y="test_error")
    assert list(display.lines_) == ["a"]
    assert display.lines_["a"].get_xdata().tolist() == [10]
    assert display.lines_["a"].get_ydata().tolist() == [0.25]


def test_what_cannot_be_drawn_is_said(folder):
    with pytest.raises(ValueError, match="no run has a positive y='n_project'; numbers are n_pro"):
        ComparisonDisplay.from_folder(folder, y="n_project")
    (folder / "runs" / "bcfw-100-0.json").write_text('{"solver": ')
    with pytest.raises(ValueError, match=r"bcfw-100-0.json' is not JSON, or is cut short"):
        ComparisonDisplay.from_folder(folder)
    with pytest.raises(ValueError, match=r"is not a comparison, or has no run yet"):
        ComparisonDisplay.from_folder(folder / "runs")
