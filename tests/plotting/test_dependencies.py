"""Dependency trees drawn with matplotlib."""

import matplotlib.pyplot as plt
import pytest
from matplotlib.colors import to_hex

from maxmargin.plotting import BLUE, ORANGE, DependencyDisplay

SENTENCE = [("dogs", "NOUN"), {"form": "$bark$"}, "loudly"]
TREE = [(2, "nsubj"), (0, "root"), (2, "advmod")]


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_words_arcs_and_mistakes_are_drawn():
    predicted = [(2, "nsubj"), (0, "root"), (1, "x")]
    display = DependencyDisplay.from_predictions(SENTENCE, predicted, TREE)
    texts = [own.get_text() for own in display.ax_.texts]
    assert texts[:3] == ["dogs", "$bark$", "loudly"]
    assert sorted(texts[3:]) == ["advmod", "nsubj", "root", "x"]
    colours = [to_hex(own.get_edgecolor()).upper() for own in display.ax_.patches]
    assert colours.count(BLUE) == 2
    assert colours.count(ORANGE) == 1
    display.figure_.canvas.draw()


def test_the_parser_is_asked_for_its_tree():
    class Parser:
        def predict(self, sentences):
            return [TREE for _ in sentences]

    _, ax = plt.subplots()
    display = DependencyDisplay.from_estimator(Parser(), SENTENCE, TREE, ax=ax)
    assert display.ax_ is ax
    assert len(ax.patches) == 3


@pytest.mark.parametrize("tree, words", [(TREE[:2], "2 heads"), ([*TREE[:2], (9, "x")], "head 9")])
def test_trees_of_other_sentences_are_refused(tree, words):
    with pytest.raises(ValueError, match=words):
        DependencyDisplay.from_predictions(SENTENCE, tree)
