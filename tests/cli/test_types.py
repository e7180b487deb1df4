"""Values on the command line."""

import click
import pytest

from maxmargin.cli.types import Assignment, Duration, Known, Number, Whole


@pytest.mark.parametrize(
    "text, seconds",
    [("30", 30.0), ("90s", 90.0), ("5m", 300.0), ("2h", 7200.0), ("0.5", 0.5), ("1.5H", 5400.0)],
)
def test_durations(text, seconds):
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "s", "0", "-3", "3y", "nan", "inf", "1e999", "5 minutes"])
def test_what_is_no_duration(text):
    with pytest.raises(click.BadParameter, match="write 30, 90s, 5m or 2h"):
        Duration().convert(text, None, None)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("check_every=5", ("check_every", 5)),
        ("line-search=false", ("line_search", False)),
        ("step=pairwise", ("step", "pairwise")),
        ("step='pairwise'", ("step", "pairwise")),
        ("relaxation = 1.5", ("relaxation", 1.5)),
        ("list=[1, 2]", ("list", [1, 2])),
        ("table={size = 3}", ("table", {"size": 3})),
        ("x=1\ny=2", ("x", "1\ny=2")),
        ("x=a=b", ("x", "a=b")),
    ],
)
def test_assignments_have_values_of_toml(text, expected):
    assert Assignment().convert(text, None, None) == expected


@pytest.mark.parametrize("text", ["x", "=3", ""])
def test_what_is_no_assignment(text):
    with pytest.raises(click.BadParameter, match="is not name=value"):
        Assignment().convert(text, None, None)


@pytest.mark.parametrize(
    "kind, text, message",
    [
        (Whole(1), "0", "integer of 1 or more"),
        (Whole(1, 9), "1.5", "integer from 1 to 9"),
        (Number(), "nan", "number of 0 or more"),
        (Number(), "-1", "number of 0 or more"),
        (Number(above_zero=True), "0", "number greater than 0"),
        (Known(["bcfw", "fw"]), "bfcw", "'bfcw' is unknown; did you mean 'bcfw'?"),
        (Known(["bcfw", "fw"]), "qqqq", "use one of bcfw, fw"),
    ],
)
def test_errors_name_what_was_expected(kind, text, message):
    with pytest.raises(click.BadParameter) as caught:
        kind.convert(text, None, None)
    assert message in caught.value.message


def test_right_numbers():
    assert Whole(1, 9).convert("9", None, None) == 9
    assert Number().convert("1e-3", None, None) == 1e-3
