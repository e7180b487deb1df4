"""Paths over falling penalties."""

import numpy as np
import pytest

from maxmargin import ChainSVM, MulticlassSVM, load
from maxmargin.datasets import make_sequences
from maxmargin.domains import L2Ball
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.paths import alpha_path, eps_path, iterates_path
from maxmargin.solvers import DualExtragradient
from maxmargin.tasks import SequenceTagger

ALPHAS = (0.03, 1.0, 0.2)
EXACT = {"bcfw": 1e-2, "fw": 5e-2, "extragradient": 5e-2}


@pytest.fixture(scope="module")
def data():
    made = make_sequences(60, (3, 7), 3, 6, separation=1.5, random_state=1)
    return made.X, made.y


@pytest.fixture(scope="module")
def path(data):
    X, y = data
    model = ChainSVM(tol=1e-2, max_epochs=1000)
    return alpha_path(model, X[:40], y[:40], ALPHAS, validation=(X[40:], y[40:]))


def test_from_large_to_small_each_certified(path):
    assert path.alphas.tolist() == sorted(ALPHAS, reverse=True)
    norms, primals, hinges = (
        [getattr(point, name) for point in path.points] for name in ("norm_w", "primal", "hinge")
    )
    assert norms == sorted(norms)
    assert primals == sorted(primals, reverse=True)
    assert hinges == sorted(hinges, reverse=True)
    for point in path.points:
        assert point.status == "converged"
        assert 0 <= point.gap <= 1e-2 * point.primal
        assert point.radius == np.inf
        assert point.primal == pytest.approx(point.hinge + point.alpha / 2 * point.norm_w**2)


@pytest.mark.parametrize("solver", EXACT)
def test_warm_fits_are_as_good_as_cold_ones_with_any_solver(solver, data):
    X, y = data
    tol = EXACT[solver]
    model = ChainSVM(tol=tol, max_epochs=1000)
    path = alpha_path(model, X[:30], y[:30], [1.0, 0.2], solver=solver)
    for point in path.points:
        assert point.gap <= tol * point.primal
        cold = ChainSVM(alpha=point.alpha, tol=1e-3).fit(X[:30], y[:30]).result_
        assert point.dual <= cold.primal
        assert cold.dual <= point.primal


def test_z_is_kept_so_that_fits_are_shorter_than_cold_ones(data):
    alphas = np.geomspace(0.2, 0.02, 6)
    path = alpha_path(ChainSVM(tol=1e-2), *data, alphas, train_score=False)
    cold = [ChainSVM(alpha=a, tol=1e-2).fit(*data).result_.n_epochs for a in alphas]
    assert sum(point.n_epochs for point in path.points) < sum(cold)


def test_models_of_the_path(path, data, tmp_path):
    X, y = data
    for k, point in enumerate(path.points):
        model = path.model(k)
        assert model.alpha == point.alpha
        assert model.score(X[40:], y[40:]) == point.validation_score
        assert model.result_.primal == point.primal
    assert path.best_index_ == int(np.argmax([p.validation_score for p in path.points]))
    path.best_.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").coef_, path.best_.coef_)
    assert path.to_frame()["alpha"].tolist() == path.alphas.tolist()
    assert repr(path).startswith("<AlphaPath: 3 alphas from 1 to 0.03, |w| from ")
    with pytest.raises(IndexError, match="the path has 3 alphas, 0 to 2"):
        path.model(3)


def test_options_of_the_estimator_hold_unless_others_are_given(data):
    X, y = data
    model = ChainSVM(tol=0.3, max_epochs=7)
    path = alpha_path(model, X, y, [1.0], validation=data)
    assert (path.best_.tol, path.best_.max_epochs) == (0.3, 7)
    path = alpha_path(model, X, y, [1.0], tol=0.2, max_epochs=9, validation=data)
    assert (path.best_.tol, path.best_.max_epochs) == (0.2, 9)
    path = eps_path(model, X, y, 0.5, alpha_max=1.0, alpha_min=0.5)
    assert path.model(1.0).max_epochs == 7


def test_by_itself_it_begins_where_zero_weights_cease_to_do(data):
    X, y = data
    model = ChainSVM()
    path = alpha_path(model, X[:20], y[:20], n_alphas=3, ratio=0.01, train_score=False)
    np.testing.assert_allclose(path.alphas / path.alphas[0], [1, 0.1, 0.01])
    zero = model._problem(X[:20], y[:20], None, None).primal(np.zeros(path.weights.shape[1]))
    first = path.points[0]
    assert first.primal < zero
    assert first.dual >= 0.9 * zero
    assert model.alpha == 1e-2
    assert not hasattr(model, "coef_")


