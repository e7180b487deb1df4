"""Scores of alignments of strings."""

import numpy as np
import pytest

from maxmargin.metrics import string_alignment_scores


def test_scores_of_matches():
    truth, found = [[(0, 0), (1, 1)], [(0, 0)], []], [[(1, 1), (0, 0)], [(0, 1)], []]
    scores = string_alignment_scores(truth, found)
    assert scores.exact == pytest.approx(2 / 3)
    assert scores.precision == scores.recall == scores.pairs_f1 == pytest.approx(2 / 3)
    assert (scores.n_pairs, scores.n_matches) == (3, 3)
    weighted = string_alignment_scores(truth, found, np.array([1.0, 0.0, 0.0]))
    assert weighted.exact == weighted.pairs_f1 == 1
    assert string_alignment_scores([], [])[:4] == (0, 1, 1, 1)
    with pytest.raises(ValueError, match="1 true alignments but 0"):
        string_alignment_scores([[]], [])
