"""Paths of sparse models over the radius of an l1 ball."""

import numpy as np
import pytest
from scipy import sparse

from contract.problems import AtMostTwo
from maxmargin import ChainSVM, MulticlassSVM, StructuredSVM, load
from maxmargin.datasets import make_sequences
from maxmargin.domains import L1Ball, L2Ball, NonNegative
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.paths import l1_path
from maxmargin.solvers import BCFW

PLANTED = 4
RADII = (0.1, 0.5, 2.0)


@pytest.fixture(scope="module")
def data():
    """Chains of which the first features tell the labels, and thirty others nothing."""
    made = make_sequences(60, (3, 7), 3, PLANTED, separation=1.5, random_state=1)
    rng = np.random.default_rng(0)
    return [np.hstack([x, rng.normal(size=(len(x), 30))]) for x in made.X], made.y


@pytest.fixture(scope="module")
def path(data):
    X, y = data
    return l1_path(ChainSVM(), X[:40], y[:40], RADII, validation=(X[40:], y[40:]))


def test_more_weights_are_used_in_a_larger_ball(path):
    counts = [point.n_nonzero for point in path.points]
    assert counts == sorted(counts)
    assert 0 < counts[0] < counts[-1] / 2
    norms = np.array([point.norm for point in path.points])
    assert np.all(norms <= np.array(RADII) * (1 + 1e-9))
    primals = [point.primal for point in path.points]
    assert primals == sorted(primals, reverse=True)


def test_the_first_features_are_those_that_tell_the_labels(path):
    used = np.flatnonzero(path.model(0).node_coef_.any(axis=1))
    assert set(used[used < PLANTED]) == set(used)
    assert path.points[0].n_features == len(used) > 1


def test_every_fit_is_certified(path):
    for point in path.points:
        assert point.status == "converged"
        assert 0 <= point.gap <= 1e-2 * point.primal
        assert point.gap == pytest.approx(point.primal - point.dual)


def test_a_warm_fit_is_as_good_as_a_cold_one_within_both_certificates(path, data):
    X, y = data
    for point in path.points:
        cold = ChainSVM(
            domain=L1Ball(point.radius), solver="smoothed", tol=1e-2, max_epochs=1000
        ).fit(X[:40], y[:40])
        assert point.dual <= cold.result_.primal
        assert cold.result_.dual <= point.primal


def test_models_of_the_path_predict_and_score(path, data, tmp_path):
    X, y = data
    for k, point in enumerate(path.points):
        model = path.model(k)
        assert model.score(X[40:], y[40:]) == point.validation_score
        assert model.result_.primal == point.primal
        assert model.domain.radius == point.radius
    scores = [point.validation_score for point in path.points]
    assert path.best_index_ == int(np.argmax(scores))
    best = path.best_.sparsify()
    best.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert sparse.issparse(again.coef_)
    assert again.coef_.nnz == path.points[path.best_index_].n_nonzero
    for a, b in zip(again.predict(X), path.best_.predict(X), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_table_and_the_words_tell_the_same(path):
    frame = path.to_frame()
    assert frame["radius"].tolist() == list(RADII)
    assert frame["n_nonzero"].tolist() == [point.n_nonzero for point in path.points]
    assert len(path) == 3
    assert repr(path).startswith("<L1Path: 3 radii from 0.1 to 2,")
    assert path.weights.shape == (3, 3 * (PLANTED + 30 + 3) + 9)


def test_by_itself_the_path_ends_at_the_norm_without_a_ball(data):
    X, y = data
    model = ChainSVM(alpha=0.1)
    path = l1_path(model, X[:30], y[:30], n_radii=3, ratio=0.1, train_score=False)
    free = ChainSVM(alpha=0.1, tol=1e-2, max_epochs=1000).fit(X[:30], y[:30])
    np.testing.assert_allclose(path.radii[-1], np.abs(free.coef_).sum())
    np.testing.assert_allclose(path.radii / path.radii[-1], [0.1, 0.1**0.5, 1.0])
    assert path.points[-1].dual <= free.result_.primal
    assert model.domain is None
    assert not hasattr(model, "coef_")
    assert not path.validated
    with pytest.raises(ValueError, match="no validation scores"):
        _ = path.best_


def test_other_solvers_and_signs(data):
    X, y = np.vstack(data[0])[:60], np.concatenate(data[1])[:60]
    model = MulticlassSVM(alpha=0.1, solver=BCFW(averaging=False), domain=NonNegative())
    path = l1_path(model, X, y, [2.0, 0.5, 2.0])
    assert path.radii.tolist() == [0.5, 2.0]
    assert path.weights.min() >= 0
    assert path.model(-1).domain.signs is model.domain


def test_structures_without_expectations_get_another_solver():
    rng = np.random.default_rng(0)
    X, y = [rng.normal(size=(4, 3)) for _ in range(6)], [(k % 4,) for k in range(6)]
    path = l1_path(StructuredSVM(AtMostTwo(), alpha=0.1), X, y, [0.2, 0.4])
    for point in path.points:
        assert point.status == "converged"
        assert point.norm <= point.radius + 1e-12


@pytest.mark.parametrize("radii", [[0.0, 1.0], [-1.0], [np.nan], [np.inf], ["one"], []])
def test_bad_radii(radii, data):
    with pytest.raises(ValueError, match="radii must be positive numbers"):
        l1_path(ChainSVM(), *data, radii)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"n_radii": 0}, ValueError, "n_radii=0"),
        ({"ratio": 1.5}, ValueError, "ratio=1.5"),
        ({"validation": [1]}, TypeError, "a pair"),
        ({}, ValueError, "give radii"),
    ],
)
def test_bad_options(options, error, words, data):
    with pytest.raises(error, match=words):
        l1_path(ChainSVM(alpha=0), *data, **options)


def test_a_class_in_the_place_of_an_estimator(data):
    with pytest.raises(TypeError, match=r"ChainSVM is not an estimator object, such as ChainSVM\("):
        l1_path(ChainSVM, *data)


def test_a_model_beyond_the_path(data):
    path = l1_path(ChainSVM(alpha=0.1), *data, [0.5, 1.0])
    for index in (2, -3, "a"):
        with pytest.raises(IndexError, match="the path has 2 radii, 0 to 1"):
            path.model(index)
    assert np.array_equal(path.model(-1).coef_, path.model(1).coef_)


def test_a_domain_that_is_no_l1_ball(data):
    with pytest.raises(ValueError, match="L2Ball cannot be joined"):
        l1_path(ChainSVM(domain=L2Ball(1.0)), *data)


def test_fits_that_end_early_are_named_once(data):
    X, y = data
    with pytest.warns(ConvergenceWarning, match="2 of 2 fits ended above tol") as caught:
        l1_path(ChainSVM(), X[:20], y[:20], [1.0, 2.0], max_epochs=2, tol=1e-6)
    assert len(caught) == 1
