"""SegmentSVM: both forms of samples, features of segments, and what it refuses."""

import numpy as np
import pytest
from scipy import sparse

from contract.cases.segments import segment_svm
from maxmargin import SegmentSVM, load
from maxmargin.exceptions import InfeasibleError, SampleError
from maxmargin.features import SegmentFeatures
from maxmargin.features.base import part_features

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


def test_scores_are_those_of_positions_lengths_and_segments():
    rng, n, most, labels = np.random.default_rng(0), 4, 3, 2
    x, f = rng.normal(size=(n, 2)), rng.normal(size=(n, most, 5))
    features = SegmentFeatures(most)
    packed = features.pack(features.check([(x, f)]), labels, np.array([2 * n * 2 + n * 3 * 2 + 4]))
    w = rng.normal(size=packed.dim)
    theta = part_features(packed, packed.dim) @ w
    U, W, T = w[:16].reshape(4, 2, 2), w[16:32].reshape(8, 2), w[32:].reshape(2, 2)
    ends = np.zeros((n, 2))
    ends[0, 0] = ends[-1, 1] = 1
    expected = np.einsum("np,pak->nak", np.hstack([x, ends]), U)
    assert theta[:16] == pytest.approx(expected.ravel())
    lengths = np.array([[d < n - s for d in range(most)] for s in range(n)])
    both = np.concatenate([f, lengths[:, :, None] * np.eye(most)], axis=2)
    assert theta[16:40] == pytest.approx((both @ W).ravel())
    assert theta[40:] == pytest.approx(T.ravel())


def test_features_of_segments_may_be_given(model):
    sums = []
    for x in KIND.X:
        own = np.zeros((len(x), 3, 6))
        for s in range(len(x)):
            for d in range(min(3, len(x) - s)):
                own[s, d] = [*x[s : s + d + 1].sum(axis=0), *x[s]]
        sums.append(own)
    own = SegmentSVM(max_length=3, alpha=0.05, tol=0.01).fit(sums, KIND.y)
    assert own.score(sums, KIND.y) > 0.9
    both = list(zip(KIND.X, sums, strict=True))
    assert (
        SegmentSVM(max_length=3, alpha=0.05, tol=0.01).fit(both, KIND.y).score(both, KIND.y) > 0.9
    )


def test_labels_of_single_positions():
    y = [
        [piece for s, e, k in own for piece in ([(t, t + 1, k) for t in range(s, e)] if k == "b"
         else [(s, e, k)])]
        for own in KIND.y
    ]  # fmt: skip
    own = SegmentSVM(max_length=3, alpha=0.05, tol=0.01, single=["b"]).fit(KIND.X, y)
    found = own.predict(KIND.X)
    assert all(e == s + 1 for segments in found for s, e, k in segments if k == "b")
    assert any(e > s + 1 for segments in found for s, e, k in segments)
    with pytest.raises(InfeasibleError, match="sample .*forbidden by the structure"):
        SegmentSVM(max_length=3, single=["b"]).fit(KIND.X, KIND.y)
    with pytest.raises(ValueError, match="labels that y does not have"):
        SegmentSVM(max_length=3, single=["z"]).fit(KIND.X, y)


def test_likelihood_has_probabilities_of_segments():
    own = KIND.fit(objective="likelihood", alpha=0.1, tol=0.01)
    n = len(KIND.X[0])
    p = np.asarray(own.predict_marginals(KIND.X[:1])[0])
    assert p.shape == (n, 4)
    assert p.sum(axis=1) == pytest.approx(np.ones(n))


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


def test_features_of_the_other_kind_are_refused():
    rng = np.random.default_rng(0)
    X = [(rng.normal(size=(4, 3)), rng.normal(size=(4, 2, 4))) for _ in range(3)]
    y = [[(0, 2, "a"), (2, 4, "b")]] * 3
    model = SegmentSVM(max_length=2, tol=0.1).fit(X, y)
    with pytest.raises(ValueError, match="X has 5 features of positions, .* expecting 3"):
        model.predict([rng.normal(size=(4, 5))])  # as many rows of weights in all


def test_features_of_another_number_are_told_as_they_were_given():
    X, y = [np.eye(4, 3)] * 3, [[(0, 2, "a"), (2, 4, "b")]] * 3
    model = SegmentSVM(max_epochs=1, tol=10.0).fit(X, y)
    with pytest.raises(ValueError, match="X has 2 features of positions, .* expecting 3 features"):
        model.predict([np.eye(4, 2)])


def test_places_of_segments_that_are_texts_are_refused():
    y = [[(0, 2, "a"), (2, 4, "b")]] * 2 + [np.array([(0, 2, "a"), (2, 4, "b")])]
    with pytest.raises(SampleError, match="sample 2: y has a segment .* text '0', expected an int"):
        SegmentSVM().fit([np.eye(4, 3)] * 3, y)
