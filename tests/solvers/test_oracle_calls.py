"""Calls of oracles in Python: all are counted, few are made, and time limits hold between them."""

import time
import warnings

import numpy as np
import pytest

from maxmargin import DecisionSVM, StructuredSVM
from maxmargin.exceptions import ConvergenceWarning
from maxmargin.oracles import checked
from maxmargin.result import Status
from maxmargin.samples import Samples
from maxmargin.solvers import BCFW, CuttingPlane
from maxmargin.structures import Knapsack, Structure
from reference.oracles import best_two

RNG = np.random.default_rng(0)
X = [RNG.normal(size=(5, 3)) for _ in range(16)]
Y = [best_two(x @ [1.0, -1.0, 0.5] + RNG.normal(0, 0.3, 5), None) for x in X]


class Counting:
    """At most two items; it counts its calls, which are all that takes time of `clock`."""

    def __init__(self, seconds=0.0):
        self.calls, self.seconds = 0, seconds

    def __call__(self, theta):
        self.calls += 1
        return best_two(theta, None)

    def clock(self):
        return self.calls * self.seconds


def use_clock(monkeypatch, oracle):
    monkeypatch.setattr(time, "perf_counter", oracle.clock)
    monkeypatch.setattr(checked, "perf_counter", oracle.clock)


def fit(oracle, X=X, y=Y, **options):
    def ask(theta):  # a function is not copied with its structure
        return oracle(theta)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        options = {"alpha": 0.01, "tol": 0.01} | options
        return StructuredSVM(Structure.from_oracle(ask), **options).fit(X, y)


@pytest.mark.parametrize("solver", ["bcfw", "cutting-plane", "fw", "ssg", "perceptron"])
def test_all_calls_are_counted(solver):
    oracle = Counting()
    model = fit(oracle, solver=solver, max_epochs=4)
    assert model.result_.state.n_oracle == oracle.calls
    seconds = [record.extra["oracle_seconds"] for record in model.result_.history]
    assert all(np.diff([0.0, *seconds]) > 0)


def test_few_weights_and_an_expensive_oracle_are_left_to_cutting_planes():
    oracle, other = Counting(), Counting()
    model = fit(oracle, alpha=0.001)
    assert model.result_.state.solver == "cutting-plane"
    assert model.result_.status is Status.CONVERGED
    slower = fit(other, alpha=0.001, solver="bcfw", max_epochs=500)
    assert oracle.calls < 0.7 * other.calls
    assert model.result_.primal == pytest.approx(slower.result_.primal, rel=0.02)
    rng = np.random.default_rng(1)
    wide = [np.column_stack([x, rng.normal(size=(5, 20))]) for x in X]
    assert fit(Counting(), wide).result_.state.solver == "bcfw"


@pytest.mark.parametrize("solver", [BCFW(), CuttingPlane()])
def test_certificates_without_calls_are_those_of_new_calls(solver):
    model = fit(Counting(), solver=solver)
    found, plain = model.result_, best_two
    hinges = []
    for x, y in zip(X, Y, strict=True):
        truth = np.isin(np.arange(5), list(y)).astype(float)
        theta = x @ found.w + (1 - 2 * truth) / 5
        best = np.isin(np.arange(5), list(plain(theta, None)))
        hinges.append(theta @ (best - truth))
    expected = np.mean(hinges) + 0.005 * found.w @ found.w
    assert found.primal == pytest.approx(expected, rel=1e-12)
    assert 0 <= found.gap <= 0.01 * found.primal


def test_a_time_limit_holds_between_calls(monkeypatch):
    oracle = Counting(0.02)
    use_clock(monkeypatch, oracle)
    model = fit(oracle, time_limit=0.2, tol=1e-9, solver="bcfw")
    assert model.result_.status is Status.TIME_LIMIT
    assert oracle.calls <= 0.2 / 0.02 + 1  # not an epoch of 16 calls beside those of the probe
    assert model.result_.gap == np.inf  # no certificate yet: nothing is promised
    assert len(model.predict(X)) == 16


def test_a_time_limit_keeps_what_is_certified(monkeypatch):
    oracle = Counting(0.003)
    use_clock(monkeypatch, oracle)
    model = fit(oracle, time_limit=0.5, tol=1e-12, alpha=1e-4, solver="bcfw", max_epochs=10**6)
    assert model.result_.status is Status.TIME_LIMIT
    assert np.isfinite(model.result_.gap)
    assert model.result_.gap >= 0


def test_known_outputs_spare_calls_of_compiled_oracles(monkeypatch):
    known = []
    sweep = Samples.sweep

    def counted(samples, order, compiled, *rest, **visits):
        def called(*arguments):
            known.append(False)
            return compiled(*arguments)

        if visits.get("known") is not None:
            known.append(True)
            return sweep(samples, order, pytest.fail, *rest, **visits)
        return sweep(samples, order, called, *rest, **visits)

    monkeypatch.setattr(Samples, "sweep", counted)
    rng = np.random.default_rng(2)
    rows, values = rng.normal(size=(60, 3)), rng.uniform(1, 2, size=(60, 6))
    sizes = [[3, 4, 2, 5, 1, 2], [1, 2, 3, 4, 5, 6]]
    model = DecisionSVM(Knapsack(sizes, [7, 9]), "max", alpha=0.01, solver="bcfw")
    result = model.fit(rows, values).result_
    assert result.status is Status.CONVERGED
    assert sum(known) >= 2  # what certificates have found serves the next passes
    assert not all(known)
