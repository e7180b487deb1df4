"""MulticlassSVM against scikit-learn's own solver of the same problem, and its estimator checks."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_classification
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import MulticlassSVM


def objective(W, X, y, alpha):
    """alpha/2 |W|^2 + mean_i max_k [w_k . x_i - w_{y_i} . x_i + [k != y_i]], W of (classes, d)."""
    scores = X @ W.T
    wrong = np.arange(len(W)) != y[:, None]
    hinge = (scores + wrong).max(axis=1) - scores[np.arange(len(y)), y]
    return alpha / 2 * np.sum(W * W) + hinge.mean()


def iris():
    X, y = load_iris(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def many():
    return make_classification(
        200, 12, n_informative=8, n_classes=6, n_clusters_per_class=1, random_state=0
    )


@pytest.mark.parametrize("case", [*product([iris, many], [1e-1, 1e-2, 1e-3])])
@pytest.mark.one_in(6)
def test_the_optimum_is_that_of_crammer_and_singer(case):
    data, alpha = case
    X, y = data()
    ours = MulticlassSVM(alpha, bias=False, tol=1e-7, max_epochs=20_000).fit(X, y)
    theirs = LinearSVC(
        multi_class="crammer_singer", fit_intercept=False, C=1 / (alpha * len(y)), tol=1e-8,
        max_iter=200_000, random_state=0,
    ).fit(X, y)  # fmt: skip
    found = objective(ours.node_coef_.T, X, y, alpha)
    assert ours.result_.primal == pytest.approx(found, rel=1e-12)
    assert found == pytest.approx(objective(theirs.coef_, X, y, alpha), rel=1.1e-4)
    assert ours.result_.dual <= objective(theirs.coef_, X, y, alpha) + 1e-12
    agree = np.mean(ours.predict(X) == theirs.predict(X))
    assert agree > 0.98


def test_scores_margins_and_marginals():
    X, y = iris()
    names = np.array(["setosa", "versicolor", "virginica"])
    model = MulticlassSVM(0.01).fit(X, names[y])
    scores = X @ model.node_coef_ + model.bias_
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), names[scores.argmax(axis=1)])
    ordered = np.sort(scores, axis=1)
    np.testing.assert_allclose(model.margins(X), ordered[:, 2] - ordered[:, 1], atol=1e-12)
    soft = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_marginals(X), soft, atol=1e-12)
    np.testing.assert_array_equal(model.predict_proba(X), model.predict_marginals(X))
    assert model.score(X, names[y]) == pytest.approx(np.mean(model.predict(X) == names[y]))


def test_two_classes_have_one_score_as_scikit_learn_has_it():
    X, y = iris()
    X, y = X[y < 2], y[y < 2]
    model = MulticlassSVM(0.01).fit(X, y)
    scores = X @ model.node_coef_ + model.bias_
    np.testing.assert_allclose(model.decision_function(X), scores[:, 1] - scores[:, 0], atol=1e-12)
    np.testing.assert_array_equal(model.decision_function(X) > 0, model.predict(X) == 1)
    np.testing.assert_allclose(model.margins(X), np.abs(model.decision_function(X)), atol=1e-12)


def test_sparse_rows_are_the_same_data():
    X, y = iris()
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense = MulticlassSVM(0.01).fit(X, y)
    for convert in (sparse.csr_matrix, sparse.csc_array, sparse.coo_array):
        model = MulticlassSVM(0.01).fit(convert(X), y)
        np.testing.assert_array_equal(model.coef_, dense.coef_)
        np.testing.assert_array_equal(model.predict(convert(X)), dense.predict(X))
        np.testing.assert_array_equal(
            model.decision_function(convert(X)), dense.decision_function(X)
        )


INACCURATE = "compares fits to 1e-7, which is beyond what any solver with a tolerance promises"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [MulticlassSVM(max_epochs=30)],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": INACCURATE,
        "check_sample_weight_equivalence_on_sparse_data": INACCURATE,
    },
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
