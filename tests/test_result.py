"""Results say how good they are, and never more."""

import sys
from dataclasses import FrozenInstanceError, fields, replace
from types import ModuleType

import numpy as np
import pytest

from contract.problems import case
from maxmargin.result import History, Record, Result, State, Status
from maxmargin.solvers import BCFW, Perceptron


def made(**metrics):
    state = State(np.zeros(2), np.zeros(3), np.random.default_rng(0))
    given = {"w": np.zeros(2), "primal": 2.0, "dual": 1.9, "gap": 0.1, "n_epochs": 7}
    given |= {"status": Status.CONVERGED, "history": History(), "state": state}
    return Result(**given | metrics)


def test_no_status_is_assumed():
    """A result without a status cannot be made, so success is never a default."""
    named = {f.name: f for f in fields(Result)}
    assert named["status"].default is not Status.CONVERGED
    with pytest.raises(TypeError, match="status"):
        Result(
            w=np.zeros(1), primal=1.0, dual=0.0, gap=1.0, n_epochs=0, history=History(), state=None
        )


def test_results_and_records_do_not_change():
    with pytest.raises(FrozenInstanceError):
        made().primal = 0.0
    record = Record(1, 0.1, 5, 0, 2.0, 1.0, 1.0, 0.5)
    with pytest.raises(FrozenInstanceError):
        record.gap = 0.0
    more = record.with_metrics(train_error=0.5, mine=3.0).with_metrics(yours=4.0)
    assert (more.train_error, more.extra) == (0.5, {"mine": 3.0, "yours": 4.0})
    assert record.extra == {}
    assert replace(more, train_error=0.0).extra == more.extra


def test_the_relative_gap():
    assert made().relative_gap == pytest.approx(0.05)
    assert made(primal=0.0, gap=0.0).relative_gap == 0.0
    assert made(primal=0.0, gap=0.1).relative_gap == np.inf
    assert made(primal=-2.0).relative_gap == pytest.approx(0.05)


def test_the_certificate_in_words():
    assert made().certificate() == (
        "within 5.3 % of the best possible objective (converged after 7 epochs)"
    )
    assert "estimated within 5.3 %" in made(exact=False).certificate()
    assert "no proof" in made(exact=False).certificate()
    assert made(primal=2.0, dual=2.0, gap=0.0).certificate().startswith("within 0 %")
    assert made(primal=2.0, dual=1.0, gap=1.0).certificate().startswith("within 100 % of")
    for dual, low in ((0.0767, "0.076"), (0.0, "0"), (-1.23, "-1.3")):
        words = made(dual=dual, gap=2.0 - dual).certificate()
        assert words.startswith(f"objective 2, the best possible is {low} or more (conv")
    unknown = made(gap=np.nan, status=Status.MAX_EPOCHS).certificate()
    unbounded = made(gap=np.inf, status=Status.MAX_EPOCHS).certificate()
    assert "neither a penalty (alpha > 0) nor a bounded domain" in unbounded
    failed = made(gap=np.inf, status=Status.FAILED, message="too large").certificate()
    assert failed == "no certificate (failed: too large)"
    assert unknown == "no certificate: this solver does not bound the objective (max_epochs)"


@pytest.mark.parametrize(
    "options, status",
    [
        ({"tol": 1e-2}, Status.CONVERGED),
        ({"tol": 0.0, "max_epochs": 2}, Status.MAX_EPOCHS),
        ({"tol": 0.0, "max_epochs": 0}, Status.MAX_EPOCHS),
        ({"tol": 1e9, "max_epochs": 0}, Status.CONVERGED),
    ],
)
def test_converged_means_that_the_gap_is_within_the_tolerance(options, status):
    result = BCFW(**options).run(case("chain").problem)
    assert result.status is status
    assert (result.gap <= options["tol"] * result.primal) == (status is Status.CONVERGED)


def test_weights_that_are_not_finite_are_a_failure():
    class Broken(BCFW):
        def epoch(self, problem, state):
            super().epoch(problem, state)
            if state.epoch == 2:
                state.w[0] = np.nan

    result = Broken(tol=0.0, max_epochs=9, check_every=1).run(case("chain").problem)
    assert result.status is Status.FAILED
    assert "not finite after epoch 3" in result.message
    assert np.isfinite(result.w).all()  # the best certified before
    assert result.primal == pytest.approx(case("chain").training.primal(result.w))


def test_a_structure_that_may_miss_maxima_gives_estimates():
    class Sloppy(type(case("items").problem.structure)):
        is_exact = False

    from contract.problems import items

    problem = items().problem
    problem.structure = Sloppy()
    result = BCFW(tol=1e-2).run(problem)
    assert not result.exact
    assert "no proof" in result.certificate()
    assert BCFW(tol=1e-2).run(items().problem).exact


def test_the_history_becomes_a_table(monkeypatch):
    """One row a record, one column a fact."""
    stub = ModuleType("pandas")
    stub.DataFrame = lambda rows: rows
    monkeypatch.setitem(sys.modules, "pandas", stub)
    result = BCFW(tol=0.0, max_epochs=3, check_every=1).run(case("chain").problem)
    rows = result.history.to_frame()
    assert [row["epoch"] for row in rows] == [1, 2, 3]
    wanted = {"epoch", "seconds", "n_oracle", "n_project", "primal", "dual", "gap", "norm_w"}
    assert wanted <= set(rows[0])
    assert "extra" not in rows[0]


def test_a_perceptron_has_a_history_too():
    result = Perceptron(max_epochs=3).run(case("items").problem)
    assert [r.epoch for r in result.history] == list(range(1, result.n_epochs + 1))
    assert all(0 <= r.train_error <= 1 for r in result.history)
    assert all(np.isnan(r.gap) for r in result.history)


def test_the_certificate_says_why_the_run_ended():
    stopped = made(status=Status.STOPPED, n_epochs=9, message="no better score for 5 certificates")
    assert stopped.certificate().endswith(
        "(stopped after 9 epochs: no better score for 5 certificates)"
    )
    assert made(n_epochs=1).certificate().endswith("(converged after 1 epoch)")
    unknown = made(gap=np.nan, status=Status.STOPPED, message="enough").certificate()
    assert unknown.endswith("(stopped: enough)")


def test_results_and_states_show_no_arrays():
    result = BCFW(tol=0.0, max_epochs=3).run(case("chain").problem)
    shown = repr(result)
    assert len(shown.splitlines()) == 2
    assert result.certificate() in shown
    assert f"primal {result.primal:.6g}, dual {result.dual:.6g}" in shown
    assert "3 epochs, status max_epochs" in shown
    assert "array" not in shown
    assert "3 epochs" in repr(result.state)
    assert len(repr(result.state)) < 100


def test_a_table_needs_pandas_and_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        History().to_frame()
