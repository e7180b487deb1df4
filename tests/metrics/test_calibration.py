"""Measures of probabilities, by numbers worked out by hand."""

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics

from maxmargin.metrics import brier_score, calibration_error, log_loss, reliability

#: two samples, five variables; the most probable labels have 0.9, 0.6, 0.7, 0.9, 0.7
P = [
    np.array([[0.9, 0.1, 0.0], [0.2, 0.6, 0.2]]),
    np.array([[0.7, 0.3, 0.0], [0.05, 0.05, 0.9], [0.1, 0.2, 0.7]]),
]
Y = [["a", "a"], ["a", "c", "b"]]  # right, wrong, right, right, wrong


def test_the_table_of_two_and_of_ten_bins():
    table = reliability(Y, P, n_bins=10)
    np.testing.assert_allclose(table.edges, np.linspace(0, 1, 11))
    # an edge belongs to the bin below: 0.6 to (0.5, 0.6], 0.7 to (0.6, 0.7], 0.9 to (0.8, 0.9]
    assert table.count.tolist() == [0, 0, 0, 0, 0, 1, 2, 0, 2, 0]
    np.testing.assert_allclose(table.confidence[[5, 6, 8]], [0.6, 0.7, 0.9])
    np.testing.assert_allclose(table.accuracy[[5, 6, 8]], [0.0, 0.5, 1.0])
    assert np.isnan(table.accuracy[0])
    assert table.error == pytest.approx((0.6 + 2 * 0.2 + 2 * 0.1) / 5)
    assert table.max_error == pytest.approx(0.6)
    assert calibration_error(Y, P, n_bins=10) == table.error
    one = reliability(Y, P, n_bins=1)
    assert one.error == pytest.approx(abs(3.8 / 5 - 3 / 5))
    assert str(one).splitlines()[-1].split() == ["0.000", "to", "1.000", "0.7600", "0.6000", "5"]
    assert "0.7600" in one._repr_html_()


def test_bins_of_equal_counts():
    p = np.linspace(0.5, 1.0, 12)
    table = reliability(np.ones(12, int), p, n_bins=4, strategy="quantile")
    assert table.count.tolist() == [3, 3, 3, 3]
    assert (table.accuracy[1:] == 1.0).all()
    same = reliability(np.ones(6, int), np.full(6, 0.7), n_bins=4, strategy="quantile")
    assert same.count.sum() == 6
    assert same.error == pytest.approx(0.3)


def test_one_label_and_all_of_them():
    own = reliability(Y, P, n_bins=1, label="a")
    assert own.confidence[0] == pytest.approx((0.9 + 0.2 + 0.7 + 0.05 + 0.1) / 5)
    assert own.accuracy[0] == pytest.approx(3 / 5)
    by_label = [abs(1.95 - 3), abs(1.25 - 1), abs(1.8 - 1)]
    found = calibration_error(Y, P, n_bins=1, classwise=True)
    assert found == pytest.approx(np.mean(by_label) / 5)
    with pytest.raises(ValueError, match="label='z' is not among"):
        reliability(Y, P, label="z")


def test_log_loss_and_brier_score():
    assert log_loss(Y, P) == pytest.approx(-np.log([0.9, 0.2, 0.7, 0.9, 0.2]).mean())
    squares = [
        0.01 + 0.01,
        0.64 + 0.36 + 0.04,
        0.09 + 0.09,
        0.0025 + 0.0025 + 0.01,
        0.01 + 0.64 + 0.49,
    ]
    assert brier_score(Y, P) == pytest.approx(np.mean(squares))
    flat, table = np.concatenate(Y), np.concatenate(P)
    assert log_loss(Y, P) == pytest.approx(sklearn_metrics.log_loss(flat, table))
    assert log_loss(flat, table) == log_loss(Y, P)


def test_a_label_that_got_no_probability_costs_a_bounded_price():
    assert log_loss([[1]], [[[1.0, 0.0]]]) == pytest.approx(-np.log(1e-12))
    assert log_loss([[1]], [[[1.0, 0.0]]], eps=0.005) == pytest.approx(-np.log(0.005))


def test_two_labels_in_the_shape_of_the_output():
    y = [np.array([[True, False], [True, True]])]
    p = [np.array([[0.8, 0.4], [0.3, 1.0]])]
    assert log_loss(y, p) == pytest.approx(-np.log([0.8, 0.6, 0.3, 1.0]).mean())
    assert brier_score(y, p) == pytest.approx(2 * np.mean([0.04, 0.16, 0.49, 0.0]))
    table = reliability(y, p, n_bins=1)
    assert table.confidence[0] == pytest.approx(np.mean([0.8, 0.6, 0.7, 1.0]))
    assert table.accuracy[0] == 0.75
    assert log_loss([[1, 1]], [[0.5, 0.25]]) == pytest.approx(-np.log([0.5, 0.25]).mean())


def test_labels_that_do_not_occur():
    p = [[[0.5, 0.3, 0.2]]]
    assert log_loss([["b"]], p, labels=["a", "b", "c"]) == pytest.approx(-np.log(0.3))
    with pytest.raises(ValueError, match=r"1 labels are in y_true, but .* 3 columns.*classes_"):
        log_loss([["b"]], p)
    with pytest.raises(ValueError, match="sample 0: y_true has 'z', which is not among"):
        log_loss([["z"]], p, labels=["a", "b", "c"])


@pytest.mark.parametrize("measure", [calibration_error, log_loss, brier_score, reliability])
def test_arguments_that_cannot_be_measured(measure):
    with pytest.raises(ValueError, match="y_true has no labels"):
        measure([], [])
    with pytest.raises(ValueError, match="sample 0: .*numbers.*are the arguments swapped"):
        measure(P, Y)
    with pytest.raises(ValueError, match="sample 0: .*links, give matrices of 0 and 1"):
        measure([np.array([[0, 1]])], [np.full((3, 3), 0.3)])


def test_a_table_for_pandas():
    frame = pytest.importorskip("pandas") and reliability(Y, P, n_bins=10).to_frame()
    assert frame["count"].sum() == 5
    assert frame.loc[6, "accuracy"] == 0.5


BAD = {
    "counts": (lambda: log_loss(Y, P[:1]), "y_true has 2 samples, probabilities has 1"),
    "rows": (lambda: log_loss(Y, [P[0], P[1][:2]]), r"sample 1: probabilities have shape \(2, 3\)"),
    "scores": (lambda: log_loss(Y, [P[0] * 3, P[1]]), "sample 0: .* from 0 to 1; scores are not"),
    "NaN": (lambda: log_loss(Y, [P[0] * np.nan, P[1]]), "sample 0: .* from 0 to 1"),
    "sums": (lambda: log_loss(Y, [P[0], P[1] * 0.9]), "sample 1: .* must sum to 1"),
    "columns": (
        lambda: log_loss([["a"], ["b"]], [[[0.5, 0.5]], [[0.5, 0.3, 0.2]]]),
        "sample 1: 3 columns, sample 0 has 2",
    ),
    "bins": (lambda: reliability(Y, P, 0), "n_bins=0 must be"),
    "strategy": (lambda: reliability(Y, P, 5, "even"), "strategy='even' must be"),
}


@pytest.mark.parametrize(("call", "match"), BAD.values(), ids=BAD.keys())
def test_bad_input(call, match):
    with pytest.raises(ValueError, match=match):
        call()
