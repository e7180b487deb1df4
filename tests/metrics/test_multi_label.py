"""Measures of label sets, by hand."""

import numpy as np
import pytest

from maxmargin.metrics import exact_match, jaccard, multi_label_f1, multi_label_scores

TRUTH = [[1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 0, 1]]
GUESS = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]


def test_all_measures_by_hand():
    report = multi_label_scores(TRUTH, GUESS, ["a", "b", "c"])
    assert report.n_samples == 4
    assert report.hamming_loss == pytest.approx(3 / 12)
    assert report.exact_match == pytest.approx(1 / 4)
    # right 4 of 5 true and 6 predicted: label a 2 of (2, 2), b 1 of (2, 2), c 1 of (1, 2)
    assert report.micro_f1 == pytest.approx(8 / 11)
    assert report.macro_f1 == pytest.approx((1 + 1 / 2 + 2 / 3) / 3)
    assert report.example_f1 == pytest.approx((2 / 3 + 1 + 0 + 4 / 5) / 4)
    assert report.jaccard == pytest.approx((1 / 2 + 1 + 0 + 2 / 3) / 4)
    assert (report["b"].correct, report["b"].predicted, report["b"].support) == (1, 2, 2)
    assert report["c"].precision == 0.5


def test_empty_sets_and_single_labels():
    nothing = np.zeros((2, 3))
    assert exact_match(nothing, nothing) == 1.0
    assert multi_label_f1(nothing, nothing, "example") == jaccard(nothing, nothing) == 1.0
    assert multi_label_f1(nothing, nothing, "macro") == 0.0  # labels without evidence
    one, other = [[1], [0], [1], [0]], [[1], [1], [0], [0]]
    for average in ("micro", "macro"):
        assert multi_label_f1(one, other, average) == pytest.approx(1 / 2)
    assert multi_label_f1(one, other, "example") == jaccard(one, other) == 1 / 2
    empty = np.zeros((0, 3))
    assert multi_label_scores(empty, empty).hamming_loss == 0.0


@pytest.mark.parametrize("columns", [1, 2])
def test_right_predictions_of_samples_without_labels_are_right(columns):
    own = np.array([[1, 1], [0, 0], [0, 1]])[:, :columns]
    report = multi_label_scores(own, own)
    assert report.example_f1 == report.jaccard == report.exact_match == 1.0
    wrong = multi_label_scores(own, 1 - own)
    assert wrong.example_f1 == wrong.jaccard == 0.0


@pytest.mark.parametrize(
    "truth, guess, message",
    [
        ([0, 1], [0, 1], r"truth has shape \(2,\), expected \(n_samples, n_labels\)"),
        ([[0, 1]], [[0, 2]], r"predicted\[0, 1\] is .*2.*, expected 0 or 1"),
        ([[0, 1]], [[0], [1]], r"truth has shape \(1, 2\), predicted \(2, 1\)"),
    ],
)
def test_refusals(truth, guess, message):
    with pytest.raises(ValueError, match=message):
        exact_match(truth, guess)


def test_other_refusals():
    with pytest.raises(ValueError, match="average='mean' must be"):
        multi_label_f1(TRUTH, GUESS, "mean")
    with pytest.raises(ValueError, match="2 labels are named, but there are 3 columns"):
        multi_label_scores(TRUTH, GUESS, ["a", "b"])
