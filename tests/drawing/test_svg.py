"""Line charts without a library: ticks, gaps in the data, and text that must not be markup."""

import math
import xml.etree.ElementTree as ET

import pytest

from maxmargin.drawing.numbers import format_short
from maxmargin.drawing.svg import Axis, Curve, axis_ticks, convergence_svg, line_svg

NS = "{http://www.w3.org/2000/svg}"


def records(n):
    return [
        {
            "epoch": k + 1,
            "primal": 0.5 + 1 / (k + 1),
            "dual": 0.5 - 0.2 / (k + 1),
            "gap": 1.2 / (k + 1),
        }
        for k in range(n)
    ]


def texts(svg):
    return [node.text for node in ET.fromstring(svg).iter(f"{NS}text")]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "0"),
        (None, "–"),  # noqa: RUF001
        (math.nan, "–"),  # noqa: RUF001
        (0.25, "0.25"),
        (1e-5, "10⁻⁵"),
        (2.5e9, "2.5·10⁹"),
        (-0.125, "-0.125"),
        (123456, "123\u202f456"),
    ],
)
def test_numbers_are_short(value, words):
    assert format_short(value) == words


@pytest.mark.parametrize(
    ("low", "high", "log", "expected"),
    [
        (0, 1, False, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (-3, 7, False, [-2, 0, 2, 4, 6]),
        (0.9, 11000, True, [1, 10, 100, 1000, 10000]),
        (1, 9, True, [1, 2, 5]),
        (2, 400, True, [3, 10, 30, 100, 300]),
        (0.045, 0.14, True, [0.06, 0.08, 0.1, 0.12, 0.14]),
        (3, 3.4, True, [3, 3.1, 3.2, 3.3, 3.4]),
        (1e-12, 1e4, True, [1e-12, 1e-9, 1e-6, 1e-3, 1, 1e3]),
    ],
)
def test_ticks_are_round(low, high, log, expected):
    assert axis_ticks(Axis(low, high, 0, 100, log)) == pytest.approx(expected)


def test_a_point_lies_where_its_value_says():
    axis = Axis(1, 100, 0, 200, log=True)
    assert axis.at(10) == pytest.approx(100)
    assert Axis(0, 4, 100, 0).at(1) == pytest.approx(75)


@pytest.mark.parametrize("n", [1, 2, 300])
def test_convergence_has_three_curves_in_one_well_formed_drawing(n):
    svg = convergence_svg(records(n), width=500, height=200)
    found = texts(svg)
    assert {"objective", "lower bound", "gap"} <= set(found)
    assert ET.fromstring(svg).get("viewBox") == "0 0 500 200"


def test_what_is_not_a_number_is_left_out():
    broken = records(4)
    broken[1]["gap"] = None
    broken[2] |= {"gap": math.nan, "dual": math.inf}
    broken[3] |= {"gap": 0.0, "dual": -1.0}
    svg = convergence_svg(broken)
    circles = list(ET.fromstring(svg).iter(f"{NS}circle"))
    assert len(circles) == 4 + 2 + 1  # objectives, bounds that are above zero, one gap
    assert "nan" not in svg
    assert "inf" not in svg


def test_without_a_certificate_the_errors_are_drawn():
    svg = convergence_svg([{"epoch": k, "gap": None, "train_error": 0.1} for k in range(3)])
    assert "samples wrong during the pass" in texts(svg)


def test_nothing_to_draw_says_so():
    assert texts(convergence_svg([])) == ["nothing to draw"]


def test_names_are_text():
    name = '<script>alert("1")</script>'
    svg = line_svg([Curve(name, [1], [1])], title=name, x_label=name, y_label="y")
    assert "<script" not in svg
    assert texts(svg).count(name) == 2


def test_bars_show_the_spread():
    curve = Curve("a", [1, 10], [2, 3], low=[1, None], high=[4, None])
    svg = line_svg([curve], title="t", x_label="x", y_label="y", log_x=True, log_y=True)
    assert svg.count('stroke-opacity="0.6"') == 1


def test_marks_between_whole_numbers_are_left_out():
    assert axis_ticks(Axis.over([1, 2, 3], 0, 100), 7) == [1, 2, 3]
    assert 1.5 in axis_ticks(Axis.over([1, 2.5, 3], 0, 100), 7)
