"""SegmentSVM: both forms of samples, features of segments, and what it refuses."""

import numpy as np
import pytest
from scipy import sparse

from contract.cases.segments import segment_svm
from maxmargin import SegmentSVM, load
from maxmargin.estimators.segment import _segment_rows

KIND = segment_svm()


@pytest.fixture(scope="module")
def model():
    return KIND.fit(tol=0.01)


def test_runs_are_learned(model, tmp_path):
    assert model.score(KIND.X, KIND.y) > 0.9
    found = model.predict(KIND.X)
    ends = [(own[0][0], own[-1][1]) for own in found]
    assert ends == [(0, len(x)) for x in KIND.X]
    model.save(tmp_path / "model.mm")
    assert load(tmp_path / "model.mm").predict(KIND.X) == found
    assert model.predict([sparse.csr_array(x) for x in KIND.X]) == found
    (best, *_), *_ = model.predict_k_best(KIND.X[:1], 2)
    assert best[0] == found[0]


def test_segments_have_the_sum_the_first_and_a_length():
    x = np.arange(6.0).reshape(3, 2)
    rows = _segment_rows(0, x, 2).toarray().reshape(3, 2, 6)
    assert rows[0].tolist() == [[0, 1, 0, 1, 1, 0], [2, 4, 0, 1, 0, 1]]
    assert rows[2].tolist() == [[4, 5, 4, 5, 1, 0], [0] * 6]


def test_features_of_segments_may_be_given(model):
    given = [_segment_rows(i, x, 3).toarray().reshape(len(x), 3, -1) for i, x in enumerate(KIND.X)]
    own = SegmentSVM(max_length=3, alpha=0.05, tol=0.01).fit(given, KIND.y)
    assert np.array_equal(own.coef_, model.coef_)


def test_likelihood_has_probabilities_of_segments():
    own = KIND.fit(objective="likelihood", alpha=0.1, tol=0.01)
    p = own.predict_marginals(KIND.X[:1])[0]
    n = len(KIND.X[0])
    chances = np.asarray(p).reshape(n, 3, 2)
    covered = np.zeros(n)
    for begin in range(n):
        for length in range(min(3, n - begin)):
            covered[begin : begin + length + 1] += chances[begin, length].sum()
    assert covered == pytest.approx(np.ones(n))


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (
            [np.ones((5, 2))],
            [[(0, 5, "a")]],
            "sample 0: .*from 0 to 5 has 5 positions, and max_length=3",
        ),
        ([np.ones((2, 2))], [[(0, 1, "a")]], "sample 0: .*must follow each other from 0 to 2"),
        ([np.ones((2, 2))], [["a", "b"]], "sample 0: y must be a list of segments"),
        ([np.ones((2, 4, 2))], [[(0, 2, "a")]], r"sample 0: x has shape .* \(n, 3, n_features\)"),
        ([np.ones((2, 2))], [[]], "sample 0: y has no segments"),
        ([np.ones((2, 2))], [[(0, 2, ["a"])]], "sample 0: y must be a list of segments"),
        ([np.ones((2, 2))], [[(0, 1, "a"), (1, 2, 1)]], "sample 0: y has labels of type"),
        ([np.ones((2, 2))], [[(0, 1.5, "a"), (1.5, 2, "b")]], "sample 0: .*not an integer"),
    ],
)
def test_what_is_no_sample_is_refused(X, y, words):
    with pytest.raises(ValueError, match=words):
        SegmentSVM(max_length=3).fit(X, y)


def test_unknown_labels_are_named(model):
    assert model.score(KIND.X[:1], [[(0, len(KIND.X[0]), "z")]]) < 1
