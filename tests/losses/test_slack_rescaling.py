"""Slack rescaling against its definition over all outputs."""

import numpy as np
import pytest
from scipy.optimize import minimize

from contract import problems
from maxmargin import ChainSVM, MulticlassSVM, StructuredSVM
from maxmargin.domains import L2Ball
from maxmargin.exceptions import MissingAbilityError
from maxmargin.losses import Hamming
from maxmargin.result import Status
from maxmargin.solvers import (
    BCFW,
    CuttingPlane,
    ExponentiatedGradient,
    FrankWolfe,
    SmoothedGradient,
    Subgradient,
)
from maxmargin.solvers.base import solvers_for
from maxmargin.structures import Finite

WEIGHT = {"multiclass": 1.0 + np.arange(9) % 2, "finite": None, "chain": None, "cut": None}
MAKERS = {
    "multiclass": problems.multiclass,
    "finite": problems.finite,
    "chain": lambda **o: problems.chain(lengths=(1, 2, 3, 2), **o),
    "cut": lambda **o: problems.cut(domain=None, **o),
}
all_kinds = pytest.mark.parametrize("name", MAKERS)


def make(name):
    return MAKERS[name](cost=problems.generic, objective="slack", weight=WEIGHT[name])


def rows_of(training):
    """loss_i(v), loss_i(v) F_i (v - y_i) of all outputs v, and whose they are."""
    losses = [b.losses for b in training.blocks]
    moves = [-b.losses[:, None] * b.moves for b in training.blocks]
    owner = np.repeat(np.arange(len(losses)), [len(own) for own in losses])
    return np.concatenate(losses), np.vstack(moves), owner


def objective(training, w):
    losses, moves, owner = rows_of(training)
    omega = [b.weight for b in training.blocks]
    values = losses + moves @ w
    hinges = [values[owner == i].max() for i in range(len(omega))]
    return training.alpha / 2 * (w @ w) + np.dot(omega, hinges)


def brute_force(training):
    """The optimum over w and one slack a sample, by sequential quadratic programming."""
    losses, moves, owner = rows_of(training)
    d, n = training.dim, len(training.blocks)
    omega = np.array([b.weight for b in training.blocks])
    rows = np.hstack([-moves, np.eye(n)[owner]])
    answer = minimize(
        lambda x: training.alpha / 2 * (x[:d] @ x[:d]) + omega @ x[d:],
        np.append(np.zeros(d), np.full(n, losses.max())),
        jac=lambda x: np.append(training.alpha * x[:d], omega),
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda x: rows @ x - losses, "jac": lambda x: rows},
        options={"ftol": 1e-13, "maxiter": 1000},
    )
    return answer.fun


@all_kinds
def test_the_objective_is_the_definition(name):
    made = make(name)
    rng = np.random.default_rng(0)
    for scale in (0.0, 0.1, 3.0):
        w = scale * rng.normal(size=made.problem.dim)
        assert made.problem.primal(w) == pytest.approx(objective(made.training, w), rel=1e-12)


@all_kinds
@pytest.mark.parametrize(
    "solver", [CuttingPlane(), CuttingPlane("n-slack"), BCFW()], ids=["1-slack", "n-slack", "bcfw"]
)
def test_the_optimum_is_that_of_brute_force(name, solver):
    made = make(name)
    result = solver.set_params(tol=1e-7, max_epochs=500).run(made.problem)
    best = brute_force(made.training)
    assert result.status is Status.CONVERGED
    assert result.primal == pytest.approx(best, rel=1e-5)
    assert result.dual <= best * (1 + 1e-6)
    assert result.primal == pytest.approx(objective(made.training, result.w), rel=1e-11)


@pytest.mark.parametrize(
    "solver", [FrankWolfe(), Subgradient(), SmoothedGradient(), ExponentiatedGradient()], ids=str
)
def test_solvers_of_margins_bound_slacks(solver):
    made = make("finite")
    result = solver.set_params(tol=0.0, max_epochs=30).run(made.problem)
    best = brute_force(made.training)
    assert result.dual <= best * (1 + 1e-6)
    assert best * (1 - 1e-6) <= result.primal <= 1.5 * best
    assert set(solvers_for("slack")) == set(solvers_for("margin"))


@pytest.fixture
def labelled():
    rng = np.random.default_rng(1)
    y = np.arange(30) % 3
    return rng.normal(size=(30, 4)) + np.eye(3, 4)[y], y


def test_slacks_are_margins_where_all_errors_cost_the_same(labelled):
    fits = [
        MulticlassSVM(alpha=0.1, objective=own, tol=1e-8, max_epochs=500).fit(*labelled)
        for own in ("margin", "slack")
    ]
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, atol=1e-3)
    assert fits[0].result_.primal == pytest.approx(fits[1].result_.primal, rel=1e-7)


def test_costly_errors_move_slacks_and_margins_differently(labelled):
    loss = Hamming(class_weight={0: 5.0, 1: 1.0, 2: 0.2})
    options = {"alpha": 0.1, "loss": loss, "tol": 1e-6, "max_epochs": 500}
    slack = MulticlassSVM(objective="slack", solver="cutting-plane", **options).fit(*labelled)
    margin = MulticlassSVM(objective="margin", **options).fit(*labelled)
    assert slack.result_.status is Status.CONVERGED
    assert np.abs(slack.coef_ - margin.coef_).max() > 0.05
    assert set(slack.predict(labelled[0])) <= {0, 1, 2}
    options["tol"] = 1e-3
    inside = MulticlassSVM(objective="slack", domain=L2Ball(0.5), **options).fit(*labelled)
    assert np.linalg.norm(inside.coef_) <= 0.5 + 1e-12


def test_listed_outputs_of_different_number(labelled):
    rng = np.random.default_rng(3)
    X = [rng.normal(size=(m, 3)) for m in (2, 5, 3, 4)]
    model = StructuredSVM(Finite(), alpha=0.1, objective="slack").fit(X, [0, 4, 1, 2])
    assert model.result_.status is Status.CONVERGED
    assert len(model.predict(X)) == 4


def test_what_cannot_be_rescaled_is_said():
    rng = np.random.default_rng(0)
    X, y = [rng.normal(size=(9, 2)) for _ in range(3)], [np.arange(9) % 3 for _ in range(3)]
    with pytest.raises(
        MissingAbilityError, match=r"lists all .* Chain of layout \(9, 3\) has more"
    ):
        ChainSVM(objective="slack").fit(X, y)
    with pytest.raises(MissingAbilityError, match=r"AtMostTwo of layout .* cannot list them"):
        problems.items(objective="slack")
    with pytest.raises(ValueError, match="sample 0: its loss is negative"):
        problems.multiclass(cost=lambda rng, truth, layout: truth - 1.0, objective="slack")


def test_lists_that_would_not_fit_are_refused_with_a_hint(monkeypatch):
    made = make("chain")
    monkeypatch.setattr("maxmargin.memory.available_bytes", lambda: 10_000.0)
    count = len(made.problem.truth)
    with pytest.raises(MemoryError, match=f"all {count} outputs of 4 samples.*Use objective="):
        make("chain")