def test_tasks_further_arguments_and_likelihoods(data):
    sentences = [["the", "cat", "sat"], ["a", "dog", "ran", "off"]]
    tags = [["D", "N", "V"], ["D", "N", "V", "P"]]
    weight = {"sample_weight": [1.0, 3.0]}
    path = alpha_path(SequenceTagger(), sentences, tags, [0.1, 0.5], fit_params=weight)
    model = path.model(1)
    assert model.predict(sentences) == tags
    assert model.alpha == model.model_.alpha == 0.1
    cold = SequenceTagger(alpha=0.1, tol=1e-4).fit(sentences, tags, [1.0, 3.0]).result_
    assert path.points[1].dual <= cold.primal <= path.points[1].primal * (1 + 1e-9)
    crf = ChainSVM(objective="likelihood")
    assert alpha_path(crf, *data, [1.0, 0.1]).points[1].status == "converged"
    with pytest.raises(ValueError, match="give alphas, such as"):
        alpha_path(crf, *data)


def test_domains_are_kept(data):
    X, y = np.vstack(data[0])[:60], np.concatenate(data[1])[:60]
    path = alpha_path(MulticlassSVM(domain=L2Ball(0.5)), X, y, [0.5, 0.01])
    assert path.points[1].norm_w <= 0.5 + 1e-9
    with pytest.raises(ValueError, match="L2Ball begins is not known"):
        alpha_path(MulticlassSVM(domain=L2Ball(0.5)), X, y)


def test_bad_options(data):
    for alphas in ([0.0], [-1.0, 1.0], [np.nan], ["one"], []):
        with pytest.raises(ValueError, match="alphas must be positive numbers"):
            alpha_path(ChainSVM(), *data, alphas)
    with pytest.raises(ValueError, match="n_alphas=0"):
        alpha_path(ChainSVM(), *data, n_alphas=0)
    with pytest.raises(ValueError, match="ratio=2"):
        alpha_path(ChainSVM(), *data, ratio=2)
    same = [np.zeros((3, 2))] * 2
    with pytest.raises(ValueError, match="w = 0 is the optimum at every alpha"):
        alpha_path(ChainSVM(), same, [[0, 0, 0], [0, 0, 0]])


def test_fits_that_end_early_are_named_once(data):
    with pytest.warns(ConvergenceWarning, match="2 of 2 fits ended above tol") as caught:
        alpha_path(ChainSVM(), *data, [0.01, 0.02], max_epochs=1, tol=1e-6)
    assert len(caught) == 1


# -- the path of one run


def test_iterates_are_the_records_of_one_run(data):
    X, y = data
    held = X[40:], y[40:]
    path = iterates_path(ChainSVM(), X[:40], y[:40], max_epochs=30, validation=held)
    run = ChainSVM(alpha=0, solver=DualExtragradient(), max_epochs=30, tol=0).fit(X[:40], y[:40])
    assert path.epochs.tolist() == [record.epoch for record in run.result_.history]
    np.testing.assert_allclose(
        [p.norm_w for p in path.points], [r.norm_w for r in run.result_.history], rtol=1e-9
    )
    np.testing.assert_allclose(
        [p.hinge for p in path.points], [r.primal for r in run.result_.history], rtol=1e-9
    )
    for k, point in enumerate(path.points):
        assert path.model(k).score(*held) == point.validation_score
    assert path.model(-1).alpha == 0
    assert "weights of epoch 30" in path.model(-1).result_.message
    assert path.points[-1].norm_w > path.points[0].norm_w


def test_iterates_of_solvers_without_certificates_have_hinges_all_the_same(data):
    path = iterates_path(ChainSVM(), *data, solver="perceptron", max_epochs=4, every=2)
    assert all(np.isfinite(point.hinge) for point in path.points)
    assert path.epochs.tolist() == [2, 4]
    with pytest.raises(ValueError, match="every=0"):
        iterates_path(ChainSVM(), *data, every=0)
    with pytest.raises(ValueError, match="alpha=-1"):
        iterates_path(ChainSVM(), *data, alpha=-1)
