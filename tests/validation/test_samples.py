"""Bad input: each error names the sample and the remedy."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from maxmargin import Graph, MatchingSVM, MulticlassSVM
from maxmargin.exceptions import SampleError
from maxmargin.features.graph import check_graphs
from maxmargin.validation.samples import (
    Rows,
    check_labels,
    check_lengths,
    check_matrix,
    check_rows,
    check_sample_weight,
    locate_row,
)

GOOD = np.ones((2, 3))


def bad_value(value):
    x = np.ones((2, 3))
    x[1, 2] = value
    return x


@pytest.mark.parametrize(
    "X, error, message",
    [
        (None, TypeError, r"X must be a list of samples, found NoneType. One sample alone: \[x\]."),
        ("text", TypeError, "X must be a list of samples, found str"),
        (b"text", TypeError, "X must be a list of samples, found bytes"),
        (3, TypeError, "X must be a list of samples, found int"),
        (np.array(3.0), TypeError, "X must be a list of samples, found ndarray"),
        ({0: GOOD}, TypeError, "X must be a list of samples, found dict"),
        ((x for x in [GOOD]), TypeError, "X must be a list of samples, found generator"),
        (sparse.csr_array(GOOD), TypeError, r"found csr_array. One sample alone: \[x\]."),
        (sparse.csr_matrix(GOOD), TypeError, r"found csr_matrix. One sample alone: \[x\]."),
        ([], ValueError, "X is empty: at least one sample is needed"),
        (np.empty((0, 2, 3)), ValueError, "X is empty"),
        ([GOOD, np.ones(3)], ValueError, r"sample 1: x has 1 dimension.*x.reshape\(-1, 1\)"),
        ([GOOD, 5.0], ValueError, r"sample 1: x has 0 dimension"),
        ([GOOD, np.ones((2, 3, 4))], ValueError, r"sample 1: x has 3 dimension"),
        ([GOOD, np.empty((0, 3))], ValueError, "sample 1: x has no rows. Leave empty samples out"),
        ([GOOD, sparse.csr_array((0, 3))], ValueError, "sample 1: x has no rows"),
        ([GOOD, np.ones((2, 4))], ValueError, "sample 1: x has 4 features, sample 0 has 3"),
        ([GOOD, sparse.eye_array(2)], ValueError, "sample 1: x has 2 features, sample 0 has 3"),
        ([np.empty((2, 0))], ValueError, "sample 0: x has no features; give a constant column"),
        ([GOOD, [["a", "b", "c"]]], ValueError, "sample 1: x is not an array of real numbers"),
        ([GOOD, "text"], ValueError, "sample 1: x is not an array of real numbers"),
        ([GOOD, [[1, 2, 3], [1, 2]]], ValueError, "sample 1: x is not an array of real numbers"),
        ([GOOD, [[1, None, 3]]], ValueError, "sample 1: x is not an array of real numbers"),
        ([GOOD, GOOD * 1j], ValueError, "sample 1: x is not .* real numbers .*complex128"),
        ([GOOD, sparse.csr_array(GOOD * 1j)], ValueError, "sample 1: .* real numbers .*complex128"),
        ([GOOD, bad_value(np.nan)], ValueError, r"sample 1: x\[1, 2\] is nan; .*Impute or drop"),
        ([GOOD, bad_value(np.inf)], ValueError, r"sample 1: x\[1, 2\] is inf; .*must be finite"),
        ([sparse.csr_array(bad_value(-np.inf)), GOOD], ValueError, r"sample 0: x\[1, 2\] is -inf"),
        (Rows(sparse.csr_array((2, 0)), [1, 1]), ValueError, "x has no features"),
        (Rows(sparse.csr_array(GOOD), [1, 2]), ValueError, "add up to the number of rows"),
        (Rows(sparse.csr_array(GOOD), [2, 0]), ValueError, "lengths must be positive"),
        (Rows(sparse.csr_array(GOOD * 1j), [2]), ValueError, "complex128, expected real numbers"),
        (Rows(sparse.csr_array(bad_value(np.nan)), [1, 1]), ValueError, r"sample 1: x\[0, 2\]"),
    ],
)
def test_bad_samples_are_refused(X, error, message):
    with pytest.raises(error, match=message):
        check_rows(X)


def test_bad_values_are_found_behind_empty_rows():
    x = np.zeros((5, 4))
    x[4, 1] = np.nan
    with pytest.raises(ValueError, match=r"sample 2: x\[4, 1\] is nan"):
        check_rows([np.zeros((3, 4)), np.zeros((1, 4)), x, np.ones((2, 4))])


@pytest.mark.parametrize(
    "X",
    [
        [[[1, 2], [3, 4]], [[5, 6]]],
        [np.array([[1, 2], [3, 4]]), sparse.coo_array(np.array([[5, 6]]))],
        (np.array([[1, 2], [3, 4]], dtype=np.float32), np.array([[5, 6]], dtype=np.uint8)),
        Rows(sparse.csc_array(np.array([[1, 2], [3, 4], [5, 6]])), [2, 1]),
    ],
)
def test_good_samples_become_rows(X):
    rows = check_rows(X)
    assert rows.matrix.dtype == np.float64
    assert rows.matrix.has_canonical_format
    assert rows.matrix.toarray().tolist() == [[1, 2], [3, 4], [5, 6]]
    assert rows.lengths.tolist() == [2, 1]


def test_one_array_of_equal_lengths_is_a_list_of_samples():
    X = np.arange(12.0).reshape(2, 3, 2)
    rows = check_rows(X)
    assert rows.lengths.tolist() == [3, 3]
    assert np.array_equal(rows.matrix.toarray(), X.reshape(6, 2))


def test_locate():
    lengths = np.array([2, 1, 3])
    places = [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1), (2, 2)]
    assert [locate_row(row, lengths) for row in range(6)] == places


# -- sample weights --------------------------------------------------------------------------------


def test_weights_sum_to_one():
    assert check_sample_weight(None, 4).tolist() == [0.25] * 4
    assert check_sample_weight([1, 0, 3], 3).tolist() == [0.25, 0.0, 0.75]


@pytest.mark.parametrize(
    "weight, message",
    [
        ([1.0, 2.0], r"sample_weight has shape \(2,\), expected \(3,\)"),
        (1.0, r"sample_weight has shape \(\), expected \(3,\)"),
        ([[1.0, 1.0, 1.0]], r"sample_weight has shape \(1, 3\), expected \(3,\)"),
        ([1.0, -2.0, 1.0], "sample 1: weight -2.0 must be finite and not negative"),
        ([1.0, 1.0, np.nan], "sample 2: weight nan must be finite"),
        ([np.inf, 1.0, 1.0], "sample 0: weight inf must be finite"),
        ([0.0, 0.0, 0.0], "zero everywhere; give one sample a weight at least"),
    ],
)
def test_bad_weights_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        check_sample_weight(weight, 3)


# -- labels ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "y, error, message",
    [
        (None, TypeError, "y must be a list with the labels of each sample, found NoneType"),
        ("ab", TypeError, "y must be a list .* found str"),
        (np.array(1), TypeError, "y must be a list .* found ndarray"),
        ([["a", "b"]], ValueError, "X has 2 samples, y has 1"),
        ([["a", "b"], "abc"], TypeError, "sample 1: y is str, expected a sequence of 3 labels"),
        ([["a", "b"], 3], TypeError, "sample 1: y is int, expected a sequence of 3 labels"),
        ([["a", "b"], np.array(3)], TypeError, "sample 1: y is ndarray, expected a sequence of 3"),
        ([["a", "b"], None], TypeError, "sample 1: y is NoneType, expected a sequence"),
        ([["a", "b"], ["a"]], ValueError, "sample 1: y has 1 labels but x has 3 rows"),
        ([[], ["a", "b", "c"]], ValueError, "sample 0: y has 0 labels but x has 2 rows"),
    ],
)
def test_bad_labels_are_refused(y, error, message):
    with pytest.raises(error, match=message):
        check_lengths(y, np.array([2, 3]))


def test_good_labels_pass():
    assert check_lengths([["a", "b"], np.array([1, 2, 3])], np.array([2, 3])) is None


def test_a_single_sequence_is_passed_as_a_list():
    with pytest.raises(ValueError, match=r"sample 0: x has 1 dimension.*as a list: \[x\]"):
        check_rows(np.ones((3, 2)))


def test_an_empty_list_has_no_rows():
    with pytest.raises(ValueError, match=r"sample 1: x has no rows. Leave empty samples out"):
        check_rows([[[1.0]], []])


@pytest.mark.parametrize("labels", [["a", float("nan")], ["a", 1], (1, "a"), ["a", None]])
def test_text_mixed_with_other_labels_is_an_error(labels):
    with pytest.raises(ValueError, match="sample 1: y has labels of type .* and .*str"):
        check_labels([["a", "b"], labels])


MIXED = np.array([[1, 2.5, True], [Decimal("0.5"), np.float32(2), 3]], dtype=object)


def test_objects_that_are_numbers_are_converted():
    found = check_rows([MIXED, pd.DataFrame(MIXED)]).matrix.toarray()
    np.testing.assert_array_equal(found, [[1, 2.5, 1], [0.5, 2, 3]] * 2)
    model = MatchingSVM(tol=0.5).fit([MIXED[:, :, None]] * 2, [[(0, 0)]] * 2)
    assert model.n_features_in_ == 1


@pytest.mark.parametrize(
    "x, text",
    [
        (np.array([[1, 2], [3, "a"]], dtype=object), r"x\[1, 1\] is 'a', not a number"),
        (np.array([[1, None]], dtype=object), r"x\[0, 1\] is None, not a number"),
        (pd.DataFrame({"size": [1, 2], "name": ["b", "c"]}), r"x\[0, 'name'\] is 'b', not a num"),
        ([[1, 2], [3]], "row 1 has length 1, row 0 has length 2"),
        ([[[1], [2]], [[3], [4, 5]]], "row 1, 1 has length 2, row 0, 0 has length 1"),
    ],
)
def test_what_is_no_number_is_named_by_sample_and_column(x, text):
    with pytest.raises(SampleError, match=f"sample 1: x is not an array of real numbers .{text}"):
        check_rows([np.ones((2, 2)), x])


@pytest.mark.parametrize("call", [check_rows, check_graphs, MatchingSVM()._check_X, check_matrix])
def test_generators_are_to_be_listed(call):
    with pytest.raises(TypeError, match=r"found generator. Give list\(X\)"):
        call(x for x in [np.ones((2, 2))])


def test_ragged_rows_are_named_where_samples_are_rows():
    with pytest.raises(
        ValueError, match="X is not a matrix: row 2 has length 1, row 0 has length 2"
    ):
        MulticlassSVM().fit([[1, 2], [3, 4], [5]], [0, 1, 0])
    with pytest.raises(ValueError, match="nodes: .*row 1 has length 1, row 0 has length 2"):
        Graph([[1, 2], [3]], [(0, 1)])
