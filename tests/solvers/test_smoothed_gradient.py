"""Accelerated gradients of the smoothed hinge."""

import numpy as np
import pytest

from contract import problems
from maxmargin.domains import L1Ball, L2Ball
from maxmargin.exceptions import MissingAbilityError
from maxmargin.result import Status
from maxmargin.solvers import BCFW, LBFGS, SmoothedGradient
from reference.training import optimum

MAKERS = {"chain": problems.chain, "multiclass": problems.multiclass, "finite": problems.finite}


def solve(problem, **options):
    return SmoothedGradient(**({"max_epochs": 3000, "tol": 1e-3} | options)).run(problem)


@pytest.mark.parametrize("name", MAKERS)
def test_it_proves_the_optimum(name):
    made = MAKERS[name]()
    result = solve(made.problem)
    best, bound, _ = optimum(made.training, 1e-6)
    assert result.status is Status.CONVERGED
    assert bound - 1e-11 <= result.primal <= best * (1 + 1.1e-3)
    assert best * (1 - 1.1e-3) <= result.dual <= best + 1e-11
    assert result.primal == pytest.approx(made.training.primal(result.w), abs=1e-11)
    assert made.training.distance(result.state.z) < 1e-11


@pytest.mark.parametrize("domain", [L1Ball(0.5), L2Ball(0.3)])
def test_in_a_ball_it_agrees_with_steps_sample_by_sample(domain):
    problem = problems.chain(domain=domain).problem
    ours, other = solve(problem), BCFW(tol=1e-3, max_epochs=2000).run(problem)
    assert ours.status is other.status is Status.CONVERGED
    assert ours.dual <= other.primal
    assert other.dual <= ours.primal
    assert problem.domain.contains(ours.w)


def test_without_a_penalty_zeros_are_exact_in_an_l1_ball():
    problem = problems.chain(domain=L1Ball(0.2), alpha=0.0).problem
    result = solve(problem, tol=1e-4)
    assert result.status is Status.CONVERGED
    assert 0 < np.count_nonzero(result.w) < len(result.w) / 2
    assert np.abs(result.w).sum() == pytest.approx(0.2)


def test_with_neither_penalty_nor_ball_only_zero_is_proven():
    result = solve(problems.chain(alpha=0.0).problem, max_epochs=5)
    assert result.dual == 0.0  # the truth as dual point
    assert result.primal < problems.chain(alpha=0.0).problem.primal(np.zeros(len(result.w)))


def test_a_solution_is_taken_up_where_it_was():
    problem = problems.chain().problem
    first = solve(problem, tol=1e-2)
    again = SmoothedGradient(tol=1e-2).run(problem, state=first.state)
    assert again.n_epochs == first.n_epochs
    assert again.status is Status.CONVERGED
    assert again.primal <= first.primal


def test_scores_without_costs_are_smooth_by_themselves(chain_likelihood):
    ours = solve(chain_likelihood, tol=1e-6)
    other = LBFGS(tol=1e-6, max_epochs=500).run(chain_likelihood)
    assert ours.status is Status.CONVERGED
    assert ours.dual <= other.primal
    assert other.dual <= ours.primal


@pytest.fixture
def chain_likelihood():
    from maxmargin import ChainSVM

    rng = np.random.default_rng(0)
    X, y = [rng.normal(size=(4, 3)) for _ in range(8)], [rng.integers(3, size=4) for _ in range(8)]
    return ChainSVM(alpha=0.1, objective="likelihood")._problem(X, y, None, None)


def test_where_there_is_nothing_to_lose_smoothing_still_has_a_scale():
    made = problems.multiclass(cost=lambda rng, truth, layout: np.zeros_like(truth))
    result = solve(made.problem, max_epochs=5)
    assert np.isfinite(result.w).all()
    assert result.dual == 0.0 <= result.primal


def test_structures_without_expectations_are_refused():
    with pytest.raises((ValueError, MissingAbilityError), match="SmoothedGradient needs"):
        solve(problems.matching().problem)
    with pytest.raises((ValueError, MissingAbilityError), match="SmoothedGradient needs"):
        solve(problems.items().problem)
