"""NetworkSVM: scores by definition, trees as a special case, bounds, planted graphs, use."""

from itertools import product

import numpy as np
import pytest

import maxmargin
from maxmargin import Graph, NetworkSVM, TreeSVM
from maxmargin.datasets import make_snakes, snake_graphs
from maxmargin.exceptions import MissingAbilityError
from maxmargin.structures import MarkovNetwork

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
NAMES = np.array(["n", "p", "v"])
RING = np.array([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])


def drawn(n=9, q=None, seed=0, edges=RING):
    """Graphs of four nodes with cycles, labels at random; q edge features, or none."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for i in range(n):
        own = np.array([e for e in edges if rng.random() < 0.9]).reshape(-1, 2)
        labels = rng.integers(3, size=4)
        labels[0] = i % 3
        nodes = rng.normal(size=(4, 2)) + labels[:, None]
        X.append(Graph(nodes, own, None if q is None else rng.normal(size=(len(own), q))))
        y.append(NAMES[labels])
    return X, y


def scores(model, x):
    """All labels of a graph, and their scores by definition."""
    every = np.array(list(product(range(3), repeat=len(x.nodes))))
    own = x.nodes @ model.node_coef_ + (model.bias_ if model.bias else 0.0)
    if model.ends:
        own = own + np.outer(~np.isin(np.arange(len(own)), x.edges[:, 1]), model.root_)
        own = own + np.outer(~np.isin(np.arange(len(own)), x.edges[:, 0]), model.leaf_)
    total = sum(own[v, every[:, v]] for v in range(len(own)))
    if model.transitions:
        tables = model.pair_coef_.reshape(-1, 3, 3)
        for (a, b), f in zip(x.edges, x.edge_features, strict=True):
            total = total + np.einsum("q,qn->n", f, tables[:, every[:, a], every[:, b]])
    return every, total


@pytest.mark.parametrize("q", [None, 2])
@pytest.mark.parametrize("flags", [(True, False, True), (False, True, True), (True, True, False)])
@pytest.mark.parametrize("method", ["exact", "bounded"])
def test_scores_are_those_of_the_definition(q, flags, method):
    X, y = drawn(q=q)
    bias, ends, transitions = flags
    model = NetworkSVM(bias=bias, ends=ends, transitions=transitions, method=method, max_epochs=1)
    model.fit(X, y)
    model.coef_ = np.random.default_rng(1).normal(size=len(model.coef_))
    assert model.structure_.tied == (q is None or not transitions)
    outputs = model.predict(X)
    for x, own, labels in zip(X, model.predict_within(X), outputs, strict=True):
        every, total = scores(model, x)
        chosen = (NAMES[every] == own.labels).all(axis=1)
        assert np.array_equal(own.labels, labels)
        assert own.score == pytest.approx(total[chosen][0], abs=1e-10)
        assert own.score <= total.max() + 1e-10
        assert own.bound >= total.max() - 1e-10
        assert own.is_best == (own.bound - own.score <= 1e-6 * max(1.0, abs(own.bound)))
        if method == "exact" or not transitions:
            assert own.is_best
            assert own.score == pytest.approx(total.max(), abs=1e-10)


def test_relaxed_labels_are_rounded_below_a_bound():
    X, y = drawn(5)
    model = NetworkSVM(method="relaxed", max_epochs=1).fit(X, y)
    model.coef_ = 2.0 * np.random.default_rng(1).normal(size=len(model.coef_))
    for x, own in zip(X, model.predict_within(X), strict=True):
        _, total = scores(model, x)
        assert own.score <= total.max() + 1e-8
        assert own.bound >= total.max() - 1e-8


@pytest.mark.parametrize("q", [None, 2])
def test_without_cycles_it_is_a_tree(q):
    X, y = drawn(q=q, edges=RING[:3])
    options = {"alpha": 0.1, "tol": 1e-6, "max_epochs": 500, "ends": True}
    with pytest.warns(UserWarning, match="forbidden_pairs has 'unheard of'"):
        tree = TreeSVM(forbidden_pairs=[("n", "unheard of")], **options).fit(X, y)
    network = NetworkSVM(method="exact", **options).fit(X, y)
    assert network.result_.primal == pytest.approx(tree.result_.primal, rel=2e-6)
    np.testing.assert_allclose(network.coef_, tree.coef_, atol=5e-3)
    network.coef_ = tree.coef_
    for a, b in zip(network.predict(X), tree.predict(X), strict=True):
        assert np.array_equal(a, b)


def test_without_transitions_nodes_are_independent():
    X, y = drawn(12, seed=3)
    options = {"alpha": 0.5, "tol": 1e-6, "max_epochs": 500}
    model = NetworkSVM(transitions=False, **options).fit(X, y)
    alone = [Graph(x.nodes, []) for x in X]
    tree = TreeSVM(ends=False, transitions=False, **options).fit(alone, y)
    assert model.pair_coef_ is None
    assert model.result_.primal == pytest.approx(tree.result_.primal, rel=2e-6)
    assert model.score(X, y) == pytest.approx(model.score(alone, y), abs=1e-12)


# -- labels that may not be ------------------------------------------------------------------------
@pytest.mark.parametrize("transitions", [True, False])
def test_forbidden_pairs_and_labels_are_kept(transitions):
    X, y = drawn(30, seed=4)
    banned = [("n", "n"), ("p", "v")]
    kept = [
        i for i, x in enumerate(X)
        if not any((y[i][a], y[i][b]) in banned for a, b in x.edges)
    ]  # fmt: skip
    assert len(kept) > 3
    model = NetworkSVM(forbidden_pairs=banned, transitions=transitions, max_epochs=3)
    model.fit([X[i] for i in kept], [y[i] for i in kept])
    model.coef_ = np.random.default_rng(2).normal(size=len(model.coef_))
    first = [["v"], None, None, None]
    for x in drawn(12, seed=5)[0]:
        limited = Graph(x.nodes, x.edges, labels=first)
        (own,) = model.predict_within([limited])
        every, total = scores(model, x)
        names = NAMES[every]
        allowed = names[:, 0] == "v"
        for a, b in x.edges:
            for pair in banned:
                allowed &= (names[:, a] != pair[0]) | (names[:, b] != pair[1])
        assert own.labels[0] == "v"
        assert own.score == pytest.approx(total[allowed].max(), abs=1e-10)


# -- learning --------------------------------------------------------------------------------------
def test_snakes_need_their_edges():
    """Short ones, of which the ends are told by the pixels around them, the middle is not."""
    made = make_snakes(60, length=5)
    y = [labels.ravel() for labels in made.labels]
    right = []
    for edges, transitions in (("plain", False), ("colours", True)):
        X = snake_graphs(made.images, edges)
        model = NetworkSVM(alpha=1e-2, tol=0.05, max_epochs=8, transitions=transitions)
        model.fit(X[:40], y[:40])
        right.append(model.score(X[40:], y[40:]))
    assert right[0] < 0.95
    assert right[1] > 0.98
    assert all(own.bound >= own.score for own in model.predict_within(X[40:]))


# -- use -------------------------------------------------------------------------------------------
def test_auto_is_resolved_by_the_graphs():
    X, y = drawn(6)
    model = NetworkSVM(max_epochs=2).fit(X, y)
    assert model.structure_.method == "exact"
    assert model.get_params()["method"] == "auto"
    size = 15
    place = np.arange(size * size).reshape(size, size)
    ends = [(place[:, :-1], place[:, 1:]), (place[:-1], place[1:])]
    grid = np.concatenate([np.column_stack([a.ravel(), b.ravel()]) for a, b in ends])
    wide = Graph(np.random.default_rng(0).normal(size=(size * size, 2)), grid)
    (own,) = model.predict_within([wide])  # which no table holds
    assert len(own.labels) == size * size
    assert own.score <= own.bound
    assert model.structure_.method == "exact"
    assert NetworkSVM(max_epochs=2, method="bounded").fit(X, y).structure_.method == "bounded"


def test_bounded_certificates_are_proofs():
    X, y = drawn(6, seed=8)
    options = {"alpha": 0.5, "tol": 1e-5, "max_epochs": 300}
    exact = NetworkSVM(method="exact", **options).fit(X, y).result_
    bounded = NetworkSVM(method="bounded", **options).fit(X, y).result_
    assert bounded.exact
    assert bounded.primal >= exact.dual - 1e-9
    assert bounded.dual <= exact.primal + 1e-9


def test_edges_may_have_features_that_they_had_not_in_training():
    X, y = drawn(6)
    model = NetworkSVM(max_epochs=5).fit(X, y)
    half = [Graph(x.nodes, x.edges, np.full(len(x.edges), 0.5)) for x in X]
    for x, own in zip(half, model.predict_within(half), strict=True):
        assert own.score == pytest.approx(scores(model, x)[1].max(), abs=1e-10)


@pytest.mark.parametrize("q", [None, 2])
def test_saved_models_predict_alike(q, tmp_path):
    X, y = drawn(9, q=q)
    limited = [Graph(x.nodes, x.edges, x.edge_features, [NAMES] * 4) for x in X]
    model = NetworkSVM(alpha=0.5, warm_start=True).fit(limited, y)
    model.save(tmp_path / "network.model")
    again = maxmargin.load(tmp_path / "network.model")
    assert isinstance(again.structure_, MarkovNetwork)
    assert np.array_equal(again.coef_, model.coef_)
    for a, b in zip(model.predict_within(X), again.predict_within(X), strict=True):
        assert np.array_equal(a.labels, b.labels)
        assert a[1:] == b[1:]
    again.fit(limited, y)
    assert again.result_.n_epochs == 0


def test_a_linear_kernel_is_no_kernel():
    X, y = drawn(9)
    options = {"alpha": 0.5, "tol": 1e-6, "max_epochs": 300}
    plain, own = (NetworkSVM(kernel=k, **options).fit(X, y) for k in (None, "linear"))
    assert own.result_.primal == pytest.approx(plain.result_.primal, rel=2e-6)
    for a, b in zip(plain.predict_within(X), own.predict_within(X), strict=True):
        assert a.score == pytest.approx(b.score, abs=5e-3)


def test_scores_of_single_labels_need_exact_maxima():
    X, y = drawn(6)
    model = NetworkSVM(method="bounded", max_epochs=2).fit(X, y)
    with pytest.raises(MissingAbilityError, match="MarkovNetwork has no `max_marginals`"):
        model.margins(X)
    found = model.predict_within(X)
    assert model.decision_function(X).tolist() == [own.score for own in found]
    exact = NetworkSVM(method="exact", max_epochs=2).fit(X, y)
    for x, own in zip(X, exact.margins(X), strict=True):
        every, total = scores(exact, x)
        for v, margin in enumerate(own):
            tops = np.sort([total[every[:, v] == k].max() for k in range(3)])
            assert margin == pytest.approx(tops[-1] - tops[-2], abs=1e-10)
