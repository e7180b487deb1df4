"""TreeSVM: scores by definition, a path is a chain, planted trees, labels of single nodes, use."""

from itertools import pairwise, product

import numpy as np
import pytest
from scipy import sparse

import maxmargin
from maxmargin import ChainSVM, Graph, TreeSVM, domains
from maxmargin.datasets import make_sequences
from maxmargin.structures import Tree
from reference import trees

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
NAMES = np.array(["n", "p", "v"])


def drawn(n=10, sizes=(1, 6), q=None, seed=0, joined=0.8):
    """Trees and forests with labels at random; q edge features, or none."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for i in range(n):
        size = int(rng.integers(*sizes))
        edges = np.array(trees.random_edges(size, rng, joined)).reshape(-1, 2)
        labels = rng.integers(3, size=size)
        labels[0] = i % 3
        nodes = rng.normal(size=(size, 2)) + labels[:, None]
        X.append(Graph(nodes, edges, None if q is None else rng.normal(size=(len(edges), q))))
        y.append(NAMES[labels])
    return X, y


def path(x, **options):
    return Graph(x, [(t, t + 1) for t in range(len(x) - 1)], **options)


def score(model, x, labels):
    """Of the labels of a tree, by definition."""
    node, pair = model.node_coef_, model.pair_coef_
    total = 0.0
    for v, k in enumerate(labels):
        total += x.nodes[v] @ node[:, k]
        total += model.bias_[k] if model.bias else 0.0
        if model.ends and v not in x.edges[:, 1]:
            total += model.root_[k]
        if model.ends and v not in x.edges[:, 0]:
            total += model.leaf_[k]
    for (a, b), f in zip(x.edges, x.edge_features, strict=True):
        if model.transitions:
            tables = pair if pair.ndim == 3 else pair[None]
            total += f @ tables[:, labels[a], labels[b]]
    return total


def check_predictions(model, X):
    """Outputs and scores of the model against all labels of each tree."""
    outputs, tops = model.predict(X), model.decision_function(X)
    for x, output, top in zip(X, outputs, tops, strict=True):
        every = list(product(range(3), repeat=len(output)))
        values = np.array([score(model, x, labels) for labels in every])
        own = score(model, x, np.searchsorted(NAMES, output))
        assert own == pytest.approx(values.max(), abs=1e-10)
        table = np.array(every)
        for v, k in product(range(len(output)), range(3)):
            assert top[v, k] == pytest.approx(values[table[:, v] == k].max(), abs=1e-10)


@pytest.mark.parametrize("q", [None, 1, 3])
@pytest.mark.parametrize("flags", [(True, True, True), (False, True, True), (True, False, False)])
def test_scores_are_those_of_the_definition(q, flags):
    X, y = drawn(q=q)
    model = TreeSVM(bias=flags[0], ends=flags[1], transitions=flags[2], max_epochs=2).fit(X, y)
    model.coef_ = np.random.default_rng(1).normal(size=len(model.coef_))
    assert model.structure_.tied == (q is None or not flags[2])
    check_predictions(model, X)


def test_the_parts_of_the_weights():
    X, y = drawn(q=2)
    model = TreeSVM().fit(X, y)
    parts = [model.node_coef_, model.bias_, model.root_, model.leaf_, model.pair_coef_]
    assert [part.shape for part in parts] == [(2, 3), (3,), (3,), (3,), (2, 3, 3)]
    assert np.array_equal(np.concatenate([part.ravel() for part in parts]), model.coef_)
    assert (model.n_features_in_, model.n_edge_features_in_) == (2, 2)
    bare = TreeSVM(bias=False, ends=False, transitions=False).fit(X, y)
    assert (bare.bias_, bare.root_, bare.leaf_, bare.pair_coef_) == (None,) * 4
    assert TreeSVM().fit(*drawn()).pair_coef_.shape == (3, 3)


# -- a path is a chain -----------------------------------------------------------------------------
SEQUENCES = make_sequences(30, (1, 6), 4, 5, separation=1.0, random_state=0)


@pytest.mark.parametrize("objective", ["margin", "likelihood"])
def test_a_path_is_a_chain(objective):
    solver = "bcfw" if objective == "margin" else "lbfgs"
    options = {"alpha": 0.05, "objective": objective, "solver": solver, "tol": 1e-6}
    options["max_epochs"] = 500
    chain = ChainSVM(forbidden_transitions=[(0, 3)], **options)
    kept = [i for i, own in enumerate(SEQUENCES.y) if (0, 3) not in pairwise(own.tolist())]
    X, y = [SEQUENCES.X[i] for i in kept], [SEQUENCES.y[i] for i in kept]
    chain.fit(X, y)
    tree = TreeSVM(forbidden_pairs=[(0, 3)], **options).fit([path(x) for x in X], y)
    assert tree.result_.primal == pytest.approx(chain.result_.primal, rel=1e-9)
    np.testing.assert_allclose(tree.coef_, chain.coef_, atol=1e-6)
    np.testing.assert_allclose(tree.pair_coef_, chain.transition_coef_, atol=1e-6)
    np.testing.assert_allclose(tree.root_, chain.first_, atol=1e-6)
    np.testing.assert_allclose(tree.leaf_, chain.last_, atol=1e-6)
    pairs = zip(
        tree.predict_marginals([path(x) for x in X]), chain.predict_marginals(X), strict=True
    )
    for a, b in pairs:
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_tables_of_edges_that_are_all_alike_are_the_tied_one():
    """Two equal columns share the weight; one column of twos is another scale."""
    X, y = drawn(20, seed=2)
    tied = TreeSVM(alpha=0.1, tol=1e-8, max_epochs=2000).fit(X, y)
    twice = [Graph(x.nodes, x.edges, np.full((len(x.edges), 4), 0.5)) for x in X]
    free = TreeSVM(alpha=0.1, tol=1e-8, max_epochs=2000).fit(twice, y)
    assert not free.structure_.tied
    assert free.result_.primal == pytest.approx(tied.result_.primal, rel=1e-7)
    np.testing.assert_allclose(0.5 * free.pair_coef_.sum(axis=0), tied.pair_coef_, atol=1e-3)


# -- learning --------------------------------------------------------------------------------------
def planted(n, seed):
    """Labels that a parent and the kind of the edge tell, features that hardly do."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for size in rng.integers(3, 12, size=n):
        parents = [-1, *(int(rng.integers(v)) for v in range(1, size))]
        kinds = rng.integers(2, size=size)
        labels = [int(rng.integers(3))]
        for v in range(1, size):
            step = 1 + kinds[v] if rng.random() < 0.9 else 0
            labels.append(int(labels[parents[v]] + step) % 3)
        nodes = rng.normal(size=(size, 3)) + 0.9 * np.eye(3)[labels]
        X.append(Graph.from_parents(nodes, parents, np.eye(2)[kinds[1:]]))
        y.append(NAMES[labels])
    return X, y


