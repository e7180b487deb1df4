"""One battery over all estimators: scikit-learn's contract, and ours on top of it."""

import pickle
import warnings
from functools import lru_cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from contract import cases
from contract.cases import Kind, check_cases, exported, found_list
from contract.problems import AtMostTwo
from maxmargin import (
    ChainSVM,
    DecisionSVM,
    GeneralMatchingSVM,
    Graph,
    GraphCutSVM,
    MatchingSVM,
    MulticlassSVM,
    MultiLabelSVM,
    NetworkSVM,
    SegmentSVM,
    StructuredSVM,
    TreeSVM,
    estimators,
)
from maxmargin.callbacks import Callback
from maxmargin.datasets import make_sequences
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.losses import Hamming
from maxmargin.result import Status
from maxmargin.solvers import BCFW, FrankWolfe
from maxmargin.structures import Finite, Matching

pytestmark = pytest.mark.one_in(4)


def chains():
    data = make_sequences(24, (1, 5), 3, 4, separation=2.0, random_state=0)
    return Kind(ChainSVM(alpha=0.05), data.X, [np.array(["x", "y", "z"])[y] for y in data.y])


def classes():
    rng = np.random.default_rng(1)
    y = rng.integers(4, size=60)
    X = rng.normal(size=(60, 3)) + 4.0 * rng.normal(size=(4, 3))[y]
    return Kind(MulticlassSVM(alpha=0.05), X, np.array(["a", "b", "c", "d"])[y])


def listed():
    rng = np.random.default_rng(2)
    X = [rng.normal(size=(m, 5)) for m in rng.integers(2, 6, size=30)]
    y = [int(np.argmax(x @ np.arange(5.0))) for x in X]
    return Kind(StructuredSVM(Finite(), alpha=0.05), X, y)


def subsets():
    rng = np.random.default_rng(3)
    X = [rng.normal(size=(m, 4)) for m in rng.integers(2, 6, size=15)]
    likes = [x @ np.array([2.0, -1.0, 0.5, 0.0]) - 0.3 for x in X]
    y = [tuple(p for p in np.argsort(-v)[:2].tolist() if v[p] > 0) for v in likes]
    loss = Hamming(false_negative=2.0)
    return Kind(StructuredSVM(AtMostTwo(), alpha=0.05, loss=loss), X, y)


def matchings():
    rng = np.random.default_rng(4)
    X = [rng.normal(size=(*rng.integers(1, 5, size=2), 3)) for _ in range(25)]
    w, y = np.array([2.0, -1.0, 0.5]), []
    for x in X:
        layout = x.shape[:2]
        scores = x @ w - 0.4 + 0.3 * rng.normal(size=layout)
        y.append(Matching().decode(Matching().maximize(scores.ravel(), layout), layout))
    return Kind(MatchingSVM(alpha=0.05), X, y)


def graphs():
    rng = np.random.default_rng(5)
    X, y = [], []
    for size in rng.integers(2, 8, size=20):
        labels = np.arange(size) < rng.integers(1, size)  # a path, cut once
        nodes = rng.normal(size=(size, 3)) + 1.5 * labels[:, None]
        ends = np.column_stack([np.arange(size - 1), np.arange(1, size)])
        X.append(Graph(nodes, ends, np.column_stack([np.ones(size - 1), rng.random(size - 1)])))
        y.append(np.where(labels, "on", "off"))
    return Kind(GraphCutSVM(alpha=0.05), X, y)


def tables():
    kind = graphs()
    return Kind(GraphCutSVM(alpha=0.05, tables=True), kind.X, kind.y)


def trees():
    """Labels that alternate from a root to its children."""
    rng = np.random.default_rng(6)
    X, y = [], []
    for size in rng.integers(1, 7, size=24):
        parents = [-1, *(int(rng.integers(v)) for v in range(1, size))]
        labels = [int(rng.integers(3))]
        for v in range(1, size):
            labels.append((labels[parents[v]] + 1) % 3)
        nodes = rng.normal(size=(size, 3)) + 1.2 * np.eye(3)[labels]
        X.append(Graph.from_parents(nodes, parents))
        y.append(np.array(["x", "y", "z"])[labels])
    return Kind(TreeSVM(alpha=0.05), X, y)


