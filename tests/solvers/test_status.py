"""How runs end where objectives are next to zero: rounding is no failure, and zero is a bound."""

from fractions import Fraction

import numpy as np
import pytest

from maxmargin import MulticlassSVM, StructuredSVM, domains
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.result import Status
from maxmargin.solvers import BCFW, CuttingPlane, DualExtragradient
from maxmargin.structures import Finite


def separable(seed, n=30):
    rng = np.random.default_rng(seed)
    X, W = rng.normal(size=(n, 3)), rng.normal(size=(3, 3))
    ordered = np.sort(X @ W, axis=1)
    X = X[ordered[:, -1] - ordered[:, -2] > 0.3]
    return X, (X @ W).argmax(1)


@pytest.mark.filterwarnings("ignore:max_epochs", "ignore:.*rounding errors of scores")
@pytest.mark.parametrize(
    ("solver", "seed"), [("bcfw", 5), ("cutting-plane", 6), (CuttingPlane("n-slack"), 10)]
)
def test_rounding_is_no_failure_of_the_oracle(solver, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    X = rng.normal(size=(n, 3)) * 10.0 ** rng.integers(0, 3)
    alpha = float(10.0 ** -rng.integers(3, 10))
    model = MulticlassSVM(alpha=alpha, solver=solver, tol=1e-6, max_epochs=60)
    result = model.fit(X, np.arange(n) % 2).result_
    assert result.status.value != "failed", result


@pytest.mark.parametrize("ball", [domains.L2Ball(100.0), domains.L1Ball(300.0)])
@pytest.mark.parametrize(
    "solver",
    ["qp", "extragradient", "dual-extragradient", DualExtragradient(z_geometry="entropic"),
     "projected-gradient", "smoothed"],
)  # fmt: skip
def test_an_optimum_of_zero_is_reached_and_proven(solver, ball):
    if solver == "qp":
        pytest.importorskip("clarabel")
    X, y = separable(0)
    model = MulticlassSVM(alpha=0, domain=ball, solver=solver, tol=1e-3, max_epochs=2000)
    result = model.fit(X, y).result_
    assert result.status.value == "converged", result
    assert result.dual == 0.0
    assert 0.0 <= result.primal < 1e-12


def test_the_floor_is_that_of_rounding_and_not_more():
    """Scores of about 1 are off by 1e-16 or so; a gap of 1e-10 is none of rounding."""
    X, y = separable(1)
    model = MulticlassSVM(alpha=1e-6, tol=1e-9, max_epochs=3)
    with pytest.warns(UserWarning, match="max_epochs"):
        result = model.fit(X, y).result_
    assert result.gap > 1e-10
    assert result.status.value == "max_epochs"


def test_a_false_bound_is_still_found():
    X, y = separable(2)
    solver = Optimistic()
    with pytest.warns(UserWarning, match="above the objective"):
        result = MulticlassSVM(alpha=1e-3, solver=solver).fit(X, y).result_
    assert result.status.value == "failed"


class Optimistic(BCFW):
    """Claims a bound that is too high by a millionth of the loss."""

    def bound(self, problem, state):
        return problem.primal(state.w) + 1e-6


def test_entropic_steps_where_each_sample_has_one_output():
    X = [np.random.default_rng(i).normal(size=(1, 2)) for i in range(4)]
    for z_geometry in ("euclidean", "entropic"):
        solver = DualExtragradient(geometry="entropic", z_geometry=z_geometry)
        model = StructuredSVM(Finite(), alpha=0.1, domain=domains.L1Ball(1.0), solver=solver)
        result = model.fit(X, [0] * 4).result_
        assert (result.status.value, result.primal, result.dual) == ("converged", 0.0, 0.0)


@pytest.mark.parametrize("scale", [1.0, 1e11])
def test_a_warm_start_does_not_keep_weights_outside_of_a_new_domain(scale):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = (X @ rng.normal(size=(3, 3))).argmax(1)
    model = MulticlassSVM(alpha=1e-3 * scale**2, max_epochs=500, warm_start=True)
    model.fit(scale * X, y).set_params(domain=domains.NonNegative()).fit(scale * X, y)
    assert model.result_.status.value == "converged"
    assert model.coef_.min() >= 0.0


@pytest.mark.filterwarnings("ignore:.*rounding errors of scores")
@pytest.mark.parametrize(
    ("scale", "alpha", "domain"),
    [
        (1e6, 1e-3, None),
        (1e3, 1e-3, None),
        (1e-6, 1e-14, None),
        (1.0, 1e-3, domains.L2Ball(1e10)),
        (1.0, 1e-3, domains.L1Ball(1e10)),
        (1e6, 0.0, domains.L2Ball(1e8)),
    ],
)
def test_the_reference_scales_its_program(scale, alpha, domain):
    pytest.importorskip("clarabel")
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(30, 3)), rng.normal(size=(3, 3))
    y = (X @ W + rng.normal(size=(30, 3)) * 0.5).argmax(1)
    model = MulticlassSVM(alpha=alpha, domain=domain, solver="qp", bias=False)
    result = model.fit(scale * X, y).result_
    # at an optimum of 1e-12 no bound above 0 is left, and a gap of 100 % is no proof
    wanted = Status.ROUNDING if (scale, alpha) == (1e6, 1e-3) else Status.CONVERGED
    assert result.status is wanted, result
    assert result.gap <= max(1e-7 * result.primal, 1e-11)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("size", [1e-14, 1e14, 1e18])
