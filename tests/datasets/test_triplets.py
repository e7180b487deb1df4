"""Triplets with a known answer."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from maxmargin import StructuredSVM, load
from maxmargin.datasets import make_triplets
from maxmargin.structures import Finite


def right(X, y, w):
    return np.mean([np.argmax(x @ w) for x in X] == y)


@pytest.fixture(scope="module")
def data():
    return make_triplets(2300, n_features=30, n_relevant=5, noise=0.4, random_state=1)


@pytest.fixture(scope="module")
def model(data):
    return StructuredSVM(Finite(), alpha=0.1, tol=0.01).fit(data.X[:300], data.y[:300])


def test_rows_are_squared_differences_of_pairs(data):
    assert len(data.X) == len(data.y) == len(data.triplets) == 2300
    for x, items in zip(data.X[:20], data.triplets, strict=False):
        for row, (i, j) in zip(x, data.pairs, strict=True):
            np.testing.assert_array_equal(row, -((items[i] - items[j]) ** 2))
    assert np.count_nonzero(data.metric) == 5
    assert np.bincount(data.y).min() > 2300 / 3 - 100


def test_without_noise_the_metric_is_never_wrong():
    data = make_triplets(200, n_classes=2, n_features=6, n_relevant=2, noise=0.0)
    assert right(data.X, data.y, data.metric) == 1.0
    assert right(data.X, data.y, (data.metric == 0).astype(float)) < 0.5


def test_the_same_seed_gives_the_same_triplets():
    first, second, other = (make_triplets(5, random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.triplets, second.triplets)
    np.testing.assert_array_equal(first.y, second.y)
    assert not np.array_equal(first.triplets, other.triplets)


def test_a_learned_metric_beats_a_plain_classifier_and_that_beats_chance(data, model):
    X, y, X_test, y_test = data.X[:300], data.y[:300], data.X[300:], data.y[300:]
    plain = LogisticRegression(C=0.03, max_iter=2000).fit(np.reshape(X, (300, -1)), y)
    by_rows = plain.score(np.reshape(X_test, (2000, -1)), y_test)
    learned, best = model.score(X_test, y_test), right(X_test, y_test, data.metric)
    assert 1 / 3 + 0.1 < by_rows < learned - 0.1
    assert learned <= best
    assert learned > best - 0.1
    top = np.argsort(-model.coef_)[:5]
    assert set(top) == set(np.flatnonzero(data.metric))


def test_dual_extragradient_finds_the_same(data, model):
    other = StructuredSVM(
        Finite(), alpha=0.1, tol=0.05, max_epochs=3000, solver="dual-extragradient"
    ).fit(data.X[:300], data.y[:300])
    assert other.result_.status.value == "converged"
    assert other.result_.dual <= model.result_.primal
    assert model.result_.dual <= other.result_.primal


def test_the_model_is_saved_and_loaded(data, model, tmp_path):
    model.save(tmp_path / "triplets")
    again = load(tmp_path / "triplets")
    assert again.predict(data.X[300:400]) == model.predict(data.X[300:400])
    np.testing.assert_array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_samples": 0}, "n_samples=0 must be an integer, 1 or more"),
        ({"n_classes": 1}, "n_classes=1 must be an integer, 2 or more"),
        ({"n_features": 2.5}, "n_features=2.5"),
        ({"n_relevant": 21}, "n_relevant=21 is more than n_features=20"),
        ({"noise": -1}, "noise=-1"),
        ({"noise": np.nan}, "noise=nan"),
    ],
)
def test_bad_options(options, words):
    with pytest.raises(ValueError, match=words):
        make_triplets(**options)
