"""Pictures of several random runs of several methods."""

import numpy as np
import pytest

from maxmargin.plotting import CurvesDisplay


@pytest.fixture
def plt():
    found = pytest.importorskip("matplotlib.pyplot")
    yield found
    found.close("all")


def rows():
    return [
        {"method": method, "seed": s, "passes": k, "seconds": k + s, "suboptimality": v * (s + 1)}
        for method, v in (("slow", 1.0), ("quick", 0.1))
        for s in range(3)
        for k in (2, 1)
    ]


def test_medians_and_shades(plt):
    display = CurvesDisplay(rows()).plot(ax=plt.subplots()[1])
    assert list(display.lines_) == ["slow", "quick"]
    line = display.lines_["quick"]
    assert line.get_xdata().tolist() == [1, 2]
    np.testing.assert_allclose(line.get_ydata(), [0.2, 0.2])
    shade = display.ax_.collections[1].get_paths()[0].vertices[:, 1]
    assert (shade.min(), shade.max()) == pytest.approx((0.1, 0.3))
    assert display.ax_.get_xscale() == display.ax_.get_yscale() == "log"
    assert display.ax_.get_xlabel() == "effective passes"


def test_seconds_are_medians_too(plt):
    display = CurvesDisplay(rows()).plot(x="seconds", spread="quartiles")
    assert display.lines_["slow"].get_xdata().tolist() == [2, 3]
    shade = display.ax_.collections[0].get_paths()[0].vertices[:, 1]
    assert (shade.min(), shade.max()) == pytest.approx((1.5, 2.5))


@pytest.mark.parametrize(
    ("options", "words"),
    [({"x": "years"}, "x='years'"), ({"spread": "all"}, "spread='all'"), ({"y": "z"}, "y='z'")],
)
def test_bad_options(options, words):
    with pytest.raises(ValueError, match=words):
        CurvesDisplay(rows()).plot(**options)