@pytest.mark.parametrize("objective, solver", [("margin", "bcfw"), ("likelihood", "lbfgs")])
def test_a_planted_tree_is_learned_by_its_edges(objective, solver):
    options = {"alpha": 1e-2, "objective": objective, "solver": solver, "tol": 1e-2}
    (X, y), (X_new, y_new) = planted(60, 0), planted(60, 1)
    with_edges = TreeSVM(**options).fit(X, y)
    plain, plain_new = ([Graph(x.nodes, x.edges) for x in some] for some in (X, X_new))
    one_table = TreeSVM(**options).fit(plain, y)
    without = TreeSVM(transitions=False, **options).fit(plain, y)
    scores = [
        without.score(plain_new, y_new),
        one_table.score(plain_new, y_new),
        with_edges.score(X_new, y_new),
    ]
    assert without.score(X_new, y_new) == scores[0]  # features of edges do not count
    assert scores[0] < scores[1] < scores[2] - 0.1
    assert scores[2] > 0.7
    # steps of 1 and of 2 are the pairs that the kinds of edges like best
    for kind, step in ((0, 1), (1, 2)):
        liked = with_edges.pair_coef_[kind]
        assert (liked.argmax(axis=1) == (np.arange(3) + step) % 3).all()


def test_without_edges_it_is_a_classifier_of_nodes():
    X, y = drawn(20, seed=3)
    bare = [Graph(x.nodes, []) for x in X]
    tree = TreeSVM(alpha=0.1, ends=False, tol=1e-7, max_epochs=1000).fit(bare, y)
    assert np.abs(tree.pair_coef_).max() == 0.0
    linked = TreeSVM(alpha=0.1, ends=False, transitions=False, tol=1e-7, max_epochs=1000).fit(X, y)
    assert tree.result_.primal == pytest.approx(linked.result_.primal, rel=1e-6)


# -- labels of single nodes ------------------------------------------------------------------------
def test_nodes_have_the_labels_they_are_allowed():
    X, y = drawn(12, seed=4)
    rng = np.random.default_rng(5)
    some = []
    for own in y:
        sets = [{label, str(rng.choice(NAMES))} for label in own]
        some.append([None if rng.random() < 0.2 else allowed for allowed in sets])
    limited = [Graph(x.nodes, x.edges, labels=own) for x, own in zip(X, some, strict=True)]
    model = TreeSVM(alpha=0.01).fit(limited, y)
    model.coef_ = np.random.default_rng(6).normal(size=len(model.coef_))
    for x, labels, own in zip(limited, some, model.predict(limited), strict=True):
        allowed = [
            names for names in product(NAMES, repeat=len(own))
            if all(a is None or name in a for name, a in zip(names, labels, strict=True))
        ]  # fmt: skip
        values = [score(model, x, np.searchsorted(NAMES, names)) for names in allowed]
        assert tuple(own) == allowed[int(np.argmax(values))]
    for marginals, labels in zip(model.predict_marginals(limited), some, strict=True):
        for row, own in zip(marginals, labels, strict=True):
            out = [k for k, name in enumerate(NAMES) if own is not None and name not in own]
            assert (row[out] == 0.0).all()
            assert row.sum() == pytest.approx(1.0)


