"""Weights between bounds, or of known values."""

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from maxmargin import MulticlassSVM, StructuredSVM
from maxmargin.domains import Box, Fixed, NonNegative, Product
from maxmargin.domains.base import check_domain
from maxmargin.domains.shifted import Shifted
from maxmargin.structures import TopK

DIM, INF = 5, np.inf
BOUNDS = {
    "all": (Box(-0.5, 1.0), [(-0.5, 1.0)] * DIM),
    "without 0": (Box(0.1, [0.2, 0.3, 0.4, 0.5, 9]), [(0.1, h) for h in (0.2, 0.3, 0.4, 0.5, 9)]),
    "half": (Box(low=0.5, indices=[1, 3]), [(-INF, INF), (0.5, INF)] * 2 + [(-INF, INF)]),
    "fixed": (Fixed([4, 0], [1.5, -1]), [(-1, -1), *[(-INF, INF)] * 3, (1.5, 1.5)]),
    "fixed to 0": (Fixed(range(DIM)), [(0, 0)] * DIM),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_boxes_are_what_their_bounds_say(name):
    domain, bounds = BOUNDS[name]
    domain, rng = check_domain(domain, DIM), np.random.default_rng(0)
    for w in rng.normal(0, 2, size=(20, DIM)):
        found = domain.project(w)
        expected = minimize(
            lambda v, w=w: np.sum((v - w) ** 2), np.clip(w, *np.transpose(bounds)), bounds=bounds
        )
        np.testing.assert_allclose(found, expected.x, atol=1e-6)
        assert domain.contains(found)
        assert domain.contains(w) == bool(np.allclose(found, w))
        best, value = domain.argmin_linear(w)
        program = linprog(w, bounds=bounds)
        assert value == pytest.approx(program.fun) if program.status == 0 else value == -INF
        if np.isfinite(value):
            assert domain.contains(best)
        least = domain.min_linear_within(w, 3.0)
        for v in rng.normal(0, 2, size=(50, DIM)):
            inside = domain.project(v)
            if np.linalg.norm(inside) <= 3.0:
                assert w @ inside >= least - 1e-12
        moved = Shifted(domain, np.arange(DIM) / 4)
        inside = moved.project(rng.normal(size=DIM))
        if np.linalg.norm(inside) <= 3.0:
            assert w @ inside >= moved.min_linear_within(w, 3.0) - 1e-12
    assert domain.max_norm(DIM) >= np.linalg.norm(domain.project(rng.normal(size=DIM)))


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        (Box(1.0, 0.5), "weight 0 cannot be between 1.0 and 0.5"),
        (Box([0.0, 1.0]), "low must be a number or 5 of them"),
        (Box(0.0, [1.0], indices=[7]), "names weight 7"),
        (Box(np.nan), "weight 0 cannot be between nan"),
        (Fixed([1], "a"), "values must be a number or 1 of them"),
        (Fixed([1], np.inf), "weight 1 cannot be between"),
        (Product([([0, 1], Box(0.5))]), "group 0: a Box without bounds must be a cone"),
    ],
)
def test_what_is_no_box_is_refused(domain, message):
    with pytest.raises(ValueError, match=message):
        check_domain(domain, DIM)


def test_known_scores_are_a_feature_of_known_weight():
    rng = np.random.default_rng(0)
    known, X = rng.normal(size=(40, 6)), rng.normal(size=(40, 6, 2))
    structure = TopK(2)
    y = [structure.maximize(k + x @ [1.0, -0.5], (6,)) for k, x in zip(known, X, strict=True)]
    both = [np.column_stack([x, k]) for x, k in zip(X, known, strict=True)]
    model = StructuredSVM(structure, alpha=0.01, tol=0.01, domain=Fixed([2], 1.0)).fit(both, y)
    assert model.coef_[2] == 1.0
    assert model.score(both, y) > 0.9
    assert model.coef_[0] > 0.3 > 0 > -0.15 > model.coef_[1]


def test_the_optimum_in_a_box_is_that_of_signs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = (X @ [1, -1, 0.5] > 0).astype(int)
    options = {"alpha": 0.1, "bias": False, "tol": 1e-6, "max_epochs": 1000}
    one = MulticlassSVM(domain=Box(low=0.0), **options).fit(X, y).result_
    two = MulticlassSVM(domain=NonNegative(), **options).fit(X, y).result_
    assert one.primal == pytest.approx(two.primal, rel=2e-6)
