"""MatchingSVM: what it learns, the forms of its samples, and its caps."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.model_selection import GridSearchCV

from maxmargin import Bipartite, MatchingSVM, domains, load
from maxmargin.callbacks import EarlyStopping
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.losses import Hamming
from maxmargin.result import Status
from maxmargin.solvers import BCFW, DualExtragradient
from maxmargin.structures import Matching

TRUE = np.array([2.0, -1.0, 0.5])
SOLVERS = ["bcfw", "fw", "ssg", "perceptron", "extragradient", "dual-extragradient",
           "projected-gradient"]  # fmt: skip


def best_links(scores, structure=None):
    structure = structure or Matching()
    return structure.decode(structure.maximize(scores.ravel(), scores.shape), scores.shape)


def samples(n=30, sizes=(2, 5), noise=0.0, seed=0, structure=None):
    """Links that are best under the true weights, with a threshold of 0.3."""
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(*rng.integers(*sizes, size=2), 3)) for _ in range(n)]
    scores = [x @ TRUE - 0.3 + noise * rng.normal(size=x.shape[:2]) for x in X]
    return X, [best_links(own, structure) for own in scores]


def graph(x, order=None, **caps):
    """The same sample with all edges named, in some order."""
    edges = np.argwhere(np.ones(x.shape[:2]))
    order = np.arange(len(edges)) if order is None else order
    return Bipartite(x.shape[:2], edges[order], x.reshape(len(edges), -1)[order], **caps)


def same(outputs, others):
    assert len(outputs) == len(others)
    for a, b in zip(outputs, others, strict=True):
        np.testing.assert_array_equal(a, b)


def pairs(links):
    return {tuple(link) for link in np.asarray(links).tolist()}


# -- what is learned -------------------------------------------------------------------------------
def test_links_without_noise_are_learned_and_carry_over():
    X, y = samples(60)
    model = MatchingSVM(alpha=1e-4, max_epochs=1000).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.result_.status is Status.CONVERGED
    assert model.coef_.shape == (4,)
    truth = np.append(TRUE, -0.3)
    cosine = model.coef_ @ truth / np.linalg.norm(model.coef_) / np.linalg.norm(truth)
    assert cosine > 0.98
    X_new, y_new = samples(30, sizes=(6, 9), seed=1)  # sides that were never seen
    assert model.score(X_new, y_new) > 0.9


def test_predictions_are_the_best_links_of_the_edge_scores():
    X, y = samples(noise=0.3)
    model = MatchingSVM(alpha=0.01).fit(X, y)
    scores = model.edge_scores(X)
    for x, own, links, value in zip(
        X, scores, model.predict(X), model.decision_function(X), strict=True
    ):
        np.testing.assert_allclose(own, x @ model.coef_[:-1] + model.coef_[-1], atol=1e-12)
        assert own[tuple(links.T)].sum() == pytest.approx(value, abs=1e-12)
        # an assignment by scipy, where a pair that is not worth a link gets none
        assert value == pytest.approx(-np.minimum(-own, 0)[_assigned(own)].sum(), abs=1e-12)
        assert (own[tuple(links.T)] > 0).all()


def _assigned(scores):
    return linear_sum_assignment(np.minimum(-scores, 0))


def test_the_score_is_the_f1_of_the_links():
    X, y = samples(noise=1.0)
    model = MatchingSVM(alpha=0.01, max_epochs=300).fit(X, y)
    found = model.predict(X)
    both = [len(pairs(a) & pairs(b)) for a, b in zip(found, y, strict=True)]
    sizes = [len(a) + len(b) for a, b in zip(found, y, strict=True)]
    assert 0.5 < model.score(X, y) < 1.0
    assert model.score(X, y) == pytest.approx(2 * sum(both) / sum(sizes), abs=1e-12)
    weight = np.arange(len(X))
    expected = 2 * (weight @ both) / (weight @ sizes)
    assert model.score(X, y, sample_weight=weight) == pytest.approx(expected, abs=1e-12)
    assert model.score(X, [pairs(links) for links in y]) == model.score(X, y)


def test_nothing_to_find_and_nothing_found_is_right():
    X, _ = samples(10)
    model = MatchingSVM(alpha=0.01).fit(X, [[]] * 10)
    assert all(links.shape == (0, 2) for links in model.predict(X))
    assert model.score(X, [np.empty((0, 2), dtype=int)] * 10) == 1.0
    assert model.score(X, [[(0, 0)]] * 10) == 0.0
    assert model.coef_[-1] < 0  # the bias alone says: no links


def test_some_samples_without_links():
    X, y = samples(30)
    y[3], y[7] = [], np.empty((0, 2))
    X[3], X[7] = X[3] - 10 * TRUE, X[7] - 10 * TRUE
    model = MatchingSVM(alpha=1e-3, max_epochs=1000).fit(X, y)
    assert [len(links) for links in model.predict([X[3], X[7]])] == [0, 0]
    assert model.score(X, y) > 0.95


def test_a_link_that_is_missed_may_cost_more():
    X, y = samples(60, noise=2.0)
    counts = []
    for price in (0.2, 1.0, 5.0):
        loss = Hamming(normalize=False, false_negative=price)
        model = MatchingSVM(alpha=0.1, loss=loss, max_epochs=500).fit(X, y)
        counts.append(sum(len(links) for links in model.predict(X)))
    assert counts[0] < counts[1] < counts[2]


def test_without_a_bias_there_are_as_many_weights_as_features():
    X, y = samples()
    model = MatchingSVM(alpha=0.01, bias=False).fit(X, y)
    assert model.coef_.shape == (3,)
    given = [np.concatenate([x, np.ones((*x.shape[:2], 1))], axis=2) for x in X]
    by_hand = MatchingSVM(alpha=0.01, bias=False).fit(given, y)
    np.testing.assert_allclose(by_hand.coef_, MatchingSVM(alpha=0.01).fit(X, y).coef_, atol=1e-10)


def test_prices_of_single_edges_in_the_form_of_x():
    X, y = samples(20, noise=1.0)
    price = [np.random.default_rng(i).random(x.shape[:2]) for i, x in enumerate(X)]
    square = MatchingSVM(alpha=0.1).fit(X, y, node_weight=price)
    flat = MatchingSVM(alpha=0.1).fit(X, y, node_weight=[own.ravel() for own in price])
    np.testing.assert_array_equal(square.coef_, flat.coef_)
    assert not np.array_equal(square.coef_, MatchingSVM(alpha=0.1).fit(X, y).coef_)


# -- forms of the samples --------------------------------------------------------------------------
@pytest.mark.parametrize("solver", ["bcfw", "dual-extragradient"])
def test_all_edges_named_is_the_dense_sample(solver):
    X, y = samples(noise=0.3)
    dense = MatchingSVM(alpha=0.1, solver=solver, max_epochs=500).fit(X, y)
    named = MatchingSVM(alpha=0.1, solver=solver, max_epochs=500).fit([graph(x) for x in X], y)
    np.testing.assert_allclose(named.coef_, dense.coef_, atol=1e-10)
    same(named.predict(X), dense.predict([graph(x) for x in X]))
    for a, b in zip(named.edge_scores([graph(x) for x in X]), named.edge_scores(X), strict=True):
        assert a.shape == (b.size,)
        np.testing.assert_allclose(a, b.ravel(), atol=1e-12)


def test_the_order_of_the_edges_is_of_no_account():
    X, y = samples(noise=0.3)
    rng = np.random.default_rng(5)
    orders = [rng.permutation(x.shape[0] * x.shape[1]) for x in X]
    mixed = [graph(x, order) for x, order in zip(X, orders, strict=True)]
    options = {"alpha": 0.1, "tol": 1e-8, "max_epochs": 3000}
    dense, other = MatchingSVM(**options).fit(X, y), MatchingSVM(**options).fit(mixed, y)
    np.testing.assert_allclose(other.coef_, dense.coef_, atol=1e-3)
    same(dense.predict(mixed), dense.predict(X))
    np.testing.assert_allclose(dense.decision_function(mixed), dense.decision_function(X))
    for a, b, order in zip(dense.edge_scores(mixed), dense.edge_scores(X), orders, strict=True):
        np.testing.assert_allclose(a, b.ravel()[order], atol=1e-12)


def test_dense_and_sparse_features_and_both_forms_in_one_list():
    X, y = samples(noise=0.3)
    X = [np.where(np.abs(x) < 0.5, 0.0, x) for x in X]
    wanted = MatchingSVM(alpha=0.1).fit(X, y)
    mixed = [
        x if i % 2 else Bipartite(x.shape[:2], None, sparse.csr_array(x.reshape(-1, 3)))
        for i, x in enumerate(X)
    ]
    found = MatchingSVM(alpha=0.1).fit(mixed, y)
    np.testing.assert_allclose(found.coef_, wanted.coef_, atol=1e-10)
    same(found.predict(mixed), wanted.predict(X))


def test_one_array_of_equal_samples():
    X = np.random.default_rng(0).normal(size=(20, 3, 4, 3))
    y = [best_links(x @ TRUE) for x in X]
    whole, listed = MatchingSVM(alpha=0.1).fit(X, y), MatchingSVM(alpha=0.1).fit(list(X), y)
    np.testing.assert_array_equal(whole.coef_, listed.coef_)
    same(whole.predict(X), listed.predict(list(X)))


def test_links_may_be_lists_or_sets_in_any_order():
    X, y = samples()
    wanted = MatchingSVM(alpha=0.1).fit(X, y).coef_
    for convert in (list, lambda links: links[::-1].tolist(), pairs, lambda links: links * 1.0):
        found = MatchingSVM(alpha=0.1).fit(X, [convert(links) for links in y]).coef_
        np.testing.assert_array_equal(found, wanted)


def test_only_candidate_edges_are_linked():
    X, _ = samples(20, sizes=(3, 6))
    rng = np.random.default_rng(1)
    kept = [np.sort(rng.permutation(x.shape[0] * x.shape[1])[: x.shape[0] + 1]) for x in X]
    graphs = [graph(x, order) for x, order in zip(X, kept, strict=True)]
    y = [
        Matching().decode(Matching().maximize(g.features @ TRUE - 0.3, g.candidates), g.candidates)
        for g in graphs
    ]
    model = MatchingSVM(alpha=1e-3, max_epochs=1000).fit(graphs, y)
    assert model.score(graphs, y) > 0.95
    for g, links in zip(graphs, model.predict(graphs), strict=True):
        assert pairs(links) <= pairs(g.edges)


# -- caps ------------------------------------------------------------------------------------------
def counts(links, side, size):
    return np.bincount(np.asarray(links)[:, side], minlength=size)


def test_a_cap_of_two_allows_many_to_one():
    structure = Matching(1, 2)
    X, y = samples(structure=structure, sizes=(3, 6))
    assert max(counts(links, 1, 6).max() for links in y) == 2
    model = MatchingSVM(alpha=1e-3, column_cap=2, max_epochs=1000).fit(X, y)
    found = model.predict(X)
    assert model.score(X, y) > 0.98
    assert max(counts(links, 0, 6).max() for links in found) == 1
    assert max(counts(links, 1, 6).max() for links in found) == 2
    with pytest.raises(ValueError, match=r"sample \d+: .*column \d is in 2 links.* column_cap"):
        MatchingSVM().fit(X, y)


def test_each_node_may_have_a_cap_of_its_own():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(25, 4, 3, 3)) + 0.5
    row_caps, column_caps = np.array([2, 1, 0, 3]), np.array([1, 2, 3])
    graphs = [graph(x, row_caps=row_caps, column_caps=column_caps) for x in X]
    y = [
        Matching().decode(Matching().maximize(g.features @ TRUE, g.candidates), g.candidates)
        for g in graphs
    ]
    model = MatchingSVM(alpha=1e-3, max_epochs=1000).fit(graphs, y)
    assert model.score(graphs, y) > 0.98
    found = model.predict(graphs)
    assert all((counts(links, 0, 4) <= row_caps).all() for links in found)
    assert all((counts(links, 1, 3) <= column_caps).all() for links in found)
    assert max(counts(links, 0, 4)[3] for links in found) > 1
    one = model.predict(X)  # without caps of their own: those of the estimator
    assert all(counts(links, 0, 4).max(initial=0) <= 1 for links in one)


def test_caps_of_one_side_leave_the_other_to_the_estimator():
    model = MatchingSVM(alpha=0.01).fit(*samples())
    x = np.tile(TRUE, (3, 3, 1))  # every link is worth having
    links = model.predict([graph(x, row_caps=[3, 3, 0])])[0]
    assert counts(links, 1, 3).max() == 1
    assert counts(links, 0, 3)[2] == 0
    assert len(links) == 3


def test_edges_of_a_node_that_may_have_no_link_score_minus_infinity():
    X, y = samples()
    model = MatchingSVM(alpha=0.01).fit(X, y)
    caps = np.ones(X[0].shape[0], dtype=int)
    caps[0] = 0
    shut = graph(X[0], row_caps=caps)
    found, plain = model.edge_scores([shut])[0], model.edge_scores(X[:1])[0].ravel()
    closed = shut.edges[:, 0] == 0
    assert np.isneginf(found[closed]).all()
    np.testing.assert_array_equal(found[~closed], plain[~closed])
    assert 0 not in model.predict([shut])[0][:, 0]
    assert np.isfinite(model.decision_function([shut])).all()


# -- solvers ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_learns(solver):
    X, y = samples(noise=0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MatchingSVM(alpha=0.02, solver=solver, max_epochs=300).fit(X, y)
    assert model.score(X, y) > 0.85
    if solver == "perceptron":
        return
    best = MatchingSVM(alpha=0.02, tol=1e-6, max_epochs=2000).fit(X, y).result_
    near = 1.2 if solver == "projected-gradient" else 1.05  # its steps shrink
    assert best.dual - 1e-9 <= model.result_.primal <= best.primal * near
    assert model.result_.dual <= best.primal + 1e-9


@pytest.mark.parametrize("solver", ["extragradient", "dual-extragradient", "projected-gradient"])
def test_solvers_by_projection_keep_caps_of_their_own(solver):
    X, _ = samples(12, sizes=(3, 5))
    graphs = [graph(x, column_caps=[2] * x.shape[1]) for x in X]
    y = [best_links(x @ TRUE - 0.3, Matching(1, 2)) for x in X]
    options = {"alpha": 0.1, "max_epochs": 3000}
    found = MatchingSVM(solver=solver, tol=0.2, **options).fit(graphs, y).result_
    best = MatchingSVM(column_cap=2, tol=1e-6, **options).fit(X, y).result_
    assert found.status is Status.CONVERGED
    assert found.dual <= best.primal + 1e-9
    assert best.dual - 1e-9 <= found.primal <= best.primal + found.gap


def test_signs_known_beforehand_are_kept():
    X, y = samples(20, noise=2.0, seed=4)
    free = MatchingSVM(alpha=0.1, max_epochs=500).fit(X, y)
    wrong = domains.Signs(negative=[0, 2])
    model = MatchingSVM(alpha=0.1, solver="dual-extragradient", domain=wrong, max_epochs=3000).fit(
        X, y
    )
    assert free.coef_[0] > 0
    assert model.coef_[0] == 0.0
    assert wrong.contains(model.coef_)
    assert model.result_.primal > free.result_.primal


def test_grid_search_over_prices_and_penalties():
    X, y = samples(30, noise=0.5)
    estimator = MatchingSVM(loss=Hamming(normalize=False), max_epochs=500)
    grid = {"alpha": [0.05, 100.0], "loss__false_negative": [1.0, 3.0]}
    search = GridSearchCV(estimator, grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_params_["alpha"] == 0.05
    assert search.best_score_ > 0.7
    assert search.score(X, y) == search.best_estimator_.score(X, y)


def test_grid_search_over_the_domain_on_candidate_edges():
    X, y = samples(30, noise=0.5)
    X = [graph(x) for x in X]
    estimator = MatchingSVM(
        alpha=1e-3, solver="dual-extragradient", domain=domains.L2Ball(1.0), tol=0.05,
        max_epochs=1000,
    )  # fmt: skip
    grid = {"domain__radius": [1e-4, 3.0]}
    search = GridSearchCV(estimator, grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_estimator_.domain.radius == search.best_params_["domain__radius"]
    assert (
        np.linalg.norm(search.best_estimator_.coef_) <= search.best_params_["domain__radius"] + 1e-9
    )
    small = MatchingSVM(
        solver=DualExtragradient(), domain=domains.L2Ball(1e-4), tol=0.05, max_epochs=1000
    ).fit(X, y)
    assert np.linalg.norm(small.coef_) <= 1e-4 + 1e-12


def test_early_stopping_keeps_the_weights_that_link_best():
    X, y = samples(60, noise=1.0)
    stopping = EarlyStopping([graph(x) for x in X[40:]], y[40:], patience=3)
    model = MatchingSVM(
        alpha=1e-4, solver=BCFW(check_every=1), max_epochs=300, tol=0.0, callbacks=[stopping]
    ).fit(X[:40], y[:40])
    seen = [record.validation_score for record in model.result_.history]
    assert model.result_.status is Status.STOPPED
    assert model.score(X[40:], y[40:]) == pytest.approx(max(seen))


def test_a_warm_start_on_candidate_edges_goes_on():
    X, y = samples(noise=0.5)
    X = [graph(x) for x in X]
    warm = MatchingSVM(alpha=0.1, warm_start=True).fit(X, y)
    primal = warm.result_.primal
    warm.fit([graph(x) for x in samples(noise=0.5)[0]], y)  # equal graphs, other objects
    assert (warm.result_.n_epochs, warm.result_.primal) == (0, primal)
    with pytest.warns(UserWarning, match="starting afresh"):
        warm.fit([Bipartite(g.shape, g.edges[::-1], g.features[::-1]) for g in X], y)


# -- files -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("warm_start", [False, True])
def test_saved_and_loaded(tmp_path, warm_start):
    X, y = samples(noise=0.5)
    X = [graph(x, column_caps=[1] * x.shape[1]) for x in X]
    model = MatchingSVM(alpha=0.1, warm_start=warm_start).fit(X, y)
    model.save(tmp_path / "links.mm")
    again = load(tmp_path / "links.mm")
    same(again.predict(X), model.predict(X))
    assert again.score(X, y) == model.score(X, y)
    assert again.coef_.tobytes() == model.coef_.tobytes()
    assert again.fit(X, y).result_.n_epochs == (0 if warm_start else model.result_.n_epochs)


def test_matrices_that_pass_for_links_are_told():
    X = list(np.random.default_rng(0).normal(size=(4, 2, 2, 1)))
    matrices = [np.eye(2, dtype=int), np.eye(2, dtype=int)[::-1]] * 2
    with pytest.warns(UserWarning, match=r"zeros and ones, and are read as links.*np\.argwhere"):
        MatchingSVM().fit(X, matrices)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MatchingSVM().fit(X, [np.argwhere(own) for own in matrices])
        MatchingSVM().fit(X, [[(1, 0), (0, 1)], {(0, 0), (1, 1)}] * 2)
        MatchingSVM().fit(X, [[[0, 1], [1, 0]]] * 4)  # the same, either way
