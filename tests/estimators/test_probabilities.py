"""Temperatures of held-out data, and probabilities that are divided by them."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize_scalar
from sklearn.exceptions import NotFittedError

import maxmargin
from maxmargin import ChainSVM, Graph, MulticlassSVM, StructuredSVM, TreeSVM
from maxmargin.datasets import make_sequences
from maxmargin.estimators.temperature import find_temperature
from maxmargin.exceptions import InfeasibleError
from maxmargin.metrics import log_loss
from maxmargin.structures import Finite

DATA = make_sequences(60, (1, 4), 3, 4, separation=1.0, random_state=3)
TRAIN, HELD = slice(0, 30), slice(30, 60)


@pytest.fixture
def fitted():
    return ChainSVM(alpha=0.02, tol=0.05).fit(DATA.X[TRAIN], DATA.y[TRAIN])


def sequences(model, x):
    """All label sequences of a sample, and their scores by the parts of the weights."""
    own = np.array(list(product(range(len(model.classes_)), repeat=len(x))))
    nodes = x @ model.node_coef_ + model.bias_
    nodes[0] += model.first_
    nodes[-1] += model.last_
    scores = nodes[np.arange(len(x)), own].sum(axis=1)
    return own, scores + model.transition_coef_[own[:, :-1], own[:, 1:]].sum(axis=1)


def brute_force(model, x, temperature):
    """(length, labels), by a sum over all label sequences."""
    own, scores = sequences(model, x)
    p = np.exp((scores - scores.max()) / temperature)
    p /= p.sum()
    found = np.zeros((len(x), len(model.classes_)))
    for y, weight in zip(own, p, strict=True):
        found[np.arange(len(x)), y] += weight
    return found


def brute_loss(model, X, y, temperature, weight=None):
    losses = [
        -np.log(brute_force(model, x, temperature)[np.arange(len(x)), own])
        for x, own in zip(X, y, strict=True)
    ]
    weight = [np.ones(len(x)) for x in X] if weight is None else weight
    return np.average(np.concatenate(losses), weights=np.concatenate(weight))


@pytest.mark.parametrize("temperature", [0.05, 1.0, 7.0])
def test_marginals_with_a_temperature_equal_the_sum_over_all_outputs(fitted, temperature):
    fitted.temperature_ = temperature
    for x, found in zip(DATA.X, fitted.predict_marginals(DATA.X), strict=True):
        np.testing.assert_allclose(found, brute_force(fitted, x, temperature), atol=1e-12)


def test_the_temperature_minimises_the_log_loss_of_held_out_marginals(fitted):
    X, y = DATA.X[HELD], DATA.y[HELD]
    assert fitted.temperature_ == 1.0
    before = fitted.predict(X)
    assert fitted.calibrate(X, y) is fitted
    best = minimize_scalar(
        lambda t: brute_loss(fitted, X, y, np.exp(t)), bounds=(-6, 6), method="bounded",
        options={"xatol": 1e-6},
    )  # fmt: skip
    assert fitted.temperature_ == pytest.approx(np.exp(best.x), rel=2e-3)
    assert brute_loss(fitted, X, y, fitted.temperature_) == pytest.approx(best.fun, rel=1e-6)
    for a, b in zip(before, fitted.predict(X), strict=True):
        np.testing.assert_array_equal(a, b)


def test_node_weights_say_how_much_variables_count(fitted):
    X, y = DATA.X[HELD], DATA.y[HELD]
    weight = [np.random.default_rng(i).uniform(size=len(x)) for i, x in enumerate(X)]
    fitted.calibrate(X, y, weight)
    best = minimize_scalar(
        lambda t: brute_loss(fitted, X, y, np.exp(t), weight), bounds=(-6, 6), method="bounded",
        options={"xatol": 1e-6},
    )  # fmt: skip
    assert fitted.temperature_ == pytest.approx(np.exp(best.x), rel=2e-3)


@pytest.mark.parametrize("planted", [0.1, 0.5])
def test_calibrate_finds_the_temperature_that_made_the_labels(fitted, planted):
    rng = np.random.default_rng(1)
    X = [rng.normal(size=(n, 4)) for n in rng.integers(1, 4, size=1500)]
    y = []
    for x in X:
        own, scores = sequences(fitted, x)
        p = np.exp((scores - scores.max()) / planted)
        y.append(own[rng.choice(len(own), p=p / p.sum())])
    found = np.log(fitted.calibrate(X, y).temperature_ / planted)
    # the curvature of the log loss, at the planted temperature, is the information on log T
    n = sum(map(len, X))
    (held,) = fitted._held_out(X, y, None)
    a, b, c = (held.exact_loss(fitted.coef_ / (planted * np.exp(t))) for t in (-0.05, 0, 0.05))
    sigma = 1 / np.sqrt((a - 2 * b + c) / 0.05**2)
    assert sigma < 0.1
    assert n > 2000
    assert abs(found) < 4 * sigma


def test_fit_forgets_the_temperature(fitted):
    fitted.calibrate(DATA.X[HELD], DATA.y[HELD])
    assert fitted.temperature_ != 1.0
    fitted.fit(DATA.X[TRAIN], DATA.y[TRAIN])
    assert fitted.temperature_ == 1.0


def test_the_temperature_is_saved_and_old_models_have_none(fitted, tmp_path):
    fitted.calibrate(DATA.X[HELD], DATA.y[HELD])
    fitted.save(tmp_path / "new.mm")
    loaded = maxmargin.load(tmp_path / "new.mm")
    assert loaded.temperature_ == fitted.temperature_
    for a, b in zip(*(m.predict_marginals(DATA.X) for m in (loaded, fitted)), strict=True):
        np.testing.assert_array_equal(a, b)
    del fitted.temperature_
    fitted.save(tmp_path / "old.mm")
    old = maxmargin.load(tmp_path / "old.mm")
    for x, found in zip(DATA.X, old.predict_marginals(DATA.X), strict=True):
        np.testing.assert_allclose(found, brute_force(old, x, 1.0), atol=1e-12)
    assert old.calibrate(DATA.X[HELD], DATA.y[HELD]).temperature_ == loaded.temperature_


def test_multiclass_equals_softmax_and_takes_any_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    names = np.array(["a", "b", "c"])
    y = names[(X + rng.normal(size=X.shape)).argmax(axis=1)]
    model = MulticlassSVM(alpha=0.1).fit(X[:100], y[:100]).calibrate(X[100:], y[100:])
    found = model.temperature_
    assert model.calibrate(sparse.csr_array(X[100:]), y[100:]).temperature_ == found
    scores = model.decision_function(X) / model.temperature_
    soft = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_marginals(X), soft, atol=1e-12)
    true = soft[100:][np.arange(100), np.searchsorted(names, y[100:])]
    for factor in (0.98, 1.02):
        other = soft**factor / (soft**factor).sum(axis=1, keepdims=True)
        p = other[100:][np.arange(100), np.searchsorted(names, y[100:])]
        assert np.log(p).mean() < np.log(true).mean()


def test_outputs_of_a_list_and_samples_in_several_chunks(monkeypatch):
    rng = np.random.default_rng(2)
    X = [rng.normal(size=(m, 2)) for m in rng.integers(2, 5, size=50)]
    y = [int((x @ [1.0, 0.5] + rng.gumbel(size=len(x))).argmax()) for x in X]
    model = StructuredSVM(Finite(), alpha=0.1).fit(X[:25], y[:25])
    whole = model.calibrate(X[25:], y[25:]).temperature_
    monkeypatch.setattr("maxmargin.estimators.base.CHUNK", 7)
    assert model.calibrate(X[25:], y[25:]).temperature_ == pytest.approx(whole, rel=1e-9)


def test_trees_that_are_paths_have_the_temperature_of_chains(fitted):
    graphs = [Graph.from_parents(x, np.arange(len(x)) - 1) for x in DATA.X]
    names = np.array(["a", "b", "c"])
    model = TreeSVM(tol=0.5).fit(graphs[TRAIN], [names[y] for y in DATA.y[TRAIN]])
    model.coef_ = fitted.coef_
    model.calibrate(graphs[HELD], [names[y] for y in DATA.y[HELD]])
    fitted.calibrate(DATA.X[HELD], DATA.y[HELD])
    assert model.temperature_ == pytest.approx(fitted.temperature_, rel=1e-6)
    for a, b in zip(model.predict_marginals(graphs), fitted.predict_marginals(DATA.X), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)
    with pytest.raises(ValueError, match="sample 0: y has 'z', which is not among the 3 labels"):
        model.calibrate(graphs[:1], [["z"] * len(DATA.X[0])])


def test_trees_whose_held_out_edges_have_features(fitted):
    graphs = [Graph.from_parents(x, np.arange(len(x)) - 1) for x in DATA.X]
    model = TreeSVM(tol=0.5).fit(graphs[TRAIN], DATA.y[TRAIN])
    model.coef_ = fitted.coef_
    heavy = [Graph(g.nodes, g.edges, np.full((len(g.edges), 1), 2.0)) for g in graphs[HELD]]
    found = model.calibrate(heavy, DATA.y[HELD]).temperature_
    losses = []
    for model.temperature_ in (found, found * 0.97, found * 1.03):
        losses.append(log_loss(DATA.y[HELD], model.predict_marginals(heavy)))
    assert losses[0] == min(losses)


def test_errors_name_samples_of_later_chunks(fitted, monkeypatch):
    monkeypatch.setattr("maxmargin.estimators.base.CHUNK", 7)
    model = ChainSVM(forbidden_first=[2], tol=0.5)
    start = [np.where(np.arange(len(y)) == 0, 0, y) for y in DATA.y]
    model.fit(DATA.X, start)
    start[30] = np.full(len(start[30]), 2)
    with pytest.raises(InfeasibleError, match="sample 30: its true output is forbidden"):
        model.calibrate(DATA.X, start)


def test_a_part_without_errors_gives_a_bound_and_a_warning():
    x = np.repeat([[1.0, 0.0], [0.0, 1.0]], 20, axis=0)
    y = np.repeat([0, 1], 20)
    model = MulticlassSVM(alpha=0.1).fit(x, y)
    with pytest.warns(UserWarning, match="every held-out variable is predicted rightly"):
        model.calibrate(x, y)
    p = model.predict_marginals(x)[np.arange(40), y]
    assert -np.log(p).sum() == pytest.approx(np.log(2), rel=0.02)


def test_labels_that_the_scores_cannot_tell():
    x = np.repeat([[1.0, 0.0], [0.0, 1.0]], 20, axis=0)
    y = np.repeat([0, 1], 20)
    model = MulticlassSVM(alpha=0.1).fit(x, y)
    with pytest.warns(UserWarning, match="as if drawn at random"):
        model.calibrate(x, 1 - y)
    np.testing.assert_allclose(model.predict_marginals(x), 0.5, atol=1e-5)
    model.coef_ = np.zeros_like(model.coef_)
    with pytest.warns(UserWarning, match="the scores say nothing"):
        model.calibrate(x, y)
    assert model.temperature_ == 1.0


@pytest.mark.parametrize("planted", [1e-4, 0.3, 1.0, 2e5])
def test_the_search_finds_minima_of_any_scale(planted):
    calls = []

    def loss(t):
        calls.append(t)
        return 1.0 + np.log(t / planted) ** 2

    assert find_temperature(loss, 1000) == pytest.approx(planted, rel=2e-3)
    assert len(calls) < 30


def test_a_label_that_is_never_predicted_is_no_trouble():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=80) > 0).astype(int)
    y[[0, 40]] = 2
    model = MulticlassSVM(alpha=0.1).fit(X[:40], y[:40])
    assert 2 not in model.predict(X)
    model.calibrate(X[40:], y[40:])
    assert 0.01 < model.temperature_ < 10
    assert (model.predict_marginals(X)[:, 2] > 0).all()


BAD = {
    "no samples": (lambda m: m.calibrate([], []), "X is empty: calibrate needs held-out samples"),
    "fewer y": (lambda m: m.calibrate(DATA.X, DATA.y[:-1]), "X has 60 samples, y has 59"),
    "unknown label": (
        lambda m: m.calibrate(DATA.X, [*DATA.y[:-1], np.full(len(DATA.y[-1]), 7)]),
        "sample 59: y has 7, which is not among the 3 labels learned. Leave such samples out",
    ),
    "features": (
        lambda m: m.calibrate([x[:, :2] for x in DATA.X], DATA.y), "X has 2 features, but ChainSVM"
    ),
    "weights": (
        lambda m: m.calibrate(DATA.X, DATA.y, [np.ones(len(x) + 1) for x in DATA.X]),
        "sample 0: node_weight must be . finite numbers",
    ),
    "fewer weights": (lambda m: m.calibrate(DATA.X, DATA.y, [[1.0]]), "node_weight has 1"),
    "no weight": (
        lambda m: m.calibrate(DATA.X, DATA.y, [np.zeros(len(x)) for x in DATA.X]),
        "node_weight is zero everywhere",
    ),
    "method": (lambda m: m.calibrate(DATA.X, DATA.y, method="mean"), "method='mean' must be"),
    "marginals' method": (lambda m: m.predict_marginals(DATA.X, "mean"), "method='mean' must be"),
    "draws": (lambda m: m.predict_marginals(DATA.X, n_draws=0), "n_draws=0 must be an integer"),
    "half a draw": (lambda m: m.predict_marginals(DATA.X, n_draws=1.5), "n_draws=1.5 must be"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "match"), BAD.values(), ids=BAD.keys())
def test_bad_input(fitted, call, match):
    with pytest.raises(ValueError, match=match):
        call(fitted)
    assert fitted.temperature_ == 1.0


def test_not_fitted_and_forbidden():
    with pytest.raises(NotFittedError):
        ChainSVM().calibrate(DATA.X, DATA.y)
    X = [np.eye(2)] * 2
    model = ChainSVM(forbidden_transitions=[("a", "b")]).fit(X, [["a", "a"], ["b", "a"]])
    with pytest.raises(InfeasibleError, match="sample 1: its true output is forbidden"):
        model.calibrate(X, [["a", "a"], ["a", "b"]])


def test_unknown_class_and_numbers_for_names():
    model = MulticlassSVM().fit(np.eye(4), ["a", "b", "a", "b"])
    with pytest.raises(ValueError, match="sample 2: y has 'c', which is not among the 2 labels"):
        model.calibrate(np.eye(4), ["a", "b", "c", "b"])
    with pytest.raises(ValueError, match="X has 4 samples, y has 3"):
        model.calibrate(np.eye(4), ["a", "b", "c"])