def test_labels_that_a_fold_lacks_are_left_aside():
    X, y = drawn(12, seed=4)
    limited = [Graph(x.nodes, x.edges, labels=[NAMES] * len(x.nodes)) for x in X]
    kept = [i for i, own in enumerate(y) if "v" not in own]
    model = TreeSVM().fit([limited[i] for i in kept], [y[i] for i in kept])
    assert model.classes_.tolist() == ["n", "p"]
    assert model.unlearned_ == ["v"]
    assert 0.2 < model.score(limited, y) < 1.0


def test_forbidden_pairs_are_never_predicted():
    banned = [("n", "n"), ("p", "v")]
    X, y = drawn(40, seed=4)
    kept = [
        i
        for i, (x, own) in enumerate(zip(X, y, strict=True))
        if not any((own[a], own[b]) in banned for a, b in x.edges)
    ]
    model = TreeSVM(forbidden_pairs=banned)
    model.fit([X[i] for i in kept], [y[i] for i in kept])
    model.coef_ = np.random.default_rng(2).normal(size=len(model.coef_))
    seen = set()
    others, _ = drawn(60, seed=9, joined=1.0)
    for x, own in zip(others, model.predict(others), strict=True):
        seen |= {(own[a], own[b]) for a, b in x.edges}
    assert not seen & set(banned)
    assert {("n", "p"), ("v", "p")} <= seen  # the other way round is another pair


# -- use -------------------------------------------------------------------------------------------
def test_edges_may_have_features_that_they_had_not_in_training():
    X, y = drawn(12, seed=7)
    model = TreeSVM().fit(X, y)
    assert model.structure_.tied
    half = [Graph(x.nodes, x.edges, np.full(len(x.edges), 0.5)) for x in X]
    check_predictions(model, half)
    assert model.structure_.tied
    twice = TreeSVM().fit(X, y)
    twice.coef_[-9:] *= 0.5
    for a, b in zip(model.predict(half), twice.predict(X), strict=True):
        assert np.array_equal(a, b)
    for a, b in zip(model.predict_k_best(half, 3), twice.predict_k_best(X, 3), strict=True):
        assert [value for _, value in a] == pytest.approx([value for _, value in b], abs=1e-12)
        assert len({tuple(own) for own, _ in a}) == len(a) == min(3, 3 ** len(a[0][0]))


def test_samples_of_all_kinds_go_together():
    X, y = drawn(9, q=2, seed=8)
    X[1] = Graph(X[1].nodes, [])
    X[2] = Graph(X[2].nodes[:1], [])
    y[2] = y[2][:1]
    thin = [Graph(sparse.csr_array(x.nodes), x.edges, sparse.csr_array(x.edge_features)) for x in X]
    model = TreeSVM(alpha=0.1).fit(X, y)
    assert np.array_equal(TreeSVM(alpha=0.1).fit(thin, y).coef_, model.coef_)
    for a, b in zip(model.predict(thin), model.predict(X), strict=True):
        assert np.array_equal(a, b)
    assert [len(own) for own in model.predict(X[1:3])] == [len(y[1]), 1]


def test_labels_may_be_numbers():
    X, y = drawn(9)
    model = TreeSVM().fit(X, [np.searchsorted(NAMES, own) * 10 for own in y])
    assert model.classes_.tolist() == [0, 10, 20]
    assert set(np.concatenate(model.predict(X)).tolist()) <= {0, 10, 20}


@pytest.mark.filterwarnings("ignore:forbidden_pairs has 'x'")
@pytest.mark.parametrize("q", [None, 2])
def test_saved_models_predict_alike(q, tmp_path):
    X, y = drawn(12, q=q)
    limited = [Graph(x.nodes, x.edges, x.edge_features, [NAMES] * len(x.nodes)) for x in X]
    model = TreeSVM(alpha=0.2, warm_start=True, forbidden_pairs=[("x", "n")]).fit(limited, y)
    model.save(tmp_path / "tree.model")
    again = maxmargin.load(tmp_path / "tree.model")
    assert isinstance(again.structure_, Tree)
    assert np.array_equal(again.coef_, model.coef_)
    for a, b in zip(model.decision_function(X), again.decision_function(X), strict=True):
        assert np.array_equal(a, b)
    again.fit(limited, y)
    assert again.result_.n_epochs == 0  # a warm start goes on, so shapes were kept


def test_a_domain_keeps_the_weights_inside():
    X, y = drawn(12)
    model = TreeSVM(domain=domains.L2Ball(0.5)).fit(X, y)
    assert np.linalg.norm(model.coef_) <= 0.5 * (1 + 1e-12)
    model = TreeSVM(domain=domains.NonNegative(range(15, 24))).fit(X, y)
    assert model.pair_coef_.min() >= 0.0


@pytest.mark.parametrize("solver", ["fw", "ssg"])
def test_other_solvers_reach_the_same_optimum(solver):
    X, y = drawn(8, sizes=(1, 4))
    best = TreeSVM(alpha=0.5, tol=1e-7, max_epochs=2000).fit(X, y).result_
    found = TreeSVM(alpha=0.5, solver=solver, tol=1e-2, max_epochs=300).fit(X, y).result_
    assert best.dual - 1e-9 <= found.primal <= best.primal * 1.05