@pytest.mark.one_in(2)
def test_large_scores_prove_nothing_that_rounding_hides(size, seed):
    """Objectives and bounds of the weights found, in exact numbers, against what is claimed."""
    X, y = size * np.random.default_rng(seed).normal(size=(8, 2)), np.arange(8) % 3
    for alpha in (1e-10, 1e-2, 1e17, size**2):
        # the same problem in units in which nothing is large
        best = MulticlassSVM(alpha=alpha / size**2, bias=False, max_epochs=500, tol=1e-3)
        found = best.fit(X / size, y).result_
        for solver in ("bcfw", "cutting-plane", "dual-extragradient", "smoothed"):
            model = MulticlassSVM(alpha=alpha, solver=solver, bias=False, max_epochs=20)
            result = model.fit(X, y).result_
            primal = exact_objective(X, y, model.coef_, alpha)
            if result.status is Status.CONVERGED:
                assert primal - result.dual <= 1e-3 * primal, solver
            assert result.dual <= found.primal * (1 + 1e-9), solver


def exact_objective(X, y, w, alpha):
    """P(w) of a multiclass SVM, without rounding."""
    W = [[Fraction(v) for v in row] for row in np.reshape(w, (X.shape[1], -1)).tolist()]
    total = Fraction(0)
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        scores = [sum(Fraction(v) * row[k] for v, row in zip(x, W, strict=True)) for k in range(3)]
        total += max(own + (k != label) for k, own in enumerate(scores)) - scores[label]
    return float(total / len(X) + Fraction(alpha) / 2 * sum(v * v for row in W for v in row))


@pytest.mark.parametrize("alpha", [1e-2, 10.0])
def test_a_run_that_rounding_ends_says_so(alpha):
    """It once was "converged" at 100 % of the objective, without a warning."""
    X = 1e15 * np.random.default_rng(0).normal(size=(3, 2))
    model = MulticlassSVM(alpha=alpha, solver="dual-extragradient", max_epochs=50, bias=False)
    with pytest.warns(ConvergenceWarning, match="scale the features down"):
        result = model.fit(X, np.arange(3)).result_
    assert result.status is Status.ROUNDING
    assert result.dual == 0 < result.gap
    assert result.certificate().startswith("objective")


def test_rounding_ends_runs_whose_tolerance_is_out_of_reach():
    X, y = separable(3)
    model = MulticlassSVM(alpha=1e-2, tol=1e-16, max_epochs=1000)
    with pytest.warns(ConvergenceWarning, match="scale the features down, or raise alpha or tol"):
        result = model.fit(X, y).result_
    assert result.status is Status.ROUNDING
    assert 0 < result.gap <= 1e-12
