"""Names of files in messages."""

import pickle
import re

import pytest

from maxmargin.exceptions import InfeasibleError, SampleError
from maxmargin.tasks.sample_names import name_samples

NAMES, HELD_OUT = ["a.txt", "b.txt"], ["c.txt", "d.txt"]


def cloud(*parts, **more):
    return SampleError.of(*parts, noun="cloud", **more)


@pytest.mark.parametrize(
    "error, said, meant",
    [
        (cloud(1, ": labels are text, those of ", 0, " numbers."),
         "cloud 1: labels are text, those of cloud 0 numbers.",
         "b.txt: labels are text, those of a.txt numbers."),
        (cloud(1, ": labels are text, those of ", 0, " numbers.", held_out=True),
         "held-out cloud 1: labels are text, those of cloud 0 numbers.",
         "d.txt: labels are text, those of c.txt numbers."),
        (cloud("expected two; ", 1, " brings the third."),
         "expected two; cloud 1 brings the third.", "expected two; b.txt brings the third."),
        (cloud(10, " has no points."), "cloud 10 has no points.", "cloud 10 has no points."),
        (cloud(2, " has no points.", held_out=True),
         "held-out cloud 2 has no points.", "held-out cloud 2 has no points."),
        (SampleError.of(1, ": of cloud 0."), "sample 1: of cloud 0.", "sample 1: of cloud 0."),
    ],
)  # fmt: skip
def test_numbers_of_samples_become_names_of_files(error, said, meant):
    assert str(error) == said
    with pytest.raises(ValueError, match=f"^{re.escape(meant)}$"), name_samples(NAMES, HELD_OUT):
        raise error


@pytest.mark.parametrize("raised", [KeyError("cloud 1"), ValueError("cloud 1"), SampleError("?")])
def test_other_errors_pass_through(raised):
    with pytest.raises(type(raised)) as caught, name_samples(NAMES):
        raise raised
    assert caught.value is raised


def test_errors_know_the_sample_after_pickling_too():
    error = pickle.loads(pickle.dumps(InfeasibleError.of(3, ": every output is forbidden.")))
    assert isinstance(error, InfeasibleError)
    assert (error.index, error.noun, error.problem) == (3, "sample", "every output is forbidden.")
    assert str(error) == "sample 3: every output is forbidden."
    assert InfeasibleError("no sample is known").index is None