def tree_edges():
    kind = trees()
    rng = np.random.default_rng(7)
    X = [Graph(x.nodes, x.edges, rng.normal(size=(len(x.edges), 2))) for x in kind.X]
    return Kind(TreeSVM(alpha=0.1), X, kind.y)


def networks():
    """Labels that go on by one around a ring, found exactly."""
    rng = np.random.default_rng(8)
    X, y = [], []
    for size in 3 * rng.integers(1, 3, size=16):
        labels = (rng.integers(3) + np.arange(size)) % 3
        nodes = rng.normal(size=(size, 3)) + 1.2 * np.eye(3)[labels]
        X.append(Graph(nodes, [(v, (v + 1) % size) for v in range(size)]))
        y.append(np.array(["x", "y", "z"])[labels])
    return Kind(NetworkSVM(alpha=0.05), X, y)


def bounded_networks():
    """The same with features of edges, found within bounds."""
    kind = networks()
    rng = np.random.default_rng(9)
    X = [Graph(x.nodes, x.edges, 1.0 + 0.1 * rng.normal(size=(len(x.edges), 2))) for x in kind.X]
    return Kind(NetworkSVM(alpha=0.05, method="bounded"), X, kind.y)


def labels():
    """Three labels, of which the third likes to be where both others are."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(40, 3))
    y = (X[:, :2] + 0.3 * rng.normal(size=(40, 2)) > 0).astype(int)
    return Kind(MultiLabelSVM(alpha=0.05), X, np.column_stack([y, y.prod(axis=1)]))


MAKERS = (chains, classes, listed, subsets, matchings, graphs, tables, trees, tree_edges, labels)
MAKERS += (networks, bounded_networks, *found_list("ESTIMATORS"))
KINDS = {f.__name__: f for f in MAKERS}


def test_no_estimator_is_missing():
    known = [StructuredSVM, *(type(make().estimator) for make in MAKERS)]
    check_cases(exported(estimators, StructuredSVM), known, "ESTIMATORS")


def over(X, change):
    """Samples with their features, those of nodes if there are several kinds, changed."""
    if isinstance(X, np.ndarray):
        return change(X)
    return [changed(x, change) for x in X]


def changed(x, change):
    if isinstance(x, Graph):
        return Graph(change(x.nodes), x.edges, x.edge_features)
    return (change(x[0]), x[1]) if isinstance(x, tuple) else change(x)  # a pair has a layout


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]()


def same(outputs, others):
    assert len(outputs) == len(others)
    for a, b in zip(outputs, others, strict=True):
        np.testing.assert_array_equal(a, b)


# -- scikit-learn's contract -----------------------------------------------------------------------
def test_the_constructor_only_stores(kind):
    odd = object()
    names = [name for name in kind.estimator.get_params(deep=False) if name != "structure"]
    for name in names:
        assert getattr(type(kind.estimator)(**required(kind), **{name: odd}), name) is odd


def required(kind):
    given = kind.estimator.get_params(deep=False)
    return {"structure": given["structure"]} if "structure" in given else {}


def test_clones_are_equal_and_unfitted(kind):
    fitted = kind.fit(solver=BCFW(step="pairwise"), alpha=0.2)
    copy = clone(fitted)
    assert repr(copy) == repr(fitted)
    assert not hasattr(copy, "coef_")
    assert copy.solver is not fitted.solver
    assert (copy.alpha, copy.solver.step) == (0.2, "pairwise")
    np.testing.assert_array_equal(copy.fit(kind.X, kind.y).coef_, fitted.coef_)


def test_the_repr_says_what_differs_from_the_defaults():
    assert repr(ChainSVM()) == "ChainSVM()"
    estimator = ChainSVM(alpha=0.5, solver=BCFW(step="pairwise"))
    assert repr(estimator) == "ChainSVM(alpha=0.5, solver=BCFW(step='pairwise'))"
    assert eval(repr(estimator)).get_params()["solver__step"] == "pairwise"


def test_nested_parameters_are_reached(kind):
    estimator = clone(kind.estimator).set_params(solver=BCFW())
    estimator.set_params(solver__step="pairwise", solver__tol=1e-2, alpha=0.3)
    found = estimator.get_params()
    assert (found["solver__step"], found["solver__tol"], found["alpha"]) == ("pairwise", 1e-2, 0.3)
    with pytest.raises(ValueError, match="Invalid parameter 'stride'"):
        estimator.set_params(solver__stride=1)


def test_fit_changes_nothing_of_the_users(kind):
    solver = BCFW(step="pairwise")
    estimator = clone(kind.estimator)
    estimator.solver = solver
    before = repr(estimator.get_params())
    X, y = pickle.dumps(kind.X), pickle.dumps(kind.y)
    estimator.fit(kind.X, kind.y).predict(kind.X)
    assert repr(estimator.get_params()) == before
    assert estimator.solver is solver
    assert (solver.tol, solver.max_epochs, solver.random_state) == (None, None, None)
    assert (pickle.dumps(kind.X), pickle.dumps(kind.y)) == (X, y)


def test_options_of_the_solver_go_before_those_of_the_estimator(kind):
    solver = BCFW(tol=0.0, max_epochs=3)
    with pytest.warns(ConvergenceWarning, match=r"max_epochs=3 reached.*tol asks for 0 %"):
        fitted = kind.fit(solver=solver, tol=0.5, max_epochs=7)
    assert fitted.result_.n_epochs == 3


@pytest.mark.parametrize("name", ["chains", "classes", "matchings", "graphs", "trees", "labels"])
def test_grid_search_over_nested_parameters(name):
    kind = KINDS[name]()
    estimator = kind.estimator.set_params(solver=BCFW(), max_epochs=1000)
    grid = {"alpha": [1e-2, 10.0], "solver__step": ["pairwise", "corrective"]}
    search = GridSearchCV(estimator, grid, cv=3, error_score="raise").fit(kind.X, kind.y)
    assert search.best_params_["alpha"] == 1e-2  # the large penalty learns nothing
    assert search.best_score_ > 0.8
    scores = search.cv_results_["mean_test_score"].reshape(2, 2)
    # both steps reach the same optimum, up to tol
    np.testing.assert_allclose(scores[:, 0], scores[:, 1], atol=0.05)
    same(search.predict(kind.X), search.best_estimator_.predict(kind.X))


def test_pickles_predict_alike_and_leave_the_dual_point_behind(kind):
    fitted = kind.fit()
    text = pickle.dumps(fitted)
    again = pickle.loads(text)
    same(again.predict(kind.X), fitted.predict(kind.X))
    assert again.score(kind.X, kind.y) == fitted.score(kind.X, kind.y)
    assert again.result_.state is None
    assert fitted.result_.state is not None
    assert again.result_.certificate() == fitted.result_.certificate()
    assert len(pickle.dumps(kind.fit(warm_start=True))) > len(text)


def test_a_pickle_with_warm_start_goes_on(kind):
    fitted = kind.fit(warm_start=True, tol=1e-4)
    again = pickle.loads(pickle.dumps(fitted)).fit(kind.X, kind.y)
    assert again.result_.n_epochs == 0
    assert again.result_.status is Status.CONVERGED
    assert again.result_.primal == fitted.result_.primal


def test_fitted_from_read_only_memory(kind):
    """Parallel workers of scikit-learn get memory maps."""
    fitted = kind.fit()

    def frozen(x):
        x = np.array(x)
        x.flags.writeable = False
        return x

    X = over(kind.X, frozen)
    fitted.coef_.flags.writeable = False
    same(fitted.predict(X), fitted.predict(kind.X))
    np.testing.assert_array_equal(clone(fitted).fit(X, kind.y).coef_, fitted.coef_)


def test_other_number_types_and_memory_orders_are_the_same_data(kind):
    def rounded(convert):
        return over(kind.X, lambda x: convert(np.round(x, 0)))

    estimator = kind.estimator.set_params(alpha=1.0)
    wanted = clone(estimator).fit(rounded(np.float64), kind.y).coef_
    for convert in (np.float32, np.int64, np.asfortranarray, lambda x: x.tolist()):
        found = clone(estimator).fit(rounded(convert), kind.y).coef_
        np.testing.assert_array_equal(found, wanted)


# -- ours ------------------------------------------------------------------------------------------
def test_a_second_fit_is_a_fresh_fit(kind):
    once = kind.fit()
    twice = kind.fit(alpha=1.0)
    twice.set_params(alpha=once.alpha).fit(kind.X, kind.y)
    np.testing.assert_array_equal(twice.coef_, once.coef_)
    assert twice.result_.n_epochs == once.result_.n_epochs
    assert twice.result_.dual == once.result_.dual


# One constant per row of features; rows of segments are made of several. Who has constants is asked
# here and not when tests are collected: most samples are made by compiled functions.
@pytest.mark.parametrize("name", [name for name in KINDS if name != "segment_svm"])
def test_an_intercept_is_a_column_of_its_size_and_so_penalised_less(name):
    kind, size = KINDS[name](), 2.0
    if not hasattr(kind.estimator, "bias"):
        with pytest.raises(ValueError, match="Invalid parameter 'bias'"):
            kind.fit(bias=False)
        return

    def with_column(x):
        return np.concatenate([x, np.full((*x.shape[:-1], 1), size)], axis=-1)

    given = Kind(kind.estimator, over(kind.X, with_column), kind.y).fit(bias=False)
    fitted = kind.fit(intercept_scaling=size)
    np.testing.assert_allclose(fitted.coef_, given.coef_, rtol=1e-9, atol=1e-12)
    same(fitted.predict(kind.X), given.predict(over(kind.X, with_column)))
    constants = getattr(fitted, "bias_", None)
    if constants is not None:
        np.testing.assert_allclose(constants, size * given.node_coef_[-1], atol=1e-12)


def test_the_score_is_the_share_that_is_right(kind):
    fitted = kind.fit()
    if isinstance(fitted, DecisionSVM):  # what is lost, of the costs of the best
        sign = -1 if fitted.sense == "max" else 1
        pairs = zip(kind.X, kind.y, strict=True)  # of features and a structure, or features
        of = [(x[1] if isinstance(x, tuple) else fitted.structure, c) for x, c in pairs]
        best = [structure.maximize(-sign * c, (len(c),)) for structure, c in of]
        found = zip(kind.y, fitted.predict(kind.X), best, strict=True)
        lost = sign * sum(c @ (z - own) for c, z, own in found)
        share = lost / sum(abs(c @ z) for c, z in zip(kind.y, best, strict=True))
        assert fitted.score(kind.X, kind.y) == pytest.approx(-share, abs=1e-12)
        assert share < 0.1
        return
    right, total = 0, 0
    for x, truth, output in zip(kind.X, kind.y, fitted.predict(kind.X), strict=True):
        # twice the links or segments found, by found and true
        if isinstance(kind.estimator, MatchingSVM | GeneralMatchingSVM | SegmentSVM):
            found, true = ({tuple(own) for own in both} for both in (output, truth))
            right += 2 * len(found & true)
            total += len(found) + len(true)
        elif np.ndim(truth) == 2:  # parts
            layout, own = x[1], fitted.structure_
            a, b = (
                own.encode(y, layout)[: np.prod(own.variables(layout))] for y in (truth, output)
            )
            right += np.sum(a == b)
            total += len(a)
        elif isinstance(output, tuple):  # 0/1 items
            items = len(x[0] if isinstance(x, tuple) else x)
            total += items
            right += items - len(set(truth) ^ set(output))
        else:
            total += np.size(truth)
            right += np.sum(np.asarray(truth) == output)
    assert fitted.score(kind.X, kind.y) == pytest.approx(right / total, abs=1e-12)
    assert right / total > 0.8


def test_whole_sample_weights_equal_repeated_samples(kind):
    times = 1 + np.arange(len(kind.y)) % 3
    which = np.repeat(np.arange(len(kind.y)), times)
    options = {"tol": 1e-6, "max_epochs": 1000}
    X = kind.X[which] if isinstance(kind.X, np.ndarray) else [kind.X[i] for i in which]
    repeated = clone(kind.estimator).set_params(**options).fit(X, [kind.y[i] for i in which])
    weighted = clone(kind.estimator).set_params(**options)
    weighted.fit(kind.X, kind.y, sample_weight=times)
    a, b = repeated.result_, weighted.result_
    assert max(a.dual, b.dual) <= min(a.primal, b.primal) + 1e-12
    # P is strongly convex: alpha/2 |w - w*|^2 <= gap for both
    bound = np.sqrt(2 * a.gap / 0.05) + np.sqrt(2 * b.gap / 0.05)
    assert np.linalg.norm(a.w - b.w) <= bound
    assert weighted.score(kind.X, kind.y, sample_weight=times) == pytest.approx(
        weighted.score(X, [kind.y[i] for i in which])
    )


def test_only_the_proportions_of_sample_weights_count(kind):
    weight = 1.0 + np.arange(len(kind.y)) % 3
    first = clone(kind.estimator).fit(kind.X, kind.y, sample_weight=weight)
    again = clone(kind.estimator).fit(kind.X, kind.y, sample_weight=4.0 * weight)
    np.testing.assert_array_equal(first.coef_, again.coef_)


def test_samples_of_weight_zero_are_as_good_as_absent(kind):
    n = len(kind.y)
    weight = np.ones(n)
    weight[::4] = 0.0
    kept = np.flatnonzero(weight)
    options = {"tol": 1e-6, "max_epochs": 1000}
    X = kind.X[kept] if isinstance(kind.X, np.ndarray) else [kind.X[i] for i in kept]
    fewer = clone(kind.estimator).set_params(**options).fit(X, [kind.y[i] for i in kept]).result_
    weighted = clone(kind.estimator).set_params(**options)
    weighted.fit(kind.X, kind.y, sample_weight=weight)
    assert weighted.result_.primal == pytest.approx(fewer.primal, rel=2e-6)


def test_threads_change_no_bit(kind):
    one, two = kind.fit(n_jobs=1), kind.fit(n_jobs=2)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert (one.result_.primal, one.result_.dual) == (two.result_.primal, two.result_.dual)
    same(one.predict(kind.X), two.predict(kind.X))


def test_the_seed_is_all_that_is_random(kind):
    np.testing.assert_array_equal(kind.fit(random_state=4).coef_, kind.fit(random_state=4).coef_)
    assert not np.array_equal(kind.fit(random_state=4).coef_, kind.fit(random_state=5).coef_)


#: for solvers that must agree
EASY = {"alpha": 0.5, "max_epochs": 400}


@lru_cache
def nearly_best(name):
    return KINDS[name]().fit(tol=1e-6, **EASY).result_


@pytest.mark.parametrize("solver", ["bcfw", "fw", "ssg"])
def test_all_solvers_agree(kind, solver, request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = kind.fit(solver=solver, tol=1e-4, **EASY).result_
    best = nearly_best(request.node.callspec.params["kind"])
    assert best.dual - 1e-12 <= result.primal <= best.primal + result.gap
    assert result.dual <= best.primal + 1e-12
    assert result.gap < 0.05 * result.primal


def epochs_to(result, share):
    """Epochs to a relative gap; those to a tiny one depend on the order of samples, too."""
    return next(own.epoch for own in result.history if own.gap <= share * abs(own.primal))


def test_a_warm_start_over_alpha_is_shorter_and_ends_at_the_same_optimum(kind):
    options = {"tol": 1e-5, "max_epochs": 1000}
    warm = kind.fit(warm_start=True, **options)
    for alpha in (0.9 * kind.estimator.alpha, 0.8 * kind.estimator.alpha):
        warm.set_params(alpha=alpha).fit(kind.X, kind.y)
        cold = kind.fit(alpha=alpha, **options)
        assert warm.result_.status is Status.CONVERGED
        assert epochs_to(warm.result_, 0.01) <= epochs_to(cold.result_, 0.01)
        assert warm.result_.primal == pytest.approx(cold.result_.primal, rel=1e-5)
        least = min(warm.result_.primal, cold.result_.primal)
        assert max(warm.result_.dual, cold.result_.dual) <= least * (1 + 1e-12)  # rounding


def test_samples_added_to_a_warm_start_keep_the_others_where_they_are(kind):
    seen = []

    class Start(Callback):
        def on_start(self, run):
            seen.append(run.state.z.copy())

    warm = clone(kind.estimator).set_params(warm_start=True, callbacks=[Start()])
    count = len(kind.y) - 1 if len(set(map(str, kind.y[:-1]))) > 1 else 1
    warm.fit(kind.X[:count], kind.y[:count])
    before = warm.result_.state.z.copy()
    warm.fit(kind.X, kind.y)
    np.testing.assert_array_equal(seen[-1][: len(before)], before)
    cold = kind.fit().result_
    apart = abs(warm.result_.primal - cold.primal)
    assert apart <= max(warm.result_.gap, cold.gap) + 1e-9


def test_a_warm_start_at_the_solution_does_nothing(kind):
    warm = kind.fit(warm_start=True)
    coef, primal = warm.coef_.copy(), warm.result_.primal
    warm.fit(kind.X, kind.y)
    assert warm.result_.n_epochs == 0
    # bounds depend on the messages that they start from, in their last bits
    slack = 0.0 if warm.structure_.oracle().is_exact else 1e-12
    assert warm.result_.primal == pytest.approx(primal, rel=slack, abs=0.0)
    np.testing.assert_array_equal(warm.coef_, coef)


@pytest.mark.parametrize("solver", ["fw", "ssg", "perceptron", FrankWolfe(line_search=False)])
@pytest.mark.one_in(7)
def test_a_warm_start_may_change_the_solver_and_back(kind, solver):
    warm = kind.fit(warm_start=True, tol=1e-2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warm.set_params(solver=solver, tol=0.0, max_epochs=3).fit(kind.X, kind.y)
    assert np.isfinite(warm.coef_).all()
    warm.set_params(solver="bcfw", tol=1e-4, max_epochs=500).fit(kind.X, kind.y)
    cold = kind.fit(tol=1e-4, max_epochs=500).result_
    assert warm.result_.status is Status.CONVERGED
    assert warm.result_.primal == pytest.approx(cold.primal, rel=1e-4)
    assert max(warm.result_.dual, cold.dual) <= min(warm.result_.primal, cold.primal)


def test_a_warm_start_on_other_features_has_a_true_certificate(kind):
    """Same shapes, other numbers: the dual point is kept, sums and products are not."""
    warm = kind.fit(warm_start=True)
    X = over(kind.X, lambda x: -2.0 * x)
    warm.set_params(max_epochs=2000, tol=1e-3).fit(X, kind.y)
    cold = clone(warm).fit(X, kind.y)
    assert warm.result_.status is Status.CONVERGED
    assert warm.result_.primal == pytest.approx(cold.result_.primal, rel=2e-3)
    assert max(warm.result_.dual, cold.result_.dual) <= min(
        warm.result_.primal, cold.result_.primal
    )


def test_a_warm_start_on_other_shapes_says_so_and_starts_afresh(kind):
    warm = kind.fit(warm_start=True)
    n = len(kind.y) - 5
    with pytest.warns(UserWarning, match="warm_start: .* starting afresh"):
        warm.fit(kind.X[:n], kind.y[:n])
    fresh = clone(kind.estimator).fit(kind.X[:n], kind.y[:n])
    np.testing.assert_array_equal(warm.coef_, fresh.coef_)


def test_a_run_that_stops_too_early_warns_and_says_what_to_do(kind):
    with pytest.warns(
        ConvergenceWarning, match=r"max_epochs=2 reached at a gap of .* Raise"
    ) as seen:
        fitted = kind.fit(max_epochs=2, tol=1e-9)
    assert fitted.result_.status is Status.MAX_EPOCHS
    assert seen[0].filename == cases.__file__  # the user's line, in `Kind.fit`


def test_the_time_limit_ends_the_run(kind):
    fitted = kind.fit(time_limit=1e-9, tol=0.0)
    assert fitted.result_.status is Status.TIME_LIMIT
    # oracles in Python are not called again
    assert fitted.result_.n_epochs <= 1
    assert fitted.result_.gap > 0


def test_quiet_unless_asked(kind, capfd):
    kind.fit()
    assert capfd.readouterr() == ("", "")
    kind.fit(verbose=1)
    out, err = capfd.readouterr()
    assert out == ""
    assert "training" in err
    assert "epoch" in err


def test_no_samples_have_no_outputs(kind):
    fitted = kind.fit()
    nothing = kind.X[:0]
    assert len(fitted.predict(nothing)) == 0
    assert len(fitted.decision_function(nothing)) == 0


def test_predictions_come_in_chunks_of_the_same(kind, monkeypatch):
    from maxmargin.estimators import base

    fitted = kind.fit()
    whole = fitted.predict(kind.X)
    scores = fitted.decision_function(kind.X)
    monkeypatch.setattr(base, "CHUNK", 7)
    same(fitted.predict(kind.X), whole)
    same(fitted.decision_function(kind.X), scores)
