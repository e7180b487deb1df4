"""Names of files in messages."""

import re

import pytest

from maxmargin.tasks.sample_names import named

NAMES, HELD_OUT = ["a.txt", "b.txt"], ["c.txt"]


@pytest.mark.parametrize(
    "said, meant",
    [
        ("cloud 1: labels are text, those of cloud 0 numbers.", "b.txt: labels are text, those of"
         " a.txt numbers."),
        ("held-out image 0: no pixels.", "c.txt: no pixels."),
        ("cloud 10 has no points.", "cloud 10 has no points."),
        ("held-out cloud 1 has no points.", "held-out cloud 1 has no points."),
    ],
)  # fmt: skip
def test_numbers_of_samples_become_names_of_files(said, meant):
    with pytest.raises(ValueError, match=f"^{re.escape(meant)}$"), named(NAMES, HELD_OUT):
        raise ValueError(said)


def test_other_errors_pass_through():
    raised = KeyError("cloud 1")
    with pytest.raises(KeyError) as caught, named(NAMES):
        raise raised
    assert caught.value is raised
