import math

import numpy as np
import pytest

from maxmargin.cli.comparison.growth import growth_exponent


@pytest.mark.parametrize("power", [-0.5, 0.0, 1.0, 1.5, 2.0])
def test_exponent_of_a_power_law_is_exact(power):
    sizes = [500, 1000, 5000]
    found = growth_exponent(sizes, [3.0 * size**power for size in sizes])
    assert found.exponent == pytest.approx(power, abs=1e-12)
    assert found.low == pytest.approx(power, abs=1e-7)
    assert found.high == pytest.approx(power, abs=1e-7)


def test_two_points_have_an_exponent_and_no_interval():
    assert growth_exponent([10, 100], [1.0, 100.0]) == (pytest.approx(2.0, abs=1e-12), None, None)


def test_interval_is_students_by_hand():
    # logs: x = 0, 1, 2; y = 0, 1, 3: slope 1.5, residuals 1/6, -1/3, 1/6
    found = growth_exponent([1.0, math.e, math.e**2], [1.0, math.e, math.e**3])
    width = 12.706204736 * math.sqrt((1 / 36 + 1 / 9 + 1 / 36) / 1 / 2)
    assert found.exponent == pytest.approx(1.5, abs=1e-12)
    assert (found.low, found.high) == pytest.approx((1.5 - width, 1.5 + width), abs=1e-8)


def test_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    sizes = np.repeat([100, 200, 400, 800], 3)
    hits = 0
    for _ in range(400):
        found = growth_exponent(sizes, sizes**1.2 * np.exp(0.1 * rng.normal(size=12)))
        hits += found.low <= 1.2 <= found.high
    assert 365 <= hits <= 395


@pytest.mark.parametrize(
    "sizes, values",
    [
        ([], []),
        ([10], [1.0]),
        ([10, 10], [1.0, 2.0]),
        ([10, 20], [0.0, 1.0]),
        ([10, 20], [1.0, math.inf]),
        ([10, 20], [1.0, math.nan]),
    ],
)
def test_no_exponent_where_there_is_none(sizes, values):
    assert growth_exponent(sizes, values) is None


def test_sizes_and_values_must_pair_up():
    with pytest.raises(ValueError, match="2 sizes, but 1 values"):
        growth_exponent([1, 2], [1.0])
