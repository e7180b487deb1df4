"""The loop that all solvers share: how they are named, when they certify, where chance comes in."""

import numpy as np
import pytest

from contract.problems import case
from maxmargin.result import Status
from maxmargin.solvers import BCFW, FrankWolfe, Perceptron, Solver, Subgradient, resolve_solver
from maxmargin.solvers.run import limits_of


@pytest.mark.parametrize("kind", [BCFW, FrankWolfe, Subgradient, Perceptron])
def test_a_short_name_gives_the_solver_with_the_options_of_the_estimator(kind):
    solver = resolve_solver(kind.name, tol=0.1, max_epochs=7, random_state=3)
    assert type(solver) is kind
    assert (solver.tol, solver.max_epochs, solver.random_state) == (0.1, 7, 3)


def test_an_instance_keeps_its_own_options_and_is_not_changed():
    given = BCFW("pairwise", tol=0.5)
    solver = resolve_solver(given, tol=0.1, max_epochs=7, random_state=3)
    assert solver is not given
    assert (solver.step, solver.tol, solver.max_epochs) == ("pairwise", 0.5, 7)
    assert (given.tol, given.max_epochs, given.random_state) == (0.5, None, None)


def test_defaults():
    assert limits_of(BCFW()) == (100, 1e-3)
    assert limits_of(BCFW(max_epochs=np.int64(5), tol=0)) == (5, 0.0)


def test_all_kinds_of_seeds():
    def draw(seed):
        return BCFW(random_state=seed).generator().random()

    assert draw(None) == draw(0) == draw(np.int64(0)) != draw(1)
    old = np.random.RandomState(4)
    assert draw(old) != draw(old)  # it goes on
    assert draw(np.random.RandomState(4)) == draw(np.random.RandomState(4))
    assert draw(np.random.default_rng(2)) == draw(2)


def test_certificates_become_rarer():
    result = FrankWolfe(tol=0.0, max_epochs=100).run(case("chain").problem)
    epochs = [record.epoch for record in result.history]
    assert epochs[:2] == [1, 2]
    assert epochs[-1] == 100
    assert len(epochs) < 40
    steps = np.diff(epochs[:-1])
    assert (steps <= np.maximum(1, 0.5 * np.array(epochs[1:-1]))).all()


def test_certificates_when_asked_for():
    result = BCFW(tol=0.0, max_epochs=20, check_every=7).run(case("chain").problem)
    assert [record.epoch for record in result.history] == [7, 14, 20]


@pytest.mark.parametrize("relaxation", [1.0, 1.5, 1.99])
@pytest.mark.parametrize("name", ["multiclass", "finite", "chain", "chain-csr", "items"])
def test_steps_at_the_optimum_do_not_blow_up_rounding(name, relaxation):
    """Far below any tolerance gaps are noise of rounding, which no step may extrapolate."""
    made = case(name)
    for seed in range(3):
        solver = BCFW(relaxation=relaxation, tol=0.0, max_epochs=60, random_state=seed)
        result = solver.run(made.problem)
        assert made.training.distance(result.state.z) < 1e-11
        assert result.state.z.min() >= -1e-12
        assert -1e-12 <= result.gap <= 1e-3 * result.primal
        assert result.status in (Status.MAX_EPOCHS, Status.CONVERGED)


def test_a_solver_fits_in_the_head():
    public = [name for name in vars(Solver) if not name.startswith("_")]
    assert len(public) <= 16, public
