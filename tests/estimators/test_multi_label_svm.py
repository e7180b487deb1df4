"""MultiLabelSVM against independent classifiers, its kinds of labels, and scikit-learn's checks."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import MultiLabelSVM, Restriction, load
from maxmargin.datasets import make_multilabel
from maxmargin.estimators.label_pairs import likeliest_tree, mutual_information
from maxmargin.estimators.label_rows import TextRows
from maxmargin.exceptions import MissingAbilityError
from maxmargin.losses import Hamming

NAMES = np.array(["beach", "sea", "town", "wood"])


@pytest.fixture(scope="module")
def data():
    return make_multilabel(150, 4, 5, random_state=0)


def as_sets(y, names=NAMES):
    return [set(names[row == 1].tolist()) for row in y]


def test_without_pairs_labels_are_support_vector_machines_of_their_own(data):
    """The loss of a label is 1 / L, and its hinge that of labels -1 and 1, halved scores."""
    alpha, n = 0.01, len(data.y)
    model = MultiLabelSVM(alpha, pairs=None, bias=False, tol=1e-6, max_epochs=5000)
    model.fit(data.X, data.y)
    for k in range(4):
        # min alpha/2 |w|^2 + mean max(0, 1/4 - s w.x): w = v / 4, alpha/4 |v|^2 / 2 + mean hinge
        other = LinearSVC(loss="hinge", C=4 / (alpha * n), fit_intercept=False, tol=1e-8,
                          max_iter=1_000_000, random_state=0).fit(data.X, data.y[:, k])  # fmt: skip
        np.testing.assert_allclose(model.node_coef_[:, k], other.coef_[0] / 4, atol=2e-3)
    assert model.pair_coef_ is None


def test_pairs_are_learned_and_help():
    data = make_multilabel(400, 5, 4, coupling=3.0, random_state=2)
    train, test = slice(0, 200), slice(200, 400)
    right = []
    for pairs in ("all", None):
        model = MultiLabelSVM(0.03, pairs=pairs, tol=0.01).fit(data.X[train], data.y[train])
        right.append((model.predict(data.X[test]) == data.y[test]).all(axis=1).mean())
        if pairs == "all":
            drawn = np.array([data.pairs[k, m] for k, m in model.pairs_])
            assert model.pair_coef_[drawn > 0].min() > 0 > model.pair_coef_[drawn < 0].max()
    assert right[0] > right[1] + 0.04


def test_decisions_margins_and_probabilities(data):
    model = MultiLabelSVM(0.05).fit(data.X, data.y)
    X = data.X[:20]
    leads = model.decision_function(X)
    assert leads.shape == (20, 4)
    np.testing.assert_array_equal(model.predict(X), (leads > 0).astype(int))
    np.testing.assert_array_equal(model.margins(X), np.abs(leads))
    best = [own[0][1] - own[1][1] for own in model.predict_k_best(X, 2)]
    np.testing.assert_allclose(np.abs(leads).min(axis=1), best, atol=1e-12)
    nodes = X @ model.node_coef_ + model.bias_
    bits = (np.arange(16)[:, None] >> np.arange(4)) & 1
    pairs = np.array([model.pair_coef_ @ row[model.pairs_].prod(axis=1) for row in bits])
    p = np.exp(nodes @ bits.T + pairs)
    p /= p.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), p @ bits, atol=1e-12)
    right = np.mean(model.predict(X) == data.y[:20])
    assert model.score(X, data.y[:20]) == pytest.approx(right, abs=1e-15)


@pytest.mark.parametrize("pairs", ["all", "tree"])
def test_the_likelihood_finds_the_weights_that_made_the_data(pairs):
    data = make_multilabel(20_000, 3, 2, coupling=1.0, random_state=4)
    model = MultiLabelSVM(1e-6, objective="likelihood", pairs=pairs, solver="lbfgs", tol=1e-3)
    model.fit(data.X, data.y)
    assert model.node_coef_.shape == (2, 3)
    if pairs == "all":
        # weights are off by some 0.03 on average with so many samples
        np.testing.assert_allclose(model.node_coef_.T, data.coef, atol=0.12)
        expected = [data.pairs[k, m] for k, m in model.pairs_]
        np.testing.assert_allclose(model.pair_coef_, expected, atol=0.12)
    p = model.predict_proba(data.X)
    np.testing.assert_allclose(p.mean(axis=0), data.y.mean(axis=0), atol=1e-2)


# -- kinds of labels -------------------------------------------------------------------------------
def test_matrices_frames_and_sets_are_the_same_data(data):
    plain = MultiLabelSVM(0.1).fit(data.X, data.y)
    assert plain.classes_.tolist() == [0, 1, 2, 3]
    found = plain.predict(data.X)
    for y in (data.y.astype(bool), data.y.tolist(), sparse.csr_array(data.y), data.y.astype(float)):
        model = MultiLabelSVM(0.1).fit(data.X, y)
        np.testing.assert_array_equal(model.coef_, plain.coef_)
        np.testing.assert_array_equal(model.predict(data.X), found)
    sets = MultiLabelSVM(0.1).fit(data.X, as_sets(data.y))
    assert sets.classes_.tolist() == NAMES.tolist()
    np.testing.assert_array_equal(sets.coef_, plain.coef_)
    assert sets.predict(data.X) == as_sets(found)
    assert sets.score(data.X, as_sets(data.y)) == plain.score(data.X, data.y)
    assert sets.predict_k_best(data.X[:1], 1)[0][0][0] == as_sets(found)[0]


def test_a_frame_names_its_labels(data):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(data.y, columns=NAMES)
    model = MultiLabelSVM(0.1, pairs=[("sea", "beach"), ("wood", "town")]).fit(data.X, frame)
    assert model.classes_.tolist() == NAMES.tolist()
    assert model.pairs_.tolist() == [[1, 0], [3, 2]]
    assert model.score(data.X, frame) == pytest.approx(np.mean(model.predict(data.X) == data.y))
    assert model.score(data.X, frame[NAMES[::-1]]) == model.score(data.X, frame)
    other = pandas.DataFrame(data.y, columns=[*NAMES[:-1], "desert"])
    with pytest.raises(ValueError, match="column 'desert', which is not among the labels"):
        model.score(data.X, other)


def test_sparse_rows_are_the_same_data(data):
    X = np.where(np.abs(data.X) < 0.5, 0.0, data.X)
    dense = MultiLabelSVM(0.1).fit(X, data.y)
    for rows in (sparse.csr_matrix(X), sparse.coo_array(X), TextRows(X)):
        model = MultiLabelSVM(0.1).fit(rows, data.y)
        np.testing.assert_array_equal(model.coef_, dense.coef_)
        np.testing.assert_array_equal(model.predict(rows), dense.predict(X))


def test_text_rows_may_lack_their_last_columns(data):
    model = MultiLabelSVM(0.1).fit(data.X, data.y)
    short = data.X.copy()
    short[:, 3:] = 0.0
    np.testing.assert_array_equal(model.predict(TextRows(short[:, :3])), model.predict(short))
    with pytest.raises(ValueError, match="X has 3 features, but MultiLabelSVM is expecting 5"):
        model.predict(TextRows(short[:, :3], open=False))


def test_labels_that_all_or_none_have_are_learned_as_such(data):
    n = len(data.y)
    y = np.column_stack([data.y[:, :2], np.ones(n, dtype=int), np.zeros(n, dtype=int)])
    for pairs in ("all", "tree", None):
        found = MultiLabelSVM(0.01, pairs=pairs).fit(data.X, y).predict(data.X)
        assert (found[:, 2:] == [1, 0]).all()


def test_empty_sets_are_outputs(data):
    y = as_sets(data.y)
    y[:40] = [set()] * 40
    X = data.X.copy()
    X[:40] += 8.0
    found = MultiLabelSVM(0.1, tol=0.01).fit(X, y).predict(X)
    assert found[:40] == [set()] * 40


# -- pairs -----------------------------------------------------------------------------------------
def test_the_tree_has_the_most_information(data):
    weight = np.ones(len(data.y))
    worth = mutual_information(data.y, weight)
    found = likeliest_tree(data.y, weight)

    def is_tree(edges):
        seen = {0}
        for _ in range(3):
            seen |= {b for a, b in edges if a in seen} | {a for a, b in edges if b in seen}
        return len(seen) == 4

    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    trees = [own for own in product(pairs, repeat=3) if is_tree(own)]
    best = max(sum(worth[a, b] for a, b in own) for own in trees)
    assert sum(worth[a, b] for a, b in found) == pytest.approx(best)
    a, b = data.y[:, 0], data.y[:, 1]
    joint = [[np.mean((a == i) & (b == j)) for j in (0, 1)] for i in (0, 1)]
    expected = sum(
        joint[i][j] * np.log(joint[i][j] / (np.mean(a == i) * np.mean(b == j)))
        for i in (0, 1) for j in (0, 1)
    )  # fmt: skip
    assert worth[0, 1] == pytest.approx(expected, rel=1e-10)


def test_pair_features_give_each_pair_weights_for_x(data):
    model = MultiLabelSVM(0.1, pair_features=True).fit(data.X, data.y)
    assert model.pair_coef_.shape == (6, 6)
    x = data.X[0]
    best = model.predict_k_best(data.X[:1], 16)[0]
    for row, value in best:
        on = np.flatnonzero(row)
        expected = (x @ model.node_coef_ + model.bias_)[on].sum()
        for e, (k, m) in enumerate(model.pairs_):
            if row[k] and row[m]:
                expected += np.append(x, 1.0) @ model.pair_coef_[:, e]
        assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_many_labels_are_learned_with_a_bound():
    """All pairs of 22 labels: gaps are proofs, though the bound may not let them close."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 4))
    y = (X @ rng.normal(size=(4, 22)) > 0.5).astype(int)
    model = MultiLabelSVM(0.5, tol=0.1, max_epochs=15).fit(X, y)
    assert model.structure_.method == "bounded"
    assert model.result_.exact
    assert model.result_.gap >= 0
    assert model.score(X, y) > 0.8
    with pytest.raises(MissingAbilityError, match="has no `leads`"):
        model.decision_function(X)
    assert model.predict_marginals(X[:1], n_draws=5).shape == (1, 22)
    exact = MultiLabelSVM(0.5, tol=0.1, max_epochs=5, method="exact").fit(X, y)
    assert exact.result_.dual <= model.result_.primal
    assert model.result_.dual <= exact.result_.primal
    tree = MultiLabelSVM(0.5, pairs="tree", tol=0.1).fit(X, y)
    assert tree.structure_.method == "exact"
    assert tree.pairs_.shape == (21, 2)


