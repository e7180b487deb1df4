"""States and warm starts given to a problem other than their own: no false bound, no silence."""

import numpy as np
import pytest

from maxmargin import ChainSVM
from maxmargin.callbacks import EarlyStopping
from maxmargin.datasets import make_sequences
from maxmargin.result import Status
from maxmargin.solvers import BCFW, Perceptron, Subgradient

DATA = make_sequences(30, 3, 3, 4, separation=1.0, random_state=0)
QUIET = "ignore::sklearn.exceptions.ConvergenceWarning"
pytestmark = pytest.mark.filterwarnings(QUIET)


def problem(weight=None, **options):
    return ChainSVM(alpha=0.05, **options)._problem(DATA.X, DATA.y, weight, None)


def optimum(made):
    return BCFW(max_epochs=2000, tol=1e-8).run(made).primal


def test_subgradient_continued_with_other_sample_weights_bounds_truly():
    first = Subgradient(max_epochs=20, tol=0.0).run(problem())
    other = problem(np.arange(1.0, 31.0) ** 3)
    result = Subgradient(max_epochs=20, tol=0.0).run(other, first.state)
    assert result.dual <= optimum(other) + 1e-9
    np.testing.assert_allclose(result.state.w, other.weights(result.state.z), atol=1e-10)


def test_a_state_with_outputs_now_forbidden_is_refused():
    first = BCFW(max_epochs=3, tol=0.0).run(problem())
    made = problem()
    banned = made.packed.costs.copy()
    used = np.flatnonzero((first.state.z > 0) & (made.truth == 0))
    assert len(used) > 0
    banned[used[0]] = -np.inf
    made.packed = made.packed._replace(costs=banned)
    with pytest.raises(ValueError, match="the problem forbids; start without it"):
        BCFW().run(made, first.state)


def test_subgradient_without_costs_reads_none():
    made = problem()
    made.packed = made.packed._replace(costs=np.empty(0))
    result = Subgradient(max_epochs=3, tol=0.0).run(made)
    assert np.isfinite(result.primal)
    assert result.dual <= result.primal + 1e-12


def test_a_perceptron_warm_start_goes_on_from_its_weights():
    model = ChainSVM(alpha=0.0, solver="perceptron", max_epochs=1, warm_start=True)
    before = model.fit(DATA.X, DATA.y).coef_.copy()
    model.fit(DATA.X, DATA.y)
    assert np.isfinite(model.coef_).all()
    assert not np.array_equal(model.coef_, before)
    assert model.result_.status is not Status.FAILED


def test_a_perceptron_without_mistakes_still_looks_at_other_data():
    easy = problem()
    state = Perceptron(max_epochs=1).run(easy).state
    state.train_error = 0.0
    state.epoch = 0
    assert Perceptron(max_epochs=2).run(easy, state).n_epochs > 0


def test_weights_chosen_on_validation_data_are_not_called_converged():
    wrong = [np.roll(y, 1) for y in DATA.y]  # validation labels that early weights fit best
    stopping = EarlyStopping(DATA.X, wrong, patience=10**6)
    result = ChainSVM(alpha=0.05, tol=1e-3, max_epochs=500, callbacks=[stopping]).fit(
        DATA.X, DATA.y
    ).result_  # fmt: skip
    converged = result.gap <= 1e-3 * abs(result.primal)
    assert (result.status is Status.CONVERGED) == converged
