"""Constituents drawn with matplotlib."""

import matplotlib.pyplot as plt
import pytest

from maxmargin.plotting import BLUE, ORANGE, ConstituencyDisplay

TREE = "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (NP (NNS dogs)))))"
OTHER = "(S (NP (DT the) (NN cat) (VBZ sees)) (NP (NP (NNS dogs))))"


def test_right_and_wrong_constituents_differ():
    display = ConstituencyDisplay.from_predictions(OTHER, TREE)
    texts = {text.get_text(): text.get_color() for text in display.ax_.texts}
    assert texts["S"] == BLUE
    assert texts["NP+NP"] == BLUE
    assert texts["VP"] not in (BLUE, ORANGE)
    assert [text.get_text() for text in display.ax_.texts][:4] == ["the", "cat", "sees", "dogs"]
    assert ORANGE in [text.get_color() for text in display.ax_.texts]
    plt.close(display.figure_)


def test_trees_of_other_words_are_refused():
    with pytest.raises(ValueError, match="tree has 1 words, predicted 4"):
        ConstituencyDisplay.from_predictions(TREE, "(S (A a))")
    with pytest.raises(TypeError, match="tree is a int"):
        ConstituencyDisplay.from_predictions(TREE, 3)