# -- weights of samples and labels, and what is known ----------------------------------------------
def test_prices_move_the_balance(data):
    expensive_oracle = MultiLabelSVM(0.1, loss=Hamming(false_negative=4.0)).fit(data.X, data.y)
    cheap = MultiLabelSVM(0.1, loss=Hamming(false_positive=4.0)).fit(data.X, data.y)
    assert expensive_oracle.predict(data.X).sum() > data.y.sum() > cheap.predict(data.X).sum()
    weights = np.ones((len(data.y), 4))
    weights[:, 1:] = 0.0
    first = MultiLabelSVM(0.01, pairs=None).fit(data.X, data.y, node_weight=weights)
    np.testing.assert_allclose(first.node_coef_[:, 1:], 0.0, atol=1e-4)
    assert np.abs(first.node_coef_[:, 0]).max() > 0.1
    weighted = MultiLabelSVM(0.1, loss=Hamming(class_weight={1: 4.0})).fit(data.X, data.y)
    np.testing.assert_array_equal(weighted.coef_, expensive_oracle.coef_)


def test_known_labels_are_kept(data):
    model = MultiLabelSVM(0.1).fit(data.X, as_sets(data.y))
    rules = [Restriction(known={"sea": 1, "town": 0}), Restriction(forbidden=["wood"]), None,
             Restriction(counts={1: 2})]  # fmt: skip
    found = model.predict_restricted(data.X[:4], rules)
    assert "sea" in found[0]
    assert "town" not in found[0]
    assert "wood" not in found[1]
    assert found[2] == model.predict(data.X[:4])[2]
    assert len(found[3]) == 2
    with pytest.raises(ValueError, match="sample 0: label 'lake' was not learned"):
        model.predict_restricted(data.X[:1], [Restriction(known={"lake": 1})])


