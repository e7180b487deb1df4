"""Attachment scores by hand."""

import pytest

from maxmargin.metrics import attachment_scores


def test_scores_of_a_few_words():
    truth = [[(2, "a"), (0, "b")], [(0, "c")]]
    found = [[(2, "x"), (0, "b")], [(1, "c")]]
    scores = attachment_scores(truth, found)
    assert scores == (pytest.approx(2 / 3), pytest.approx(1 / 3), 0.5, 3)
    assert attachment_scores([], []) == (0.0, 0.0, 0.0, 0)


def test_lists_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="1 true trees, but 0"):
        attachment_scores([[(0, "a")]], [])
    with pytest.raises(ValueError, match="sentence 0: 1 words, but 2"):
        attachment_scores([[(0, "a")]], [[(0, "a"), (1, "b")]])
