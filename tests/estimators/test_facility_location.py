"""Decisions by an expensive oracle: which facilities to open and whom they serve, by HiGHS."""

import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import maxmargin
from maxmargin import DecisionSVM
from maxmargin.callbacks import Callback
from maxmargin.persistence.checkpoints import Checkpoint
from maxmargin.result import Status
from maxmargin.structures import Structure
from reference.facilities import Facilities


def make_model(made, n_jobs=None, **options):
    limits = {} if n_jobs is None else {"n_jobs": n_jobs, "time_limit": 600}
    rules = {"n_parts": made.n_parts, "feasible": made.feasible, "exact": "bounded"}
    structure = Structure.from_oracle(made, **rules, **limits)
    return DecisionSVM(structure, **{"alpha": 0.3, "tol": 0.1} | options)


class KillAfter(Callback):
    """Ends this process as a machine that fails would."""

    def __init__(self, epochs):
        self.epochs = epochs

    def on_epoch(self, run):
        if run.state.epoch == self.epochs:
            os.kill(os.getpid(), signal.SIGKILL)


class FirstEpoch(Callback):
    """Keeps the epoch that a run starts at."""

    def on_start(self, run):
        self.epoch = run.state.epoch


def fit_and_be_killed(facilities, customers, days, n_jobs, path):
    made = Facilities(int(facilities), int(customers))
    X, costs = (own[: int(days)] for own in made.days(2 * int(days)))
    calls = [Checkpoint(Path(path), epochs=1), KillAfter(3)]
    make_model(made, int(n_jobs), callbacks=calls).fit(X, costs)


def run_and_kill(*arguments):
    source, here = Path(maxmargin.__file__).parents[1], Path(__file__).parents[1]
    own = f"estimators.{Path(__file__).stem}"
    call = f"import {own} as own; own.fit_and_be_killed(*{list(map(str, arguments))})"
    return subprocess.run(
        [sys.executable, "-c", call],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (source, here)))},
        capture_output=True,
        timeout=1800,
        check=False,
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize(
    ("facilities", "customers", "days"),
    [(8, 12, 6), pytest.param(9, 20, 60, marks=pytest.mark.soak)],
)
def test_facilities_are_chosen_by_processes_and_after_a_kill(facilities, customers, days, tmp_path):
    made = Facilities(facilities, customers)
    assert 100 <= made.n_parts <= 200
    X, costs = made.days(2 * days)
    train, test = (X[:days], costs[:days]), (X[days:], costs[days:])
    model = make_model(made, 2).fit(*train)
    result = model.result_
    assert result.status is Status.CONVERGED
    assert 0 <= result.gap <= 0.1 * result.primal
    assert all(map(made.feasible, model.predict(test[0])))
    days_judged = test if days > 50 else train  # of six days, others are not learned
    assert model.regret(*days_judged) <= make_model(made, alpha=1e9).fit(*train).regret(
        *days_judged
    )
    path = tmp_path / "run"
    killed = run_and_kill(facilities, customers, days, 2, path)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    first = FirstEpoch()
    resumed = [Checkpoint(path, resume=True), first]
    again = make_model(made, 2, callbacks=resumed).fit(*train)
    assert 0 < first.epoch < again.result_.n_epochs
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert again.result_.state.n_oracle == result.state.n_oracle


def test_a_time_limit_of_a_fit_holds_between_calls_and_keeps_a_certificate():
    made = Facilities(8, 12)
    X, costs = made.days(12)
    model = make_model(made, time_limit=0.5, tol=0)
    begun = time.perf_counter()
    with warnings.catch_warnings():  # a slow machine has no certificate yet, and says so
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, costs)
    assert time.perf_counter() - begun < 30
    assert model.result_.status is Status.TIME_LIMIT
    assert model.result_.dual <= model.result_.primal
    assert model.predict(X).shape == costs.shape
