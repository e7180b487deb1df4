"""GraphCutSVM: scores by definition, edge prices that are never negative, losses, use."""

import pickle
from itertools import combinations, product

import numpy as np
import pytest
from scipy import sparse

import maxmargin
from maxmargin import Graph, GraphCutSVM, domains
from maxmargin.callbacks import EarlyStopping
from maxmargin.losses import Hamming
from maxmargin.result import Status
from maxmargin.solvers import BCFW, DualExtragradient
from maxmargin.solvers.base import solver_classes, solvers_for

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.one_in(3),
]


def drawn(n=8, sizes=(1, 7), p=2, q=2, seed=0):
    """Graphs of all kinds, disconnected ones, single nodes and such without edges included."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for i in range(n):
        size = int(rng.integers(*sizes))
        pairs = np.array(list(combinations(range(size), 2))).reshape(-1, 2)
        edges = pairs[rng.random(len(pairs)) < rng.uniform(0.2, 0.9)]
        edges = np.where(rng.random((len(edges), 1)) < 0.5, edges, edges[:, ::-1])
        labels = rng.integers(2, size=size)
        labels[0] = i % 2  # both labels are there
        nodes = rng.normal(size=(size, p)) + 1.2 * labels[:, None]
        X.append(Graph(nodes, edges, rng.random((len(edges), q))))
        y.append(np.array(["back", "front"])[labels])
    return X, y


def labelings(x):
    return np.array(list(product([0, 1], repeat=x.network.n_nodes)))


def score(model, x, labels):
    """Of the labels of a graph, by definition."""
    w, bias = model.node_coef_[: model.n_features_in_], 0.0
    if model.bias:
        bias = model.node_coef_[-1]
    total = float(labels @ (x.nodes @ w + bias))
    for (j, k), f in zip(x.edges, x.edge_features, strict=True):
        if model.tables:
            total += float(f @ model.edge_coef_[:, 2 * labels[j] + labels[k]])
        else:
            total -= float(f @ model.edge_coef_) * (labels[j] != labels[k])
    return total


def with_weights(tables, bias=True, seed=1):
    """A model with drawn weights inside its cone."""
    X, y = drawn()
    model = GraphCutSVM(tables=tables, bias=bias, max_epochs=1).fit(X, y)
    w = np.random.default_rng(seed).normal(size=len(model.coef_))
    model.coef_ = model._make_domain(len(w)).project(w)
    return model


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("tables", [False, True])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_predictions_and_scores_are_those_of_brute_force(tables, bias, seed):
    model = with_weights(tables, bias, seed)
    X, _ = drawn(20, seed=seed)
    best = model.decision_function(X)
    for x, found, labels in zip(X, best, model.predict(X), strict=True):
        scores = [score(model, x, own) for own in labelings(x)]
        assert found == pytest.approx(max(scores), abs=1e-11)
        own = np.searchsorted(model.classes_, labels)
        assert score(model, x, own) == pytest.approx(max(scores), abs=1e-11)


@pytest.mark.parametrize("tables", [False, True])
def test_scores_of_parts_are_those_of_labels_but_for_a_constant(tables):
    model = with_weights(tables)
    X, _ = drawn(12, seed=4)
    (samples,) = model._in_chunks(X)
    for i, x in enumerate(X):
        theta = samples.scores(model.coef_, i)
        own = [theta @ model.structure_.encode(y, x.network) for y in labelings(x)]
        wanted = [score(model, x, y) for y in labelings(x)]
        constant = score(model, x, np.zeros(x.network.n_nodes, dtype=int))
        np.testing.assert_allclose(np.array(own) + constant, wanted, atol=1e-12)


def test_the_other_direction_of_an_edge_with_its_table_swapped_is_the_same():
    X, y = drawn()
    turned = [Graph(x.nodes, x.edges[:, ::-1], x.edge_features) for x in X]
    options = {"tables": True, "tol": 1e-9, "max_epochs": 2000, "alpha": 0.1}
    one, two = GraphCutSVM(**options).fit(X, y), GraphCutSVM(**options).fit(turned, y)
    np.testing.assert_allclose(one.edge_coef_[:, [0, 2, 1, 3]], two.edge_coef_, atol=1e-4)
    np.testing.assert_allclose(one.node_coef_, two.node_coef_, atol=1e-4)
    assert one.result_.primal == pytest.approx(two.result_.primal, rel=1e-8)
    assert np.abs(one.edge_coef_[:, 1] - one.edge_coef_[:, 2]).max() > 1e-3  # they do differ


def unlike(n=8):
    """Graphs whose labels alternate, so that cuts would be rewarded if they could be."""
    rng = np.random.default_rng(5)
    path = np.array([(j, j + 1) for j in range(5)])
    X = [Graph(rng.normal(size=(6, 2)), path, np.ones((5, 1))) for _ in range(n)]
    return X, [np.arange(6) % 2 for _ in X]


def options_of(solver):
    return {"solver": solver, "alpha": 0.01, "max_epochs": 30}


USERS = {
    "none": None,
    "all": domains.RealSpace(),
    "l2": domains.L2Ball(0.5),
    "l1": domains.L1Ball(0.5),
    "signs": domains.Signs([0], [1]),
    "nonnegative": domains.NonNegative([0]),
    "product": domains.Product([([0, 1], domains.L2Ball(0.2))]),
}


def able():
    """Solvers that need no sums over all labels."""
    kinds = solver_classes()
    return [
        s
        for s in sorted(solvers_for("margin"))
        if ("marginals",) not in kinds[s]().requires.abilities
    ]


@pytest.mark.parametrize("solver", able())
@pytest.mark.parametrize("tables", [False, True])
def test_no_edge_is_ever_rewarded(solver, tables):
    X, y = unlike()
    for name, domain in USERS.items():
        if tables and name == "l1":
            continue
        model = GraphCutSVM(tables=tables, domain=domain, **options_of(solver)).fit(X, y)
        if tables:
            lack = model.edge_coef_ @ np.array([1.0, -1.0, -1.0, 1.0])
            assert lack.min() >= -1e-14 * max(1.0, np.abs(model.coef_).max()), name
        else:
            assert model.edge_coef_.min() >= 0.0, name
        given = domains.base.check_domain(domain, len(model.coef_))
        assert given.contains(model.coef_), name
        best = model.decision_function(X)
        for x, found in zip(X, best, strict=True):
            brute = max(score(model, x, own) for own in labelings(x))
            assert found == pytest.approx(brute, abs=1e-9 * max(1, abs(brute)))


def test_tables_with_an_l1_ball_are_refused_with_a_hint():
    X, y = unlike()
    with pytest.raises(ValueError, match=r"use L2Ball\(radius\)"):
        GraphCutSVM(tables=True, domain=domains.L1Ball(1.0)).fit(X, y)


@pytest.mark.parametrize("tables", [False, True])
def test_both_families_of_solvers_reach_the_same_objective(tables):
    X, y = drawn(10, (2, 7), seed=7)
    results = {}
    for solver in ("bcfw", "fw", "extragradient", "dual-extragradient"):
        model = GraphCutSVM(alpha=0.05, solver=solver, tables=tables, max_epochs=1500, tol=2e-3)
        results[solver] = model.fit(X, y).result_
    lowest = min(r.primal for r in results.values())
    assert max(r.dual for r in results.values()) <= lowest + 1e-12
    for solver, result in results.items():
        assert result.gap <= 2e-2 * result.primal, solver
        assert result.primal - lowest <= result.gap + 1e-12, solver


# -- losses and weights ----------------------------------------------------------------------------
TIGHT = {"tol": 1e-8, "max_epochs": 3000, "alpha": 0.05}


def twice(x):
    """A graph beside itself."""
    count = x.network.n_nodes
    nodes, features = np.vstack([x.nodes] * 2), np.vstack([x.edge_features] * 2)
    return Graph(nodes, np.vstack([x.edges, x.edges + count]), features)


def test_alpha_means_the_same_for_graphs_of_all_sizes():
    X, y = drawn()
    one = GraphCutSVM(**TIGHT).fit(X, y)
    two = GraphCutSVM(**TIGHT).fit([twice(x) for x in X], [np.tile(own, 2) for own in y])
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-3)
    assert one.result_.primal == pytest.approx(two.result_.primal, rel=1e-7)
    three = GraphCutSVM(**TIGHT, loss="hamming-sum").fit(X, y)
    assert np.abs(one.coef_ - three.coef_).max() > 0.01


@pytest.mark.parametrize("solver", ["extragradient", "dual-extragradient", "projected-gradient"])
def test_saddle_steps_are_the_same_for_the_mean_and_the_sum_over_nodes(solver):
    """Graphs of one size, no penalty: one objective is a multiple of the other."""
    X, y = drawn(sizes=(6, 7))
    models = [
        GraphCutSVM(alpha=0.0, loss=loss, solver=solver, max_epochs=20).fit(X, y)
        for loss in ("hamming", "hamming-sum")
    ]
    assert models[0].result_.primal > 0.0
    assert 6 * models[0].result_.primal == pytest.approx(models[1].result_.primal, rel=1e-9)
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-8, atol=1e-12)


def objective(model, X, y, prices, alpha):
    """By definition, over all labelings; prices of errors at the nodes of each sample."""
    total = alpha / 2 * float(model.coef_ @ model.coef_)
    for x, truth, price in zip(X, y, prices, strict=True):
        own = np.searchsorted(model.classes_, truth)
        worst = max(
            score(model, x, other) - score(model, x, own) + float(price @ (other != own))
            for other in labelings(x)
        )
        total += worst / len(own) / len(X)
    return total


@pytest.mark.parametrize("tables", [False, True])
def test_class_weights_go_by_the_true_label(tables):
    X, y = drawn()
    loss = Hamming(class_weight={"front": 3.0, "back": 0.5})
    model = GraphCutSVM(alpha=0.05, loss=loss, tables=tables).fit(X, y)
    prices = [np.where(own == "front", 3.0, 0.5) for own in y]
    found = objective(model, X, y, prices, 0.05)
    assert model.result_.primal == pytest.approx(found, abs=1e-12)
    assert model.result_.status is Status.CONVERGED
    by_nodes = GraphCutSVM(alpha=0.05, tables=tables).fit(X, y, node_weight=prices)
    np.testing.assert_array_equal(by_nodes.coef_, model.coef_)
    by_price = Hamming(false_negative=3.0, false_positive=0.5)
    same = GraphCutSVM(alpha=0.05, loss=by_price, tables=tables).fit(X, y)
    np.testing.assert_array_equal(same.coef_, model.coef_)
    plain = GraphCutSVM(alpha=0.05, tables=tables).fit(X, y)
    share = [np.mean(np.concatenate(m.predict(X)) == "front") for m in (model, plain)]
    assert share[0] > share[1]


def test_a_class_weight_of_no_label_warns():
    X, y = drawn()
    with pytest.warns(UserWarning, match=r"class_weight names \['top'\]"):
        GraphCutSVM(loss=Hamming(class_weight={"top": 2.0}), max_epochs=1).fit(X, y)


def test_whole_sample_weights_equal_repeated_samples():
    X, y = drawn()
    times = 1 + np.arange(len(X)) % 3
    one = GraphCutSVM(**TIGHT).fit(X, y, sample_weight=times)
    again = np.repeat(np.arange(len(X)), times)
    two = GraphCutSVM(**TIGHT).fit([X[i] for i in again], [y[i] for i in again])
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-3)


# -- use -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("tables", [False, True])
def test_saved_and_pickled_models_predict_alike(tmp_path, tables):
    X, y = drawn()
    domain = domains.L2Ball(2.0, signs=domains.NonNegative([0]))
    model = GraphCutSVM(tables=tables, domain=domain, warm_start=True, max_epochs=5).fit(X, y)
    model.save(tmp_path / "model.mm")
    for again in (maxmargin.load(tmp_path / "model.mm"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.coef_, model.coef_)
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
        for one, two in zip(again.predict(X), model.predict(X), strict=True):
            np.testing.assert_array_equal(one, two)
        assert repr(again) == repr(model)
        again.fit(X, y)  # goes on from where it was
        assert again.result_.primal <= model.result_.primal + 1e-12


def test_a_warm_start_over_alpha_and_domain_ends_at_the_same_optimum():
    X, y = drawn()
    model = GraphCutSVM(alpha=0.2, warm_start=True, tol=1e-5, max_epochs=500).fit(X, y)
    model.set_params(alpha=0.1).fit(X, y)
    cold = GraphCutSVM(alpha=0.1, tol=1e-5, max_epochs=500).fit(X, y)
    assert model.result_.primal == pytest.approx(cold.result_.primal, rel=2e-5)
    small = domains.L2Ball(0.1)
    model.set_params(domain=small).fit(X, y)
    cold = GraphCutSVM(alpha=0.1, tol=1e-5, max_epochs=500, domain=small).fit(X, y)
    assert np.linalg.norm(model.coef_) <= 0.1 * (1 + 1e-12)
    assert model.result_.primal == pytest.approx(cold.result_.primal, rel=1e-3)


def test_threads_change_no_bit():
    X, y = drawn(20)
    one, two = (GraphCutSVM(n_jobs=k, max_epochs=10).fit(X, y) for k in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    assert one.result_.primal == two.result_.primal


@pytest.mark.parametrize("solver", [BCFW(check_every=1), DualExtragradient(check_every=1)])
def test_early_stopping_chooses_along_the_path(solver):
    (X, y), (held_out, truth) = drawn(10), drawn(20, seed=9)
    stopping = EarlyStopping(held_out, truth, patience=10**6)
    model = GraphCutSVM(solver=solver, alpha=1e-3, max_epochs=15, tol=0.0, callbacks=[stopping])
    model.fit(X, y)
    scores = [r.validation_score for r in model.result_.history]
    assert model.score(held_out, truth) == max(scores)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.coo_matrix, sparse.csc_array])
def test_sparse_features_are_the_same_data(kind):
    X, y = drawn()
    thin = [Graph(kind(x.nodes), x.edges, kind(x.edge_features)) for x in X]
    for tables in (False, True):
        one, two = (GraphCutSVM(tables=tables, max_epochs=9).fit(own, y) for own in (X, thin))
        np.testing.assert_array_equal(one.coef_, two.coef_)
        np.testing.assert_array_equal(one.decision_function(X), two.decision_function(thin))


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.bool_, np.float32])
def test_other_number_types_are_the_same_data(dtype):
    X, y = drawn()
    whole = [Graph(x.nodes > 0.5, x.edges, x.edge_features > 0.5) for x in X]
    floats = [Graph(x.nodes.astype(float), x.edges, x.edge_features.astype(float)) for x in whole]
    typed = [
        Graph(x.nodes.astype(dtype), x.edges.astype(np.int16), x.edge_features.astype(dtype))
        for x in whole
    ]
    one, two = (GraphCutSVM(max_epochs=9).fit(own, y) for own in (floats, typed))
    np.testing.assert_array_equal(one.coef_, two.coef_)


# -- graphs with few edges or none -----------------------------------------------------------------
@pytest.mark.parametrize("tables", [False, True])
def test_graphs_without_any_edge(tables):
    X, y = drawn()
    bare = [Graph(x.nodes, []) for x in X]
    model = GraphCutSVM(tables=tables, **TIGHT).fit(bare, y)
    assert not model.edge_coef_.any()
    assert model.edge_coef_.shape == ((1, 4) if tables else (1,))
    for x, labels in zip(bare, model.predict(bare), strict=True):
        likes = x.nodes @ model.node_coef_[:2] + model.node_coef_[2]
        np.testing.assert_array_equal(labels == "front", likes > 0)


@pytest.mark.parametrize("tables", [False, True])
@pytest.mark.parametrize("edge_features", [None, [], np.zeros((0, 2)), np.zeros((0, 5))])
def test_a_graph_without_edges_goes_with_any_others(tables, edge_features):
    X, y = drawn()
    bare = Graph(X[0].nodes, [], edge_features)
    mixed = [bare, *X[1:]]
    model = GraphCutSVM(tables=tables, max_epochs=5).fit(mixed, y)
    assert model.n_edge_features_in_ == 2
    together, alone = model.predict(mixed), model.predict([bare])
    np.testing.assert_array_equal(alone[0], together[0])
    assert model.decision_function([bare])[0] == pytest.approx(model.decision_function(mixed)[0])
    assert model.score([bare], y[:1]) == np.mean(alone[0] == y[0])


def test_a_single_node_and_parts_without_links():
    X, y = drawn()
    model = GraphCutSVM(max_epochs=20).fit(X, y)
    one = Graph([[3.0, 3.0]], [])
    assert model.predict([one])[0].tolist() == ["front"]
    apart = Graph(
        [[3.0, 3.0], [3.0, 3.0], [-3.0, -3.0], [-3.0, -3.0]], [(0, 1), (2, 3)], np.ones((2, 2))
    )
    assert model.predict([apart])[0].tolist() == ["front", "front", "back", "back"]


def test_the_order_of_edges_does_not_matter():
    X, y = drawn(seed=11)
    rng, moved = np.random.default_rng(0), []
    for x in X:
        order = rng.permutation(len(x.edges))
        ends = np.where(rng.random((len(order), 1)) < 0.5, x.edges[order], x.edges[order][:, ::-1])
        moved.append(Graph(x.nodes, ends, x.edge_features[order]))
    model = GraphCutSVM(max_epochs=20).fit(X, y)
    for one, two in zip(model.predict(X), model.predict(moved), strict=True):
        np.testing.assert_array_equal(one, two)
