"""Solvers on oracles that cost more than steps: linear programs, and a function of the user."""

import numpy as np
import pytest
from sklearn.base import clone

from contract.problems import EXPENSIVE, case, items
from maxmargin.domains import L2Ball
from maxmargin.solvers import (
    BCFW,
    DualExtragradient,
    FrankWolfe,
    OracleCache,
    Perceptron,
    Subgradient,
)
from reference.weight_sets import WeightSet

ROUNDING = dict.fromkeys(EXPENSIVE, 1e-11) | {"linear-program": 1e-6}
SOLVERS = {
    "bcfw": BCFW(),
    "bcfw-images": BCFW(cache=OracleCache(store="images")),
    "bcfw-gap": BCFW("pairwise", "gap"),
    "bcfw-frank-wolfe": BCFW("frank-wolfe", "uniform"),
    "fw": FrankWolfe(),
    "ssg": Subgradient(),
    "dual-extragradient": DualExtragradient(),
}


@pytest.mark.parametrize("name", EXPENSIVE)
@pytest.mark.parametrize("variant", SOLVERS)
def test_the_certificate_is_true(variant, name):
    made = case(name)
    result = clone(SOLVERS[variant]).set_params(max_epochs=6, tol=0.0).run(made.problem)
    rounding = ROUNDING[name]
    assert result.primal == pytest.approx(made.training.primal(result.w), abs=rounding)
    assert result.dual <= result.primal + rounding
    if "bcfw" in variant or variant == "fw":
        assert result.dual == pytest.approx(made.training.dual(result.state.z), abs=1e-12)
        state = result.state
        np.testing.assert_allclose(state.w, made.training.weights(state.z), rtol=0, atol=1e-11)
        assert made.training.distance(state.z) < max(1e-12, 1e-3 * rounding)


@pytest.mark.parametrize("name", EXPENSIVE)
def test_all_come_to_one_optimum(name):
    made = case(name)
    results = [
        clone(solver).set_params(max_epochs=3000, tol=1e-5).run(made.problem)
        for key, solver in SOLVERS.items()
        if key in ("bcfw", "bcfw-images", "bcfw-gap")
    ]
    for result in results:
        assert result.status.name == "CONVERGED"
        assert result.primal == pytest.approx(results[0].primal, rel=1e-4)


@pytest.mark.parametrize("store", ["vertices", "images"])
def test_the_dual_never_falls_and_answers_of_certificates_are_used(store):
    made, value, calls = items(kind="function", seed=22), 0.0, []
    made.problem.oracle.watch = lambda: calls.append(1)
    solver = BCFW(cache=OracleCache(store=store), tol=0.0)
    state = solver.init(made.problem)
    for epoch in range(8):
        known = epoch % 2
        if known:
            solver.objective(made.problem, state, state.w)
        calls.clear()
        solver.epoch(made.problem, state)
        assert len(calls) == (0 if known else made.problem.n)
        state.epoch += 1
        risen = made.training.dual(state.z)
        assert risen >= value - 1e-13
        value = risen
    assert state.n_oracle == 8 * made.problem.n
    assert value > 0.01


def test_fewer_calls_than_where_each_certificate_asks_for_itself():
    counts = {}
    for kind in ("function", "class"):
        made, calls = items(kind=kind, n=20, seed=5), []
        made.problem.oracle.watch = lambda calls=calls: calls.append(1)
        result = BCFW(tol=1e-3, max_epochs=500).run(made.problem)
        assert result.relative_gap <= 1e-3
        counts[kind] = len(calls)
    assert counts["function"] < 0.7 * counts["class"]


def test_in_a_domain():
    ball = {"domain": L2Ball(0.05), "where": WeightSet("l2", 0.05)}
    made = items(kind="function", seed=22, **ball)
    result = BCFW(max_epochs=200, tol=1e-3).run(made.problem)
    assert result.status.name == "CONVERGED"
    assert result.primal == pytest.approx(made.training.primal(result.w), abs=1e-11)
    assert np.linalg.norm(result.w) <= 0.05 + 1e-12


def test_perceptrons_learn_too():
    result = Perceptron(max_epochs=5).run(case("from-oracle").problem)
    assert np.isfinite(result.w).all()
    assert result.w.any()
