"""Graphs whose nodes have one of several labels."""

import numpy as np
import pytest

import maxmargin
from maxmargin import Graph, GraphCutSVM
from maxmargin.exceptions import MissingAbilityError
from reference import cuts

EDGES = cuts.grid_edges(5, 6)
NAMES = np.array(["field", "road", "wood"])


@pytest.fixture(scope="module")
def scenes():
    """Bands of three labels seen through noise."""
    rng = np.random.default_rng(0)
    labels = [np.sort(rng.integers(3, size=30)) for _ in range(10)]
    X = [Graph(np.eye(3)[own] + 0.8 * rng.normal(size=(30, 3)), EDGES) for own in labels]
    return X, [NAMES[own] for own in labels]


@pytest.fixture(scope="module")
def model(scenes):
    X, y = scenes
    return GraphCutSVM(alpha=1e-3, multiclass=True, tol=0.01).fit(X[:6], y[:6])


def test_neighbours_help(scenes, model):
    X, y = scenes
    assert model.classes_.tolist() == NAMES.tolist()
    assert model.node_coef_.shape == (4, 3)
    assert (model.edge_coef_ > 0).all()
    alone = [NAMES[x.nodes.argmax(axis=1)] for x in X[6:]]
    before = np.mean([np.mean(a == b) for a, b in zip(alone, y[6:], strict=True)])
    assert model.score(X[6:], y[6:]) > before + 0.1


def test_the_certificate_is_an_estimate(model):
    assert not model.result_.exact
    assert model.result_.certificate().startswith("estimated")


def test_two_labels_are_learned_as_by_cuts(scenes):
    X, y = scenes
    two = [np.where(own == "wood", 1, 0) for own in y]
    binary = GraphCutSVM(alpha=0.1, tol=1e-5, max_epochs=2000).fit(X[:4], two[:4])
    # w_1 - w_0 = w takes two halves: half the penalty
    both = GraphCutSVM(alpha=0.1, tol=1e-5, max_epochs=2000, multiclass=True)
    both.fit([Graph(np.sqrt(2) * x.nodes, EDGES) for x in X[:4]], two[:4])
    free = both.node_coef_[:3]
    np.testing.assert_allclose(free[:, 0], -free[:, 1], atol=1e-9)
    assert np.array_equal(
        np.concatenate(binary.predict(X)),
        np.concatenate(both.predict([Graph(np.sqrt(2) * x.nodes, EDGES) for x in X])),
    )


def test_saved_and_loaded(scenes, model, tmp_path):
    model.save(tmp_path / "model.mm")
    again = maxmargin.load(tmp_path / "model.mm")
    for a, b in zip(again.predict(scenes[0]), model.predict(scenes[0]), strict=True):
        assert np.array_equal(a, b)


def test_refusals(scenes):
    X, y = scenes
    with pytest.raises(ValueError, match="3 different labels .* multiclass=True"):
        GraphCutSVM().fit(X, y)
    with pytest.raises(ValueError, match="one label only .* two or more"):
        GraphCutSVM(multiclass=True).fit(X[:1], [np.zeros(30)])
    with pytest.raises(ValueError, match="tables=True needs two labels"):
        GraphCutSVM(multiclass=True, tables=True).fit(X, y)
    with pytest.raises(MissingAbilityError, match="project"):
        GraphCutSVM(multiclass=True, solver="dual-extragradient").fit(X, y)


def test_labels_that_were_not_learned_are_refused_or_wrong():
    x = Graph(np.array([[2.0], [-2.0]]), [(0, 1)])
    two = GraphCutSVM(alpha=0.01).fit([x], [["b", "a"]])
    with pytest.raises(ValueError, match=r"sample 0: y has 'c', but the labels learned are \['a'"):
        two.score([x], [["b", "c"]])
    more = GraphCutSVM(alpha=0.01, multiclass=True).fit([x], [["b", "a"]])
    assert more.score([x], [["b", "a"]]) == 1.0
    assert more.score([x], [["b", "c"]]) == 0.5