def test_saved_models_predict_alike(data, tmp_path):
    for y in (data.y, as_sets(data.y)):
        model = MultiLabelSVM(0.1, pairs="tree").fit(data.X, y)
        model.save(tmp_path / "model")
        again = load(tmp_path / "model")
        np.testing.assert_array_equal(again.predict(data.X), model.predict(data.X))
        np.testing.assert_array_equal(again.predict_proba(data.X), model.predict_proba(data.X))


def test_calibration_changes_no_prediction(data):
    model = MultiLabelSVM(0.1).fit(data.X[:100], data.y[:100])
    before = model.predict(data.X)
    model.calibrate(data.X[100:], data.y[100:])
    assert model.temperature_ != 1.0
    np.testing.assert_array_equal(model.predict(data.X), before)


OTHER = "gives y as one column of several classes or of real numbers; labels are zeros and ones"
INACCURATE = "compares fits to 1e-7, which is beyond what any solver with a tolerance promises"
MARGINAL = "expects scores and probabilities in one order; they are best outputs and sums over all"
FAILING = dict.fromkeys(
    (
        "check_estimators_dtypes", "check_sample_weights_pandas_series",
        "check_sample_weights_not_an_array", "check_sample_weights_shape",
        "check_sample_weights_not_overwritten", "check_sparsify_coefficients",
        "check_estimator_sparse_array", "check_estimator_sparse_matrix",
        "check_classifier_data_not_an_array", "check_classifiers_classes",
        "check_classifiers_train", "check_classifiers_regression_target",
        "check_decision_proba_consistency", "check_classifier_not_supporting_multiclass",
        "check_fit2d_1feature",
    ),
    OTHER,
)  # fmt: skip
FAILING |= dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    INACCURATE,
)
FAILING["check_classifier_multioutput"] = MARGINAL


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([MultiLabelSVM(max_epochs=30)], expected_failed_checks=lambda own: FAILING)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
