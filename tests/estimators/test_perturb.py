"""Probabilities by noise, on structures that can only maximise and on those that can count."""

import numpy as np
import pytest

from maxmargin import (
    Bipartite,
    ChainSVM,
    Graph,
    GraphCutSVM,
    MatchingSVM,
    MulticlassSVM,
    StructuredSVM,
)
from maxmargin.datasets import make_sequences
from maxmargin.exceptions import MissingAbilityError
from maxmargin.structures import Matching, Structure

DRAWS = 2500


def close(found, wanted, draws=DRAWS):
    """Frequencies within 4.5 standard errors of what they estimate."""
    sigma = np.sqrt(wanted * (1 - wanted) / draws)
    assert (np.abs(found - wanted) <= 4.5 * sigma + 1e-9).all()


def test_gumbel_noise_is_exact_on_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    model = MulticlassSVM(alpha=0.05).fit(X, X.argmax(axis=1))
    for temperature in (1.0, 0.3):
        model.temperature_ = temperature
        found = model.predict_marginals(X, "perturb", n_draws=DRAWS)
        close(found, model.predict_marginals(X))
        np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_it_is_exact_on_chains_without_transitions():
    data = make_sequences(10, (1, 4), 3, 4, random_state=0)
    model = ChainSVM(transitions=False, tol=0.1).fit(data.X, data.y)
    found = np.concatenate(model.predict_marginals(data.X, "perturb", n_draws=DRAWS))
    close(found, np.concatenate(model.predict_marginals(data.X)))


def test_it_is_near_on_chains_with_transitions():
    data = make_sequences(20, (3, 4), 3, 4, random_state=0)
    model = ChainSVM(alpha=0.05, tol=0.1).fit(data.X, data.y)
    exact = np.concatenate(model.predict_marginals(data.X))
    found = np.concatenate(model.predict_marginals(data.X, "perturb", n_draws=DRAWS))
    assert np.abs(found - exact).max() < 0.1
    assert np.abs(found - exact).mean() < 0.02


def test_forbidden_labels_stay_forbidden():
    data = make_sequences(20, (2, 4), 3, 4, random_state=0)
    y = [np.where(np.arange(len(own)) == 0, 0, own) for own in data.y]
    model = ChainSVM(forbidden_first=[1, 2], tol=0.1).fit(data.X, y)
    model.temperature_ = 50.0
    found = model.predict_marginals(data.X, "perturb", n_draws=50)
    assert all((p[0] == [1.0, 0.0, 0.0]).all() for p in found)
    assert (np.concatenate([p[1:] for p in found]) > 0).all()


def test_logistic_noise_is_exact_on_nodes_without_edges():
    x = np.linspace(-3, 3, 12)[:, None]
    graphs = [Graph(x, ())]
    model = GraphCutSVM(alpha=0.1).fit(graphs, [np.where(x[:, 0] > 0, "up", "down")])
    model.temperature_ = 0.5
    (found,) = model.predict_marginals(graphs, n_draws=DRAWS)
    scores = (x[:, 0] * model.node_coef_[0] + model.node_coef_[1]) / 0.5
    p = 1 / (1 + np.exp(-scores))
    assert found.shape == (12, 2)
    close(found, np.column_stack([1 - p, p]))


def test_a_single_pair_has_a_logistic_probability_and_caps_are_kept():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(1, 1, 1)) for _ in range(20)]
    model = MatchingSVM(alpha=0.1).fit(X, [np.argwhere(x[:, :, 0] > 0) for x in X])
    scores = np.ravel(model.edge_scores(X))
    found = np.ravel(model.predict_marginals(X, n_draws=DRAWS))
    close(found, 1 / (1 + np.exp(-scores)))
    wide = [rng.normal(size=(3, 4, 1)) for _ in range(5)]
    for p in model.predict_marginals(wide, n_draws=200):
        assert p.shape == (3, 4)
        assert (p.sum(axis=0) <= 1 + 1e-12).all()
        assert (p.sum(axis=1) <= 1 + 1e-12).all()
    sparse = Bipartite((3, 4), [(0, 1), (2, 3)], np.ones((2, 1)))
    assert model.predict_marginals([sparse])[0].shape == (2,)


def test_several_labels_of_nodes():
    x = np.random.default_rng(0).normal(size=(9, 3))
    graph = Graph(x, ())
    model = GraphCutSVM(multiclass=True, alpha=0.1).fit([graph], [x.argmax(axis=1)])
    (found,) = model.predict_marginals([graph], n_draws=DRAWS)
    scores = x @ model.node_coef_[:-1] + model.node_coef_[-1]
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    close(found, p)


class Pair(Structure):
    """Two switches of which one at least is on, in plain Python."""

    def n_parts(self, layout):
        return 2

    def layout_of(self, n_parts):
        return (2,)

    def encode(self, y, layout):
        return np.asarray(y, dtype=float)

    def decode(self, z, layout):
        return z.astype(int)

    def maximize(self, theta, layout):
        return max(([0.0, 1.0], [1.0, 0.0], [1.0, 1.0]), key=lambda z: theta @ np.array(z))


def test_a_structure_in_python():
    model = StructuredSVM(Pair(), alpha=0.1).fit([np.eye(2)] * 2, [[0, 1], [0, 1]])
    (found,) = model.predict_marginals([np.eye(2)], n_draws=500)
    assert found.shape == (2, 1)
    assert found.sum() >= 1.0
    assert found[1, 0] > found[0, 0]
    with pytest.raises(MissingAbilityError, match='Pair has no exact marginals.*"perturb"'):
        model.predict_marginals([np.eye(2)], "exact")


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_same_seed_same_bits(n_jobs):
    X = list(np.random.default_rng(0).normal(size=(8, 3, 3, 2)))
    y = [np.argwhere(x[:, :, 0] == x[:, :, 0].max()) for x in X]
    model = MatchingSVM(alpha=0.1).fit(X, y)
    one = model.predict_marginals(X, n_draws=30)
    model.set_params(n_jobs=n_jobs)
    np.testing.assert_array_equal(one, model.predict_marginals(X, n_draws=30))
    assert (np.array(one) != model.predict_marginals(X, n_draws=30, random_state=1)).any()
    np.testing.assert_allclose(np.array(one) * 30, np.round(np.array(one) * 30), atol=1e-9)


def test_the_planted_temperature_of_links_is_found():
    """Truths that are drawn by the perturbed model itself, at a temperature."""
    rng = np.random.default_rng(0)
    X = list(rng.normal(size=(150, 2, 3, 2)))
    y = [np.argwhere(x[:, :, 0] == x[:, :, 0].max()) for x in X]
    model = MatchingSVM(alpha=0.1).fit(X[:30], y[:30])
    planted = 0.4
    structure, drawn = Matching(), []
    for scores in model.edge_scores(X):
        theta = scores.ravel() / planted + rng.logistic(size=scores.size)
        drawn.append(structure.decode(structure.maximize(theta, (2, 3)), (2, 3)))
    model.calibrate(X, drawn, n_draws=100)
    assert model.temperature_ == pytest.approx(planted, rel=0.25)
    assert model.calibrate(X, drawn, n_draws=100).temperature_ == model.temperature_
    before = model.temperature_
    model.calibrate(X, drawn, n_draws=100, random_state=5)
    assert model.temperature_ == pytest.approx(before, rel=0.1)
