"""Base pairs drawn with matplotlib."""

import matplotlib.pyplot as plt
import pytest
from matplotlib.colors import to_hex

from maxmargin.plotting import BLUE, GREY, ORANGE, FoldingDisplay


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.mark.parametrize("kind", ["arcs", "circle"])
def test_pairs_and_mistakes_are_drawn(kind):
    class Folder:
        def predict(self, sequences):
            return ["(((...)))" for _ in sequences]

    display = FoldingDisplay.from_estimator(Folder(), "GGG$AACCC", "((.[.)).]", kind=kind)
    assert "".join(own.get_text() for own in display.ax_.texts) == "GGG$AACCC"
    drawn = {
        to_hex(own.get_edgecolor()[0]).upper(): len(own.get_segments())
        for own in display.ax_.collections
        if len(own.get_segments())
    }
    assert drawn == {ORANGE: 3, GREY: 3}
    right = FoldingDisplay.from_predictions("GAAAC", "(...)", kind=kind)
    assert to_hex(right.ax_.collections[0].get_edgecolor()[0]).upper() == BLUE
    right.figure_.canvas.draw()
    FoldingDisplay.from_predictions("", "", kind=kind)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("GAAAC", "(..)"), "predicted has 4 places, but the sequence has 5"),
        (("GAAAC", "(...)", "(...."), "structure: .* is not closed"),
        (("GAAAC", "(...)", None, "square"), "kind='square'"),
    ],
)
def test_what_does_not_fit_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        FoldingDisplay(*given).plot()
