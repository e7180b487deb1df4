"""An oracle that does not maximise is found before it can lead to a false certificate."""

import numpy as np
import pytest

from maxmargin import StructuredSVM
from maxmargin.structures import Structure


class OneOf(Structure):
    """One of n, by a method that a test replaces."""

    def n_parts(self, layout):
        return layout[0]

    def layout_of(self, n_parts):
        return (n_parts,)

    def encode(self, y, layout):
        return np.eye(layout[0])[y]

    def decode(self, z, layout):
        return int(z.argmax())


class Minimises(OneOf):
    def maximize(self, theta, layout):
        return np.eye(layout[0])[theta.argmin()]


class Negative(OneOf):
    def maximize(self, theta, layout):
        return -np.eye(layout[0])[theta.argmax()]


class Constant(OneOf):
    def maximize(self, theta, layout):
        return np.eye(layout[0])[0]


class Crowded(OneOf):
    is_exact = False

    def vertex_size(self, layout):
        return 1

    def maximize(self, theta, layout):
        return np.ones(layout[0])


def samples():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 3)) for _ in range(20)]
    return X, [int((x @ [1.0, -1.0, 0.5]).argmax()) for x in X]


@pytest.mark.parametrize("structure", [Minimises(), Negative(), Constant()])
def test_an_answer_that_is_no_maximum_is_named(structure):
    with pytest.raises(
        ValueError,
        match=r"sample \d: the answer of \w+\.maximize has the score .*, worse than the truth",
    ):
        StructuredSVM(structure).fit(*samples())


def test_more_non_zeros_than_promised_are_refused():
    with pytest.raises(ValueError, match=r"sample \d+: Crowded.maximize returned 4 non-zeros"):
        StructuredSVM(Crowded()).fit(*samples())


class CrowdedLater(Crowded):
    """Keeps its promise in the first epoch, and breaks it in a certificate."""

    is_expensive = True
    calls = 0

    def maximize(self, theta, layout):
        self.calls += 1
        return np.ones(layout[0]) if self.calls > 30 else np.eye(layout[0])[theta.argmax()]


def test_outputs_of_a_certificate_are_not_stored_if_they_are_too_large():
    with pytest.raises(ValueError, match=r"CrowdedLater.maximize returned 4 non-zeros"):
        StructuredSVM(CrowdedLater(), max_epochs=3, tol=0.0, solver="bcfw").fit(*samples())
