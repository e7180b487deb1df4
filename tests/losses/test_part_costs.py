"""Costs of each sample's own, given with y."""

import numpy as np
import pytest

from maxmargin import ChainSVM, MatchingSVM, StructuredSVM
from maxmargin.losses import PartCosts
from maxmargin.structures import TopK


def test_costs_given_with_y_are_those_of_a_function():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(5, 3)) for _ in range(20)]
    costs = [np.exp(x @ [1.0, -0.5, 0.2]) for x in X]
    y = [TopK(2).maximize(-own, (5,)) for own in costs]
    rows = iter(costs * 2)
    options = {"alpha": 0.05, "tol": 0.01}
    given = StructuredSVM(TopK(2), loss=PartCosts(), **options).fit(X, y, node_weight=costs)
    called = StructuredSVM(TopK(2), loss=PartCosts(lambda *_: next(rows)), **options).fit(X, y)
    np.testing.assert_array_equal(given.coef_, called.coef_)
    assert given.score(X, y) > 0.9


def test_other_estimators_take_them_too():
    X, y = np.random.default_rng(1).normal(size=(10, 2, 2, 3)), [[(0, 0)]] * 10
    cheap = [np.array([0.0, 1.0, 1.0, 1.0])] * 10
    assert MatchingSVM(alpha=0.5, loss=PartCosts()).fit(X, y, node_weight=cheap).coef_.shape == (4,)
    with pytest.raises(ValueError, match=r"sample 0: function=None takes costs from fit"):
        ChainSVM(loss=PartCosts()).fit([np.ones((2, 1))], [[0, 1]])
    with pytest.raises(ValueError, match="sample 0: part costs have shape"):
        MatchingSVM(loss=PartCosts()).fit(X, y, node_weight=[np.ones(3)] * 10)
