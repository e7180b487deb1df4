"""Large graphs are scored as they are: the same labels and the same errors as for small ones."""

import numpy as np
import pytest
from scipy import sparse

from maxmargin import Graph, GraphCutSVM
from maxmargin.estimators import graph_cut


def graphs(n=5, seed=0):
    """Strings of nodes whose labels change seldom, and whose features are noisy."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for k in range(n):
        size = 20 + 7 * k
        labels = np.cumsum(rng.uniform(size=size) < 0.15) % 2
        nodes = np.column_stack([labels + rng.normal(scale=0.8, size=size), rng.normal(size=size)])
        edges = np.column_stack([np.arange(size - 1), np.arange(1, size)])
        alike = np.exp(-(np.diff(nodes[:, 0]) ** 2))
        features = np.column_stack([np.ones(size - 1), alike]).astype(np.float32)
        X.append(Graph(nodes.astype(np.float32), edges, features))
        y.append(labels)
    return X, y


@pytest.fixture
def all_large(monkeypatch):
    monkeypatch.setattr(graph_cut, "LARGE", 0)
    monkeypatch.setattr(graph_cut, "BAND", 10)  # parts of a few rows


@pytest.mark.parametrize("tables", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_the_same_labels(tables, bias, request):
    X, y = graphs()
    model = GraphCutSVM(alpha=0.01, tables=tables, bias=bias).fit(X, y)
    new = [*graphs(seed=1)[0], Graph(np.ones((3, 2)), [], np.ones((0, 2)))]
    usual = model.predict(new)
    assert 0 < np.concatenate(usual).mean() < 1
    request.getfixturevalue("all_large")
    assert model._scores_of(new[0]) is not None
    kinds = (sparse.csr_array, sparse.coo_array, sparse.csc_array)
    loose = [[Graph(kind(x.nodes), x.edges, x.edge_features) for x in new] for kind in kinds]
    for found in map(model.predict, (new, *loose, [new[0], *loose[1][1:]])):
        for a, b in zip(usual, found, strict=True):
            np.testing.assert_array_equal(a, b)


def test_scores_are_those_of_packed_features(all_large):
    X, y = graphs()
    for tables in (False, True):
        model = GraphCutSVM(alpha=0.01, tables=tables, intercept_scaling=3.0).fit(X, y)
        [samples] = model._in_chunks(X)
        for i, x in enumerate(X):
            np.testing.assert_allclose(
                model._scores_of(x), samples.scores(model.coef_, i), rtol=1e-10, atol=1e-12
            )


@pytest.mark.parametrize(
    "nodes, edge_features, message",
    [
        ([[1.0, np.nan], [0.0, 0.0]], [[1.0, 1.0]], r"sample 1: .*nodes\[0, 1\]"),
        ([[1.0, np.inf], [0.0, 0.0]], [[1.0, 1.0]], r"sample 1: .*nodes\[0, 1\]"),
        ([[1.0, 1.0], [0.0, 0.0]], [[1.0, -1.0]], r"sample 1: edge_features\[0, 1\] is -1"),
        ([[1.0, 1.0], [0.0, 0.0]], [[1.0, np.nan]], r"sample 1: edge_features\[0, 1\] is nan"),
        ([[1.0], [0.0]], [[1.0, 1.0]], "features"),
        ([[1.0, 1.0], [0.0, 0.0]], [[1.0]], "features"),
        ([["a", "b"], ["c", "d"]], [[1.0, 1.0]], "sample 1"),
    ],
)
def test_the_same_errors(nodes, edge_features, message, request):
    X, y = graphs(2)
    model = GraphCutSVM(alpha=0.01, tol=0.1).fit(X, y)
    new = [X[0], Graph(nodes, [(0, 1)], edge_features)]
    found = []
    for name in (None, "all_large"):
        if name is not None:
            request.getfixturevalue(name)
        with pytest.raises((ValueError, TypeError), match=message) as error:
            model.predict(new)
        found.append(str(error.value))
    assert found[0] == found[1]


@pytest.mark.parametrize("tables", [False, True])
def test_features_may_be_multiplied_before(tables):
    X, y = graphs()
    model = GraphCutSVM(alpha=0.01, tables=tables).fit(X, y)
    nodes, edges = model._projection()
    for x, usual in zip(X, model.predict(X), strict=True):
        small = Graph(x.nodes @ nodes, x.edges, x.edge_features @ edges)
        assert small.edge_features.shape[1] == (3 if tables else 1)
        np.testing.assert_array_equal(model._predict_projected(small), usual)
