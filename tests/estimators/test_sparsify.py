"""Weights as a sparse row."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from maxmargin import ChainSVM, GraphCutSVM, MulticlassSVM, load
from maxmargin.datasets import make_sequences
from maxmargin.domains import L1Ball
from maxmargin.tasks import SequenceTagger


@pytest.fixture(scope="module")
def chains():
    made = make_sequences(20, (2, 5), 3, 8, separation=1.5, random_state=0)
    return made.X, made.y


def fit(chains, **options):
    options = {"alpha": 0.01, "solver": "smoothed", "domain": L1Ball(1.0), "tol": 0.05} | options
    return ChainSVM(**options).fit(*chains)


def test_all_methods_give_the_same_with_sparse_weights(chains, tmp_path):
    X, y = chains
    model = fit(chains)
    dense = model.coef_
    expected = {
        name: getattr(model, name)(X)
        for name in ("predict", "decision_function", "margins", "predict_marginals")
    }
    parts = {
        name: getattr(model, name)
        for name in ("node_coef_", "bias_", "first_", "last_", "transition_coef_")
    }
    score = model.score(X, y)
    assert model.sparsify() is model
    assert sparse.issparse(model.coef_)
    assert model.coef_.shape == (1, len(dense))
    assert model.coef_.nnz == np.count_nonzero(dense) < len(dense)
    model.save(tmp_path / "model")
    for own in (model, load(tmp_path / "model")):
        assert own.score(X, y) == score
        for name, values in expected.items():
            for a, b in zip(getattr(own, name)(X), values, strict=True):
                np.testing.assert_array_equal(a, b)
        for name, values in parts.items():
            np.testing.assert_array_equal(getattr(own, name), values)
    np.testing.assert_array_equal(model.densify().coef_, dense)
    assert model.result_.w is model.coef_


def test_a_sparse_model_starts_the_next_fit(chains):
    model = fit(chains, warm_start=True)
    primal = model.result_.primal
    model.sparsify().fit(*chains)
    assert model.result_.n_epochs == 0
    assert model.result_.primal <= primal


def test_a_smaller_file(chains, tmp_path):
    rng = np.random.default_rng(0)
    X = [np.hstack([x, rng.normal(size=(len(x), 2000))]) for x in chains[0]]
    model = fit((X, chains[1]), domain=L1Ball(0.2))
    model.save(tmp_path / "dense")
    model.sparsify().save(tmp_path / "sparse")
    assert model.coef_.nnz < 100
    assert (tmp_path / "sparse").stat().st_size < (tmp_path / "dense").stat().st_size


def test_the_notebook_counts_the_weights_in_use(chains):
    model = fit(chains)
    size, count = len(model.coef_), np.count_nonzero(model.coef_)
    for own in (model, model.sparsify()):
        assert f"{size}, {count} not zero" in own.result_._repr_html_()


def test_other_estimators_and_tasks(chains):
    X, y = np.vstack(chains[0]), np.concatenate(chains[1])
    model = MulticlassSVM(alpha=0.1).fit(X, y)
    expected, rows = model.predict(X), model.node_coef_
    np.testing.assert_array_equal(model.sparsify().predict(X), expected)
    np.testing.assert_array_equal(model.node_coef_, rows)
    sentences, tags = [["a", "b"], ["b", "a", "a"]], [["X", "Y"], ["Y", "X", "X"]]
    tagger = SequenceTagger(tol=0.1).fit(sentences, tags)
    table = list(tagger.top_features())
    assert tagger.sparsify().predict(sentences) == tags
    assert sparse.issparse(tagger.coef_)
    assert list(tagger.top_features()) == table
    assert isinstance(tagger.densify().coef_, np.ndarray)


@pytest.mark.parametrize("model", [ChainSVM(), GraphCutSVM(), SequenceTagger()])
def test_before_fit(model):
    with pytest.raises(NotFittedError):
        model.sparsify()
    with pytest.raises(NotFittedError):
        model.densify()
