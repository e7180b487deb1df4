"""What one pair (w, z) proves at every alpha."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from contract.problems import AtMostTwo
from maxmargin import MulticlassSVM, StructuredSVM
from maxmargin.paths.certificate import Certificate, at_zero

sizes = st.one_of(st.just(0.0), st.floats(1e-3, 1e3))


@settings(max_examples=150, deadline=None)
@given(a=sizes, h=sizes, ell=sizes, b=sizes, eps=st.floats(0.01, 0.9))
def test_the_interval_is_where_the_gap_is_small(a, h, ell, b, eps):
    own = Certificate(a, h, ell, b)
    span = own.interval(eps)
    grid = np.geomspace(1e-9, 1e9, 120)
    slack = np.array([own.gap(x) - eps * own.primal(x) for x in grid])
    scale = np.array([own.primal(x) + own.dual(x) for x in grid])
    inside = (
        np.zeros(len(grid), dtype=bool) if span is None else (grid >= span[0]) & (grid <= span[1])
    )
    assert (slack[inside] <= 1e-9 * scale[inside]).all()
    assert (slack[~inside] >= -1e-9 * scale[~inside]).all()


@settings(max_examples=50, deadline=None)
@given(ell=sizes, b=sizes, alpha=st.floats(1e-3, 1e3))
def test_the_bound_is_the_best_on_the_line_to_the_truth(ell, b, alpha):
    t = np.linspace(0, 1, 2001)
    best = (t * ell - t**2 * b / alpha).max()
    found = Certificate(1.0, 1.0, ell, b).dual(alpha)
    assert best <= found + 1e-12 * (1 + found)
    assert found <= best + (ell + b / alpha) / 2000 + 1e-12


def problem_of(estimator, X, y, alpha):
    return estimator.set_params(alpha=alpha)._problem(X, y, None, None)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    return X, np.arange(30) % 3


def test_it_says_what_the_problem_says(data):
    model = MulticlassSVM(alpha=0.1).fit(*data)
    z, w = model.result_.state.z, model.coef_
    problem = problem_of(MulticlassSVM(), *data, 0.1)
    hinge = float(problem.sample_weight @ problem.hinges(w))
    own = Certificate.of(problem, w, z, hinge)
    for alpha in (0.003, 0.05, 0.1, 0.3, 20.0):
        problem = problem_of(MulticlassSVM(), *data, alpha)
        assert own.primal(alpha) == pytest.approx(problem.primal(w), rel=1e-12)
        line = [
            problem.dual(problem.truth + t * (z - problem.truth)) for t in np.linspace(0, 1, 101)
        ]
        assert max(line) <= own.dual(alpha) + 1e-12
        assert own.dual(alpha) == pytest.approx(max(line), rel=1e-3)


def test_above_its_bound_nothing_is_better_than_zero_weights(data):
    problem = problem_of(MulticlassSVM(), *data, 1.0)
    own, low = at_zero(problem, 0.05)
    assert own.interval(0.05) == (low, np.inf)
    assert own.half_norm == 0.0
    plain = np.empty_like(problem.truth)
    problem.apply("maximize", np.zeros(problem.dim), out=plain)
    slope = problem.loss_gradient(plain)
    assert low < slope @ slope / (2 * 0.05 * own.hinge)  # ties are used
    best = MulticlassSVM(alpha=low, tol=1e-6).fit(*data).result_
    assert own.primal(low) - best.primal <= 0.05 * own.primal(low)


def test_structures_in_python_have_certificates_too():
    rng = np.random.default_rng(0)
    X, y = [rng.normal(size=(4, 3)) for _ in range(6)], [(k % 4,) for k in range(6)]
    problem = problem_of(StructuredSVM(AtMostTwo()), X, y, 1.0)
    own, low = at_zero(problem, 0.1)
    assert own.hinge == pytest.approx(problem.primal(np.zeros(problem.dim)))
    assert own.loss <= own.hinge
    assert own.relative_gap(low) == pytest.approx(0.1)
